"""Numbers that kernels in Python, C and Triton share, each written here and nowhere else."""

BETA_1, BETA_2, EPS = 0.9, 0.999, 1e-8
"""Adam's."""

ROWS = 64
"""Rows of a block of ``mlp.c``: a block of a layer stays in the first-level cache."""

SLAB = 64
"""Units of one piece of a sparse product: four vectors, which stay in registers."""

PIECE = 1 << 18
"""Weights that Adam updates at a time on a CPU: four tensors of this size stay in the cache."""

PIECES = 8
"""Pieces of a large product that threads share: a number of its own, not that of the threads."""

FOR_C = {"ROWS": ROWS, "SLAB": SLAB}
"""What ``build.py`` defines for the compiler; the rest reaches C as arguments."""
