"""Rows of the booking world, drawn at random."""

from __future__ import annotations

from collections.abc import Iterator

from slmagent.scenarios.booking.inventory import CONDITIONS, TIERS, Inventory
from slmagent.scenarios.booking.records import Customer, Flight, FlightQuery, Hotel, Weather, best_flights
from slmagent.scenarios.draw import Draw

FIRST_DAY, LAST_DAY = 2, 27
MINUTES = range(6 * 60, 23 * 60, 5)


def clock(minutes: int) -> str:
    """Minutes since midnight as `HH:MM`."""
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def flight_ids(draw: Draw, inventory: Inventory) -> Iterator[str]:
    """Distinct flight ids without end (there are 900 to a code)."""
    numbers = list(range(100, 1000))
    draw.shuffle(numbers)
    codes = list(inventory.airlines)
    for number in numbers:
        yield f"{draw.pick(codes)}{number}"


def flight_rows(
    draw: Draw,
    ids: Iterator[str],
    route: tuple[str, str],
    day: int,
    *,
    count: int,
    departs: str | None = None,
    price: int | None = None,
) -> list[Flight]:
    """Departures of one route and day, some close in time or price. The first row takes `departs` and `price` where given."""
    times: list[int] = []
    prices: list[int] = []
    if departs is not None:
        times.append(int(departs[:2]) * 60 + int(departs[3:]))
    if price is not None:
        prices.append(price // 100)
    while len(times) < count:
        near = times and draw.chance(0.4)
        time = draw.pick(times) + 5 * draw.pick((-12, -6, -3, -2, 2, 3, 6, 12)) if near else draw.pick(MINUTES)
        if time in MINUTES and time not in times:
            times.append(time)
    base = prices[0] if prices else draw.integer(80, 420)
    while len(prices) < count:
        value = (
            draw.pick(prices) + draw.pick((-20, -11, -9, -3, 3, 9, 11, 20))
            if prices and draw.chance(0.3)
            else draw.integer(base // 2 + 20, base * 2)
        )
        if value not in prices and value > 40:
            prices.append(value)
    stops = [int(draw.chance(0.5)) for _ in range(count)]
    return [
        Flight(next(ids), *route, day, clock(time), value * 100, stop)
        for time, value, stop in zip(times, prices, stops, strict=True)
    ]


def answering_flights(
    draw: Draw, ids: Iterator[str], query: FlightQuery, also: FlightQuery | None = None
) -> tuple[list[Flight], Flight]:
    """Departures in random order of which exactly one answers the query, and that one. Every condition matters.

    Args:
        draw: Source of randomness.
        ids: Flight ids to use.
        query: What has to have one answer.
        also: Another query on the same route and day that has to have one answer, and another one.
    """
    route = (query.origin, query.destination)
    placeholder = iter(str(number) for number in range(1_000_000))
    while True:
        rows = flight_rows(
            draw, placeholder, route, query.day, count=draw.integer(3, 6), departs=query.departs, price=query.price
        )
        best = best_flights(rows, query)
        if len(best) != 1 or any(best_flights(rows, weaker) == best for weaker in weakened(query)):
            continue
        if also is None or (len(other := best_flights(rows, also)) == 1 and other != best):
            break
    draw.shuffle(rows)
    named = [Flight(next(ids), *route, row.day, row.departs, row.price, row.stops) for row in rows]
    return named, named[rows.index(best[0])]


def weakened(query: FlightQuery) -> list[FlightQuery]:
    """The query without one of its conditions, for each condition."""
    conditions = [
        name for name in ("departs", "price", "max_price", "stops", "daypart", "objective") if getattr(query, name) is not None
    ]
    kept = {name: getattr(query, name) for name in conditions}
    return [
        FlightQuery(
            query.origin, query.destination, query.day, **{name: value for name, value in kept.items() if name != dropped}
        )
        for dropped in conditions
    ]


def decoy_flights(draw: Draw, ids: Iterator[str], route: tuple[str, str], day: int) -> list[Flight]:
    """What a confused search finds: the way back on the same day, and the same route a day earlier and later."""
    origin, destination = route
    cells = [((destination, origin), day), (route, day - 1), (route, day + 1)]
    return [row for cell in cells for row in flight_rows(draw, ids, *cell, count=draw.integer(3, 4))]


def hotel_rows(draw: Draw, inventory: Inventory, city: str, *, first_id: int, count: int = 4) -> list[Hotel]:
    """Hotels of a city with distinct names and prices."""
    names = draw.sample(inventory.hotel_names, count)
    prices = draw.sample(range(45, 260), count)
    ids = draw.sample(range(first_id, first_id + 20), count)
    return [
        Hotel(f"HT{number}", city, name, draw.integer(2, 5), price * 100)
        for number, name, price in zip(ids, names, prices, strict=True)
    ]


def weather_rows(draw: Draw, city: str, day: int) -> list[Weather]:
    """Forecasts from the day before to the day after, all different in condition and temperature."""
    conditions = draw.sample(CONDITIONS, 3)
    start = draw.integer(2, 28)
    temperatures = draw.sample(range(start, start + 8), 3)
    return [
        Weather(city, day + offset, condition, celsius)
        for offset, condition, celsius in zip((-1, 0, 1), conditions, temperatures, strict=True)
    ]


def customer(draw: Draw, inventory: Inventory) -> Customer:
    """Somebody to work for."""
    name = f"{draw.pick(inventory.first_names)} {draw.pick(inventory.last_names)}"
    return Customer(f"U{draw.integer(100, 999)}", name, draw.pick(TIERS))


def route(draw: Draw, inventory: Inventory) -> tuple[str, str]:
    """Two different cities."""
    origin, destination = draw.sample(inventory.cities, 2)
    return origin, destination
