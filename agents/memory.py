"""Keeps freed memory inside the process.

Ragged batches allocate and free tensors of ever-changing sizes. By default glibc gives large blocks back to the system at once
and must fault them in again, page by page, at the next step (docs/diary.md has the counts).
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4


@cache
def keep_freed_memory() -> bool:
    """Tells glibc to serve large blocks from the heap and never to shrink it; once a process, harmless elsewhere.

    Returns:
        Whether the allocator took the settings (False on systems without glibc).
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return False
    return all(
        mallopt(option, value) for option, value in ((_M_MMAP_MAX, 0), (_M_TRIM_THRESHOLD, 2**31 - 1), (_M_TOP_PAD, 64 << 20))
    )
