"""The steps of ``opkit demo``: the real command line in processes of their own."""

from __future__ import annotations

import subprocess
import sys

from opkit.cli.console import paint, put

#: (what the step shows, the command's arguments)
STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("scaffold an op with an attribute, and a job", ("new", "my_softplus", "--attr", "beta:float=1.5", "--job")),
    ("compile its definitions, load its kernels", ("build", "my_softplus")),
    ("verify its gradient", ("gradcheck", "my_softplus")),
    ("run the job", ("run", "job.py")),
)


def tour(folder: str) -> int:
    """Run the steps in a folder, showing each command with its output.

    Returns:
        0, or the exit status of the first step that failed.
    """
    for title, arguments in STEPS:
        put(paint(f"# {title}", "dim", sys.stdout))
        put(paint(f"$ opkit {' '.join(arguments)}", "strong", sys.stdout))
        sys.stdout.flush()
        status = subprocess.run([sys.executable, "-m", "opkit", *arguments], cwd=folder, check=False).returncode
        if status != 0:
            return status
        put("")
    return 0
