"""Exchange two names in one step of the file system, so that neither is ever missing."""

from __future__ import annotations

import ctypes
import errno
import os
from functools import cache
from pathlib import Path
from typing import Any

_HERE, _EXCHANGE = -100, 2
"""AT_FDCWD and RENAME_EXCHANGE of Linux."""
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM)
"""The kernel, the file system or a sandbox does not have the call."""


def exchange(one: Path, other: Path) -> bool:
    """Exchange two files or folders of one file system; return False if that cannot be done here.

    Linux does it in one system call on ext4, xfs, btrfs, tmpfs and overlayfs; NFS and other
    systems cannot.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     one, other = Path(folder) / "one", Path(folder) / "other"
    ...     _ = one.write_text("1"), other.write_text("2")
    ...     done = exchange(one, other)
    ...     one.read_text() == ("2" if done else "1")
    True
    """
    call = _renameat2()
    if call is None:
        return False
    if call(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _CANNOT:
        return False
    raise OSError(code, os.strerror(code), str(one), None, str(other))


@cache
def _renameat2() -> Any:
    """Return the C library's function, or None where there is none."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return None
    call.argtypes = (ctypes.c_int, ctypes.c_char_p) * 2 + (ctypes.c_uint,)
    call.restype = ctypes.c_int
    return call
