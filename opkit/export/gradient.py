"""The verdict of opkit's own check of a gradient, without which an op does not leave.

It runs ``opkit gradcheck`` as a command in a process of its own, since what checks ops does not belong below export.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

#: The row of a proof that says what opkit's own check found.
GRADIENT = "opkit gradcheck"


def gradient_trouble(directory: str, ops: Sequence[str]) -> str:
    """Return why the gradients of some forward ops are not known to be right, "" where ``opkit gradcheck`` passes."""
    command = [sys.executable, "-m", "opkit", "gradcheck", directory, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)["ops"]
    except (ValueError, KeyError):
        said = done.stderr.strip().splitlines()
        return f"opkit gradcheck ended with status {done.returncode}: {said[-1] if said else 'no message'}"
    wrong = [item for item in found if item["op"] in ops and item["status"] not in ("pass", "skip")]
    return "; ".join(f"{item['op']}: {item['status']}{_first(item)}" for item in wrong)


def _first(item: dict[str, object]) -> str:
    checks = item.get("checks")
    for check in checks if isinstance(checks, list) else []:
        if check.get("status") == item["status"]:
            return f" ({check.get('code')}: {' '.join(str(check.get('message', '')).split())[:200]})"
    return ""
