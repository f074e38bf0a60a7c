"""The command `slmagent`.

Exit codes: 0 done, 1 a check that failed or an unexpected failure (a bug), 2 something that the user can put right,
130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

DESCRIPTION = """Turn small language models into multi-turn agents: environments, training, evaluation.

Every command explains its options with --help. --debug, anywhere, shows where an error came from."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code; no exception gets out, except with `--debug`.

    Args:
        arguments: Words behind the program's name; by default those it was called with.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]

    from slmagent.errors import SlmagentError

    try:
        return _dispatch(words, debug=debug)
    except SystemExit as stop:  # raised by the parser, which has said why
        return stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 2
    except KeyboardInterrupt:
        print("\nslmagent: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever read our output has gone, `slmagent envs | head` for one
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except SlmagentError as problem:
        if debug:
            raise
        print(f"slmagent: {problem}", file=sys.stderr)
        return 2
    except Exception as problem:
        if debug:
            raise
        text = (str(problem).strip().splitlines() or [""])[0]
        print(f"slmagent: unexpected {type(problem).__name__}: {text} (--debug shows where)", file=sys.stderr)
        return 1


def _dispatch(words: list[str], *, debug: bool) -> int:
    from slmagent.cli.terminal import set_up_logging

    set_up_logging(debug=debug)
    # Their options depend on the configuration, so they are parsed by the trainer's own fields.
    if words[:1] == ["train"] and len(words) > 1 and not words[1].startswith("-"):
        from slmagent.cli.train import run_train

        return run_train(words[1:])
    if words[:1] == ["demo"]:
        from slmagent.cli.train import run_demo

        return run_demo(words[1:])
    import tyro

    command: Any = tyro.cli(_commands(), args=words or ["--help"], prog="slmagent", description=DESCRIPTION)
    return command.run()


def _commands() -> Any:
    from tyro.conf import subcommand

    from slmagent.cli.audit import AuditEnvs
    from slmagent.cli.envs import Envs
    from slmagent.cli.evaluate import Evaluate
    from slmagent.cli.models import Models
    from slmagent.cli.play import Play
    from slmagent.cli.profile import ProfileCommand
    from slmagent.cli.rescore import Rescore
    from slmagent.cli.rollout import Rollout
    from slmagent.cli.sandbox import SandboxCommand
    from slmagent.cli.scenarios import Scenarios
    from slmagent.cli.train import Demo, Train

    return (
        Annotated[Envs, subcommand("envs")]
        | Annotated[Play, subcommand("play")]
        | Annotated[Models, subcommand("models")]
        | Annotated[Rollout, subcommand("rollout")]
        | Annotated[Rescore, subcommand("rescore")]
        | Annotated[Train, subcommand("train")]
        | Annotated[Evaluate, subcommand("eval")]
        | Annotated[AuditEnvs, subcommand("audit")]
        | Annotated[ProfileCommand, subcommand("profile")]
        | Annotated[Scenarios, subcommand("scenarios")]
        | Annotated[SandboxCommand, subcommand("sandbox")]
        | Annotated[Demo, subcommand("demo")]
    )
