"""A pytest plugin that compiles the kernels with a sanitizer; attack_native.py loads it."""

from __future__ import annotations

import os

from alignset.stack.kernels import build

build.FLAGS = f"{build.FLAGS} {os.environ['ALIGNSET_SANITIZER']}"
build.compiled.__defaults__ = (build.FLAGS,)
