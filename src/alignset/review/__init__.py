"""Human review: plan how many rows, draw them, write a sheet, join the answers, audit labels.

The verbs are in modules of the same name (``plan.plan``, ``forecast.forecast``, which plans for an
:class:`Aim`, ``sample.sample``, ``join.join``, ``audit.audit``); what they take and return can be
imported from here.

The module can be called, with a warning: ``alignset.review(...)`` was a function, which is now
``alignset.draw_review``. Calling the module ends with version 0.3.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from alignset._moved import forwarder

if TYPE_CHECKING:
    from alignset.review.aim import Aim as Aim
    from alignset.review.design import allocate as allocate
    from alignset.review.design import even as even
    from alignset.review.design import neyman as neyman
    from alignset.review.design import propose as propose
    from alignset.review.forecast import Forecast as Forecast
    from alignset.review.join import Joined as Joined
    from alignset.review.plan import Plan as Plan
    from alignset.review.reading import read_reviews as read_reviews
    from alignset.review.representative import two_sample_test as two_sample_test
    from alignset.review.sheet import Reviews as Reviews
    from alignset.review.sheet import Sheet as Sheet

_HOME = {
    **dict.fromkeys(("Reviews", "Sheet"), "sheet"),
    "read_reviews": "reading",
    **dict.fromkeys(("allocate", "even", "neyman", "propose"), "design"),
    "Aim": "aim",
    "Forecast": "forecast",
    "Joined": "join",
    "Plan": "plan",
    "two_sample_test": "representative",
}
__all__ = [*_HOME]


class _WasAFunction(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return forwarder("alignset")("review")(*args, **kwargs)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


sys.modules[__name__].__class__ = _WasAFunction
