"""Write files and folders completely or not at all, even if writing is interrupted or killed."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from alignset.tables.exchange import exchange

NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_MARK = ".alignset-"
"""In the name of every folder that something is written to before it is moved to its place."""


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield a path to write to; it becomes ``path`` only if the block succeeds.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with new_file(Path(folder) / "t.txt") as part:
    ...         _ = part.write_text("all of it")
    ...     os.listdir(folder)
    ['t.txt']
    """
    recover(path)
    with _scratch(path) as scratch, _explained(path):
        part = scratch / path.name
        yield part
        _to_disk(part)
        os.replace(part, path)
        _to_disk(path.parent)


@contextmanager
def new_folder(path: Path, *, own: Collection[str] = ()) -> Iterator[Path]:
    """Yield a folder to fill; it becomes ``path`` only if the block succeeds.

    A folder that already exists at ``path`` is replaced, in one step where the file system can
    exchange two names, so that there is a whole folder at ``path`` whenever the process is killed.
    Elsewhere the old one is moved aside first, and :func:`recover` puts it back after a kill. Of
    the old folder only the files named in ``own`` are deleted; others are kept in the new one.
    """
    path = path.absolute()
    recover(path)
    with _scratch(path) as scratch, _explained(path):
        part, old = scratch / path.name, scratch / f"{path.name}.old"
        part.mkdir()
        yield part
        for file in part.iterdir():
            _to_disk(file)
        _to_disk(part)
        if not path.exists():
            os.rename(part, path)
        elif exchange(part, path):
            old = part
        else:
            _replace(path, part, old)
        _to_disk(path.parent)
        if old.exists():
            _keep_others(old, path, own)


def recover(path: Path) -> None:
    """Put back the folder that a killed process had moved aside; remove what it left behind."""
    with suppress(OSError):
        for scratch in path.absolute().parent.glob(f".{_escape(path.name)}{_MARK}*"):
            with _claimed(scratch) as ours:
                old = scratch / f"{path.name}.old"
                if ours and old.is_dir() and not path.exists():
                    os.rename(old, path)
                if ours and not scratch.is_symlink():
                    shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def _scratch(path: Path) -> Iterator[Path]:
    """Make a folder beside ``path``, held by this process, and remove it in the end."""
    with ExitStack() as stack:
        scratch = None
        while scratch is None or not scratch.exists():  # taken for a leftover before it was claimed
            scratch = Path(tempfile.mkdtemp(prefix=f".{path.name}{_MARK}", dir=path.parent))
            with suppress(FileNotFoundError):
                stack.enter_context(_claimed(scratch))
        try:
            yield scratch
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def _claimed(folder: Path) -> Iterator[bool]:
    """Hold a folder until the process ends, however it ends; yield whether nobody else has it."""
    if sys.platform == "win32":
        yield False
        return
    import fcntl

    with ExitStack() as stack:
        handle = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
        stack.callback(os.close, handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            ours = True
        except OSError:  # held by a process that lives, or no locks on this file system
            ours = False
        yield ours


def _replace(path: Path, part: Path, old: Path) -> None:
    """Put a folder in the place of another in two steps."""
    os.rename(path, old)
    try:
        os.rename(part, path)
    except BaseException:
        os.rename(old, path)
        raise


def _keep_others(old: Path, path: Path, own: Collection[str]) -> None:
    """Move what somebody else put into the old folder into the new one."""
    for file in list(old.iterdir()):
        if file.name not in own and not (path / file.name).exists():
            os.rename(file, path / file.name)


def _to_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    folder = path.is_dir()
    if folder and sys.platform == "win32":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        with suppress(*(OSError,) if folder else ()):  # not every file system does it for folders
            os.fsync(handle)
    finally:
        os.close(handle)


def _escape(name: str) -> str:
    """Return a name as a glob pattern of itself."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in NO_SPACE:
            raise
        raise OSError(
            f"the disk is full: {path} was not written, and nothing was changed; free some space."
        ) from error
