"""Compile the C kernels into one file for this machine, and find it again.

This needs only the standard library: the wheel's build hook runs this file before the package is
installed, and so does the process that compiles in the background.
"""

from __future__ import annotations

import hashlib
import os
import platform
import runpy
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).parent

# decision 16 says what each does to rounding
FLAGS = (
    "-O3 -march=native -std=c11 -shared -fPIC -fno-math-errno -fno-trapping-math "
    "-fno-signed-zeros -fassociative-math -ffp-contract=fast -funroll-loops"
)


def find() -> Path | None:
    """Return the file compiled for this machine, from the wheel or from the cache folder."""
    name = f"kernels-{_key(FLAGS)}.so"
    path = HERE / name if (HERE / name).exists() else _private_folder() / name
    return path if path.exists() else None


def compiled(flags: str = FLAGS) -> Path:
    """Return the file compiled with these flags in the cache folder; compile it if necessary."""
    folder, name = _private_folder(), f"kernels-{_key(flags)}.so"
    target = folder / name
    if not target.exists():
        sources = sorted(map(str, HERE.glob("*.c")))
        with tempfile.TemporaryDirectory(dir=folder) as part:
            made = Path(part, name)
            command = [*_compiler(), *flags.split(), *_defines(), *sources, "-o", str(made), "-lm"]
            subprocess.run(command, check=True, capture_output=True, timeout=300)
            os.replace(made, target)  # if two processes do this at once, both write the same
    return target


def in_background() -> None:
    """Compile in a separate process, which may outlive this one."""
    _compiler()  # raises if there is none
    command = [sys.executable, "-I", str(HERE / "build.py")]
    alone = {"capture_output": True, "start_new_session": True}
    # the thread only waits: a process that nobody waits for stays a zombie
    threading.Thread(target=subprocess.run, args=(command,), kwargs=alone, daemon=True).start()


def _compiler() -> list[str]:
    """Return the C compiler as a command: CC, else the first that is installed."""
    named = shlex.split(os.environ.get("CC", ""))
    for command in (named, ["gcc"], ["clang"]):
        if command and shutil.which(command[0]):
            return command
    raise FileNotFoundError("no C compiler was found; install gcc or clang, or set CC")


def _defines() -> list[str]:
    constants = runpy.run_path(str(HERE / "constants.py"))["FOR_C"]
    return [f"-D{name}={value}" for name, value in constants.items()]


def _key(flags: str) -> str:
    """Return a name for the result; the same code has a different name on another processor."""
    digest = hashlib.sha256(" ".join([flags, *_defines(), sysconfig.get_platform()]).encode())
    for source in sorted(HERE.glob("*.c")):
        digest.update(source.read_bytes())
    digest.update(_processor())
    return digest.hexdigest()[:16]


def _processor() -> bytes:
    """Return what ``-march=native`` means here: a wheel or a cache folder may be copied."""
    try:
        lines = Path("/proc/cpuinfo").read_bytes().splitlines()
    except OSError:
        return platform.processor().encode()
    told = (b"flags", b"model name", b"Features", b"CPU ")  # the last two on ARM
    return b"".join(sorted({line for line in lines if line.startswith(told)}))


def cache_folder() -> Path:
    """Return where compiled kernels are kept, in the user's cache folder."""
    usual = {"darwin": "Library/Caches", "win32": "AppData/Local"}.get(sys.platform, ".cache")
    named = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    return Path(named or Path.home() / usual) / "alignset" / "kernels"


def _private_folder() -> Path:
    """Return the cache folder, which nobody else may write to."""
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    state = folder.stat()
    if hasattr(os, "getuid") and (state.st_uid != os.getuid() or state.st_mode & 0o022):
        raise OSError(f"{folder} can be written to by others; only you may write to it")
    return folder


if __name__ == "__main__":
    compiled()
