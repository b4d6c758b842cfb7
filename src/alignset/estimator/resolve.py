"""What ``method=`` and ``estimator=`` may be, and what they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np

from alignset.extras import need
from alignset.learners import LEARNERS, STRATEGIES, Blend, Learner, Strategy
from alignset.learners.foreign import Foreign
from alignset.methods import Method
from alignset.methods.registry import METHODS, get_method
from alignset.rows.listing import most_like

NO_METHODS = ("clean", "clean_labels")
"""Names of the bound that the paper compares with; ``get_method`` says what it is."""


def resolve(method: Any, estimator: Any = None) -> Blend | Method:
    """Return the blend or the method that the arguments of the estimator stand for.

    Examples
    --------
    >>> resolve("joint")
    JointAlignment(...)
    >>> resolve("shrunk").strategies
    ('shrunk',)
    """
    if estimator is not None:
        return _with_estimator(method, estimator)
    if method is None or (isinstance(method, str) and plain_name(method) == "blend"):
        return Blend()
    if isinstance(method, Blend | Method):
        return method
    if isinstance(method, str):
        return _named(method)
    if isinstance(method, Strategy):
        return Blend(strategies=(method,), network=None)
    if isinstance(method, Learner):
        return Blend(learners=(method,), network=None)
    if hasattr(method, "fit") and hasattr(method, "predict_proba"):
        raise ValueError(
            f"method must say how to learn from labels, got the classifier {method!r}; pass it as "
            "estimator= to use it as a learner."
        )
    if isinstance(method, type) and issubclass(method, Blend | Method | Strategy | Learner):
        raise ValueError(
            f"method must be an object, got the class {method.__name__}; pass {method.__name__}()."
        )
    raise ValueError(
        "method must be a Blend, a Method such as JointAlignment(), a label strategy, a learner, "
        f"or one of their names, got {method!r}."
    )


def check_installed(asked: Blend | Method) -> None:
    """Refuse a network that was asked for where torch is not installed.

    A blend that was not told which network to use does without.
    """
    network = asked.network if isinstance(asked, Blend) else asked
    if network is not None and (network is asked or network != Blend().network):
        need(f"{network.title}, a network,", "torch")


def check_time(seconds: Any, asked: Blend | Method) -> None:
    """Refuse a time that is none, or that is given to a single method."""
    if seconds is None:
        return
    number = isinstance(seconds, int | float | np.number) and not isinstance(seconds, bool)
    if not (number and seconds > 0):
        raise ValueError(
            f"time_budget must be a positive number of seconds, or None for no limit, got "
            f"{seconds!r}."
        )
    if isinstance(asked, Method):
        raise ValueError(
            f"time_budget={seconds!r} is for a blend, which can do without some candidates, but "
            f"{asked.title} is a single method; set n_configs, max_epochs or patience instead."
        )


def _with_estimator(method: Any, estimator: Any) -> Blend:
    own = Foreign.of(estimator)
    found = resolve(method)
    if isinstance(found, Method):
        raise ValueError(
            f"estimator={estimator!r} is a learner of a blend, and method={method!r} trains "
            "networks of its own; leave one of the two out, or pass "
            "method=Blend(strategies=('joint',)) for a label strategy of that name."
        )
    named = found.learners if found.learners != Blend().learners else ()
    learners = ("linear", own) if method is None else (*named, own)
    network = found.network if found.network != Blend().network else None
    return Blend(found.strategies, learners, network, found.folds)


def _named(name: str) -> Blend | Method:
    plain = plain_name(name)
    # a strategy and a method share the name "joint": the method is what `alignset methods` prints
    if plain in METHODS or plain in NO_METHODS:
        return get_method(plain)()
    strategy, learner = split_name(plain)
    if strategy is not None or learner is not None:
        strategies = Blend().strategies if strategy is None else (strategy,)
        learners = Blend().learners if learner is None else (learner,)
        return Blend(strategies, learners, None)
    known = ["blend", *METHODS, *STRATEGIES, *LEARNERS]
    close = most_like(plain, known)
    guess = "" if close is None else f"did you mean {close!r}? "
    raise ValueError(
        f"there is no method {name!r}; {guess}there are {', '.join(dict.fromkeys(known))}, and "
        "labels with a learner, such as 'observed_linear'."
    )


def split_name(name: str) -> tuple[str | None, str | None]:
    """Return the label strategy and the learner in a name; None for what is not in it.

    Examples
    --------
    >>> split_name("observed_linear"), split_name("trees"), split_name("blend")
    (('observed', 'linear'), (None, 'trees'), (None, None))
    """
    if name in STRATEGIES:
        return name, None
    if name in LEARNERS:
        return None, name
    strategy, _, learner = name.rpartition("_")
    return (strategy, learner) if strategy in STRATEGIES and learner in LEARNERS else (None, None)


def plain_name(name: str) -> str:
    """Return a name in small letters, its words joined by underscores."""
    return name.strip().lower().replace("-", "_").replace(" ", "_")
