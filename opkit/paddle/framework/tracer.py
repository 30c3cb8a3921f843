"""The tracer of dynamic mode, which recomputation written as a PyLayer asks and sets: whether ops are recorded."""

from __future__ import annotations

from enum import Enum

from opkit.ops.core.mode import local
from opkit.static.names import unique_name


class AmpLevel(Enum):
    """How much is computed in half precision; on the CPU nothing is."""

    O0 = 0
    OD = 1
    O1 = 2
    O2 = 3


class Tracer:
    """What dynamic mode is set to in this thread.

    Source: Paddle 2.6.2, whose tracer on a CPU says the same within ``paddle.amp.auto_cast``.
    """

    __slots__ = ("_train_mode",)

    _amp_level = AmpLevel.O0
    _amp_dtype = "float32"
    _use_promote = False

    def __init__(self) -> None:
        # Kept for scripts that set it; nothing asks for it.
        self._train_mode = True

    @property
    def _has_grad(self) -> bool:
        """Whether ops are recorded for backward."""
        return local.mode.is_grad_enabled

    @_has_grad.setter
    def _has_grad(self, value: bool) -> None:
        local.mode.is_grad_enabled = bool(value)

    def _generate_unique_name(self, key: str = "dygraph_tmp") -> str:
        """Return a name that no Tensor has yet."""
        return unique_name(key)

    def _get_amp_op_list(self) -> tuple[set[str], set[str]]:
        """Return the ops that are computed in half precision and those that never are: none."""
        return set(), set()


_tracer = Tracer()


def dygraph_tracer() -> Tracer | None:
    """Return the tracer, None in static mode."""
    return None if local.mode.is_static else _tracer
