import numpy as np
import pytest
from report.made_up import cells, fail

from alignset.study.results import check_results, done, failed, summarise

FRAME = cells({"a": {0.1: 0.8, 0.2: 0.9}, "b": {0.1: 0.7}}, seeds=3)


def test_a_missing_column_is_named():
    with pytest.raises(ValueError, match=r"have no column method, seed; they need"):
        check_results(FRAME.drop(columns=["seed", "method"]))


def test_an_empty_table_is_refused():
    with pytest.raises(ValueError, match="hold no cell"):
        check_results(FRAME[:0])


def test_one_cell_twice_is_refused_and_named():
    import pandas as pd

    with pytest.raises(ValueError, match=r"2 rows share .* method a, x 0.1, seed 0"):
        check_results(pd.concat([FRAME, FRAME[:1]]))


def test_the_order_of_rows_does_not_matter_and_x_is_exact():
    shuffled = FRAME.sample(frac=1, random_state=0).assign(x=lambda f: f["x"] + 1e-13)
    assert check_results(shuffled).equals(check_results(FRAME))


def test_failed_cells_are_kept_apart():
    frame = fail(FRAME, n=2)
    assert (len(done(frame)), len(failed(frame))) == (7, 2)


def test_the_summary_is_the_population_sd_and_missing_for_one_seed():
    table = summarise(FRAME, "hm").set_index(["method", "x"])
    values = FRAME[(FRAME["method"] == "a") & (FRAME["x"] == 0.2)]["hm"]
    assert table.loc[("a", 0.2), "mean"] == pytest.approx(values.mean())
    assert table.loc[("a", 0.2), "sd"] == pytest.approx(np.std(values))
    assert np.isnan(summarise(FRAME[FRAME["seed"] == 0], "hm")["sd"]).all()
