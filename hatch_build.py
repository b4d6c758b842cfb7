"""Build hook of the wheel: compile the C kernels where there is a compiler (decision 16)."""

from __future__ import annotations

import os
import runpy
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KERNELS = "alignset/stack/kernels"


class CompiledKernels(BuildHookInterface):
    """Compile into the user's cache folder and, unless the install is editable, into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Leave the wheel pure where nothing can be compiled, or ``ALIGNSET_NATIVE`` is 0."""
        if os.environ.get("ALIGNSET_NATIVE") == "0":
            return
        build = runpy.run_path(str(Path(self.root, "src", KERNELS, "build.py")))
        try:
            path = build["compiled"]()
        except (OSError, RuntimeError, subprocess.SubprocessError) as reason:
            self.app.display_warning(f"the C kernels were not compiled, torch is used: {reason}")
            return
        # where the processor cannot be told, a wheel copied elsewhere might crash
        if version != "editable" and Path("/proc/cpuinfo").exists():
            for each in (path, build["digest_file"](path)):
                build_data["force_include"][str(each)] = f"{KERNELS}/{each.name}"
            build_data["pure_python"] = False
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["tag"] = f"py3-none-{platform}"
