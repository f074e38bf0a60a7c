"""The corpus of hostile programs in tests/hostile, and a place outside of the sandbox that they would like to reach."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "hostile"
KINDS = sorted(path.stem for path in FOLDER.glob("*.txt"))
NOBODY = 65534
SECRET_NAME = "SLMAGENT_TEST_SECRET"


def programs(kind: str) -> dict[str, str]:
    """Programs of a kind by name: each begins with a line `### NAME`."""
    parts = re.split(r"^### (.*)\n", (FOLDER / f"{kind}.txt").read_text(), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


@dataclass
class Outside:
    """What must not be reached: a file, a listener, an abstract socket, a variable of the environment."""

    canary: Path
    word: str
    """Stands in the file and in the environment."""
    port: int
    abstract: str
    caught: list[bytes] = field(default_factory=list)

    def aim(self, program: str) -> str:
        """A program with its targets filled in."""
        return (
            program.replace("@CANARY@", str(self.canary)).replace("@PORT@", str(self.port)).replace("@ABSTRACT@", self.abstract)
        )

    def untouched(self) -> bool:
        """Whether nothing has happened."""
        return self.canary.read_text() == self.word and not self.caught


@contextlib.contextmanager
def outside(folder: Path) -> Iterator[Outside]:
    """Opens the place, with a listener for TCP, UDP and an abstract Unix socket."""
    word = secrets.token_hex(16)
    canary = folder / "canary"
    canary.write_text(word)
    canary.chmod(0o666)
    os.environ[SECRET_NAME] = word
    stream = socket.create_server(("127.0.0.1", 0))
    port = stream.getsockname()[1]
    datagram = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagram.bind(("127.0.0.1", port))
    place = Outside(canary, word, port, f"slmagent-{word[:8]}")
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0{place.abstract}")
    abstract.listen()
    open_ = (stream, datagram, abstract)
    done = threading.Event()

    def listen() -> None:
        for one in open_:
            one.setblocking(False)
        while not done.wait(0.02):
            for one in open_:
                with contextlib.suppress(OSError):
                    place.caught.append(one.recv(100) if one is datagram else str(one.accept()).encode())

    listener = threading.Thread(target=listen)
    listener.start()
    try:
        yield place
    finally:
        time.sleep(0.05)
        done.set()
        listener.join()
        for one in open_:
            one.close()
        del os.environ[SECRET_NAME]


def descendants() -> set[int]:
    """Processes below this one, zombies included, and orphans of the user that programs run as."""
    parents: dict[int, int] = {}
    orphans = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                text = Path(f"/proc/{name}/stat").read_text()
                parents[int(name)] = int(text.rpartition(")")[2].split()[1])
                if parents[int(name)] == 1 and os.stat(f"/proc/{name}").st_uid == NOBODY:
                    orphans.add(int(name))
    found = {os.getpid()}
    while True:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        if not more:
            return (found | orphans) - {os.getpid()}
        found |= more


def settled(before: set[int], seconds: float = 3.0) -> set[int]:
    """Processes that are still there besides those of before, after some patience."""
    deadline = time.monotonic() + seconds
    while (left := descendants() - before) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left
