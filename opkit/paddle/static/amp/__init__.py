"""``paddle.static.amp``: graphs keep their dtypes on the CPU, so an optimizer is only wrapped in the scaler's names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opkit.shim.missing import guard

__all__ = ["AutoMixedPrecisionLists", "CustomOpLists", "OptimizerWithMixedPrecision", "decorate", "fp16_guard"]


@contextmanager
def fp16_guard(*args: Any) -> Iterator[None]:
    """Let the ops of the block be cast to float16: on the CPU none is."""
    yield


class AutoMixedPrecisionLists:
    """Names of ops that are to be cast or not; nothing is cast.

    Args:
        custom_white_list: to be cast.
        custom_black_list: not to be cast.
        custom_black_varnames: names of Variables whose ops are not to be cast.
        dtype: accepted, without effect.
    """

    def __init__(
        self,
        custom_white_list: Any = None,
        custom_black_list: Any = None,
        custom_black_varnames: Any = None,
        dtype: str = "float16",
    ) -> None:
        self.white_list = set(custom_white_list or ())
        self.black_list = set(custom_black_list or ())
        self.black_varnames = set(custom_black_varnames or ())


CustomOpLists = AutoMixedPrecisionLists


class OptimizerWithMixedPrecision:
    """An optimizer whose loss would be scaled; in float32 the factor is 1.

    Args:
        optimizer: the optimizer; its other methods are reached through this object.
    """

    def __init__(self, optimizer: Any) -> None:
        self._optimizer = optimizer

    def amp_init(self, place: Any, scope: Any = None, test_program: Any = None, use_fp16_test: bool = False) -> None:
        """Cast the parameters: they stay as they are."""

    def get_loss_scaling(self) -> float:
        """Return the factor on the loss: 1."""
        return 1.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._optimizer, name)


def decorate(optimizer: Any, *args: Any, **kwargs: Any) -> OptimizerWithMixedPrecision:
    """Return an optimizer with the methods of mixed precision; the settings of scaling are accepted, without effect.

    Args:
        optimizer: a Paddle optimizer.
        args: accepted, without effect.
        kwargs: accepted, without effect.
    """
    return OptimizerWithMixedPrecision(optimizer)


__getattr__ = guard(globals())
