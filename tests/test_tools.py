"""Tools as pydantic models: names, signatures, schemas and errors."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from pydantic import Field

from slmagent.envs.booking.tools import TOOLS_BY_LEVEL
from slmagent.envs.tools import Finish, Tool, ToolBox, ToolError
from slmagent.types import ToolCall


class BookRoom(Tool):
    """Book a room."""

    room_id: str
    nights: int = Field(default=1, ge=1)
    view: Literal["sea", "yard"] | None = None


BOX = ToolBox([BookRoom, Finish])


def read(name: str, **arguments: Any) -> Tool:
    return BOX.read(ToolCall("call_0", name, arguments))


def test_names_and_signatures():
    assert BookRoom.tool_name() == "book_room"
    assert BOX.signatures().splitlines()[0] == (
        "book_room(room_id: str, nights: int = 1, view: 'sea' | 'yard' | None = None): Book a room"
    )


def test_schemas_are_json_and_fresh():
    first, again = BOX.schemas(), BOX.schemas()
    assert first == again
    assert first[0] is not again[0]
    json.dumps(first)
    function = first[0]["function"]
    assert function["name"] == "book_room"
    assert function["parameters"]["required"] == ["room_id"]
    assert function["parameters"]["properties"]["nights"] == {"default": 1, "minimum": 1, "type": "integer"}
    assert "title" not in function["parameters"]


def test_a_good_call_is_read():
    assert read("book_room", room_id=" R1 ", nights=2) == BookRoom(room_id="R1", nights=2)


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("book_rom", {}, "did you mean book_room?"),
        ("zzz", {}, "the tools are book_room, finish"),
        ("book_room", {}, "argument 'room_id' is missing"),
        ("book_room", {"room_id": "R1", "floor": 3}, "there is no argument 'floor'"),
        ("book_room", {"room_id": "R1", "nights": 0}, "argument 'nights': input should be greater than or equal to 1"),
        ("book_room", {"room_id": 7}, "argument 'room_id': input should be a valid string"),
        ("book_room", {"room_id": "\ud800"}, "argument 'room_id'"),
        ("book_room", {"room_id": "R1", "nights": 1.5}, "argument 'nights'"),
        ("book_room", {"room_id": "R1", "view": "lake"}, "argument 'view"),
    ],
)
def test_errors_name_the_problem(name: str, arguments: dict[str, Any], problem: str):
    with pytest.raises(ToolError) as raised:
        read(name, **arguments)
    assert problem in str(raised.value)


def test_names_can_be_changed():
    box = ToolBox([BookRoom, Finish], {"book_room": "reserve_room"})
    assert list(box.tools) == ["reserve_room", "finish"]
    assert box.shown_names == {"book_room": "reserve_room", "finish": "finish"}
    assert box.read(ToolCall("call_0", "reserve_room", {"room_id": "R1"})) == BookRoom(room_id="R1")
    with pytest.raises(ToolError):
        box.read(ToolCall("call_0", "book_room", {"room_id": "R1"}))


def test_every_booking_tool_describes_itself():
    for tool in {tool for tools in TOOLS_BY_LEVEL.values() for tool in tools}:
        assert tool.description()
        assert ToolBox([tool]).schemas()[0]["function"]["description"]
