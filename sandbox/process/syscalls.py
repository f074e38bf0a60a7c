"""System calls that the standard library of Python 3.11 lacks, through ctypes; a failure raises OSError."""

from __future__ import annotations

import ctypes
import os
import platform
from typing import Any

# Keeps the GIL during a call: the process that calls has one thread, and a clone must not return without it.
LIBC = ctypes.PyDLL(None, use_errno=True)

X86 = platform.machine() == "x86_64"
SYS_CLONE = 56 if X86 else 220
SYS_PIVOT_ROOT = 155 if X86 else 41
SYS_CAPSET = 126 if X86 else 91

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
SIGCHLD = 17

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
MS_NOATIME, MS_NODIRATIME, MS_RELATIME = 1024, 2048, 1 << 21
MNT_DETACH = 2

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_SECUREBITS = 1, 4, 24, 28
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
ADDR_NO_RANDOMIZE = 0x0040000

M_ARENA_MAX = -8


def checked(result: int, what: str) -> int:
    """Gives the result of a call back, or raises what `errno` says.

    Raises:
        OSError: The result is negative; the message starts with `what`.
    """
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def unshare(flags: int) -> None:
    """Moves this process into new namespaces."""
    checked(LIBC.unshare(flags), "unshare")


def clone(flags: int) -> int:
    """Forks, the child in new namespaces, without Python's own work before and after; of a process with one thread.

    Returns:
        The child's process id, 0 in the child; the child calls `after_clone` before it does more than a few calls.
    """
    return checked(LIBC.syscall(SYS_CLONE, ctypes.c_ulong(flags | SIGCHLD), None, None, None, None), "clone")


def after_clone() -> None:
    """What `os.fork` does in a child: renews locks, seeds and the like."""
    ctypes.pythonapi.PyOS_AfterFork_Child()


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """Mounts `source` at `target`."""
    arguments = [None if text is None else text.encode() for text in (source, target, kind, data)]
    result = LIBC.mount(arguments[0], arguments[1], arguments[2], ctypes.c_ulong(flags), arguments[3])
    checked(result, f"mount {target}")


def pivot_root(new: str, old: str) -> None:
    """Makes `new` the root; the old one appears at `old`."""
    checked(LIBC.syscall(SYS_PIVOT_ROOT, new.encode(), old.encode()), "pivot_root")


def unmount(target: str) -> None:
    """Takes a mount, and what lies below it, out of sight at once."""
    checked(LIBC.umount2(target.encode(), MNT_DETACH), f"umount {target}")


def sethostname(name: str) -> None:
    """Sets the host's name in this namespace."""
    checked(LIBC.sethostname(name.encode(), len(name)), "sethostname")


def prctl(option: int, *arguments: Any) -> int:
    """An operation on this process."""
    padded = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    return checked(LIBC.prctl(option, *padded), f"prctl {option}")


class _CapHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


def drop_capabilities() -> None:
    """Gives up every capability, and the means to get one back."""
    for capability in range(64):
        if LIBC.prctl(PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0) < 0:
            break  # the first number that the kernel does not know, or not ours to drop: the sets below are what counts
    header = _CapHeader(0x20080522, 0)
    nothing = (ctypes.c_uint32 * 6)()
    checked(LIBC.syscall(SYS_CAPSET, ctypes.byref(header), ctypes.byref(nothing)), "capset")
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def personality(flags: int) -> int:
    """Sets the execution domain (0xffffffff: only asks) and returns the one before."""
    return checked(LIBC.personality(ctypes.c_ulong(flags)), "personality")
