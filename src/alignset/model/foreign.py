"""Classifiers of the user's own in a model folder: written by skops, which names every type.

skops rebuilds objects from a list of types instead of running what a pickle says. Types that it
does not know are only built if the reader names them.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from typing import Any

from alignset.extras import need
from alignset.learners.as_table import AsTable

ESTIMATORS = "estimators.skops"
"""The file of a folder that they are in."""

OWN = (f"{AsTable.__module__}.{AsTable.__name__}",)
"""Our own types among theirs: data about columns, and nothing that could be called."""


def dump_estimators(estimators: Sequence[Any]) -> bytes:
    """Return the content of the file, or say why it cannot be made."""
    names = ", ".join(dict.fromkeys(type(each).__name__ for each in estimators))
    skops = _skops(f"saving a blend with {names}")
    try:
        content = skops.dumps(list(estimators))
    except Exception as error:
        raise ValueError(f"skops cannot save {names} ({error}).") from None
    return bytes(content)


def load_estimators(content: bytes, trusted: Sequence[str]) -> list[Any]:
    """Rebuild the classifiers, if skops or the caller trusts every type among them."""
    skops = _skops("loading a model with a classifier that is not part of alignset")
    _check_stored(content)
    try:
        unknown = set(skops.get_untrusted_types(data=content)) - {*trusted, *OWN}
    except Exception as error:
        raise ValueError(f"{ESTIMATORS} is damaged ({error!r})") from None
    if unknown:
        names = sorted(unknown)
        raise ValueError(
            f"{ESTIMATORS} holds objects of types that are not trusted: {', '.join(names)}; if you "
            f"trust whoever wrote the folder, pass trusted={names!r} to load_model"
        )
    try:
        found = skops.loads(content, trusted=[*trusted, *OWN])
    except Exception as error:
        raise ValueError(f"{ESTIMATORS} is damaged ({error!r})") from None
    if not isinstance(found, list) or not all(hasattr(each, "predict_proba") for each in found):
        raise ValueError(f"{ESTIMATORS} must hold a list of classifiers")
    return found


def _check_stored(content: bytes) -> None:
    """Refuse compressed files: a small one could unpack to something huge."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            kinds = {each.compress_type for each in packed.infolist()}
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise ValueError(f"{ESTIMATORS} is damaged ({error})") from None
    if kinds - {zipfile.ZIP_STORED}:
        raise ValueError(f"{ESTIMATORS} is compressed, which alignset never writes")


def _skops(what: str) -> Any:
    need(what, "skops")
    import skops.io

    return skops.io
