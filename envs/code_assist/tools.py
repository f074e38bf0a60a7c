"""The tool of CodeAssist."""

from __future__ import annotations

from pydantic import ConfigDict

from slmagent.envs.tools import Tool


class Run(Tool):
    """Try code at the cursor: error, or what the shown examples give"""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=False)
    code: str
