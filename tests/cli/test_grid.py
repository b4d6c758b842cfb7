"""Tables on a narrow terminal, and in a file."""

import io

import pandas as pd
import pytest
from rich.console import Console

from alignset.cli import review_options
from alignset.cli.review_options import print_grid

WIDE = pd.DataFrame(
    {
        "group": ["all", "Non-Hispanic White"],
        **{f"m{i}": ["0.835 (0.803 to 0.866)", "0.854 (0.822 to 0.884)"] for i in range(5)},
        "n": [491, 291],
    }
)
TITLES = {"group": "group", **{f"m{i}": f"measure {i} (95 %)" for i in range(5)}, "n": "reviewed"}


def printed(monkeypatch, frame, titles, width, terminal):
    out = io.StringIO()

    def console():
        return Console(
            file=out, width=width, force_terminal=terminal, color_system=None, highlight=False
        )

    monkeypatch.setattr(review_options, "console", console)
    print_grid(frame, titles)
    return out.getvalue().splitlines()


def test_what_does_not_fit_80_columns_is_printed_a_row_at_a_time(monkeypatch):
    lines = printed(monkeypatch, WIDE, TITLES, 80, terminal=True)
    assert lines[:3] == [
        "group: all", "  measure 0 (95 %): 0.835 (0.803 to 0.866)",
        "  measure 1 (95 %): 0.835 (0.803 to 0.866)",
    ]  # fmt: skip
    assert lines[6:9] == ["  reviewed: 491", "", "group: Non-Hispanic White"]
    assert max(map(len, lines)) <= 80


def test_no_cell_is_torn_where_it_fits_or_goes_to_a_file(monkeypatch):
    for width, terminal in ((200, True), (80, False)):
        lines = printed(monkeypatch, WIDE, TITLES, width, terminal)
        assert len(lines) == 3
        assert lines[1].count("0.835 (0.803 to 0.866)") == 5


@pytest.mark.parametrize("terminal", [True, False])
def test_long_texts_are_wrapped_and_short_ones_are_not(monkeypatch, terminal):
    frame = pd.DataFrame({"name": ["a_long_name"], "text": ["word " * 38], "n": ["1 (2 to 3)"]})
    lines = printed(monkeypatch, frame, {n: n for n in frame}, 80, terminal)
    assert len(lines) > 3
    assert lines[1].startswith("a_long_name")
    assert lines[1].rstrip().endswith("1 (2 to 3)")
    assert max(map(len, lines)) <= 80


def test_the_environment_that_says_80_columns_is_heeded(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    print_grid(WIDE, TITLES)  # into a file: lines are as long as they have to be
    assert len(capsys.readouterr().out.splitlines()) == 3
