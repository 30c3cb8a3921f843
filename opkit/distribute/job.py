"""DistributedJob: a traced job that runs on several devices; it is called like ``opkit.static.CompiledJob``.

How it is laid out over devices is ``physical``'s, what runs it is an engine.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from numpy import ndarray

from opkit.distribute.asked import Asked
from opkit.distribute.fabric import Fabric
from opkit.distribute.physical import Physical, lay_over_devices
from opkit.errors import GraphError, ShapeError
from opkit.ir import TensorDesc, Value
from opkit.static import CompiledJob

#: Sets of sizes for which a job is kept laid out.
_MOST = 8


class Engine(Protocol):
    """What runs a physical program: threads of this process, or workers elsewhere."""

    def run(self, feeds: Sequence[Any]) -> list[Any]:
        """Run it once; arrays in, arrays out."""


class DistributedJob:
    """A job on several devices.

    Args:
        graph: the traced job.
        asked: what it asks for.
        fabric: what lies between its devices.
        engine: makes the engine of a physical program.
    """

    def __init__(self, graph: CompiledJob, asked: Asked, fabric: Fabric, engine: Callable[[Physical], Engine]) -> None:
        self.graph = graph
        self.asked = asked
        self.fabric = fabric
        self._make = engine
        self._engines: OrderedDict[Any, tuple[Physical, Engine]] = OrderedDict()

    def __call__(self, feeds: Sequence[Any]) -> list[Any]:
        """Run the job.

        Args:
            feeds: one array per input; in the mirrored view a list with one array per device.

        Raises:
            ShapeError: an array does not fit its placeholder, or devices get arrays of different sizes.
            UninitializedError: a variable has no data.
        """
        descs = [self._desc(item, value) for item, value in self._paired(feeds)]
        key = tuple(descs)
        found = self._engines.get(key)
        if found is None:
            found = self._engines[key] = self._made(descs)
            if len(self._engines) > _MOST:
                self._engines.popitem(last=False)
        return found[1].run(feeds)

    def lay_out(self, descs: Sequence[TensorDesc] | None = None) -> Physical:
        """Return the job laid out over its devices for inputs of some sizes, by default the declared ones."""
        inputs = self.graph.inputs
        sizes = dict(zip(inputs, descs or [value.desc for value in inputs]))
        return lay_over_devices(self.graph.program, inputs, self.graph.outputs, sizes, self.asked, self.fabric)

    def laid_out(self) -> list[Physical]:
        """Return the physical programs that were run."""
        return [physical for physical, _ in self._engines.values()]

    def _made(self, descs: Sequence[TensorDesc]) -> tuple[Physical, Engine]:
        physical = self.lay_out(descs)
        return physical, self._make(physical)

    def _paired(self, feeds: Sequence[Any]) -> list[tuple[Any, Value]]:
        inputs = self.graph.inputs
        if len(feeds) != len(inputs):
            raise GraphError(f"job {self.graph.name!r} takes {len(inputs)} arrays, got {len(feeds)}")
        return list(zip(feeds, inputs))

    def _desc(self, item: Any, value: Value) -> TensorDesc:
        """Return the description of what is fed, which must fit the placeholder and be the same on each device."""
        arrays: list[ndarray] = list(item) if self.asked.is_mirrored else [item]
        name = f"job {self.graph.name!r}: input {value.variable.name!r}"
        if self.asked.is_mirrored and len(arrays) != len(self.asked.devices):
            raise ShapeError(
                f"{name} takes one array per device, {len(self.asked.devices)} in all, got {len(arrays)}",
                help="split the batch: numpy.split(batch, devices)",
            )
        shapes = [array.shape for array in arrays]
        if any(shape != shapes[0] for shape in shapes):
            raise ShapeError(
                f"{name} must have the same size on every device, got {', '.join(map(str, shapes))}",
                help="use a batch that the number of devices divides",
            )
        fits = len(shapes[0]) == len(value.shape) and all(
            want in (-1, size) for size, want in zip(shapes[0], value.shape)
        )
        if not fits or arrays[0].dtype != value.dtype:
            raise ShapeError(f"{name} is {value.desc}, got {TensorDesc(shapes[0], arrays[0].dtype.name)}")
        return TensorDesc(shapes[0], arrays[0].dtype.name)
