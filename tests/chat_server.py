"""A chat endpoint in a thread, for tests of users whose words come from one."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Server(ThreadingHTTPServer):
    """A chat endpoint whose answer to a request is up to `answer`: a text, a status, or None for silence."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer: Callable[[dict[str, Any]], str | int | None] = well_behaved
        self.asked: list[dict[str, Any]] = []
        self.closing = threading.Event()

    def settings(self, **changes: Any) -> dict[str, Any]:
        return {"base_url": f"http://127.0.0.1:{self.server_port}/v1", "model": "m", "retries": 0, "backoff_s": 0.0, **changes}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps the connection, which is much faster

    def do_POST(self) -> None:
        server: Any = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server.asked.append(body)
        answer = server.answer(body)
        if answer is None:
            server.closing.wait(5)
            return
        status = answer if isinstance(answer, int) else 200
        reply = {"choices": [{"message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}]}
        content = json.dumps(reply if status == 200 else {"error": {"message": "overloaded"}}).encode()
        # One write, so that headers and body travel together.
        head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(content)}\r\n\r\n"
        self.wfile.write(head.encode() + content)

    def log_message(self, format: str, *args: Any) -> None: ...


def note_of(body: dict[str, Any]) -> str:
    """The note in a request."""
    match = re.search(r"Note for your next message: (.*)", body["messages"][1]["content"])
    assert match is not None
    return match[1]


def well_behaved(body: dict[str, Any]) -> str:
    """Says what the note says; anything else is only somebody asking whether the endpoint is there."""
    return f"Well, {note_of(body)}" if len(body["messages"]) > 1 else "Hello"


@contextmanager
def running() -> Iterator[Server]:
    """A server that serves while the block runs."""
    server = Server()
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
