"""People who review: plan, draw, sheet, join, audit.

The module can be called, with a warning: ``alignset.review(...)`` was a function, now
``alignset.draw_review``. That goes with version 0.3.
"""

import sys
from types import ModuleType
from typing import Any

from alignset._moved import forwarder


class _WasAFunction(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return forwarder("alignset")("review")(*args, **kwargs)


sys.modules[__name__].__class__ = _WasAFunction
