import numpy as np
import pandas as pd

from alignset.report.page import DataTable
from alignset.report.tables import slug


def view(**columns):
    return DataTable(pd.DataFrame(columns), name="t", caption="c")


def test_a_cell_shows_few_digits_and_keeps_all():
    (cell,) = view(mean=[0.123456789]).rows[0]
    assert (cell.text, cell.value, cell.is_number) == ("0.123", "0.123456789", True)


def test_cells_are_written_by_their_kind():
    table = view(
        x=[0.1, 10.0],
        gap=[0.01, -0.01],
        n=np.array([1, 2]),
        method=["a", "b"],
        mean=[np.nan, 1.0],
    )
    assert [cell.text for cell in table.rows[0]] == ["0.1", "+0.010", "1", "a", "\N{EN DASH}"]
    assert [cell.value for cell in table.rows[0]][-1] == ""
    assert [cell.text for cell in table.rows[1]][:2] == ["10", "-0.010"]


def test_p_values_are_never_zero():
    assert [row[0].text for row in view(**{"p (Holm)": [0.0, 0.04, 1.0]}).rows] == [
        *("<0.001", "0.040", "1.000"),
    ]


def test_a_name_can_be_an_id():
    assert slug("Noise rate", "a/b\"c'<d>") == "noise-rate-a-b-c-d"
    assert slug("%") == "x"
