"""Variables of jobs (``flow.get_variable``), and saving and loading them (v0.4)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import UsageError, nearest, unknown
from opkit.ir import Shape, TensorDesc, canonical_dtype
from opkit.oneflow.initializers import Regularizer
from opkit.oneflow.scalar_types import DType, dtype_of, float32
from opkit.oneflow.scope import name_prefix
from opkit.oneflow.semantics.checkpoint import CheckpointError, StoredVariable, read_checkpoint, write_checkpoint
from opkit.oneflow.semantics.devices import sbp_of
from opkit.oneflow.session import Session, session
from opkit.ops.core.types import Ints
from opkit.ops.kernels.initializer import Initializer
from opkit.paths import StrPath


def get_variable(
    name: str,
    shape: Ints | None = None,
    dtype: Any = float32,
    initializer: Initializer | None = None,
    regularizer: Regularizer | None = None,
    trainable: bool | None = True,
    model_name: str | None = None,
    random_seed: int | None = None,
    parallel_distribution: Any = None,
    distribute: Any = None,
    reuse: bool = True,
) -> Any:
    """Return a variable of the current job; jobs that ask for the same name share it.

    Args:
        name: with the current name spaces in front, unique in the session.
        shape: sizes.
        dtype: a OneFlow dtype.
        initializer: its first value; zeros where left out.
        regularizer: ``flow.regularizers`` term added to its gradient.
        trainable: whether ``minimize`` trains it by default.
        distribute: how it lies on several devices, ``flow.distribute.split(axis)`` or ``broadcast()``.
        random_seed: seeds the initializer; left out, the variable's name does.
        reuse: whether the same job may ask for it twice.

    Raises:
        UsageError: it is called outside a job, the name is empty, or the job already has it and ``reuse`` is false.
        ShapeError: the variable exists with another shape or dtype.
    """
    wish = sbp_of(distribute, f"flow.get_variable({name!r})")
    if not isinstance(name, str) or not name:
        raise UsageError(f"flow.get_variable takes a name, got {name!r}")
    if not isinstance(shape, (tuple, list)):
        raise UsageError(f"flow.get_variable({name!r}): shape is a list or tuple of sizes, got {shape!r}")
    full = name_prefix() + name
    owner = session()
    job = owner.current_job(f"flow.get_variable({name!r})")
    desc = TensorDesc(tuple(int(size) for size in shape), canonical_dtype(dtype))
    if not reuse and full in job.variables:
        raise UsageError(
            f"job {job.name!r} has a variable {full!r} already",
            help="give it another name, or pass reuse=True to share it",
        )
    stored = owner.find_or_make(full, desc, initializer, random_seed)
    if full not in job.variables:
        stored.is_trainable = trainable is not False
        if regularizer is not None:
            stored.l1, stored.l2 = regularizer.l1, regularizer.l2
    return job.variable(stored, wish)


class CheckpointWarning(UserWarning):
    """A checkpoint was loaded that lacks variables of the session's jobs."""


class SavedBlob:
    """A variable outside jobs: its name, shape, dtype and present data."""

    def __init__(self, name: str, array: ndarray) -> None:
        self.name = name
        self._array = array

    @property
    def shape(self) -> Shape:
        """Sizes."""
        return self._array.shape

    @property
    def dtype(self) -> DType:
        """OneFlow's dtype."""
        return dtype_of(self._array.dtype)

    def numpy(self) -> ndarray:
        """Return a copy of the data."""
        copy: ndarray = self._array.copy()
        return copy

    def __repr__(self) -> str:
        return f"SavedBlob({self.name!r}, {TensorDesc(self._array.shape, self._array.dtype.name)})"


def get_all_variables() -> dict[str, SavedBlob]:
    """Return all variables of all jobs by name, optimizer state and step counters included."""
    owner = session()
    owner.trace_all()
    return {name: SavedBlob(name, held.array) for name, held in owner.arrays.items()}


def load_variables(value_dict: Mapping[str, Any], ignore_mismatch: bool = True) -> None:
    """Give variables new contents by name.

    Args:
        value_dict: arrays, or what ``flow.checkpoint.get`` returned.
        ignore_mismatch: whether names without a variable are skipped.

    Raises:
        CheckpointError: a name belongs to no variable and ``ignore_mismatch`` is false.
        ShapeError: a value has another shape or dtype than its variable; no variable was changed.
    """
    owner = session()
    owner.trace_all()
    ready: dict[str, ndarray] = {}
    for name, value in value_dict.items():
        if name in owner.arrays:
            ready[name] = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
            owner.check_fits(name, ready[name])
        elif not ignore_mismatch:
            otherwise = "pass ignore_mismatch=True to skip it"
            said = unknown(
                "no variable of this session's jobs is named", name, owner.arrays, otherwise=otherwise, limit=3
            )
            raise said.error(CheckpointError)
    for name, array in ready.items():
        owner.arrays[name].array[...] = array
    if any(isinstance(value, StoredVariable) for value in value_dict.values()):
        _tell_missing(owner, value_dict)


def _tell_missing(owner: Session, value_dict: Mapping[str, Any]) -> None:
    """Warn of job variables that a checkpoint does not hold: they keep their first values."""
    missing = [name for name, held in owner.arrays.items() if held.is_trainable and name not in value_dict]
    if not missing:
        return
    spare = [name for name in value_dict if name not in owner.arrays]
    near = nearest(missing[0], spare, limit=1)
    hint = f"; {missing[0]!r} may be its name for {near[0]!r}" if near else ""
    warnings.warn(
        f"the checkpoint holds no {', '.join(map(repr, missing))}; these variables keep their values{hint}",
        CheckpointWarning,
        stacklevel=3,
    )


class checkpoint:
    """``flow.checkpoint``."""

    @staticmethod
    def save(path: StrPath, var_dict: Mapping[str, Any] | None = None) -> None:
        """Save all variables (or those given) to a new folder; either all of it is written or nothing.

        Raises:
            CheckpointError: the place is taken by something else, or cannot be written.
        """
        found = get_all_variables() if var_dict is None else var_dict
        write_checkpoint(
            path, {name: item.numpy() if hasattr(item, "numpy") else np.asarray(item) for name, item in found.items()}
        )

    @staticmethod
    def get(path: StrPath) -> dict[str, StoredVariable]:
        """Return what a checkpoint holds, by name: one save, whatever is saved there afterwards.

        Raises:
            CheckpointError: the folder is missing or is not a checkpoint.
        """
        return read_checkpoint(path)


class CheckPoint:
    """``flow.train.CheckPoint``: the older way to save and load."""

    def save(self, path: str) -> None:
        """Save all variables to a folder."""
        checkpoint.save(path)

    def init(self) -> None:
        """Do nothing: variables are initialised when they are made."""

    def load(self, path: str) -> None:
        """Load all variables from a folder."""
        load_variables(checkpoint.get(path))


class train:
    """``flow.train``."""

    CheckPoint = CheckPoint
