import numpy as np
import pytest
from report.made_up import cells, fail
from scipy import stats

from alignset.study.results import check_results, compare, done, failed, holm, paired, summarise

FRAME = cells({"a": {0.1: 0.8, 0.2: 0.9}, "b": {0.1: 0.7}}, seeds=3)
DIFFERENCES = np.random.default_rng(3).normal(0.02, 0.03, 10)


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


def test_the_paired_test_is_scipys():
    found = paired(DIFFERENCES)
    theirs = stats.ttest_1samp(DIFFERENCES, 0)
    low, high = theirs.confidence_interval(0.95)
    assert found.p == pytest.approx(theirs.pvalue)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.p_wilcoxon == pytest.approx(stats.wilcoxon(DIFFERENCES).pvalue)
    assert found.n == 10


@pytest.mark.parametrize("bound", [-0.03, 0.0, 0.05])
def test_one_sided_tests_are_scipys(bound):
    found = paired(DIFFERENCES)
    above = stats.ttest_1samp(DIFFERENCES, bound, alternative="greater").pvalue
    assert found.p_above(bound) == pytest.approx(above)
    assert found.p_below(bound) == pytest.approx(1 - above)


def test_missing_seeds_are_left_out():
    assert paired([*DIFFERENCES, np.nan]) == paired(DIFFERENCES)


@pytest.mark.parametrize(
    ("differences", "mean", "p"), [([0.0, 0.0], 0.0, 1.0), ([0.1, 0.1], 0.1, 0.0)]
)
def test_constant_differences_need_no_test(differences, mean, p):
    found = paired(differences)
    assert (found.mean, found.p) == (mean, p)
    assert found.p_above(-0.03) == 0.0
    assert found.p_above(0.2) == 1.0


@pytest.mark.parametrize("differences", [[], [0.3]])
def test_fewer_than_two_seeds_decide_nothing(differences):
    found = paired(differences)
    assert found.n == len(differences)
    assert np.isnan([found.p, found.low, found.p_above(0), found.p_below(0)]).all()


def test_holm_by_hand():
    # sorted .005 .01 .03 .04 -> times 4 3 2 1 = .02 .03 .06 .04 -> never falling
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == pytest.approx([1.0, 1.0])
    assert holm([]).shape == (0,)


def test_a_missing_p_is_not_counted():
    assert holm([0.02, np.nan, 0.01]) == pytest.approx([0.02, np.nan, 0.02], nan_ok=True)


def test_comparisons_are_corrected_over_rivals_and_positions():
    frame = cells({"a": {1.0: 0.9, 2.0: 0.8}, "b": {1.0: 0.8, 2.0: 0.8}, "c": {1.0: 0.9}}, seeds=5)
    table = compare(frame, "a", "hm")
    assert list(zip(table["rival"], table["x"], strict=True)) == [("b", 1), ("b", 2), ("c", 1)]
    wide = frame[frame["x"] == 1].pivot(index="seed", columns="method", values="hm")
    assert table.loc[0, "difference"] == pytest.approx((wide["a"] - wide["b"]).mean())
    assert table["p_holm"].to_numpy() == pytest.approx(holm(table["p"].tolist()))
    assert table.loc[0, "p"] == pytest.approx(stats.ttest_rel(wide["a"], wide["b"]).pvalue)
