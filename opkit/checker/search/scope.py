"""Scope: what is known of an op while cases for it are searched: what its inputs hold, and how they are filled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opkit.checker.model.case import Case
from opkit.checker.model.checkable import Arg, Checkable, describe_inputs
from opkit.checker.model.draws import generator
from opkit.checker.model.options import Options
from opkit.checker.model.thresholds import FEW, MANY, PLENTY, SOME
from opkit.checker.model.trial import Trial
from opkit.checker.search.extents import every_shape
from opkit.checker.search.shapes import Assignment, Shape
from opkit.checker.search.values import ANCHORED, STRUCTURES, fill, is_anchor, near_constants
from opkit.ir import TensorDesc
from opkit.record import mutable, record


@record
class Role:
    """What an input is filled with: floats of a domain, or integers below a limit.

    Args:
        domain: a key of ``values.DOMAINS``.
        dtype: that of whole numbers, "" for floats.
        limit, least: whole numbers lie from ``least`` to below ``limit``.
        is_fixed: whether these bounds were seen in a run, and are not to be searched.
        structure: what arrays of floats are beside their domain: a key of ``values.STRUCTURES``.
        is_order: whether whole numbers are the places along their last axis, each once.
    """

    domain: str = "real"
    dtype: str = ""
    limit: int = 0
    least: int = 0
    is_fixed: bool = False
    structure: str = ""
    is_order: bool = False

    @property
    def is_bound(self) -> bool:
        """Whether its values go together, so that no single one can be another: integers, and what has a structure."""
        return self.is_integer or bool(self.structure)

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
    def has_shapes(self) -> bool:
        """Whether it is declared, by hand or in the signature, which shapes all inputs have."""
        return bool(self.options.shapes) or {arg.name for arg in self.args} <= self.checkable.dimensions.axes.keys()

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
        roles = self.roles or ()
        return self.checkable.infer is None and any(role.is_integer and not role.is_fixed for role in roles)

    @property
    def anchors(self) -> list[float]:
        """Numbers that occur in the kernels, around which values are placed."""
        return sorted({abs(float(value)) for value in self.checkable.constants if is_anchor(value)})[:MANY]

    def rng(self, *key: int) -> np.random.Generator:
        """Return a generator of its own for a place in the search."""
        return generator(self.options.seed, *key)

    def _fill(self, assignment: Assignment, roles: Sequence[Role], regimes: Sequence[str], seed: int) -> dict[str, Any]:
        rng = self.rng(seed)
        inputs: dict[str, Any] = {}
        for arg, shape, role, regime, dtype in zip(self.args, assignment, roles, regimes, self.floats):
            made = [self.array(one, role, regime, rng, dtype) for one in every_shape((shape,))]
            inputs[arg.name] = made if made and arg.is_variadic else made[0] if made else None
        return inputs

    def array(self, shape: Shape, role: Role, regime: str, rng: np.random.Generator, dtype: str) -> np.ndarray:
        """Return an array of a role's values, of this dtype where they are floats."""
        if not role.is_integer:
            if regime in ANCHORED:
                values = near_constants(self.anchors, shape, regime == ANCHORED[1], role.domain, rng, dtype)
            else:
                values = fill(shape, regime, role.domain, rng, dtype)
            return STRUCTURES[role.structure](values) if role.structure else values
        if role.dtype == "bool":
            return rng.integers(0, 2, shape).astype(bool)
        if role.is_order:
            return (
                np.argsort(rng.uniform(size=shape), axis=-1).astype(role.dtype) if shape else np.zeros((), role.dtype)
            )
        values = np.asarray(rng.integers(role.least, max(role.limit, role.least + 1), shape))
        return values.astype(dtype if role.dtype.startswith("float") and dtype else role.dtype)

    def case(
        self,
        assignment: Assignment,
        attrs: Mapping[str, Any],
        roles: Sequence[Role],
        regimes: Sequence[str] | None = None,
        label: str = "normal",
        seed: int = 0,
    ) -> Case:
        """Return a case of these shapes, every input filled by its role."""
        regimes = regimes or ["normal"] * len(self.args)
        return Case(self._fill(assignment, roles, regimes, seed), dict(attrs), label, seed, precision=self.precision)

    def hinted_sizes(self) -> list[int]:
        """Return sizes that the kernels mention."""
        return [value for value in self.checkable.constants if type(value) is int and FEW <= value <= PLENTY][:SOME]

    def is_open(self, case: Case) -> bool:
        """Return whether nothing declares the shapes of some input: backward then says which of them are meant."""
        if not self.checkable.has_gradient or self.has_shapes:
            return False
        unread = (self._is_unread(case, arg.name) for arg in self.args if len(self.args) > 1)
        return self.checkable.infer is None or any(unread)

    def _is_unread(self, case: Case, name: str) -> bool:
        """Return whether infer's promise stays the same whatever shape an input has."""
        value = case.inputs[name]
        if not isinstance(value, np.ndarray):
            return False
        descs = describe_inputs(case.inputs)
        odd = (11,) * (value.ndim + 1) if value.ndim else (11, 13)
        try:
            asked = self.checkable.infer
            assert asked is not None
            promised = tuple(asked(descs, case.attrs))
            return tuple(asked({**descs, name: [TensorDesc(odd, value.dtype.name)]}, case.attrs)) == promised
        except Exception:  # infer refused: it does look at this input
            return False
