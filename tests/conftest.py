"""Settings of the whole suite."""

import os

# C kernels that are not there yet are waited for: both they and torch's are tested in one run
os.environ.setdefault("ALIGNSET_NATIVE", "1")
