"""``paddle.framework.random``: the seed of programs."""

from __future__ import annotations

from opkit.shim.missing import guard
from opkit.static import default_main_program, default_startup_program

__all__ = ["_manual_program_seed"]


def _manual_program_seed(seed: int) -> None:
    """Seed the default main program and the default startup program."""
    default_main_program().random_seed = seed
    default_startup_program().random_seed = seed


__getattr__ = guard(globals())
