"""Write files and folders completely or not at all, even if writing is interrupted."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


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
    scratch = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    part, old = scratch / path.name, scratch / f"{path.name}.old"
    try:
        with _explained(path):
            yield part
            folder = part.is_dir()
            for file in part.iterdir() if folder else (part,):
                with file.open("rb") as stream:
                    os.fsync(stream.fileno())
            if folder and path.exists():
                os.rename(path, old)
            try:
                (os.rename if folder else os.replace)(part, path)
            except BaseException:
                if old.exists():
                    os.rename(old, path)
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a folder to fill; it becomes ``path`` only if the block succeeds.

    A folder that already exists at ``path`` is replaced, and put back if that fails.
    """
    with new_file(path.absolute()) as part:
        part.mkdir()
        yield part


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
