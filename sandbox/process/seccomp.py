"""The filter of system calls: what a program has no use for and an attacker has.

A list of what is refused, each group with its reason, and everything newer than the list: unknown calls do not exist
(ENOSYS). Refused calls fail with EPERM, so a program sees a PermissionError and goes on. Calls through a foreign
architecture (32 bit, x32) kill the process, since they would evade the numbers.
"""

from __future__ import annotations

import ctypes
import errno
import struct

from slmagent.sandbox.process.syscalls import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
    LIBC,
    X86,
    checked,
)

# Reason -> name: (number on x86_64, number on aarch64); None where the call does not exist.
REFUSED: dict[str, dict[str, tuple[int | None, int | None]]] = {
    "other processes: read, written, stopped, borrowed from": {
        "ptrace": (101, 117),
        "process_vm_readv": (310, 270),
        "process_vm_writev": (311, 271),
        "kcmp": (312, 272),
        "pidfd_getfd": (438, 438),
        "process_madvise": (440, 440),
        "process_mrelease": (448, 448),
        "move_pages": (279, 239),
        "migrate_pages": (256, 238),
    },
    "another view of the machine: namespaces, mounts, roots": {
        "unshare": (272, 97),
        "setns": (308, 268),
        "mount": (165, 40),
        "umount2": (166, 39),
        "pivot_root": (155, 41),
        "chroot": (161, 51),
        "open_tree": (428, 428),
        "move_mount": (429, 429),
        "fsopen": (430, 430),
        "fsconfig": (431, 431),
        "fsmount": (432, 432),
        "fspick": (433, 433),
        "mount_setattr": (442, 442),
        "statmount": (457, 457),
        "listmount": (458, 458),
        "name_to_handle_at": (303, 264),
        "open_by_handle_at": (304, 265),
        "mknod": (133, None),
        "mknodat": (259, 33),
        "fanotify_init": (300, 262),
        "fanotify_mark": (301, 263),
        "quotactl": (179, 60),
        "quotactl_fd": (443, 443),
    },
    "parts of the kernel with a history of holes": {
        "bpf": (321, 280),
        "perf_event_open": (298, 241),
        "userfaultfd": (323, 282),
        "io_uring_setup": (425, 425),
        "io_uring_enter": (426, 426),
        "io_uring_register": (427, 427),
        "io_setup": (206, 0),
        "io_submit": (209, 2),
        "add_key": (248, 217),
        "request_key": (249, 218),
        "keyctl": (250, 219),
        "vmsplice": (278, 75),
        "modify_ldt": (154, None),
        "seccomp": (317, 277),
        "lookup_dcookie": (212, 18),
        "remap_file_pages": (216, 234),
    },
    "memory that no limit counts": {
        "memfd_create": (319, 279),
        "memfd_secret": (447, 447),
        "shmget": (29, 194),
        "shmat": (30, 196),
        "shmctl": (31, 195),
        "semget": (64, 190),
        "msgget": (68, 186),
        "mq_open": (240, 180),
        "mlock": (149, 228),
        "mlock2": (325, 284),
        "mlockall": (151, 230),
        "set_mempolicy": (238, 237),
        "mbind": (237, 235),
    },
    "the machine itself": {
        "reboot": (169, 142),
        "kexec_load": (246, 104),
        "kexec_file_load": (320, 294),
        "init_module": (175, 105),
        "finit_module": (313, 273),
        "delete_module": (176, 106),
        "create_module": (174, None),
        "iopl": (172, None),
        "ioperm": (173, None),
        "swapon": (167, 224),
        "swapoff": (168, 225),
        "syslog": (103, 116),
        "acct": (163, 89),
        "settimeofday": (164, 170),
        "clock_settime": (227, 112),
        "adjtimex": (159, 171),
        "clock_adjtime": (305, 266),
        "sethostname": (170, 161),
        "setdomainname": (171, 162),
        "vhangup": (153, 58),
        "nfsservctl": (180, 42),
        "uselib": (134, None),
        "personality": (135, 92),
        "sched_setattr": (314, 274),
        "sched_setscheduler": (144, 119),
        "sched_setaffinity": (203, 122),
        "ioprio_set": (251, 30),
    },
    "the network; socketpair stays": {
        "socket": (41, 198),
        "connect": (42, 203),
        "bind": (49, 200),
        "listen": (50, 201),
        "accept": (43, 202),
        "accept4": (288, 242),
    },
}
CLONE = (56, 220)
CLONE3 = (435, 435)
PRLIMIT64 = (302, 261)
IOCTL = (16, 29)
NEWEST = 462
"""Highest number of a call that was looked at (mseal); later ones do not exist for a program."""
NAMESPACES = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | 0x02000000
TIOCSTI, TIOCLINUX = 0x5412, 0x541C

ARCHITECTURE = 0xC000003E if X86 else 0xC00000B7
KILL, ERRNO, ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_LOAD, _EQUAL, _GREATER, _ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
_NUMBER, _ARCH, _FIRST, _SECOND = 0, 4, 16, 24  # offsets in struct seccomp_data; low halves of the arguments


def program() -> bytes:
    """The filter as BPF instructions for this architecture."""
    own = 0 if X86 else 1
    code: list[tuple[int, int, int, int]] = []

    def load(offset: int) -> None:
        code.append((_LOAD, 0, 0, offset))

    def answer(test: int, value: int, action: int) -> None:
        """Ends with an action when the loaded word passes a test."""
        code.append((test, 0, 1, value))
        code.append((_RETURN, 0, 0, action))

    def argument(number: int, offset: int, test: int, values: tuple[int, ...], action: int, otherwise: int) -> None:
        """For one call: an action when its argument passes a test for any value, else another action."""
        code.append((_EQUAL, 0, 2 + 2 * len(values), number))
        load(offset)
        for value in values:
            answer(test, value, action)
        code.append((_RETURN, 0, 0, otherwise))

    load(_ARCH)
    code.append((_EQUAL, 1, 0, ARCHITECTURE))
    code.append((_RETURN, 0, 0, KILL))
    load(_NUMBER)
    if X86:
        answer(0x35, 0x40000000, KILL)  # >=: x32
    answer(_GREATER, NEWEST, ERRNO | errno.ENOSYS)
    # Its flags lie in memory, where a filter cannot look; the C library falls back to clone.
    answer(_EQUAL, CLONE3[own], ERRNO | errno.ENOSYS)
    argument(CLONE[own], _FIRST, _ANY_BIT, (NAMESPACES,), ERRNO | errno.EPERM, ALLOW)
    argument(PRLIMIT64[own], _FIRST, _EQUAL, (0,), ALLOW, ERRNO | errno.EPERM)
    argument(IOCTL[own], _SECOND, _EQUAL, (TIOCSTI, TIOCLINUX), ERRNO | errno.EPERM, ALLOW)
    refused = (pair[own] for group in REFUSED.values() for pair in group.values())
    numbers = sorted({number for number in refused if number is not None})
    for position, number in enumerate(numbers):
        code.append((_EQUAL, len(numbers) - position, 0, number))
    code.append((_RETURN, 0, 0, ALLOW))
    code.append((_RETURN, 0, 0, ERRNO | errno.EPERM))
    return b"".join(struct.pack("=HBBI", *line) for line in code)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_char_p))


class Filter:
    """The filter, ready to be installed in a fork without further work."""

    def __init__(self) -> None:
        lines = program()
        self._program = _Program(len(lines) // 8, lines)

    def install(self) -> None:
        """Puts this process and all it starts under the filter, for good; needs no_new_privs.

        Raises:
            OSError: The kernel has no such filters.
        """
        result = LIBC.prctl(22, ctypes.c_ulong(2), ctypes.byref(self._program), 0, 0)  # PR_SET_SECCOMP, MODE_FILTER
        checked(result, "seccomp")
