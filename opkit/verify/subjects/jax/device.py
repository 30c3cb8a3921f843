"""Device: where programs of JAX run: in numpy, or compiled on a device that the run asks for.

What is run, and on which arrays, is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax

from opkit.ops.core.types import Function
from opkit.record import record
from opkit.verify.options import NamedError
from opkit.verify.subjects.jax.interpret import evaluate


@record
class Device:
    """A device.

    Args:
        place: of JAX's, None for evaluation in numpy.
    """

    place: Any = None

    def held(self) -> AbstractContextManager[Any]:
        """Return a context in which arrays that JAX makes lie on the device."""
        return nullcontext() if self.place is None else jax.default_device(self.place)

    def prepared(self, function: Function, traced: Any) -> Callable[..., Sequence[Any]]:
        """Return what runs a function that was traced, with the arguments it was traced with."""
        if self.place is None:
            return lambda *args: evaluate(traced, jax.tree.leaves(args))
        compiled = jax.jit(function)

        def run(*args: Any) -> list[Any]:
            with self.held():
                return list(compiled(*jax.device_put(args, self.place)))

        return run

    def run(self, function: Function, *args: Any) -> Sequence[Any]:
        """Run a function of arrays operation by operation: on JAX's own, which promote dtypes unlike numpy's."""
        with self.held():
            return list(function(*jax.device_put(args, self.place)))


#: Evaluation in numpy.
NUMPY = Device()


def device_named(name: str) -> Device:
    """Return a device by its name, such as "cpu:1"; "" is evaluation in numpy.

    Raises:
        NamedError: JAX has no such device here.
    """
    if not name:
        return NUMPY
    kind, _, number = name.partition(":")
    there = [item for platform in dict.fromkeys((jax.default_backend(), "cpu")) for item in jax.devices(platform)]
    try:
        devices = jax.devices(kind)
    except RuntimeError as error:
        raise NamedError(
            f"JAX {jax.__version__} has no device {kind!r} here; it has {_shown(there)}",
            help=f"leave out --device, or install a JAX that serves {kind}",
        ) from error
    if int(number or 0) >= len(devices):
        raise NamedError(
            f"JAX has no device {name!r} here: of {kind!r} it has {_shown(devices)}",
            help="leave out the number, or name one that is there",
        )
    return Device(devices[int(number or 0)])


def _shown(devices: Sequence[Any]) -> str:
    return ", ".join(f"{item.platform}:{item.id}" for item in devices)
