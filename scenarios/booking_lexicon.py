"""Questions about trips: how the facts of a booking are asked for and said."""

from __future__ import annotations

from slmagent.scenarios.understanding import SlotPattern

BOOKING_LEXICON: tuple[SlotPattern, ...] = (
    SlotPattern(
        "origin",
        (
            "origin",
            "departure|departing|leaving|starting|start|home|boarding city|airport|location|place|point|town",
            "city|airport|place|point|town of departure|origin",
            "where _ from",
            "from where",
            "from which|what",
            "which|what city|airport|place|town _ from|leave|leaving|depart|departing|start|starting",
            "where _ start|starting|begin|depart|departing|leave|leaving",
            "leaving|flying|departing|travelling|traveling|coming|starting|fly|travel|leave|depart from",
            "where _ from and to",
        ),
        "departure city",
    ),
    SlotPattern(
        "destination",
        (
            "destination|destinations",
            "arrival|arriving|landing|target city|airport|location|place|town",
            "where to",
            "to where",
            "to which|what city|airport|place|town|country",
            "where _ go|going|fly|flying|travel|travelling|traveling|head|heading|headed|land|arrive|visit",
            "which|what city|airport|place|town",
            "where _ from and to",
            "going|flying|travelling|traveling|fly|travel|go to",
        ),
        "destination",
    ),
    SlotPattern(
        "date",
        (
            "date|dates",
            "which|what day|days|week|month",
            "day of departure|travel",
            "when _ travel|travelling|traveling|fly|flying|leave|leaving|go|going|depart|departing|arrive|stay|trip|flight|book|check",
            "when",
        ),
        "travel date",
        blocks=("up to date",),
    ),
    SlotPattern(
        "time",
        (
            "departure|departing|leaving|flight|preferred|earliest|latest|best|ideal|take-off|boarding time|times|hour",
            "time of day|departure|flight|travel",
            "what|which time|hour|hours",
            "what part of the day",
            "morning|afternoon|evening|noon",
            "how early|late",
            "your|a|the time",
        ),
        "departure time",
    ),
    SlotPattern(
        "budget",
        (
            "budget",
            "how much",
            "price limit|range|ceiling|cap",
            "maximum|max|highest|most price|cost|amount|fare|spend",
            "spending limit",
            "what|which price",
        ),
        "budget",
    ),
    SlotPattern(
        "nonstop",
        (
            "non stop|stops",
            "direct",
            "stopover|stopovers|stops|layover|layovers|connection|connections|connecting|transfer|transfers",
        ),
        "stops",
    ),
    SlotPattern(
        "cabin",
        (
            "cabin",
            "seat|seats|seating",
            "travel|flight|ticket|service|fare|which|what class",
            "economy|business class",
            "economy|business",
        ),
        "cabin class",
    ),
    SlotPattern(
        "nights",
        (
            "nights|night",
            "how long",
            "length|duration of",
            "how many days",
            "check out",
        ),
        "number of nights",
    ),
    SlotPattern("stars", ("star|stars", "hotel rating|category|class|quality", "category of hotel"), "hotel category"),
    SlotPattern(
        "area",
        ("area|areas|district|neighborhood|neighbourhood|quarter|location", "part of the city|town", "where _ hotel|stay"),
        "hotel area",
    ),
    SlotPattern(
        "passenger",
        ("name|names", "who _ travel|travelling|traveling|fly|flying", "who", "passenger|traveler|traveller"),
        "passenger name",
        blocks=("hotel|city|airport|airline name", "name of the hotel|city|airport|airline"),
    ),
    SlotPattern(
        "reference",
        (
            "reference|pnr|locator",
            "booking|reservation|confirmation|record|ticket number|code|id|locator",
            "reference number|code",
        ),
        "booking reference",
    ),
    SlotPattern("reason", ("reason|why|cause|purpose", "what happened", "how come"), "reason"),
)
"""Slots: origin, destination, date, time, budget, nonstop, cabin, nights, stars, area, passenger, reference, reason."""
