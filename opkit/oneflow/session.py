"""The session: op types, variables and jobs, which live until ``flow.clear_default_session()`` or the process ends."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy import ndarray

from opkit.errors import ShapeError, UnsupportedError, UsageError
from opkit.ir import TensorDesc, to_numpy
from opkit.oneflow.semantics.devices import Resources
from opkit.ops import Registry
from opkit.ops.kernels.initializer import Initializer, constant
from opkit.project import Library
from opkit.record import mutable_entity
from opkit.settings import current_settings
from opkit.static.scope import Holder, Scope

if TYPE_CHECKING:
    from opkit.oneflow.job import Job


class Elsewhere(Protocol):
    """Variables that devices of other processes hold."""

    def fetch(self) -> None:
        """Bring what was changed there here; they are sent what is here before the next run."""


class OutsideJobError(UsageError, NotImplementedError):
    """A function of jobs was called outside one (OneFlow raises NotImplementedError)."""


@mutable_entity
class StoredArray:
    """A variable or a piece of optimizer state, shared by all jobs of a session.

    Args:
        name: unique in the session.
        holder: its place in the session's scope, with its data, which train jobs change in place.
        is_trainable: whether minimize() trains it by default.
        l1: weight of the L1 term of its regularizer.
        l2: weight of the L2 term of its regularizer.
        session: whose it is.
    """

    name: str
    holder: Holder
    is_trainable: bool = False
    l1: float = 0.0
    l2: float = 0.0
    session: Session | None = None

    @property
    def array(self) -> ndarray:
        """The data itself, brought here where it is elsewhere."""
        if self.session is not None and self.session.elsewhere is not None:
            self.session.elsewhere.fetch()
        return self._held

    @property
    def _held(self) -> ndarray:
        held = self.holder.array
        assert held is not None, "a stored array is initialised when it is made"
        return held

    @property
    def desc(self) -> TensorDesc:
        """Shape and dtype."""
        return TensorDesc(self._held.shape, self._held.dtype.name)


class Session:
    """Op types, variables and jobs.

    Attributes:
        library: the loaded op directories.
        scope: holds the data of variables and optimizer state for plans.
        arrays: variables and optimizer state by name, in the order in which they were created.
        jobs: all jobs that were defined.
        resources: the devices that there are.
        elsewhere: brings variables here that devices of other processes have changed; None while all are here.
        seed: with a variable's name it seeds the variable's initializer.
    """

    def __init__(self, library: Library | None = None) -> None:
        self.library = Library() if library is None else library
        self.scope = Scope()
        self.arrays: dict[str, StoredArray] = {}
        self.jobs: list[Job] = []
        self.resources = Resources()
        self.elsewhere: Elsewhere | None = None
        self.seed = 0
        self.lock = threading.RLock()
        self._building: list[Job] = []

    @property
    def registry(self) -> Registry:
        """The op types of loaded directories over the built-in ones."""
        return self.library.registry

    # ---- jobs under construction -------------------------------------------------------------------------------------
    @contextmanager
    def building(self, job: Job) -> Iterator[None]:
        """Make a job the current one within a ``with`` block."""
        self._building.append(job)
        try:
            yield
        finally:
            self._building.pop()

    @property
    def job(self) -> Job | None:
        """The job that is being traced or run eagerly, or None."""
        return self._building[-1] if self._building else None

    def current_job(self, asked_by: str) -> Job:
        """Return the job under construction.

        Raises:
            OutsideJobError: there is none.
        """
        if not self._building:
            raise OutsideJobError(
                f"{asked_by} was called outside a job",
                help='put it into a function decorated with @flow.global_function(type="train")',
            )
        return self._building[-1]

    def trace_all(self) -> None:
        """Trace the jobs that were not traced yet, so that their variables exist."""
        for job in list(self.jobs):
            job.prepare()

    # ---- variables ---------------------------------------------------------------------------------------------------
    def find_or_make(
        self, name: str, desc: TensorDesc, initializer: Initializer | None = None, random_seed: int | None = None
    ) -> StoredArray:
        """Return the array of that name, made and initialised if there is none.

        Raises:
            ShapeError: there is one with another shape or dtype.
        """
        with self.lock:
            held = self.arrays.get(name)
            if held is not None:
                if held.desc != TensorDesc(desc.shape, desc.dtype):
                    raise ShapeError(
                        f"variable {name!r} exists as {held.desc} and cannot be created again as {desc}",
                        help="give it another name, or the same shape and dtype; "
                        "flow.clear_default_session() forgets all variables",
                    )
                return held
            seed = [self.seed, zlib.crc32(name.encode())] if random_seed is None else random_seed
            rng = np.random.default_rng(seed)
            holder = self.scope.var(name)
            holder.put((initializer or constant(0))(rng, desc.shape, to_numpy(desc.dtype)))
            made = self.arrays[name] = StoredArray(name, holder, session=self)
            return made

    def check_fits(self, name: str, array: ndarray) -> None:
        """Refuse contents that a variable cannot take.

        Raises:
            ShapeError: the array has another shape or dtype.
        """
        held = self.arrays[name]
        if array.shape != held.array.shape or array.dtype != held.array.dtype:
            raise ShapeError(
                f"variable {name!r} is {held.desc}, the value to load is {TensorDesc(array.shape, array.dtype.name)}",
                help="the checkpoint belongs to another network: check the layers' sizes",
            )


_default = Session()


def session() -> Session:
    """Return the default session."""
    return _default


def set_machines(asked_by: str, count: int) -> None:
    """Set how many machines the session has.

    Raises:
        UnsupportedError: there are several, and no cluster.
    """
    if count > 1 and not current_settings().cluster:
        raise UnsupportedError(
            f"{asked_by}: {count} machines are named, and this process is on one",
            help="run the script with opkit run --cluster local:N, or with a scheduler's address",
        )
    _default.resources.machines = max(count, 1)


def clear_default_session() -> None:
    """Forget all jobs and variables; loaded op directories stay."""
    global _default
    _default = Session(_default.library)


def sync_default_session() -> None:
    """Do nothing: a job has ended when its call returns."""
