"""Numbers shared by the kernels in Python, C and Triton, each written only here."""

BETA_1, BETA_2, EPS = 0.9, 0.999, 1e-8
"""Adam's constants."""

ROWS = 64
"""Rows in a block of ``mlp.c``: a block of a layer fits into the first-level cache."""

SLAB = 64
"""Units in one piece of a sparse product: four vectors, which stay in registers."""

PIECE = 1 << 18
"""Weights that Adam updates at a time on a CPU: four tensors of this size stay in the cache."""

PIECES = 8
"""Pieces of a large product that threads share, whatever the number of threads."""

FOR_C = {"ROWS": ROWS, "SLAB": SLAB}
"""What ``build.py`` defines for the compiler; the rest reaches C as arguments."""
