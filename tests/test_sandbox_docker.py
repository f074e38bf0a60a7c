"""The docker backend: what the engine is asked for, when a container is used again, what is said where there is none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sandboxes import sandbox_or_skip

from slmagent.cli import main
from slmagent.sandbox import make
from slmagent.sandbox.base import SandboxError
from slmagent.sandbox.docker.backend import MOST_CONTAINERS, DockerSandbox
from slmagent.sandbox.docker.container import LABEL, LINE, MODULES, USERS
from slmagent.sandbox.limits import Limits

DEEP = "import os\nfor _ in range(3000):\n    os.mkdir('d')\n    os.chdir('d')"
"""More folders in each other than the server can walk down."""


@pytest.fixture
def sandbox() -> Iterator[DockerSandbox]:
    with sandbox_or_skip("docker") as made:
        assert isinstance(made, DockerSandbox)
        yield made


def running(sandbox: DockerSandbox) -> dict[str, dict[str, Any]]:
    """Containers of this sandbox as the engine describes them, by name."""
    mine = {container.name for container in sandbox.containers}
    found = sandbox.engine.containers.list(filters={"label": LABEL})
    return {one.name: one.attrs for one in found if one.name in mine}


def test_what_the_engine_is_asked_for(sandbox: DockerSandbox) -> None:
    (attributes,) = running(sandbox).values()
    host, config = attributes["HostConfig"], attributes["Config"]
    assert (host["NetworkMode"], host["ReadonlyRootfs"], host["Privileged"]) == ("none", True, False)
    assert (host["CapDrop"], host["CapAdd"], host["SecurityOpt"]) == (["ALL"], None, ["no-new-privileges:true"])
    assert host["Memory"] == host["MemorySwap"] == (256 + 2 * 8 + 64) << 20
    assert (host["PidsLimit"], host["NanoCpus"]) == (20, 10**9)
    assert int(config["User"].partition(":")[0]) in USERS
    assert {mount["Destination"]: mount["RW"] for mount in attributes["Mounts"]} == {MODULES: False, LINE: False}
    assert set(host["Tmpfs"]) == {"/work", "/tmp"}
    assert all(options.startswith("rw,nosuid,nodev,noexec,size=8m,") for options in host["Tmpfs"].values())


def test_a_container_is_used_again_for_the_same_limits_only(sandbox: DockerSandbox) -> None:
    (first,) = running(sandbox)
    for _ in range(3):
        assert sandbox.run("print(1)").stdout == "1\n"
    assert sandbox.run("print(1)", limits=Limits(cpu_seconds=1, wall_seconds=3)).stdout == "1\n"
    assert set(running(sandbox)) == {first}
    small = Limits(memory_mb=64)
    assert sandbox.run("print(1)", limits=small).stdout == "1\n"
    assert len(running(sandbox)) == 2
    assert sandbox.run("x = bytearray(100 << 20)", limits=small).status == "memory_limit"
    assert sandbox.run("x = bytearray(100 << 20)").status == "ok"


def test_runs_at_the_same_time_have_containers_and_users_of_their_own(sandbox: DockerSandbox) -> None:
    with ThreadPoolExecutor(3) as pool:
        seen = set(pool.map(lambda _: sandbox.run("import os, time\ntime.sleep(1.5)\nprint(os.getuid())").stdout, range(3)))
    assert len(seen) == len(running(sandbox)) == 3


def test_more_runs_than_containers_wait(sandbox: DockerSandbox) -> None:
    with ThreadPoolExecutor(MOST_CONTAINERS + 4) as pool:
        results = list(pool.map(lambda n: sandbox.run(f"print({n})").stdout, range(MOST_CONTAINERS + 4)))
    assert results == [f"{n}\n" for n in range(MOST_CONTAINERS + 4)]
    assert len(running(sandbox)) <= MOST_CONTAINERS


@pytest.mark.parametrize(
    "program",
    [
        "import os\nos.makedirs('/tmp/a/b')\nopen('/tmp/a/b/c', 'w').close()\nos.chmod('/tmp/a/b', 0)\nos.chmod('/tmp/a', 0)",
        "import os\nos.symlink('/proc', 'link')\nopen('/dev/shm/left', 'w').close()",
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(100)",
        DEEP,
    ],
    ids=["closed folders", "links and shared memory", "a daemon", "deep folders"],
)
def test_nothing_is_left_of_a_run(sandbox: DockerSandbox, program: str) -> None:
    assert sandbox.run(program).status == "ok"
    look = "import os\nprint([os.listdir(folder) for folder in ('/work', '/tmp', '/dev/shm', '/dev/mqueue')])\n"
    look += "print(sorted(int(name) for name in os.listdir('/proc') if name.isdigit()) == [1, os.getpid()])"
    assert sandbox.run(look).stdout == "[['main.py'], [], [], []]\nTrue\n"


def test_a_container_with_something_left_is_thrown_away(sandbox: DockerSandbox) -> None:
    (first,) = running(sandbox)
    assert sandbox.run(DEEP).status == "ok"
    assert sandbox.run("print(1)").stdout == "1\n"
    assert first not in running(sandbox)


def test_a_container_that_is_ended_from_outside_is_replaced(sandbox: DockerSandbox) -> None:
    for name in running(sandbox):
        sandbox.engine.containers.get(name).kill()
    assert sandbox.run("print(6 * 7)").stdout == "42\n"
    ending = "import time\nprint('begun', flush=True)\ntime.sleep(2)"
    with ThreadPoolExecutor(1) as pool:
        later = pool.submit(sandbox.run, ending)
        for name in running(sandbox):
            sandbox.engine.containers.get(name).kill()
        assert later.result().status == "ok"  # the second try's


def test_memory_of_many_processes_is_counted_together(sandbox: DockerSandbox) -> None:
    program = (
        "import os\nfor _ in range(6):\n    if os.fork() == 0:\n        break\nx = b'a' * (60 << 20)\nwhile True:\n    pass"
    )
    assert sandbox.run(program, limits=Limits(memory_mb=128)).status == "memory_limit"


def test_closing_removes_every_container_and_running_starts_again(sandbox: DockerSandbox) -> None:
    names = set(running(sandbox))
    sandbox.close()
    assert not names & {one.name for one in sandbox.engine.containers.list(all=True, filters={"label": LABEL})}
    assert sandbox.run("print(1)").stdout == "1\n"


def test_closing_needs_no_engine(sandbox: DockerSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such/engine.sock")
    sandbox.close()


def test_a_fork_has_containers_of_its_own(sandbox: DockerSandbox) -> None:
    before = set(running(sandbox))
    pid = os.fork()
    if pid == 0:
        good = sandbox.run("print(1)").stdout == "1\n" and not before & set(running(sandbox))
        sandbox.close()
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert sandbox.run("print(2)").stdout == "2\n"
    assert set(running(sandbox)) == before


def test_it_is_a_container(sandbox: DockerSandbox) -> None:
    make("docker", require="container").close()
    assert set(sandbox.layers().values()) == {"ok"}
    assert not sandbox.run("").missing


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("DOCKER_HOST", "unix:///no/such/engine.sock", "no Docker engine answers"),
        ("DOCKER_HOST", "nonsense", "no Docker engine answers"),
        ("SLMAGENT_SANDBOX_IMAGE", "no-such-image:1", "docker pull no-such-image:1"),
    ],
)
def test_what_is_missing_is_said_in_a_line(
    variable: str, value: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if variable != "DOCKER_HOST":
        sandbox_or_skip("docker").close()
    monkeypatch.setenv(variable, value)
    with pytest.raises(SandboxError, match=message):
        make("docker")
    assert main(["sandbox", "run", "--backend", "docker", __file__]) == 2
    error = capsys.readouterr().err
    assert " ".join(message.split()) in " ".join(error.split())
    assert "Traceback" not in error
