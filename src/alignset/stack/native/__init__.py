"""Loops in C, compiled on first use for the machine they run on; optional everywhere.

Where a C compiler is at hand, ``library("sparse")`` compiles ``sparse.c`` beside this file, keeps
the result in the cache folder and loads it. Without a compiler, or with ``ALIGNSET_NATIVE=0``, it
returns None and the caller does the same work with torch. C called this way does not hold Python's
lock, so two threads really use two cores.
"""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from functools import cache
from importlib import resources
from pathlib import Path

logger = logging.getLogger(__name__)

# not -ffast-math: it would change how the whole process rounds, and NaN must stay NaN
FLAGS = (
    "-O3 -march=native -std=c11 -shared -fPIC -fno-math-errno -fno-trapping-math "
    "-fno-signed-zeros -fassociative-math -ffp-contract=fast -funroll-loops"
)


@cache
def library(name: str) -> ctypes.CDLL | None:
    """Return the compiled ``<name>.c``, or None where it cannot be compiled or is not wanted."""
    compiler = _compiler()
    if compiler is None or os.environ.get("ALIGNSET_NATIVE") == "0":
        return None
    try:
        return ctypes.CDLL(str(_compiled(name, compiler)))
    except (OSError, subprocess.SubprocessError) as reason:
        # nothing is lost but speed
        logger.info("%s.c is not used: %s", name, reason)
        return None


def _compiler() -> list[str] | None:
    """Return the C compiler as a command: CC, else the first that is installed."""
    named = shlex.split(os.environ.get("CC", ""))
    for command in (named, ["gcc"], ["clang"]):
        if command and shutil.which(command[0]):
            return command
    return None


def _compiled(name: str, compiler: list[str]) -> Path:
    """Return the compiled file from the cache, compiling it if this machine has not yet."""
    source = resources.files(__package__).joinpath(f"{name}.c").read_bytes()
    command = [*compiler, *FLAGS.split()]
    key = hashlib.sha256(source + " ".join(command).encode() + _processor()).hexdigest()[:16]
    folder = _private_folder()
    target = folder / f"{name}-{key}.so"
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=folder) as part:
            c, so = Path(part, f"{name}.c"), Path(part, f"{name}.so")
            c.write_bytes(source)
            made = [*command, str(c), "-o", str(so), "-lm"]
            subprocess.run(made, check=True, capture_output=True, timeout=120)
            os.replace(so, target)  # two processes may do this at once: both write the same bytes
    return target


def _private_folder() -> Path:
    """Return the folder of compiled code, which nobody else may write to."""
    import pooch  # here, since it brings all that downloads need

    folder = Path(pooch.os_cache("alignset")) / "native"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    state = folder.stat()
    if hasattr(os, "getuid") and (state.st_uid != os.getuid() or state.st_mode & 0o022):
        raise OSError(f"{folder} can be written to by others; it must be yours alone")
    return folder


def _processor() -> bytes:
    """Return what ``-march=native`` means here: machines may share a cache folder."""
    try:
        lines = Path("/proc/cpuinfo").read_bytes().splitlines()
    except OSError:
        return platform.processor().encode()
    return b"".join(sorted({line for line in lines if line.startswith((b"flags", b"model name"))}))
