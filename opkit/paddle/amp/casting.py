"""``auto_cast`` and ``decorate``: what a GPU computes in half precision the CPU keeps in float32, and says so once."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from opkit.errors import UsageError
from opkit.paddle.framework.place import place_of

_LEVELS = ("O0", "OD", "O1", "O2")
_DTYPES = ("float16", "bfloat16")
_told: set[str] = set()


@contextmanager
def auto_cast(
    enable: bool = True,
    custom_white_list: Iterable[str] | None = None,
    custom_black_list: Iterable[str] | None = None,
    level: str = "O1",
    dtype: str = "float16",
    use_promote: bool = True,
) -> Iterator[None]:
    """Compute the block in the dtypes that its Tensors have: on the CPU nothing is cast, as in Paddle 2.6.2.

    Args:
        enable: whether to cast; a warning says once that nothing is.
        custom_white_list: names of ops, accepted without effect.
        custom_black_list: names of ops, which must not be in the other list.
        level: "O0", "OD", "O1" or "O2".
        dtype: "float16" or "bfloat16".
        use_promote: accepted, without effect.

    Raises:
        UsageError: an argument is none of these, or an op is in both lists.
    """
    _check(level, dtype if enable else "float16")
    both = sorted(set(custom_white_list or ()) & set(custom_black_list or ()))
    if both:
        raise UsageError(f"auto_cast: {both} are in the white list and in the black list")
    if enable and level != "O0":
        _say("auto_cast", 4)
    yield


amp_guard = auto_cast


def decorate(
    models: Any,
    optimizers: Any = None,
    level: str = "O1",
    dtype: str = "float16",
    master_weight: bool | None = None,
    save_dtype: str | None = None,
    master_grad: bool = False,
    excluded_layers: Any = None,
) -> Any:
    """Return networks and optimizers as they are: on the CPU parameters stay float32, as in Paddle 2.6.2.

    Args:
        models: a Layer or a list of them.
        optimizers: an Optimizer, a list of them, or None.
        level: "O1" or "O2".
        dtype: "float16" or "bfloat16".
        master_weight: accepted, without effect, like the rest.
        save_dtype: accepted, without effect.
        master_grad: accepted, without effect.
        excluded_layers: accepted, without effect.

    Returns:
        ``models``, or ``(models, optimizers)`` where there are optimizers.

    Raises:
        UsageError: the level or the dtype is another.
    """
    if level not in ("O1", "O2"):
        raise UsageError(f"decorate: level is 'O1' or 'O2', got {level!r}")
    _check(level, dtype)
    if level == "O2":
        _say("decorate(level='O2')", 3)
    return models if optimizers is None else (models, optimizers)


def _check(level: str, dtype: str) -> None:
    if level not in _LEVELS:
        raise UsageError(f"amp: level is one of {', '.join(_LEVELS)}, got {level!r}")
    if dtype not in _DTYPES:
        raise UsageError(f"amp: dtype is 'float16' or 'bfloat16', got {dtype!r}")


def _say(what: str, depth: int) -> None:
    if what not in _told:
        _told.add(what)
        warnings.warn(f"paddle.amp: {what} has no effect on the CPU, Tensors keep their dtypes", stacklevel=depth)


def is_bfloat16_supported(device: Any = None) -> bool:
    """Return whether there are Tensors of bfloat16: no.

    Raises:
        ValueError: the device is not the CPU.
    """
    return _of_the_cpu("is_bfloat16_supported", device)


def is_float16_supported(device: Any = None) -> bool:
    """Return whether the device computes in float16 by itself: no, as on Paddle's CPU.

    Raises:
        ValueError: the device is not the CPU.
    """
    return _of_the_cpu("is_float16_supported", device)


def _of_the_cpu(function: str, device: Any) -> bool:
    if device is not None:
        place_of(f"amp.{function}", device)
    return False
