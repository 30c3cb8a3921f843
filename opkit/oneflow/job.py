"""Jobs: ``@flow.global_function`` (v0.4).

A job is traced once into a graph and run by the static executor, or, under ``flow.enable_eager_execution()``, run op
by op. Here a job's blobs, variables, losses and watchers are collected; graphs and plans are
``opkit.static``'s, training is ``semantics.training``'s.

The module is long because a job on one device and on several is traced, trained and run in the same steps.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy import ndarray

from opkit import eager, ops, static
from opkit.errors import UsageError
from opkit.ir import TensorDesc, Variable, speaking
from opkit.oneflow.annotations import UNANNOTATED, JobSignature, flatten, rebuild, signature_of
from opkit.oneflow.job_config import FunctionConfig
from opkit.oneflow.job_devices import JobDevices
from opkit.oneflow.missing_gradient import refuse_barriers
from opkit.oneflow.result import Future, LocalBlob
from opkit.oneflow.semantics.dialect import ONEFLOW
from opkit.oneflow.semantics.training import COUNT_STEP, Trained, UpdateRecipe, append_training, step_name
from opkit.oneflow.session import Session, StoredArray, session
from opkit.oneflow.typing import Callback, ListNumpy, Numpy
from opkit.ops import apply
from opkit.ops.core.types import Function
from opkit.record import mutable
from opkit.sharding import Sbp

Handler = Callable[[Any], Any]


if TYPE_CHECKING:
    from opkit.distribute import DistributedJob

    Compiled: TypeAlias = static.CompiledJob | DistributedJob


@mutable
class _Mode:
    is_eager: bool = False


_mode = _Mode()


def enable_eager_execution(val: bool = True) -> None:
    """Run jobs op by op (or, with False, as graphs again)."""
    _mode.is_eager = bool(val)


def eager_execution_enabled() -> bool:
    """Return whether jobs run op by op."""
    return _mode.is_eager


class Job:
    """One decorated function.

    Args:
        owner: its session.
        function: the function.
        kind: "train" or "predict".
        config: its settings.
    """

    def __init__(self, owner: Session, function: Function, kind: str, config: FunctionConfig) -> None:
        self.owner = owner
        self.function = function
        self.kind = kind
        self.config = config
        self.name = function.__name__
        self.signature: JobSignature = signature_of(function)
        self.variables: dict[str, tuple[StoredArray, Any]] = {}
        self._is_eager = _mode.is_eager
        self.devices = JobDevices(owner.resources, config.values)
        self._open_axes = [{0} if leaf.is_list else set() for leaf in self.signature.leaves]
        self._has_lists = any(self._open_axes)
        self._begin()
        self._compiled: Compiled | None = None
        self._lists = 0
        self._structure: Any = None

    def _begin(self) -> None:
        self.variables = {}
        self._trainings: list[tuple[list[Any], UpdateRecipe]] = []
        self._losses: list[Any] = []
        self._watch_diffs: list[tuple[Any, Handler]] = []
        self._homes: dict[str, tuple[Any, Any]] = {}

    @property
    def is_on_several(self) -> bool:
        """Whether the job may run on several devices."""
        return not self._is_eager and self.devices.may_be_several

    @property
    def is_eager_training(self) -> bool:
        """Whether the job trains op by op."""
        return self._is_eager and self.kind == "train"

    @property
    def lists(self) -> int:
        """How many arrays are fed in a list: one per device in the mirrored view of several, else 0."""
        return 0 if self._is_eager else self.devices.lists

    # ---- what the job's function calls -------------------------------------------------------------------------------
    def variable(self, stored: StoredArray, wish: Sbp | None = None) -> Any:
        """Return the value of a stored array in this job.

        Args:
            stored: the array.
            wish: how it is to lie on several devices.
        """
        held = self.variables.get(stored.name)
        if held is None:
            self._homes[stored.name] = (static.building.placement, wish)
            value = self._eager_variable(stored) if self._is_eager else self._graph_variable(stored)
            held = self.variables[stored.name] = (stored, value)
        return held[1]

    def minimize(self, losses: list[Any], recipe: UpdateRecipe) -> None:
        """Train by a recipe; carried out when the function has returned."""
        if self.kind != "train":
            raise UsageError(
                f"job {self.name!r} is a predict job; minimize() needs a train job",
                help='decorate it with @flow.global_function(type="train")',
            )
        self._trainings.append((losses, recipe))

    def add_loss(self, loss: Any) -> None:
        """Add a loss for the optimizer that the job's FunctionConfig describes."""
        self._losses.append(loss)

    def watch(self, blob: Any, handler: Handler) -> None:
        """Call a function with the blob's data whenever it was computed; of a variable with what the step reads."""
        if getattr(blob, "persistable", False):
            blob = ops.identity(blob)
        apply(static.observer_op(f"watch in job {self.name}", handler), (blob,), {})

    def watch_diff(self, blob: Any, handler: Handler) -> None:
        """Call a function with the gradient of the loss with respect to the blob."""
        self._watch_diffs.append((blob, handler))

    # ---- calling -----------------------------------------------------------------------------------------------------
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the job on arrays; see ``JobSignature.bind`` for what is refused."""
        if self._compiled is None:
            self._lists = self.lists
        arrays = self.signature.bind(args, kwargs, self._lists)
        if self._is_eager:
            return self._packed(self._run_eagerly(arrays))
        if self._has_lists and not self._lists:
            self._open(arrays)
        if self._compiled is None:
            self.prepare()
        compiled = self._compiled
        assert compiled is not None
        if self.owner.elsewhere is not None and self.on_devices is None:
            self.owner.elsewhere.fetch()
        return self._packed(compiled(arrays))

    def _open(self, arrays: list[ndarray]) -> None:
        """Let the job be traced anew where sizes vary that were taken as they are declared."""
        with self.owner.lock:
            for leaf, axes, array in zip(self.signature.leaves, self._open_axes, arrays):
                sizes = zip(array.shape, leaf.desc.shape)
                others = {axis for axis, (size, declared) in enumerate(sizes) if size != declared} - axes
                if others:
                    axes |= others
                    self._compiled = None

    def prepare(self) -> None:
        """Trace the job, unless that was done or it runs eagerly."""
        if self._compiled is None and not self._is_eager:
            with self.owner.lock:
                if self._compiled is None:
                    self._compiled = self._trace()

    @property
    def graph(self) -> static.CompiledJob | None:
        """The traced job; None before the first call or ``prepare()``, and where the job runs op by op."""
        compiled = self._compiled
        return compiled if compiled is None or isinstance(compiled, static.CompiledJob) else compiled.graph

    @property
    def on_devices(self) -> DistributedJob | None:
        """The job as it runs on several devices; None before ``prepare()``, and where it runs on one."""
        compiled = self._compiled
        return None if compiled is None or isinstance(compiled, static.CompiledJob) else compiled

    def _on_devices(self, graph: static.CompiledJob) -> Compiled:
        """Return the traced job in the form in which it runs."""
        if self._is_eager or not self.devices.is_several(graph.program):
            return graph
        from opkit.oneflow.several import distributed

        return distributed(graph, self.owner, self.devices, self._homes)

    def _packed(self, values: Sequence[Any]) -> Any:
        returns = self.signature.returns
        if returns is Numpy and self._structure == 0 and not self._lists:
            return values[0]
        if returns is UNANNOTATED:
            blobs = [LocalBlob(value) for value in values]
            return Future(rebuild(self._structure, blobs, UNANNOTATED, self.name))
        if typing.get_origin(returns) is Callback:
            inner = rebuild(self._structure, values, typing.get_args(returns)[0], self.name)
            return lambda callback: callback(inner)
        return rebuild(self._structure, values, returns, self.name)

    # ---- as a graph --------------------------------------------------------------------------------------------------
    def _trace(self) -> Compiled:
        self._begin()
        if not self._is_eager:
            self.devices.check_placeholders(self.name, self.signature)
        leaves = self.signature.leaves
        tracer = self._tracer = static.JobTracer(self.name, self.owner.scope, ONEFLOW)
        with self.owner.building(self), tracer.tracing(), self.devices.view:
            open_axes = [()] * len(leaves) if self.lists else self._open_axes
            inputs = [tracer.placeholder(leaf.path, leaf.desc, open_axes=axes) for leaf, axes in zip(leaves, open_axes)]
            result = self._call(inputs)
            blobs, self._structure = flatten(result, self.name, lambda item: isinstance(item, Variable))
            self._check_result()
            if self.kind == "train":  # what the step read is returned, not what it makes of a variable
                blobs = [ops.identity(blob) if blob.persistable else blob for blob in blobs]
            with static.build_in(tracer.program, "optimize"):
                self._train(static.differentiate)
        return self._on_devices(tracer.compile(blobs))

    def _graph_variable(self, stored: StoredArray) -> Any:
        return self._tracer.variable(stored.name, stored.desc, is_trainable=stored.is_trainable)

    # ---- op by op ----------------------------------------------------------------------------------------------------
    def _run_eagerly(self, arrays: list[ndarray]) -> list[ndarray]:
        self._begin()
        with self.owner.building(self), speaking(ONEFLOW):
            result = self._call([eager.wrap(array) for array in arrays])
            blobs, self._structure = flatten(result, self.name, lambda item: isinstance(item, eager.Tensor))
            self._check_result()
            values = [np.array(blob._data) for blob in blobs]
            self._train(_differentiate_eagerly)
        return values

    def _eager_variable(self, stored: StoredArray) -> Any:
        return eager.wrap(stored.array, stop_gradient=not (stored.is_trainable and self.kind == "train"))

    # ---- both --------------------------------------------------------------------------------------------------------
    def _call(self, inputs: list[Any]) -> Any:
        flat = iter(inputs)
        return self.function(*(_filled(tree, flat) for _, tree in self.signature.parameters))

    def _check_result(self) -> None:
        returns = self.signature.returns
        if returns in (Numpy, ListNumpy) and not isinstance(self._structure, int):
            is_nothing = self._structure is None
            raise UsageError(
                f"job {self.name!r} returned {'nothing' if is_nothing else type(self._structure).__name__} where its "
                "annotation says one blob",
                where=self.signature.where,
                help="end the job with a return statement" if is_nothing else "return the blob itself",
            )

    def _train(self, differentiate: Any) -> None:
        if self._losses:
            self._trainings.append((self._losses, self.config.recipe(self.name)))
        if not self._trainings:
            if self.kind == "train":
                raise UsageError(
                    f"job {self.name!r} is a train job but calls no minimize()",
                    where=self.signature.where,
                    help="add flow.optimizer.SGD(...).minimize(loss), or make it a predict job",
                )
            if self._watch_diffs:
                raise UsageError(f"job {self.name!r}: flow.watch_diff needs a train job")
            return
        for losses, recipe in self._trainings:
            self._train_one(losses, recipe, differentiate)
        step = self._state(step_name(self.name), TensorDesc((1,), "int64"))
        apply(COUNT_STEP, (step,), {})

    def _train_one(self, losses: list[Any], recipe: UpdateRecipe, differentiate: Any) -> None:
        trained = self._trained(recipe)
        if not self._is_eager:
            refuse_barriers(self.name, losses, [item.value for item in trained])
        watched = [blob for blob, _ in self._watch_diffs]
        copies = self.lists or 1

        def with_watched(goals: Sequence[Any], seeds: Sequence[Any], values: Sequence[Any]) -> Sequence[Any]:
            found = differentiate(goals, seeds, [*values, *watched])
            for (_, handler), gradient in zip(self._watch_diffs, found[len(values) :]):
                if gradient is not None:
                    apply(static.observer_op(f"watch_diff in job {self.name}", handler), (gradient,), {})
            first: Sequence[Any] = found[: len(values)]
            return [None if item is None else _summed(item) for item in first] if copies > 1 else first

        append_training(self.name, losses, recipe, trained, with_watched, self._state, copies)

    def _trained(self, recipe: UpdateRecipe) -> list[Trained]:
        wanted = recipe.variables() if callable(recipe.variables) else recipe.variables
        known = {name: pair for name, pair in self.variables.items() if pair[0].is_trainable}
        for name in wanted or ():
            if name not in known:
                raise UsageError(
                    f"job {self.name!r}: the optimizer's variable {name!r} is not a trainable variable of the job",
                    help=f"the job has {', '.join(known) or 'none'}",
                )
        return [
            Trained(name, value, stored.l1, stored.l2)
            for name, (stored, value) in known.items()
            if wanted is None or name in wanted
        ]

    def _state(self, name: str, desc: TensorDesc) -> Any:
        return self.variable(self.owner.find_or_make(name, desc))


def _summed(gradient: Any) -> Any:
    from opkit.oneflow.several import summed

    return summed(gradient)


def _filled(tree: Any, flat: Any) -> Any:
    return tuple(_filled(part, flat) for part in tree) if isinstance(tree, tuple) else next(flat)


def _differentiate_eagerly(losses: Sequence[Any], seeds: Sequence[Any], values: Sequence[Any]) -> Sequence[Any]:
    found: Sequence[Any] = eager.grad(list(losses), list(values), list(seeds), allow_unused=True)
    return found


def handler_of(function: Any, prompt: str) -> Handler:
    """Return a function of one array from what a script passes to watch: a handler, a text, or nothing.

    A handler whose parameter is annotated ``Numpy`` gets the array, ``ListNumpy`` a list, else a LocalBlob.
    """
    if function is None or isinstance(function, str):
        text = prompt if function is None else function
        return lambda array: print(text, array)  # noqa: T201 - printing is what this handler is for
    annotations = [item.annotation for item in inspect.signature(function).parameters.values()]
    kind = annotations[0] if annotations else UNANNOTATED
    if kind is Numpy:
        return lambda array: function(array)
    if kind is ListNumpy:
        return lambda array: function([array])
    return lambda array: function(LocalBlob(array))


def global_function(type: str | FunctionConfig = "predict", function_config: FunctionConfig | None = None) -> Any:
    """Make a job of a function: ``@flow.global_function(type="train")``.

    Args:
        type: "predict" or "train"; the bare form ``@flow.global_function`` is a predict job.
        function_config: settings of the job.

    Raises:
        UsageError: the type is neither.
    """
    if callable(type) and not isinstance(type, FunctionConfig):
        return _decorate(type, "predict", FunctionConfig())
    if isinstance(type, FunctionConfig):  # the deprecated order
        function_config, type = type, "predict"
    if type not in ("train", "predict"):
        raise UsageError(f"flow.global_function: type is 'train' or 'predict', got {type!r}")
    config = function_config or FunctionConfig()
    kind = "train" if config.is_train else type
    return lambda function: _decorate(function, kind, config)


def _decorate(function: Function, kind: str, config: FunctionConfig) -> Function:
    owner = session()
    job = Job(owner, function, kind, config)
    if not job._is_eager:
        owner.jobs.append(job)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return job(*args, **kwargs)

    call.job = job  # type: ignore[attr-defined]
    return call
