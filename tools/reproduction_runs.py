"""Which runs reproduction_variants.py makes: the open questions, and the deviations one by one."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from msgspec.structs import replace as with_
from reproduction_changes import (
    DRAWS,
    NOTHING,
    PAPER_METHODS,
    MinorityFirst,
    StoppedInBurnIn,
    UnweightedGPL,
    adult_validation,
    as_class,
    by_observed,
    compas,
    fewer,
    is_of,
    is_race,
    known_charge,
    own_configs,
    reviewed_only,
    same_start,
    set_data,
    set_field,
    set_noise,
    set_range,
    set_review,
    set_search,
    set_trainer,
    two_races,
    unbiased_validation,
    unreviewed,
    written_ranges,
)
from reproduction_variants import Change, Place, Run, cells_at

from alignset.data.compas import COMPAS_RELEASED
from alignset.study.recipe import PatienceSpec, RangeSpec


def compas_changes() -> Iterator[Change]:
    """Yield changes of the COMPAS task."""
    every = COMPAS_RELEASED
    yield NOTHING
    yield Change("11 columns, as the text says", table=compas(every[:-1]))
    yield Change("with ProPublica's score_factor", table=compas((*every, "score_factor")))
    yield Change("with the decile score", table=compas((*every, "decile_score")))
    yield Change("without the number of priors", table=compas(every[1:]))
    yield Change("without the race columns", table=compas(
        [c for c in every if not any(c == r for r in every[3:9])]))  # fmt: skip
    yield Change("priors not scaled", table=compas(scale="none"))
    yield Change("columns scaled to SD 1", table=compas(scale="sd"))
    yield Change("label is_recid", table=compas(label="is_recid"))
    yield Change("label is_violent_recid", table=compas(label="is_violent_recid"))
    for name in ("Misdemeanor", "Female"):
        others = [c for c in every if c != name]
        yield Change(f"label {name}", table=compas(others, label=name, keep=is_of(name)))
    old = [c for c in every if c != "Number_of_Priors" and not c.startswith("Age")]
    yield Change("without priors and age", table=compas(old))
    yield Change("label is_violent_recid, noise 20 % / 40 %", set_noise(rate=(0.20, 0.40)),
                 table=compas(label="is_violent_recid"))  # fmt: skip
    yield Change("groups African-American or not", table=compas(group=is_race("African-American")))
    yield Change("groups Hispanic or not", table=compas(group=is_race("Hispanic")))
    yield Change("groups Other race or not", table=compas(group=is_race("Other")))
    yield Change("groups by sex", table=compas(group=lambda rows: rows["sex"] == "Female"))
    yield Change(
        "groups under 25 or not",
        table=compas(group=lambda rows: rows["age_cat"] == "Less than 25"),
    )
    yield Change(
        "groups over 45 or not",
        table=compas(group=lambda rows: rows["age_cat"] == "Greater than 45"),
    )
    yield Change("groups exchanged", table=compas(group=is_race("Caucasian")))
    yield Change("all 7 214 people", table=compas(keep=known_charge))
    yield Change("African-American and Caucasian only", table=compas(keep=two_races))
    yield Change("1 000 training rows", whole=fewer(1000))
    yield Change("300 training rows", whole=fewer(300))
    yield Change("the reviewed rows alone", whole=reviewed_only)
    yield Change("noise 20 % / 40 %", set_noise(rate=(0.20, 0.40)))
    yield Change("no noise", set_noise(rate=(0.0, 0.0)))
    yield Change("patience of 10 epochs", set_trainer(stopping=PatienceSpec(epochs=10)))
    yield Change("at most 20 epochs", set_trainer(max_epochs=20))
    yield Change("chosen by the text's HM", set_trainer(score="paper"))
    yield Change("width 100", set_trainer(hidden=100))
    yield Change("one config, not 20", set_search(configs=1))
    yield Change("L2 of 0.01 to 0.1", set_range(l2=RangeSpec(log_uniform=(1e-2, 1e-1))))
    yield Change("learning rate of 1e-5 to 1e-3", set_range(lr=RangeSpec(log_uniform=(1e-5, 1e-3))))
    yield Change("split by the observed label", divide=by_observed)
    for k in range(1, DRAWS):
        yield Change("other noise coefficients", noise=k, draw=k)
        yield Change("other splits", splits=k, draw=k)
        yield Change("other configs", set_search(seed=k), draw=k)


# ---- Adult


def adult_changes(place: Place, method: str) -> Iterator[Change]:
    """Yield changes of the Adult task."""
    yield NOTHING
    yield Change("200 reviewed rows validate", divide=adult_validation)
    yield Change("56 columns, as the text says", set_data(features="paper"))
    yield Change("width 100", set_trainer(hidden=100))
    yield Change("patience of 10 epochs", set_trainer(stopping=PatienceSpec(epochs=10)))
    yield Change("chosen by the text's HM", set_trainer(score="paper"))
    yield Change("ranges of the text's table", written_ranges(place, method))
    yield Change("highest scores are flipped", set_noise(lowest=False))
    yield Change("noise of 15 % / 35 %", set_noise(rate=(0.15, 0.35)))
    yield Change("noise is drawn anew in every replication", lambda r: with_(r, redraw=True))
    yield Change("5 000 training rows", set_data(n_train=5000))
    yield Change("same starting weights", divide=same_start)
    for k in range(1, 2 * DRAWS):
        yield Change("other noise coefficients", noise=k, draw=k)
    for k in range(1, DRAWS):
        yield Change("other noise, 200 reviewed rows validate", noise=k, draw=k,
                     divide=adult_validation)  # fmt: skip
        yield Change("other 1 000 rows", drawn=k, draw=k)
        yield Change("other splits", splits=k, draw=k)
        yield Change("other configs", set_search(seed=k), draw=k)


# ---- Figure 2


QUIET = {"sigma": RangeSpec(log_uniform=(1e-4, 1e-2))}


def chance_changes() -> Iterator[Change]:
    """Yield what chance alone does, and the released way of splitting."""
    yield NOTHING
    for k in range(1, DRAWS):
        yield Change("other splits", splits=k, draw=k)
        yield Change("other configs", set_search(seed=k), draw=k)
        yield Change("split by the observed label", divide=by_observed, splits=k - 1, draw=k)


def sln_changes() -> Iterator[Change]:
    """Yield the same, and the released settings of SLN."""
    yield from chance_changes()
    yield Change("the code's noise", set_range(**QUIET))
    yield Change("the code's noise, split by the observed label", set_range(**QUIET),
                 divide=by_observed)  # fmt: skip
    yield Change("burn-in of 10 epochs", method=set_field(burn_in=10))
    stopped = partial(as_class, StoppedInBurnIn)
    yield Change("stopping may end the burn-in", method=stopped)
    yield Change("stopping may end the burn-in, the code's noise", set_range(**QUIET),
                 method=stopped)  # fmt: skip
    for k in range(1, DRAWS):
        yield Change("stopping may end the burn-in, the code's noise, split by the observed label",
                     set_range(**QUIET), method=stopped, divide=by_observed, splits=k - 1,
                     draw=k)  # fmt: skip


def gpl_changes() -> Iterator[Change]:
    """Yield changes of Fair GPL: peers, weights, warm-up and the range of its weight."""
    yield NOTHING
    yield Change("peers over all rows", method=set_field(within_groups=False))
    yield Change("no warm-up", method=set_field(warm_up=0))
    released = partial(as_class, UnweightedGPL)
    yield Change("no warm-up, no group weights, no reviewed labels", method=released,
                 divide=unreviewed)  # fmt: skip
    yield Change("alpha of 0.05 to 1", set_range(alpha=RangeSpec(log_uniform=(0.05, 1.0))))
    yield Change("alpha of 0.001 to 1", set_range(alpha=RangeSpec(log_uniform=(0.001, 1.0))))


# ---- deviations, one by one


def deviation_runs() -> Iterator[Run]:
    """Take back or put back one deviation at a time; by default at 30 % / 50 % in Figure 2a."""
    here = ("noise_rate", "synthetic", 0.5)
    made = cells_at(here, "standard", "as-written")[0].recipe.data
    both: list[Change] = [
        NOTHING,
        Change("1: the text's generator", lambda r: with_(r, data=made)),
        Change("2: highest scores are flipped", set_noise(lowest=False)),
        Change("3: data and noise are redrawn", lambda r: with_(r, redraw=True)),
        Change("4: width 10", set_trainer(hidden=10)),
        Change("5: ReLU after the last hidden layer", set_trainer(last_relu=True)),
        Change("6: patience of 10 epochs", set_trainer(stopping=PatienceSpec(epochs=10))),
        Change("7: chosen by the text's AUEOC", set_trainer(score="paper")),
        Change("28: split by the observed label", divide=by_observed),
        Change("28: same starting weights", divide=same_start),
        Change("29: other configs in every replication", own_configs),
    ]
    own = {
        "proposed": [
            Change("8: groups by size", method=set_field(equal_groups=False)),
            Change("9: 2a first", method=set_field(phi_first=False)),
            Change("10: rate over all rows", method=set_field(rate_over_reviewed=True)),
            Change("17: step 1 on the minority", method=partial(as_class, MinorityFirst)),
        ],
        "sln_filter": [
            NOTHING,
            Change("15: the text's filter", written_ranges(here, "sln_filter"),
                   method=set_field(burn_in=10)),
            Change("27: the code's noise", set_range(**QUIET)),
        ],
        "fair_gpl": [NOTHING],
    }  # fmt: skip
    for method in ("proposed", "standard", "sln_filter", "fair_gpl"):
        changes = [*(both if method in ("proposed", "standard") else []), *own.get(method, [])]
        changes.append(Change("14: the text's ranges", written_ranges(here, method)))
        yield from (Run("deviations", here, method, change) for change in changes)
    yield from _other_deviations()


def _other_deviations() -> Iterator[Run]:
    adult, compas_ = ("alignment_size", "adult", 0.1), ("alignment_size", "compas", 0.1)
    half = set_review(share=0.05)
    first = ("noise_disparity", "synthetic", 0.2)
    zero = Change("22: coefficient 0", coefficients=lambda w: np.r_[0.0, w[1:]])
    for method in ("proposed", "standard"):
        yield Run("deviations", adult, method, Change("11: 56 columns", set_data(features="paper")))
        yield Run("deviations", adult, method, Change("12: 5 % reviewed", half))
        yield Run("deviations", adult, method, Change("21: 200 rows validate",
                                                      divide=adult_validation))  # fmt: skip
        yield Run("deviations", compas_, method, Change(
            "13: 11 columns, 20 % / 40 %", set_noise(rate=(0.2, 0.4)),
            table=compas(COMPAS_RELEASED[:-1])))  # fmt: skip
        for place in (adult, compas_):
            yield Run("deviations", place, method, NOTHING)
        for x in (0.1, 0.9):
            place = ("alignment_bias", "synthetic", x)
            yield Run("deviations", place, method, NOTHING)
            yield Run("deviations", place, method, Change("20: validation not biased",
                                                          divide=unbiased_validation))  # fmt: skip
    for method in ("clean", "standard", "sln_filter", "transition", "fair_gpl", "proposed"):
        yield from (Run("deviations", first, method, change) for change in (NOTHING, zero))
    step_1 = ("ablation", "synthetic", 1.0)
    yield Run("deviations", step_1, "alignment_only", NOTHING)
    minority = Change("17: step 1 on the minority", method=partial(as_class, MinorityFirst))
    yield Run("deviations", step_1, "alignment_only", minority)
    for x, method in ((1.0, "alignment_only"), (5.0, "proposed")):
        less = Change("16: noise 20 % / 40 %", set_noise(rate=(0.2, 0.4)))
        yield from (
            Run("deviations", ("ablation", "synthetic", x), method, change)
            for change in ((NOTHING, less) if x == 5.0 else (less,))
        )


def all_runs() -> Iterator[Run]:
    """Every run, question by question."""
    size = ("alignment_size", "compas", 0.1)
    for change in compas_changes():
        for method in ("clean", "standard", "proposed"):
            yield Run("compas", size, method, change)
    violent = Change("label is_violent_recid", table=compas(label="is_violent_recid"))
    for x in (0.02, 0.05, 0.10, 0.14):
        for method in (*PAPER_METHODS, "proposed"):
            for change in (NOTHING, violent):
                yield Run("violent", ("alignment_size", "compas", x), method, change)
    place = ("alignment_size", "adult", 0.1)
    for k in range(1, DRAWS):
        change = Change("other noise, as released", noise=k, draw=k, divide=unreviewed,
                        method=partial(as_class, UnweightedGPL))  # fmt: skip
        yield Run("adult", place, "fair_gpl", change)
    for method in ("clean", "standard", "sln_filter", "fair_gpl", "transition", "proposed"):
        for change in adult_changes(place, method):
            few = ("nothing", "200 reviewed rows validate", "other noise coefficients",
                   "other noise, 200 reviewed rows validate")  # fmt: skip
            if method in ("clean", "standard", "proposed") or (
                change.name in few and change.draw < DRAWS
            ):
                yield Run("adult", place, method, change)
    for x in (0.02, 0.05):
        place = ("alignment_size", "adult", x)
        for method in ("clean", "standard", "proposed"):
            for change in (NOTHING, Change("200 reviewed rows validate", divide=adult_validation)):
                yield Run("adult", place, method, change)
    for change in chance_changes():
        for x in (0.7, 0.9):
            yield Run("disparity", ("noise_disparity", "synthetic", x), "standard", change)
        yield Run("disparity", ("noise_rate", "synthetic", 0.5), "standard", change)
    minority = Change("17: step 1 on the minority", method=partial(as_class, MinorityFirst))
    for change in (NOTHING, minority):
        for x in (0.7, 0.8, 0.9):
            yield Run("disparity", ("noise_disparity", "synthetic", x), "proposed", change)
    for change in sln_changes():
        for x in (0.7, 0.9):
            yield Run("disparity", ("noise_disparity", "synthetic", x), "sln_filter", change)
        yield Run("disparity", ("noise_rate", "synthetic", 0.65), "sln_filter", change)
    for change in chance_changes():
        for x in (0.2, 0.9):
            yield Run("clean", ("noise_disparity", "synthetic", x), "clean", change)
    for experiment, x in (("noise_rate", 0.3), ("noise_rate", 0.5), ("noise_rate", 0.8),
                          ("noise_disparity", 0.5), ("noise_disparity", 0.9)):  # fmt: skip
        for change in gpl_changes():
            yield Run("fair_gpl", (experiment, "synthetic", x), "fair_gpl", change)
    for dataset in ("adult", "compas"):
        for change in gpl_changes():
            yield Run("fair_gpl", ("alignment_size", dataset, 0.1), "fair_gpl", change)
    yield from deviation_runs()


def unique(runs: Iterator[Run]) -> list[Run]:
    """Keep one run per key."""
    found: dict[tuple[Any, ...], Run] = {}
    for each in runs:
        found.setdefault(tuple(each.key), each)
    return list(found.values())


RUNS = unique(all_runs())
