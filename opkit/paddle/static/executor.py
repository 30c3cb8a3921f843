"""``paddle.static.Executor`` and what goes with it: CompiledProgram and its strategies, fetched tensors, DataFeeder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from numpy import ndarray

from opkit import static
from opkit.errors import ShapeError, UsageError
from opkit.ir import Program, Variable, to_numpy
from opkit.paddle.framework.place import CPUPlace, place_of
from opkit.paddle.io.generated import with_batches
from opkit.paddle.semantics.scope_tensor import ScopeTensor
from opkit.static.scope import Holder, Scope


class _Settings:
    """Keeps whatever is set on it, without effect: opkit's plans need no strategy."""


class BuildStrategy(_Settings):
    """Accepted for Paddle's sake."""

    class ReduceStrategy(IntEnum):
        """How gradients of several devices are joined; there is one."""

        Reduce = 0
        AllReduce = 1

    class GradientScaleStrategy(IntEnum):
        """By what gradients of several devices are divided; there is one."""

        CoeffNumDevice = 0
        One = 1
        Customized = 2

    reduce_strategy: Any = ReduceStrategy.AllReduce
    gradient_scale_strategy: Any = GradientScaleStrategy.CoeffNumDevice


class ExecutionStrategy(_Settings):
    """Accepted for Paddle's sake."""


class CompiledProgram:
    """A program with a strategy; opkit compiles every program when it is run, so it is the program."""

    def __init__(self, program_or_graph: Program, build_strategy: Any = None) -> None:
        if not isinstance(program_or_graph, Program):
            raise UsageError(f"CompiledProgram takes a Program, got {type(program_or_graph).__name__}")
        self.program = program_or_graph

    def with_data_parallel(self, *args: Any, **kwargs: Any) -> CompiledProgram:
        """Return the program itself: there is one CPU device."""
        return self


class FeedListError(UsageError, AssertionError, TypeError):
    """A list of feeds is not one feed of one device (Paddle raises AssertionError or TypeError)."""


class Executor(static.Executor):
    """Runs programs.

    Args:
        place: ``CPUPlace()``, ``"cpu"``, or nothing.

    Raises:
        ValueError: it names another device.
    """

    mode_help = "call paddle.enable_static() before building and running programs"

    def __init__(self, place: Any = None) -> None:
        super().__init__(CPUPlace() if place is None else place_of("Executor", place))

    def run(  # type: ignore[override]
        self,
        program: Any = None,
        feed: Any = None,
        fetch_list: Any = None,
        feed_var_name: str = "feed",
        fetch_var_name: str = "fetch",
        scope: Any = None,
        return_numpy: bool = True,
        use_program_cache: bool = False,
        use_prune: bool = False,
    ) -> list[Any]:
        """Run a program with feeds and return what is fetched; see ``opkit.static.Executor.run``.

        ``feed`` may also be a list of one feed: there is one device.
        """
        if isinstance(feed, (list, tuple)):
            feed = _only_feed(feed)
        if type(program) is CompiledProgram:
            program = program.program
        feed = with_batches(static.default_main_program() if program is None else program, feed)
        found = super().run(program, feed, fetch_list, scope)
        if return_numpy:
            return found
        return [None if array is None else _tensor(array) for array in found]


def _only_feed(feeds: Sequence[Any]) -> Any:
    """Return the feed of a list with one for each device."""
    if len(feeds) != 1 or not isinstance(feeds[0], Mapping):
        raise FeedListError(
            f"Executor.run: a list of feeds holds one dict of arrays, got {[type(item).__name__ for item in feeds]}",
            help="one device runs the program: give a dict of arrays by name",
        )
    return feeds[0]


def _tensor(array: ndarray) -> ScopeTensor:
    holder = Holder(Scope(), "fetch")
    holder.array = array
    return ScopeTensor(holder)


class DataFeeder:
    """Makes a feed of a batch of samples.

    Args:
        feed_list: Variables (or their names), in the order of a sample's parts.
        place: accepted, without effect.
        program: where names are looked up; left out: the default main program.
    """

    def __init__(self, feed_list: Sequence[Any], place: Any = None, program: Program | None = None) -> None:
        block = (program or static.default_main_program()).global_block()
        self.variables = [block.var(item) if isinstance(item, str) else item for item in feed_list]
        for item in self.variables:
            if not isinstance(item, Variable):
                raise TypeError(f"feed_list holds Variables or names, got {type(item).__name__}")

    def feed(self, iterable: Sequence[Sequence[Any]]) -> Mapping[str, ndarray]:
        """Return {name: array} for a batch.

        Args:
            iterable: one tuple per sample, with one part per Variable.

        Raises:
            ShapeError: the samples' parts do not make an array of the declared shape.
        """
        columns: list[list[Any]] = [[] for _ in self.variables]
        for sample in iterable:
            if len(sample) != len(columns):
                raise UsageError(f"a sample has {len(sample)} parts, the feeder takes {len(columns)}")
            for column, part in zip(columns, sample):
                column.append(part)
        return {variable.name: _batch(variable, column) for variable, column in zip(self.variables, columns)}


def _batch(variable: Variable, column: list[Any]) -> ndarray:
    array = np.array(column, dtype=to_numpy(variable.desc.dtype))
    declared = variable.shape
    if array.ndim == len(declared):
        return array
    try:
        return array.reshape((len(column), *declared[1:]))
    except ValueError:
        raise ShapeError(
            f"samples of shape {array.shape[1:]} do not fit variable {variable.name!r} of shape {declared}"
        ) from None
