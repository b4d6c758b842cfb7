"""What a report is compared with: a publication's figures, names, values and claims."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from alignset.report.displays import Axis
from alignset.study.claims import Claim
from alignset.study.displays import Curves, SummaryDisplay

PUBLISHED_COLUMNS = ("experiment", "dataset", "method", "metric", "x", "mean", "sd")


@dataclass(frozen=True)
class FigureSpec:
    """How one experiment is shown.

    Parameters
    ----------
    experiment, title, caption : str
        Its name in the results, its heading, and what it varies.
    axis : Axis
    metrics : tuple of str
        What to draw, one figure each.
    display : type of display
        Curves or Bars.
    methods : sequence of (method, label)
        Names in this figure that differ from the rest of the publication.

    Examples
    --------
    >>> FigureSpec("noise_rate", "Noise rate", Axis("noise rate", is_share=True)).metrics
    ('hm',)
    """

    experiment: str
    title: str
    axis: Axis
    caption: str = ""
    metrics: tuple[str, ...] = ("hm",)
    display: type[SummaryDisplay] = Curves
    methods: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Publication:
    """A publication: how it names things, what it shows and what it claims.

    Parameters
    ----------
    title, citation, link : str
    figures : sequence of FigureSpec
        In the order of the page.
    methods : sequence of (method, label)
        The first is the one the publication is about.
    datasets : mapping
        Name in the results -> name to show.
    claims : sequence of Claim
    deviations : mapping
        Key -> how what was run differs from the publication's text.
    measured_by : mapping of mapping
        Protocol -> metric -> the column that measures it there.
    published_by : mapping
        Metric of the published values -> the column that measures the same.
    experiments : mapping
        Name of an experiment in the published values -> in the results, if they differ.
    notes : sequence of str
        What a reader should know about the comparison.

    Examples
    --------
    >>> Publication("Labels").label("a")
    'a'
    """

    title: str
    citation: str = ""
    link: str = ""
    figures: Sequence[FigureSpec] = ()
    methods: Sequence[tuple[str, str]] = ()
    datasets: Mapping[str, str] = field(default_factory=dict)
    claims: Sequence[Claim] = ()
    deviations: Mapping[str, str] = field(default_factory=dict)
    measured_by: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    published_by: Mapping[str, str] = field(default_factory=dict)
    experiments: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()

    def label(self, method: str) -> str:
        """Return the name to show for a method."""
        return dict(self.methods).get(method, method)

    def column(self, protocol: str, metric: str) -> str:
        """Return the column that measures a metric under a protocol."""
        return self.measured_by.get(protocol, {}).get(metric, metric)

    def read_published(self, path: Path) -> pd.DataFrame:
        """Read published values, under the names of the results."""
        table = pd.read_csv(path)
        missing = [name for name in PUBLISHED_COLUMNS if name not in table.columns]
        if missing:
            raise ValueError(
                f"{path} has no column {', '.join(missing)}; published values need "
                f"{', '.join(PUBLISHED_COLUMNS)}."
            )
        table["experiment"] = table["experiment"].replace(dict(self.experiments))
        table["metric"] = table["metric"].replace(dict(self.published_by))
        table["x"] = table["x"].astype(float).round(9)
        return table


def load_publication(path: Path) -> Publication:
    """Run a Python file and return its ``PUBLICATION``; only load files you trust."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file; --claims takes a Python file.")
    spec = importlib.util.spec_from_file_location(f"alignset_publication_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is not a Python file; --claims takes one ending in .py.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, "PUBLICATION", None)
    if not isinstance(found, Publication):
        raise ValueError(f"{path} defines no PUBLICATION of alignset.study.Publication.")
    return found
