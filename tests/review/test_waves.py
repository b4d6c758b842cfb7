import re

import pandas as pd
import pytest

from alignset.review.waves import read_design


def test_a_design_is_read_from_columns_as_text_or_numbers():
    table = pd.DataFrame(
        {"probability": ["0.5", None, "1"], "wave": [1.0, None, 2.0], "stratum": ["a", None, "a"]}
    )
    design = read_design(table)
    assert design.probability.tolist()[::2] == [0.5, 1.0]
    assert design.wave.tolist() == [1, -1, 2]
    assert design.stratum.tolist() == [0, -1, 0]
    assert design.drawn.tolist() == [True, False, True]
    assert read_design(table.rename(columns={"probability": "p"}), probability="p").known


@pytest.mark.parametrize("value", ["0", "1.2", "often", "-0.1"])
def test_what_is_no_probability_is_refused(value):
    said = (
        "column 'probability' must hold selection probabilities in (0, 1], and be empty in rows "
        "that were not on a sheet; rename it if it is something else."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        read_design(pd.DataFrame({"probability": [None, value]}))


def test_a_wave_is_a_number_from_one_on():
    assert read_design(pd.DataFrame({"probability": [0.5], "wave": [None]})).wave.tolist() == [1]
    with pytest.raises(ValueError, match="column 'wave' must hold the numbers of review sheets"):
        read_design(pd.DataFrame({"probability": [0.5], "wave": ["first"]}))
