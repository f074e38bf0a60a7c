"""SQLite databases in memory, one an episode, on connections that are used again.

On a new connection SQLite parses the schema and compiles each statement anew, which takes longer than all queries of an
episode.
"""

from __future__ import annotations

import abc
import functools
import operator
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MAX_IDLE = 32
"""Connections kept for the next episodes."""


class Template:
    """What the databases of many episodes have in common.

    Args:
        schema: SQL that creates the tables.
        rows: Rows that every episode starts with, by table.
        finish: SQL to run once the rows are in.
        own: Tables that episodes fill themselves; they are empty at the start.
    """

    def __init__(
        self, schema: str, rows: Mapping[str, Sequence[Sequence[Any]]], *, finish: str = "", own: Iterable[str]
    ) -> None:
        connection = sqlite3.connect(":memory:")
        connection.executescript(schema)
        for table, values in rows.items():
            _insert(connection, table, values)
        connection.executescript(finish)
        connection.commit()
        self._image = connection.serialize()
        connection.close()
        self._clear = [f"DELETE FROM {table}" for table in own]
        self._idle: list[sqlite3.Connection] = []
        self._max_idle = MAX_IDLE

    def connect(self, rows: Mapping[str, Sequence[Sequence[Any]]]) -> sqlite3.Connection:
        """A database with the template's rows and these; nobody else uses it until it is given back."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = _opened(self._image)
        connection.execute("BEGIN")
        for statement in self._clear:
            connection.execute(statement)
        for table, values in rows.items():
            _insert(connection, table, values)
        connection.execute("COMMIT")
        return connection

    def give_back(self, connection: sqlite3.Connection) -> None:
        """Takes a connection of this template, or of a copy of one of its databases, for another episode."""
        if len(self._idle) < self._max_idle and not connection.in_transaction:
            self._idle.append(connection)


class EpisodeDatabase(abc.ABC):
    """The database of one episode; deep copies and pickles carry its bytes.

    Args:
        rows: What the episode adds to the template, by table.
    """

    def __init__(self, rows: Mapping[str, Sequence[Sequence[Any]]]) -> None:
        self._origin = self._template
        self._connection = self._origin.connect(rows)

    @property
    @abc.abstractmethod
    def _template(self) -> Template:
        """The template of the database."""

    def close(self) -> None:
        """Gives the connection back; the database cannot be used any more."""
        if hasattr(self, "_connection"):  # not so after a failed start, or a second time
            connection = self._connection
            del self._connection
            self._origin.give_back(connection)

    def __del__(self) -> None:
        self.close()  # uses nothing global: that may be gone when the interpreter ends

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name != "_origin"}
        return {**state, "_connection": self._connection.serialize()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _connection=_opened(state["_connection"]))
        self._origin = self._template


def _opened(image: bytes) -> sqlite3.Connection:
    # An episode may move between threads (a rollout engine's pool), never run in two at once.
    connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    connection.deserialize(image)
    connection.execute("PRAGMA synchronous = OFF")
    return connection


def _insert(connection: sqlite3.Connection, table: str, rows: Sequence[Sequence[Any]]) -> None:
    if rows:
        connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)


def fields_of(record: Any) -> tuple[Any, ...]:
    """The fields of a record with two or more slots, in order; `dataclasses.astuple` copies deeply and takes far longer."""
    return _reader(type(record))(record)


@functools.cache
def _reader(kind: type[Any]) -> operator.attrgetter[tuple[Any, ...]]:
    return operator.attrgetter(*kind.__slots__)
