import pytest
from study.grids import RULES, SPEC, load_grid, write_grid

from alignset.study import load_experiment, load_experiments
from alignset.study.protocol import DatasetSpec
from alignset.study.recipe import NoiseSpec, RangeSpec
from alignset.study.records import as_json


def test_a_spec_is_read_whole(tmp_path):
    found = load_grid(tmp_path)
    assert (found.name, found.title, found.x_name) == ("tiny", "A tiny grid", "rate")
    assert [s.x for s in found.settings] == [0.2, 0.4]
    assert found.settings[1].noise == NoiseSpec(rate=(0.2, 0.4))
    assert (found.seeds, found.configs, found.protocol.name) == (2, 2, "tiny")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("seeds    = 2", "seeds = 0", r"seeds must be a whole number of at least 1, got 0"),
        ("seeds    = 2", "seed = 2", r"the file has no key 'seed'; it takes .*seeds"),
        ("share = 0.3", "share = 30", r"\[review\] share must be a share in \[0, 1\].* got 30"),
        ("share = 0.3", "part = 0.3", r"\[review\] has no key 'part'; it takes .*share"),
        ('"standard"', '"standart"', r"methods: no method 'standart'; there are .*standard"),
        ('["toy"]', '["toys"]', r"datasets has 'toys', but \[tiny\] of .*rules.toml has toy"),
        ("#tiny", "#huge", r"rules.toml has no protocol 'huge'; it has tiny"),
        ("x    = [0.2, 0.4]", "x = [0.2]", r"\[vary\] x has 1 values, the varied keys"),
        ("x    = [0.2, 0.4]", "x = [1, 1]", r"\[vary\] x must be different numbers"),
        ('"noise.rate"', '"nois.rate"', r"\[vary\] has no key 'nois.rate'; it takes name, x"),
        ('"noise.rate"', '"noise.rat"', r"\[vary 1.noise\] has no key 'rat'; it takes kind"),
        ("[[0.1, 0.2], [0.2, 0.4]]", "3", r'\[vary\] noise.rate must be a list'),
        ("[review]", "[config]\ngama = 1\n[review]", r"has no hyperparameter 'gama'; it has .*lr"),
        ('name     = "tiny"', "", r"name is missing"),
        ("seeds    = 2", "seeds = 10000000", r"at least 1 and at most 1000000, got 10000000"),
        ("seeds    = 2", f"seeds = {'[' * 3000}{']' * 3000}", r"it is nested too deeply"),
        ("seeds    = 2", f'seeds = "{"x" * 9000}"', r"at least 1, got 'x{119}\.\.\.\.$"),
        ("x    = [0.2, 0.4]", "x = [0.2, nan]", r"\[vary\] x must be different numbers"),
        ("[review]", "[config]\nlr = -1\n[review]", r"on 'toy': lr must be 0 or more, got -1"),
        ('"noise.rate" = [[0.1, 0.2], [0.2, 0.4]]', '"config.l2" = [0.1, -0.1]',
         r"on 'toy': l2 must be 0 or more, got -0.1"),
        ("seeds    = 2", "seeds = ", r"is not valid TOML"),
    ],
)  # fmt: skip
def test_a_wrong_spec_is_told_by_file_key_and_what_is_accepted(tmp_path, old, new, said):
    assert old in SPEC
    with pytest.raises(ValueError, match=said) as caught:
        load_grid(tmp_path, SPEC.replace(old, new))
    assert "toml" in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"patience"', '"patient"', r"rule must be one of patience, block_mean, fixed_length"),
        ("max_epochs", "epochs", r"\[tiny.trainer\] has no key 'epochs'; it takes .*max_epochs"),
        ('"synthetic"', '"synth"', r"source must be one of synthetic, .*, got 'synth'"),
        ('class = "Alignment"', 'class = "Aligned"', r"class must be one of Alignment,"),
        ('class = "Alignment"', 'class = "Alignment", phi = 1', r"Alignment has no setting 'phi'"),
        (', hidden = 4', "", r"\[tiny.datasets.toy\] hidden is missing"),
        ("hidden = 4", "hidden = 1000000000000", r"hidden must be .* at most 1000000, got 10{12}"),
        (RULES, "tiny = 3", r"rules.toml: tiny must be a table, got 3"),
        (RULES, "[[tiny]]", r"rules.toml: tiny must be a table, got \[\{\}\]"),
    ],
)  # fmt: skip
def test_a_wrong_protocol_is_told_likewise(tmp_path, old, new, said):
    assert old in RULES
    with pytest.raises(ValueError, match=said):
        load_grid(tmp_path, rules=RULES.replace(old, new))


@pytest.mark.parametrize(
    ("ranges", "said"),
    [
        ("lr = [1e-2, 1e-4]", r"needs 0 < low <= high"),
        ("lr = 3", r"\[tiny.toy.all\] lr must be \[low, high\]"),
        ("lr = { normal = [0, 1] }", r"\[tiny.toy.all\] lr must be \[low, high\]"),
        ("lr = { choice = [-1] }", r"on 'toy': lr must be 0 or more, got"),
        ("momentum = [0.1, 0.9]", r"has no hyperparameter 'momentum'"),
    ],
)
def test_a_wrong_range_is_told_likewise(tmp_path, ranges, said):
    (tmp_path / "spaces.toml").write_text(f"[tiny.toy]\nall = {{ {ranges} }}\n")
    with pytest.raises(ValueError, match=said):
        load_grid(tmp_path, 'space = "spaces.toml"\n' + SPEC)


def test_a_space_may_name_its_table_and_a_method_goes_before_all(tmp_path):
    text = "[tiny.mine]\nall = { lr = [1e-4, 1e-2] }\nproposed = { lr = [1e-3, 1e-2] }\n"
    (tmp_path / "spaces.toml").write_text(text)
    found = load_grid(tmp_path, 'space = "spaces.toml#mine"\n' + SPEC)
    assert found.ranges("toy", "standard") == {"lr": RangeSpec(log_uniform=(1e-4, 1e-2))}
    assert found.ranges("toy", "proposed") == {"lr": RangeSpec(log_uniform=(1e-3, 1e-2))}
    with pytest.raises(ValueError, match=r"\[tiny\] of .*spaces.toml has no table 'yours'"):
        load_grid(tmp_path, 'space = "spaces.toml#yours"\n' + SPEC)


def test_several_specs_in_one_file(tmp_path):
    write_grid(tmp_path)
    every = tmp_path / "all.toml"
    every.write_text('[[specs]]\nfile = "tiny.toml"\nprotocol = "tiny"\n')
    assert [e.name for e in load_experiments(every)] == ["tiny"]
    assert [e.name for e in load_experiments(tmp_path / "tiny.toml")] == ["tiny"]
    with pytest.raises(ValueError, match="has no spec of protocol 'other'"):
        load_experiments(every, protocol="other")


def test_quick_is_smaller_and_keeps_the_ends(tmp_path):
    rates = ", ".join(f"[0.1, {r}]" for r in (0.1, 0.2, 0.3, 0.4, 0.5))
    text = SPEC.replace("[[0.1, 0.2], [0.2, 0.4]]", f"[{rates}]").replace(
        "x    = [0.2, 0.4]", "x = [1, 2, 3, 4, 5]"
    )
    quick = load_grid(tmp_path, text.replace("seeds    = 2", "")).quick()
    assert [s.x for s in quick.settings] == [1, 3, 5]
    assert (quick.seeds, quick.configs) == (2, 2)


def test_a_setting_may_be_a_method(tmp_path):
    text = SPEC.split("[vary]")[0] + "[noise]\nrate = 0.3\n[vary]\nx = [1, 2]\nmethod = "
    found = load_grid(tmp_path, text.replace("methods ", "#") + '["standard", "proposed"]\n')
    assert [s.methods for s in found.settings] == [("standard",), ("proposed",)]
    assert len(found.quick().settings) == 2


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"gone.toml does not exist"):
        load_experiment(tmp_path / "gone.toml")


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ('source = "nhanes", task = "gout", hidden = 4', "task must be .*prediabetes.*got 'gout'"),
        ('source = "adult", task = "fat", hidden = 4', "has no key 'task'; only nhanes take it"),
    ],
)
def test_a_wrong_task_is_told(tmp_path, place, said):
    rules = RULES.replace('source = "synthetic", rows = 400, hidden = 4', place)
    with pytest.raises(ValueError, match=said):
        load_grid(tmp_path, rules=rules)


def test_a_task_is_part_of_what_identifies_a_result_and_diabetes_is_as_before():
    plain = DatasetSpec(source="nhanes", hidden=4).data("sha256:x")
    named = DatasetSpec(source="nhanes", hidden=4, task="diabetes").data("sha256:x")
    assert as_json(plain) == as_json(named) == '{"source":"nhanes","content":"sha256:x"}'
    fat = DatasetSpec(source="nhanes", hidden=4, task="fat").data("sha256:x")
    assert fat.task == "fat"
    assert '"task":"fat"' in as_json(fat)


@pytest.mark.parametrize(
    ("name", "said"), [("lr", "lr must be 0 or more"), ("l2", "l2 must be 0 or more")]
)
def test_values_that_no_method_accepts_are_refused_when_the_grid_is_read(tmp_path, name, said):
    for text in (
        SPEC.replace("[review]", f"[config]\n{name} = -1\n[review]"),
        SPEC.replace('"noise.rate" = ', f'"config.{name}" = [0.1, -0.1]\n"noise.rate" = '),
    ):
        assert text != SPEC
        with pytest.raises(ValueError, match=rf"toml: 'standard' on 'toy': {said}, got"):
            load_grid(tmp_path, text)


def test_only_may_leave_nothing(tmp_path):
    found = load_grid(tmp_path)
    assert found.only(["toy", "other"]) == found
    assert found.only(["other"]).datasets == ()
