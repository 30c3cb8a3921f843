"""Scope: what is known of an op while cases for it are searched: what its inputs hold, and how they are filled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opkit.checker.model.case import Case
from opkit.checker.model.checkable import Arg, Checkable, Infer, describe_inputs
from opkit.checker.model.draws import generator
from opkit.checker.model.options import Options
from opkit.checker.model.thresholds import FEW, LEAST_ANCHOR, MANY, MOST_ANCHOR, PLENTY, SOME
from opkit.checker.model.trial import Trial
from opkit.checker.search.kinds import every_shape
from opkit.checker.search.shapes import Assignment, Shape
from opkit.checker.search.values import ANCHORED, STRUCTURES, fill, near_constants
from opkit.ir import TensorDesc
from opkit.record import mutable, record


@record
class Role:
    """What an input is filled with: floats of a domain, or integers below a limit.

    Args:
        domain: a key of ``values.DOMAINS``.
        dtype: that of whole numbers, "" for floats.
        limit, least: whole numbers lie from ``least`` to below ``limit``; of offsets the axis's length and its number.
        is_fixed: whether these bounds were seen in a run, and are not to be searched.
        structure: what arrays of floats are beside their domain: a key of ``values.STRUCTURES``; "signs" for whole
            numbers that are -1 and 1, "offsets" for such as rise from 0 to the limit, where parts of an axis begin.
        is_order: whether whole numbers are the places along their last axis, each once; of offsets, no two alike.
    """

    domain: str = "real"
    dtype: str = ""
    limit: int = 0
    least: int = 0
    is_fixed: bool = False
    structure: str = ""
    is_order: bool = False

    @property
    def is_integer(self) -> bool:
        """Whether the input holds integers or booleans."""
        return bool(self.dtype)


@mutable
class SearchScope:
    """What the parts of a search share.

    Args:
        checkable: the op.
        options: seed and effort.
        trial: counts what is tried.
        dtype: of the float inputs.
        mixed: of each input, where the float inputs are not all of one dtype.
        roles: what the inputs hold, None until forward took something.
        precision: of the cases, as in theirs.
    """

    checkable: Checkable
    options: Options
    trial: Trial
    dtype: str = "float64"
    mixed: tuple[str, ...] = ()
    roles: tuple[Role, ...] | None = None
    precision: str = ""

    @property
    def args(self) -> tuple[Arg, ...]:
        """The declared inputs."""
        return self.checkable.inputs

    @property
    def attrs(self) -> dict[str, Any]:
        """The options, with what the user fixed."""
        return {**self.checkable.default_attrs, **self.options.attrs}

    @property
    def held(self) -> tuple[Role, ...]:
        """What the inputs hold: any floats until forward took something."""
        return self.roles or (Role(),) * len(self.args)

    @property
    def is_declared(self) -> bool:
        """Whether infer says what is taken: it is asked without a call of forward."""
        return self.checkable.infer is not None

    @property
    def has_shapes(self) -> bool:
        """Whether it is declared, by hand or in the signature, which shapes all inputs have."""
        dimensions = self.checkable.dimensions
        return self.checkable.declares_shapes or (bool(self.options.shapes) and not dimensions.axes)

    @property
    def is_near(self) -> bool:
        """Whether shapes stay those that are given by hand, or near those of a run."""
        return bool(self.options.shapes or self.checkable.seen)

    @property
    def floats(self) -> tuple[str, ...]:
        """The dtype of each input, as far as it holds floats."""
        return self.mixed or (self.dtype,) * len(self.args)

    @property
    def domain(self) -> str | None:
        """The one domain of all inputs, where they have one and all hold floats."""
        domains = {None if role.is_integer else role.domain for role in self.roles or ()}
        return domains.pop() if len(domains) == 1 else None

    @property
    def has_open_places(self) -> bool:
        """Whether nothing but forward says what whole numbers inputs take."""
        return not self.is_declared and any(role.is_integer and not role.is_fixed for role in self.held)

    @property
    def anchors(self) -> list[float]:
        """Numbers that occur in the kernels, around which values are placed."""
        numbers = (abs(value) for value in self.checkable.constants if isinstance(value, (int, float)))
        return sorted({float(size) for size in numbers if LEAST_ANCHOR <= size <= MOST_ANCHOR})[:MANY]

    @property
    def hinted_sizes(self) -> list[int]:
        """Sizes that the kernels mention."""
        return [value for value in self.checkable.constants if type(value) is int and FEW <= value <= PLENTY][:SOME]

    def rng(self, *key: int) -> np.random.Generator:
        """Return a generator of its own for a place in the search."""
        return generator(self.options.seed, *key)

    def case(
        self,
        assignment: Assignment,
        attrs: Mapping[str, Any],
        roles: Sequence[Role],
        regime: str = "normal",
        label: str = "normal",
        seed: int = 0,
    ) -> Case:
        """Return a case of these shapes, every input filled by its role, floats with values of a regime."""
        rng = self.rng(seed)
        inputs: dict[str, Any] = {}
        for arg, shape, role, dtype in zip(self.args, assignment, roles, self.floats):
            made = [self._array(one, role, regime, rng, dtype) for one in every_shape((shape,))]
            inputs[arg.name] = made if made and arg.is_variadic else made[0] if made else None
        return Case(inputs, dict(attrs), label, seed, precision=self.precision)

    def _array(self, shape: Shape, role: Role, regime: str, rng: np.random.Generator, dtype: str) -> np.ndarray:
        """Return an array of a role's values, of this dtype where they are floats."""
        if not role.is_integer:
            if regime in ANCHORED:
                values = near_constants(self.anchors, shape, regime == ANCHORED[1], role.domain, rng, dtype)
            else:
                values = fill(shape, regime, role.domain, rng, dtype)
            return STRUCTURES[role.structure](values) if role.structure else values
        if role.dtype == "bool":
            return rng.integers(0, 2, shape).astype(bool)
        if role.structure == "offsets" and shape and shape[-1] > 1:
            values = np.sort(rng.integers(0, role.limit + 1, shape), axis=-1)
            if role.is_order and shape[-1] < role.limit + 2:  # no two alike
                values[..., 1:-1] = np.sort(rng.permutation(np.arange(1, role.limit))[: shape[-1] - 2])
            values[..., 0], values[..., -1] = 0, role.limit
            return values.astype(role.dtype)
        if role.is_order:
            return (np.argsort(rng.uniform(size=shape), axis=-1) if shape else np.zeros(())).astype(role.dtype)
        if role.structure == "signs":
            return (2 * rng.integers(0, 2, shape) - 1).astype(role.dtype)
        values = np.asarray(rng.integers(role.least, max(role.limit, role.least + 1), shape))
        return values.astype(dtype if role.dtype.startswith("float") and dtype else role.dtype)

    def is_open(self, case: Case) -> bool:
        """Return whether nothing declares the shapes of some input: backward then says which of them are meant."""
        infer = self.checkable.infer
        if not self.checkable.has_gradient or self.has_shapes:
            return False
        return infer is None or (len(self.args) > 1 and any(_is_unread(infer, case, arg.name) for arg in self.args))


def _is_unread(infer: Infer, case: Case, name: str) -> bool:
    """Return whether infer's promise stays the same whatever shape an input has."""
    value = case.inputs[name]
    if not isinstance(value, np.ndarray):
        return False
    descs = describe_inputs(case.inputs)
    odd = TensorDesc((11,) * (value.ndim + 1) if value.ndim else (11, 13), value.dtype.name)
    try:
        return tuple(infer({**descs, name: [odd]}, case.attrs)) == tuple(infer(descs, case.attrs))
    except Exception:  # infer refused: it does look at this input
        return False
