"""The shipped grids: every file parses, and one tiny cell of each figure runs end to end."""

import csv
from pathlib import Path

import pytest
from msgspec.structs import replace

from alignset.study import Local, Store, expand, load_experiment, load_experiments
from alignset.study.datasets import GENERATED, absence
from alignset.study.run import run

HERE = Path(__file__).parent.parent
SPECS = sorted({e.file.name for e in load_experiments(HERE / "all.toml")})
PROTOCOLS = ("as-written", "as-released")
NAMES = {
    "noise_rate", "noise_disparity", "alignment_size", "alignment_bias", "ablation",
    "sensitivity_alpha_1", "sensitivity_alpha_2", "sensitivity_gamma",
}  # fmt: skip
CSV_NAMES = {
    "sensitivity_alpha_1": "sensitivity_alpha1",
    "sensitivity_alpha_2": "sensitivity_alpha2",
}


def published():
    with (HERE / "published.csv").open() as stream:
        return list(csv.DictReader(stream))


def used(experiment):
    return set(experiment.every_method)


def test_there_is_a_grid_for_every_experiment():
    assert {load_experiment(HERE / name).name for name in SPECS} == NAMES


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", SPECS)
def test_a_grid_parses_under_both_protocols(name, protocol):
    experiment = load_experiment(HERE / name, protocol=protocol)
    assert (experiment.seeds, experiment.configs) == (10, 20)
    cells, skipped = expand(experiment)
    assert len(cells) == len({cell.key for cell in cells})
    assert set(skipped) <= {"adult", "compas", "mimic_arf", "mimic_shock"}


@pytest.mark.parametrize("name", SPECS)
def test_a_grid_has_the_published_points(name):
    experiment = load_experiment(HERE / name)
    rows = [
        r for r in published() if r["experiment"] == CSV_NAMES.get(experiment.name, experiment.name)
    ]
    if experiment.name == "alignment_bias":
        assert rows == [], "the bias sweep is now published: take its points"
        return
    assert {float(r["x"]) for r in rows} == {s.x for s in experiment.settings}
    assert {r["x_name"] for r in rows} == {experiment.x_name}
    assert {r["method"] for r in rows} == used(experiment)
    assert {r["dataset"] for r in rows} == set(experiment.datasets)


def test_everything_is_every_grid_as_written_and_the_noise_figures_as_released():
    found = [(e.name, e.protocol.name) for e in load_experiments(HERE / "all.toml")]
    assert sorted(found) == sorted(
        [(name, "as-written") for name in NAMES]
        + [("noise_rate", "as-released"), ("noise_disparity", "as-released")]
    )


def tiny(experiment, dataset):
    """One seed, one config, one setting, few rows and epochs, the figure's own methods."""
    rules = experiment.protocol
    place = rules.datasets[dataset]
    if place.source in GENERATED:
        place = replace(place, rows=600)
    rules = replace(
        rules,
        datasets={**rules.datasets, dataset: place},
        trainer=replace(rules.trainer, max_epochs=10),
    )
    middle = experiment.settings[len(experiment.settings) // 2]
    settings = experiment.settings if middle.methods else (middle,)
    return replace(
        experiment, datasets=(dataset,), seeds=1, configs=1, settings=settings, protocol=rules
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", SPECS)
def test_one_tiny_cell_of_each_method_runs_end_to_end(name, protocol, tmp_path):
    experiment = tiny(load_experiment(HERE / name, protocol=protocol), "synthetic")
    store = Store(tmp_path / "s.sqlite")
    assert run(experiment, store, engine=Local(1)).good
    frame = store.frame()
    assert set(frame["method"]) == used(experiment)
    assert set(frame["protocol"]) == {protocol}
    assert frame["hm"].between(0, 1).all()
    assert frame["hm_released"].between(0, 1).all()


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("dataset", ["adult", "compas"])
def test_the_real_data_run_too(dataset, protocol, tmp_path):
    if absence(dataset):
        pytest.skip(absence(dataset))
    whole = load_experiment(HERE / "figure3a.toml", protocol=protocol)
    experiment = replace(tiny(whole, dataset), methods=("standard",))
    store = Store(tmp_path / "s.sqlite")
    assert run(experiment, store, engine=Local(1)).good
    setting = store.frame().loc[0, "setting"]
    rate = "[0.3,0.5]" if (dataset, protocol) == ("compas", "as-released") else "[0.2,0.4]"
    assert f'"rate":{rate}' in setting
    assert '"share":0.06' in setting, "what is varied wins over the data set's own share"
