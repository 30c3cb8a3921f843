"""The shim: scripts that import ``oneflow`` or ``paddle`` get opkit's packages, unchanged."""

from opkit.shim.finder import FRAMEWORKS, frameworks, install_frameworks
from opkit.shim.script import exec_script, run_script

__all__ = ["FRAMEWORKS", "exec_script", "frameworks", "install_frameworks", "run_script"]
