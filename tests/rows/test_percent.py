from alignset.rows.percent import percent


def test_only_everything_is_100_percent_and_only_nothing_is_0():
    assert [percent(x) for x in (0.0, 0.996, 0.99996, 1.0)] == ["0%", "99.6%", "99.996%", "100%"]
    assert [percent(x, 1) for x in (0.0004, 0.25, 1 - 1e-15)] == ["0.04%", "25.0%", "100.0%"]
    assert percent(float("nan")) == "nan%"
