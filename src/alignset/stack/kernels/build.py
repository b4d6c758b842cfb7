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
import stat
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).parent

# decision 16 says what each does to rounding
FLAGS = (
    "-O3 -march=native -std=c11 -shared -fPIC -fno-math-errno -fno-trapping-math "
    "-fno-signed-zeros -fassociative-math -ffp-contract=fast -funroll-loops"
)


def find() -> Path | None:
    """Return the file compiled for this machine, from the wheel or from the cache folder.

    A file that is not what was compiled (truncated by a full disk, say) counts as missing.
    """
    name = f"kernels-{_key(FLAGS)}.so"
    if is_whole(HERE / name):
        return HERE / name
    path = _private_folder() / name
    return path if is_whole(path) else None


def compiled(flags: str = FLAGS) -> Path:
    """Return the file compiled with these flags in the cache folder; compile it if necessary."""
    folder, name = _private_folder(), f"kernels-{_key(flags)}.so"
    target = folder / name
    if not is_whole(target):
        sources = sorted(map(str, HERE.glob("*.c")))
        _sweep(folder)
        with tempfile.TemporaryDirectory(prefix="part-", dir=folder) as part:
            made = Path(part, name)
            command = [*_compiler(), *flags.split(), *_defines(), *sources, "-o", str(made), "-lm"]
            subprocess.run(command, check=True, capture_output=True, timeout=300)
            _publish(made, target)  # if two processes do this at once, both write the same
    return target


def _sweep(folder: Path) -> None:
    """Remove what compilations that were killed an hour ago left behind."""
    for part in folder.glob("part-*"):
        if time.time() - part.stat().st_mtime > 3600:
            shutil.rmtree(part, ignore_errors=True)


def digest_file(path: Path) -> Path:
    """Return where the digest of a compiled file is kept: beside it."""
    return path.with_name(f"{path.name}.sha256")


def is_whole(path: Path) -> bool:
    """Tell whether a compiled file is there and is what was compiled."""
    try:
        return _digest(path.read_bytes()) == digest_file(path).read_text().strip()
    except (OSError, ValueError):
        return False


def verified(path: Path) -> str:
    """Return a name under which to load a compiled file: the very bytes that were checked.

    What is loaded runs as the user, so only the user or root may own the file or write to it, and
    it is opened once: nobody can put another in its place between the check and the loading. What
    came with the wheel is trusted as much as this code, which lies beside it.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    try:
        if path.parent != HERE and hasattr(os, "getuid") and not _is_safe(os.fstat(handle)):
            raise OSError(f"{path} belongs to or can be written to by others; remove it")
        with open(handle, "rb", closefd=False) as stream:
            if _digest(stream.read()) != digest_file(path).read_text().strip():
                raise OSError(f"{path} is damaged; remove it")
    except BaseException:
        os.close(handle)
        raise
    named = f"/proc/self/fd/{handle}"
    if os.path.exists(named):
        return named  # it stays open: the loader takes an equal name for the same library
    os.close(handle)
    return str(path)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _publish(made: Path, target: Path) -> None:
    """Move a compiled file to its place, on the disk before anybody sees it; its digest first."""
    digest = digest_file(made)
    digest.write_text(_digest(made.read_bytes()))
    for path in (digest, made):
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
    os.replace(digest, digest_file(target))
    os.replace(made, target)


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
    """Return the cache folder, which nobody else may change, nor any folder it is in."""
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder = folder.resolve()
    if hasattr(os, "getuid"):
        if not _is_safe(folder.stat()):
            raise OSError(f"{folder} can be written to by others; only you may write to it")
        for parent in folder.parents:
            state = parent.stat()
            # in a sticky folder such as /tmp others cannot move what is yours
            if not _is_safe(state, sticky=True):
                raise OSError(
                    f"{parent}, in which {folder} is, belongs to or can be written to by others; "
                    f"run `chmod go-w {parent}`, or set XDG_CACHE_HOME to a folder of your own"
                )
    return folder


def _is_safe(state: os.stat_result, *, sticky: bool = False) -> bool:
    """Tell whether only this user and root can change a file or folder."""
    if state.st_uid not in (0, os.getuid()):
        return False
    return not state.st_mode & 0o022 or (sticky and bool(state.st_mode & stat.S_ISVTX))


if __name__ == "__main__":
    compiled()
