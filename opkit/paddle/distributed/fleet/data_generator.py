"""Data generators: a script's samples as the lines of text that ``InMemoryDataset`` and its kin read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from opkit.errors import UsageError
from opkit.shim.missing import guard as _guard

__all__ = ["MultiSlotDataGenerator", "MultiSlotStringDataGenerator"]

Sample = Any


class _DataGenerator:
    """Base: ``generate_sample(line)`` is the script's; it returns a function that yields samples."""

    def __init__(self) -> None:
        self.batch_size_ = 32

    def set_batch(self, batch_size: int) -> None:
        """Set how many samples ``generate_batch`` gets at once."""
        self.batch_size_ = batch_size

    def generate_sample(self, line: str | None) -> Callable[[], Iterable[Sample]]:
        """Return a function that yields the samples of a line; a sample is a list of (name, values).

        Raises:
            NotImplementedError: the script does not define it.
        """
        raise NotImplementedError(f"{type(self).__name__} must define generate_sample(line)")

    def generate_batch(self, samples: list[Sample]) -> Callable[[], Iterable[Sample]]:
        """Return a function that yields what becomes of a batch: its samples."""
        return lambda: iter(samples)

    def run_from_stdin(self) -> None:
        """Write the samples of each line of standard input to standard output."""
        self._write(sample for line in sys.stdin for sample in self.generate_sample(line)())

    def run_from_memory(self) -> None:
        """Write the samples of ``generate_sample(None)`` to standard output."""
        self._write(self.generate_sample(None)())

    def _write(self, samples: Iterable[Sample]) -> None:
        for batch in _batches((sample for sample in samples if sample is not None), self.batch_size_):
            for sample in self.generate_batch(batch)():
                sys.stdout.write(self._gen_str(sample))

    def _gen_str(self, line: Sample) -> str:
        raise NotImplementedError(f"{type(self).__name__} must define _gen_str(line)")


def _batches(samples: Iterable[Sample], size: int) -> Iterator[list[Sample]]:
    batch: list[Sample] = []
    for sample in samples:
        batch.append(sample)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _checked(line: Sample) -> list[tuple[str, list[Any]]]:
    """Return a sample as a list of (name, values).

    Raises:
        UsageError: it is something else, or a slot has no value.
    """
    pairs = list(line.items()) if isinstance(line, dict) else line
    if not isinstance(pairs, list | tuple):
        raise UsageError(f"a sample is a list of (name, values), got {type(line).__name__}")
    for name, values in pairs:
        if not isinstance(name, str) or not isinstance(values, list):
            raise UsageError(f"a slot is (name, list of values), got ({name!r}, {values!r})")
        if not values:
            raise UsageError(f"slot {name!r} has no value; it must be padded")
    return list(pairs)


class MultiSlotDataGenerator(_DataGenerator):
    """Samples of numbers: a line is, for each slot, the number of its values and the values."""

    def __init__(self) -> None:
        super().__init__()
        self._names: list[str] = []

    def _gen_str(self, line: Sample) -> str:
        pairs = _checked(line)
        names = [name for name, _ in pairs]
        self._names = self._names or names
        if names != self._names:
            raise UsageError(f"a sample has the slots {names}, the first had {self._names}")
        for name, values in pairs:
            if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
                raise UsageError(f"slot {name!r} holds a value that is not a number: {values!r}")
        return _line(pairs)


class MultiSlotStringDataGenerator(_DataGenerator):
    """Samples of texts, written as they are."""

    def _gen_str(self, line: Sample) -> str:
        return _line(_checked(line))


def _line(pairs: list[tuple[str, list[Any]]]) -> str:
    return " ".join(str(word) for _, values in pairs for word in [len(values), *values]) + "\n"


__getattr__ = _guard(globals())
