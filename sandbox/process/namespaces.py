"""What a fork-server prepares once, so that each run only has to step into it: an empty world with Python in it.

The server moves into namespaces of its own, builds a root file system of a few read-only views (standard library,
interpreter, the shared libraries that are loaded), makes it its root, and gives up being root. Each run is then cloned
into further namespaces below and mounts nothing but its private folders.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from slmagent.sandbox.process import syscalls
from slmagent.sandbox.process.syscalls import MS_BIND, MS_NODEV, MS_NOSUID, MS_PRIVATE, MS_RDONLY, MS_REC, MS_REMOUNT, mount

NOBODY = 65534
"""User and group of a server that was started by root; the limit on processes does not bind root."""
INSIDE = 1000
"""User and group that a program sees itself as."""
SERVER_NAMESPACES = syscalls.CLONE_NEWNS | syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS
RUN_NAMESPACES = (
    syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWPID | syscalls.CLONE_NEWNS | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS
)
DEVICES = ("null", "zero", "full", "random", "urandom")
PRIVATE_FOLDERS = ("/work", "/tmp")
_BUILD = "/tmp"  # where the new root is put together; any folder will do, it is covered only in our own namespace


LAYERS = (
    "user namespace",
    "process namespace",
    "mount namespace",
    "network namespace",
    "ipc namespace",
    "host name namespace",
    "private file system",
    "no capabilities",
)
"""What holds when a server has entered its namespaces."""


def enter() -> None:
    """Moves this process into namespaces of its own with a new root; of a process with one thread.

    Raises:
        OSError: The kernel does not grant it; the process is then of no further use.
    """
    processes = os.open("/proc", os.O_PATH | os.O_DIRECTORY)
    shown = visible_paths()
    if os.geteuid() == 0:
        syscalls.unshare(syscalls.CLONE_NEWNS)
        _build_root(shown)
        give_up_root()
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # else /proc/self, with its maps, would still belong to root
        user, group = os.geteuid(), os.getegid()
        syscalls.unshare(syscalls.CLONE_NEWUSER | SERVER_NAMESPACES)
        write_maps(processes, 0, user, group)
    else:
        user, group = os.geteuid(), os.getegid()
        syscalls.unshare(syscalls.CLONE_NEWUSER | SERVER_NAMESPACES)
        write_maps(processes, 0, user, group)
        _build_root(shown)
    os.close(processes)


def give_up_root() -> None:
    """Becomes an unprivileged user for good."""
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def write_maps(processes: int, inside: int, user: int, group: int) -> None:
    """Names this process's user and group in its new user namespace.

    Args:
        processes: Descriptor of a `/proc` that shows this process.
        inside: What both are called in the new namespace.
        user: What the user is called in the parent namespace.
        group: What the group is called there.
    """
    for name, text in (("setgroups", "deny"), ("uid_map", f"{inside} {user} 1"), ("gid_map", f"{inside} {group} 1")):
        file = os.open(f"self/{name}", os.O_WRONLY | os.O_CLOEXEC, dir_fd=processes)
        try:
            os.write(file, text.encode())
        finally:
            os.close(file)


# ---- what can be seen -------------------------------------------------------------------------------------------------


def visible_paths() -> list[str]:
    """Files and folders of the host that a program may read, those that contain others first."""
    wanted = {os.path.realpath(os.__file__).rpartition("/")[0]}
    wanted |= {os.path.realpath(path) for path in sys.path if os.path.isdir(path)}
    wanted |= {path for path in _mapped_files() if os.path.isfile(path)}
    wanted.add(os.path.realpath(sys.executable))
    for loader in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"):
        wanted |= {loader} if os.path.exists(loader) else set()
    paths: list[str] = []
    for path in sorted(wanted):
        if not any(path.startswith(f"{above}/") for above in paths):
            paths.append(path)
    return paths


def _mapped_files() -> Iterator[str]:
    """Shared libraries that Python's extension modules need, also under the names they ask for (`libssl.so.3`, a link)."""
    report, writable = os.pipe()
    pid = os.fork()
    if pid == 0:  # a process of its own: what it loads to find out need not stay in memory
        try:
            _import_extensions()
            with open("/proc/self/maps") as maps, open(writable, "w") as out:
                out.writelines({f"{line.split(maxsplit=5)[5].strip()}\n" for line in maps if "/" in line and ".so" in line})
        finally:
            os._exit(0)
    os.close(writable)
    with open(report) as found:
        files = found.read().splitlines()
    os.waitpid(pid, 0)
    for file in files:
        yield file
        folder, _, name = file.rpartition("/")
        stem = name.partition(".so")[0] + ".so"
        for other in os.listdir(folder):
            if other.startswith(stem) and os.path.realpath(f"{folder}/{other}") == file:
                yield f"{folder}/{other}"


def _import_extensions() -> None:
    for folder in sys.path:
        for file in os.listdir(folder) if os.path.basename(folder) == "lib-dynload" else ():
            if not file.startswith(("_test", "xx", "_tkinter")):
                with contextlib.suppress(ImportError):
                    importlib.import_module(file.partition(".")[0])


def _build_root(shown: list[str]) -> None:
    """Makes a root file system of what is shown and pivots into it."""
    handles = {path: os.open(path, os.O_PATH) for path in (*shown, *(f"/dev/{name}" for name in DEVICES))}
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    mount("tmpfs", _BUILD, "tmpfs", MS_NOSUID | MS_NODEV, "size=4m,mode=0755")
    for path, handle in handles.items():
        target = f"{_BUILD}{path}"
        _make_place(target, os.fstat(handle).st_mode)
        mount(f"/proc/self/fd/{handle}", target, None, MS_BIND)
        if not path.startswith("/dev/"):
            # Flags of the original mount are locked for whoever is not root, so they are repeated.
            flags = os.fstatvfs(handle).f_flag & (MS_NODEV | syscalls.MS_NOEXEC | 1024 | 2048)
            flags |= syscalls.MS_RELATIME if os.fstatvfs(handle).f_flag & 4096 else 0
            mount("none", target, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | flags)
        os.close(handle)
    for path in shown:
        for hidden in ("site-packages", "dist-packages"):  # what is installed is nobody's business
            if os.path.isdir(f"{_BUILD}{path}/{hidden}"):
                mount("tmpfs", f"{_BUILD}{path}/{hidden}", "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV, "size=4k,mode=0555")
    for folder in (*PRIVATE_FOLDERS, "/old"):
        os.mkdir(f"{_BUILD}{folder}")
    syscalls.pivot_root(_BUILD, f"{_BUILD}/old")
    os.chdir("/")
    syscalls.unmount("/old")
    os.rmdir("/old")
    mount("none", "/", None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)


def _make_place(target: str, mode: int) -> None:
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    if stat.S_ISDIR(mode):
        os.makedirs(target, exist_ok=True)
    else:
        Path(target).touch()


# ---- one run ----------------------------------------------------------------------------------------------------------


def furnish(processes: int, file_mb: int) -> None:
    """In the first process of a run: names the user, mounts the private folders, gives up every capability."""
    write_maps(processes, INSIDE, 0, 0)
    for folder in PRIVATE_FOLDERS:
        options = f"size={file_mb}m,nr_inodes=4096,mode=0700,uid={INSIDE},gid={INSIDE}"
        mount("tmpfs", folder, "tmpfs", MS_NOSUID | MS_NODEV, options)
    syscalls.sethostname("sandbox")
    os.chdir(PRIVATE_FOLDERS[0])
