"""``spawn`` and ``launch``: the one process that they would start is this one."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from opkit.ops.core.types import Function
from opkit.paddle.distributed.environment import one_process
from opkit.shim import exec_script
from opkit.shim.missing import guard

__all__ = ["launch", "spawn"]


class _Ended:
    """The processes that spawn started: none is left."""

    processes: tuple[Any, ...] = ()

    def join(self, timeout: float | None = None) -> bool:
        """Say that all have ended."""
        return True


def spawn(
    func: Function,
    args: tuple[Any, ...] = (),
    nprocs: int = -1,
    join: bool = True,
    daemon: bool = False,
    **options: Any,
) -> _Ended:
    """Call a function as the one process, in this one.

    Args:
        func: what each process would run.
        args: its arguments.
        nprocs: 1, or -1 for as many as there are devices: one.
        join: accepted; the call has ended when spawn returns.
        daemon: accepted, without effect.
        options: ``gpus="0"`` and the like may name one device.

    Raises:
        UnsupportedError: more than one process is asked for.
    """
    one_process(nprocs, f"spawn(nprocs={nprocs})")
    for name in ("gpus", "xpus", "devices"):
        one_process(len(str(options.get(name) or "").split(",")), f"spawn({name}={options.get(name)!r})")
    func(*args)
    return _Ended()


def launch() -> None:
    """Run the script that ``sys.argv`` names after the launcher's options, as the one process, in this one.

    Raises:
        UnsupportedError: the options ask for more than one process.
    """
    parser = argparse.ArgumentParser(prog="paddle.distributed.launch", allow_abbrev=False)
    for name in ("--devices", "--gpus", "--xpus", "--selected_gpus", "--ips"):
        parser.add_argument(name, default="")
    for name in ("--nnodes", "--nproc_per_node", "--nprocs"):
        parser.add_argument(name, default="1")
    for name in ("--master", "--rank", "--log_dir", "--log_level", "--run_mode", "--job_id", "--host", "--max_restart"):
        parser.add_argument(name)
    parser.add_argument("training_script")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    for name in ("devices", "gpus", "xpus", "selected_gpus", "ips"):
        one_process(len(getattr(options, name).split(",")), f"launch --{name} {getattr(options, name)}")
    for name in ("nnodes", "nproc_per_node", "nprocs"):
        text = getattr(options, name)
        one_process(int(text) if text.isdecimal() else 2, f"launch --{name} {text}")
    before = sys.argv
    try:
        exec_script(options.training_script, options.training_script_args)
    finally:
        sys.argv = before


__getattr__ = guard(globals())
