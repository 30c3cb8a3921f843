"""Search: cases for an op that has no cases file, found by asking its infer function and its forward.

Shapes first, then attributes, then regimes of values; everything follows from the seed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from opkit.checker.attributes import alternatives
from opkit.checker.case import Case
from opkit.checker.checkable import Arg, Checkable, describe_inputs
from opkit.checker.climb import ACCEPTED, climb
from opkit.checker.evaluate import Evaluator
from opkit.checker.options import Options
from opkit.checker.shapes import Assignment, Shape, assignments, signature
from opkit.checker.trial import Trial, Verdict
from opkit.checker.values import DOMAINS, REGIMES, fill, near_constants
from opkit.checker.variations import (
    arrays_of,
    cut,
    diverse,
    elements,
    fits,
    flat_sizes,
    is_anchor,
    is_definite,
    is_float_input,
    nudged,
    one_per_rank,
    partly_cut,
    ranks_of,
    resized,
    shapes_of,
    sizes_of,
    subsets,
)
from opkit.ir import TensorDesc

__all__ = ["Search"]

_INT_DTYPES = ("int64", "int32", "bool", "uint8", "int8")
#: Assignments of shapes to look at before it is asked how far infer's checks get.
_PATIENCE = 1500
#: Refusals of a choice of dtypes at one check, after which it is not tried with other shapes.
_ENOUGH = 30
#: Shapes made of one case by changing a size: so many per size, and elements that they may have.
_GROWN, _MOST_GROWN = 4, 300
#: Sizes of the one large case, with few sizes to change and with many, and the elements that it may have.
_LONG, _MIDDLE, _MOST_LARGE = 49, 17, 20_000
#: Regimes beyond "normal", for the shapes that carry the sweep.
_SWEEP = tuple(name for name in REGIMES if name != "normal")


@dataclass(frozen=True, slots=True)
class Role:
    """What an input is filled with: floats of a domain, or integers below a limit."""

    domain: str = "real"
    dtype: str = ""
    limit: int = 0
    least: int = 0

    @property
    def is_integer(self) -> bool:
        """Whether the input holds integers or booleans."""
        return bool(self.dtype)


@dataclass(slots=True)
class Search:
    """Finds cases for one op.

    Args:
        checkable: the op.
        options: seed and effort.
        trial: counts what is tried.
    """

    checkable: Checkable
    options: Options
    trial: Trial
    dtype: str = "float64"
    notes: list[str] = field(default_factory=list)
    large: Case | None = None
    _roles: tuple[Role, ...] | None = None
    _bound: frozenset[str] | None = None
    _tolerant: bool = False
    _refusals: defaultdict[tuple[object, ...], Counter[float]] = field(default_factory=lambda: defaultdict(Counter))

    @property
    def args(self) -> tuple[Arg, ...]:
        """The declared inputs."""
        return self.checkable.inputs

    @property
    def domain(self) -> str | None:
        """The one domain of all inputs, where they have one and all hold floats."""
        domains = {None if role.is_integer else role.domain for role in self._roles or ()}
        return domains.pop() if len(domains) == 1 else None

    def run(self) -> list[Case]:
        """Return the cases found, the most natural first; none where forward never ran."""
        shapes = self._natural_cases()
        if not shapes:
            return []
        shapes += self._grown_cases(shapes)
        self.large = self._large_case(shapes)
        cases = shapes + self._emptied_cases(shapes) + self._attribute_cases(shapes) + self._regime_cases(shapes)
        return self._without_foreign_ranks(cases)

    def _natural_cases(self) -> list[Case]:
        """Return cases of usual shapes, or of those that infer's checks lead to where it refuses the usual ones."""
        shapes = self._shape_cases(patience=_PATIENCE)
        if not shapes and not self._got_past_infer():
            shapes = self._climbed_cases()
        if shapes:
            return shapes
        for self.dtype in ("float64", "float32"):
            for self._tolerant in (False, True):
                if not self._tolerant or (self.checkable.has_gradient and self._got_past_infer()):
                    shapes = self._shape_cases()
                if shapes:
                    return shapes
        return self._climbed_cases()

    # --- filling
    def _rng(self, *key: int) -> np.random.Generator:
        return np.random.default_rng([self.options.seed, *key])

    def _fill(self, assignment: Assignment, roles: Sequence[Role], regimes: Sequence[str], seed: int) -> dict[str, Any]:
        rng = self._rng(seed)
        inputs: dict[str, Any] = {}
        for arg, shape, role, regime in zip(self.args, assignment, roles, regimes):
            if shape is None:
                inputs[arg.name] = None
            elif arg.is_variadic:
                inputs[arg.name] = [self._array(one, role, regime, rng) for one in shape]  # type: ignore[arg-type]
            else:
                inputs[arg.name] = self._array(shape, role, regime, rng)  # type: ignore[arg-type]
        return inputs

    def _array(self, shape: Shape, role: Role, regime: str, rng: np.random.Generator) -> np.ndarray:
        if not role.is_integer:
            return fill(shape, regime, role.domain, rng, self.dtype)
        if role.dtype == "bool":
            return rng.integers(0, 2, shape).astype(bool)
        values = np.asarray(rng.integers(role.least, max(role.limit, role.least + 1), shape))
        if values.size > 1 and regime == "ties":
            values[...] = values.flat[0]
        return values.astype(role.dtype)

    def _case(
        self,
        assignment: Assignment,
        attrs: Mapping[str, Any],
        roles: Sequence[Role],
        regimes: Sequence[str] | None = None,
        label: str = "normal",
        seed: int = 0,
    ) -> Case:
        regimes = regimes or ["normal"] * len(self.args)
        return Case(self._fill(assignment, roles, regimes, seed), dict(attrs), label, seed)

    # --- shapes
    def _got_past_infer(self) -> bool:
        """Say whether forward was ever run."""
        return any(count for verdict, count in self.trial.counts.items() if verdict is not Verdict.REFUSED)

    def _shape_cases(self, patience: int = 6000) -> list[Case]:
        attrs = {**self.checkable.default_attrs, **self.options.attrs}
        limit = round((30 if len(self.args) == 1 else 24) * max(self.options.effort, 0.2))
        return self._accepted(attrs, limit, 0, patience=patience)

    def _accepted(
        self, attrs: Mapping[str, Any], limit: int, seed: int, most: int = 6000, patience: int = 6000
    ) -> list[Case]:
        found: list[Case] = []
        seen: set[tuple[object, ...]] = set()
        relations: dict[int, Any] = {}
        sizes = self._hinted_sizes()
        alike = 0
        for number, assignment in enumerate(self._assignments(sizes)):
            if len(self.args) > 1 and alike >= 11 and self._is_alike(assignment) and 0 not in (assignment[0] or ()):
                continue
            if len(found) >= limit or number >= (most if len(self.args) < 4 else min(most, 4000)):
                break
            if number == patience and not self._got_past_infer():
                break
            kind = signature(assignment)
            if kind in seen and number > 30:
                continue
            case = self._try(assignment, attrs, seed * 1000 + number, relations)
            if case is not None and (kind not in seen or len(self.args) == 1):
                seen.add(kind)
                found.append(case)
                alike += self._is_alike(assignment)
        return found

    def _hinted_sizes(self) -> list[int]:
        return [value for value in self.checkable.constants if type(value) is int and 4 <= value <= 64][:6]

    def _climbed_cases(self) -> list[Case]:
        """Follow how far infer's checks get, where it refuses all shapes that are usual."""
        if self.checkable.infer is None or self.options.shapes or not self.args:
            return []
        attrs = {**self.checkable.default_attrs, **self.options.attrs}
        hints = [*self.checkable.sizes, *self._hinted_sizes()]
        for self.dtype in ("float64", "float32"):
            for dtypes in self._dtype_candidates():

                def ask(assignment: Assignment, dtypes: Sequence[str] = dtypes) -> float:
                    return self.trial.reach(self._descs(assignment, dtypes), attrs)

                found = climb(self.args, ask, hints)
                case = None if found is None else self._try(found, attrs, 9000, {})
                if case is not None:
                    return [case]
        return []

    def _dtype_candidates(self) -> Iterator[tuple[str, ...]]:
        yield (self.dtype,) * len(self.args)
        for count in range(1, len(self.args)):
            for chosen in subsets(range(len(self.args)), count):
                for dtype in _INT_DTYPES:
                    yield tuple(dtype if index in chosen else self.dtype for index in range(len(self.args)))

    def _grown_cases(self, shapes: Sequence[Case]) -> list[Case]:
        """Take natural cases and change one size everywhere: longer ones, those that the kernels speak of, and 1."""
        if self.options.shapes:
            return []
        attrs = {**self.checkable.default_attrs, **self.options.attrs}
        known = {shapes_of(case) for case in shapes}
        sizes = {size for case in shapes for array in arrays_of(case) for size in array.shape}
        hinted = [size + more for size in sorted(set(self._hinted_sizes()), reverse=True)[:3] for more in (1, 3)]
        found: list[Case] = []
        for carrier in one_per_rank(shapes):
            for number, size in enumerate(sorted({size for array in arrays_of(carrier) for size in array.shape})):
                kept = 0
                for other in (*hinted, 2 * size, 9, size + 1, 23, 1, 2, 3):
                    if kept >= _GROWN or len(found) >= 3 * _GROWN or other == size or (other < 4 and other in sizes):
                        continue
                    assignment = resized(shapes_of(carrier), size, other)
                    if assignment in known or elements(assignment) > _MOST_GROWN:
                        continue
                    known.add(assignment)
                    case = self._try(assignment, attrs, 9100 + 20 * number + other, {})
                    if case is not None and self.trial.attempt(case).keeps_promise():
                        found.append(case)
                        kept += 1
        return found

    def _large_case(self, shapes: Sequence[Case]) -> Case | None:
        """Take the most natural case and make its sizes large: kernels may work in blocks, or keep buffers."""
        attrs = {**self.checkable.default_attrs, **self.options.attrs}
        for carrier in one_per_rank(shapes) if not self.options.shapes else ():
            sizes = sorted({size for array in arrays_of(carrier) for size in array.shape if size > 1}, reverse=True)
            for changed in (sizes, sizes[:1]):
                assignment = shapes_of(carrier)
                for number, size in enumerate(changed):
                    assignment = resized(assignment, size, (_LONG if len(changed) < 3 else _MIDDLE) + number)
                if not 500 < elements(assignment) < _MOST_LARGE:
                    continue
                case = self._try(assignment, attrs, 9900, {})
                if case is None:
                    continue
                outcome = self.trial.attempt(case)
                if outcome.keeps_promise() and sum(np.size(item) for item in outcome.outputs) < 2 * _MOST_LARGE:
                    return replace(case, regime="many elements")
        return None

    def _assignments(self, sizes: Sequence[int]) -> Iterator[Assignment]:
        if self.options.shapes:
            yield tuple(self.options.shapes.get(arg.name, ()) for arg in self.args)
            return
        yield from assignments(self.args, sizes)

    def _try(
        self, assignment: Assignment, attrs: Mapping[str, Any], seed: int, relations: dict[int, Any]
    ) -> Case | None:
        """Return a case of these shapes that lies in the domain, or None."""
        for roles in self._role_candidates(assignment, attrs):
            if not self._accepts_dtypes(assignment, attrs, roles):
                self.trial.counts[Verdict.REFUSED] += 1
                continue
            case = self._case(assignment, attrs, roles, seed=seed)
            outcome = self.trial.attempt(case)
            if not outcome.is_accepted:
                continue
            is_plain = self._is_alike(assignment) and not any(role.is_integer for role in roles)
            if is_plain or outcome.keeps_promise():
                if not self._is_spoken_for(assignment, case, relations):
                    return None
                if self._roles is None or self._has_wider_limit(roles):
                    self._roles = roles
                return case
            is_odd = not outcome.may_have_broadcast() and self._is_spoken_for(assignment, case, {})
            return case if is_odd and self._roles == roles else None
        return None

    def _has_wider_limit(self, roles: Sequence[Role]) -> bool:
        return any(role.is_integer for role in roles)

    @staticmethod
    def _is_alike(assignment: Assignment) -> bool:
        return len({shape for shape in assignment if shape is not None}) <= 1

    def _is_spoken_for(self, assignment: Assignment, case: Case, relations: dict[int, Any]) -> bool:
        """Say whether infer constrains the further inputs' shapes, or else whether the relation is the first found.

        An infer function that never looks at an input says nothing of its shape, so only the most natural shape
        that forward takes counts as part of the domain.
        """
        if self.checkable.infer is None or len(self.args) < 2:
            return True
        first = assignment[0]
        unread = [index for index in range(len(self.args)) if self._is_unread(case, index)]
        if not unread:
            return True
        if self.checkable.has_gradient and not self._tolerant:
            misfits = self._misfits(case)
            if misfits is None or any(self.args[index].name in misfits for index in unread):
                return False
        for index in range(1, len(self.args)):
            if 0 in unread or index in unread:
                relation = self._relation(first, assignment[index])
                if relations.setdefault(index, relation) != relation:
                    return False
        return True

    def _is_unread(self, case: Case, index: int) -> bool:
        """Say whether infer's promise stays the same whatever shape an input has."""
        name = self.args[index].name
        value = case.inputs[name]
        if not isinstance(value, np.ndarray):
            return False
        descs = describe_inputs(case.inputs)
        odd = (11, 13) if value.ndim == 0 else (*(11,) * (value.ndim + 1), 13)[: value.ndim + 1]
        try:
            asked = self.checkable.infer
            assert asked is not None
            promised = tuple(asked(descs, case.attrs))
            return tuple(asked({**descs, name: [TensorDesc(odd, value.dtype.name)]}, case.attrs)) == promised
        except Exception:  # infer refused: it does look at this input
            return False

    @staticmethod
    def _relation(first: Any, other: Any) -> object:
        """Name how a shape relates to the first input's, so that the same relation is known again."""
        if first is None or other is None:
            return other
        if other == first:
            return "same"
        places = tuple(first.index(size) if size in first else -size for size in other)
        return (len(other), places)

    # --- roles of the inputs
    def _role_candidates(self, assignment: Assignment, attrs: Mapping[str, Any]) -> Iterator[tuple[Role, ...]]:
        """Yield what the inputs may be filled with: what worked before, then other domains, then integers."""
        count = len(self.args)
        if self._roles is not None:
            if not any(role.is_integer for role in self._roles):
                yield self._roles
                return
            if not self._accepts_dtypes(assignment, attrs, self._roles):
                self.trial.counts[Verdict.REFUSED] += 1
                return
            yield from self._with_limits(self._roles, assignment, attrs)
            return
        real = (Role(),) * count
        reached = self._reach(assignment, attrs, real)
        if reached == ACCEPTED:
            yield real
            names = list(DOMAINS)
            for name in names[1:]:
                yield (Role(name),) * count
            if 2 <= count <= 3:
                yield from (
                    tuple(Role(name) for name in chosen)
                    for chosen in product(names[:5], repeat=count)
                    if len(set(chosen)) > 1
                )
        yield from self._integer_candidates(assignment, attrs, reached)

    def _reach(self, assignment: Assignment, attrs: Mapping[str, Any], roles: Sequence[Role]) -> float:
        return self.trial.reach(self._descs(assignment, [role.dtype or self.dtype for role in roles]), attrs)

    def _accepts_dtypes(self, assignment: Assignment, attrs: Mapping[str, Any], roles: Sequence[Role]) -> bool:
        """Ask infer alone, without making arrays."""
        return self.trial.accepts(self._descs(assignment, [role.dtype or self.dtype for role in roles]), attrs)

    def _descs(self, assignment: Assignment, dtypes: Sequence[str]) -> dict[str, list[TensorDesc]]:
        descs: dict[str, list[TensorDesc]] = {}
        for arg, shape, dtype in zip(self.args, assignment, dtypes):
            if shape is None:
                descs[arg.name] = []
            elif arg.is_variadic:
                descs[arg.name] = [TensorDesc(one, dtype) for one in shape]  # type: ignore[arg-type]
            else:
                descs[arg.name] = [TensorDesc(shape, dtype)]  # type: ignore[arg-type]
        return descs

    def _unbound(self, assignment: Assignment, attrs: Mapping[str, Any]) -> list[int]:
        if self._bound is None:
            case = self._case(assignment, attrs, (Role(),) * len(self.args))
            self._bound = self.checkable.bound(case.inputs, attrs)
        bound = self._bound
        return [index for index, arg in enumerate(self.args) if bound is None or arg.name not in bound]

    def _integer_candidates(
        self, assignment: Assignment, attrs: Mapping[str, Any], reached: float
    ) -> Iterator[tuple[Role, ...]]:
        """Yield roles with integers that infer takes.

        Args:
            assignment: the shapes.
            attrs: the attributes.
            reached: the check at which infer refuses floats alone, ACCEPTED where none does.
        """
        if reached < ACCEPTED:
            self._refusals[()][reached] += 1
        unbound = self._unbound(assignment, attrs)
        for count in range(1, len(unbound) + 1):
            for chosen in subsets(unbound, count):
                for dtype in _INT_DTYPES:
                    variant = (dtype, *chosen)
                    if self._is_hopeless(variant):
                        continue
                    base = tuple(
                        Role("real", dtype, 2) if index in chosen else Role() for index in range(len(self.args))
                    )
                    got = self._reach(assignment, attrs, base)
                    if got < ACCEPTED:
                        self._refusals[variant][got] += 1
                        continue
                    for domain in ("real", "positive", "unit"):
                        mapped = tuple(role if role.is_integer else Role(domain) for role in base)
                        yield from self._with_limits(mapped, assignment, attrs)

    def _is_hopeless(self, variant: tuple[object, ...]) -> bool:
        """Say whether integers there are refused by one check whatever the shapes, or only where floats are as well."""
        floats, own = self._refusals[()], self._refusals[variant]
        if own.total() < _ENOUGH or len(floats) < 2:
            return False
        return len(own) == 1 and not own.keys() & floats.keys()

    def _with_limits(
        self, roles: Sequence[Role], assignment: Assignment, attrs: Mapping[str, Any]
    ) -> Iterator[tuple[Role, ...]]:
        """Yield the roles with the largest limit that forward takes for the integers of these shapes."""
        sizes = {size for index, shape in enumerate(assignment) if shape for size in flat_sizes(shape)}
        sizes |= {value for value in attrs.values() if type(value) is int and 0 < value <= 64}
        sizes |= {value for value in self.checkable.constants if type(value) is int and 1 < value <= 64}
        for limit in [*sorted(sizes, reverse=True), 2]:
            for least in (0, 1):
                if limit <= least:
                    continue
                tried = tuple(replace(role, limit=limit, least=least) if role.is_integer else role for role in roles)
                if self._takes_extremes(tried, assignment, attrs):
                    yield tried
                    return

    def _takes_extremes(self, roles: Sequence[Role], assignment: Assignment, attrs: Mapping[str, Any]) -> bool:
        for extreme in ("least", "greatest", "mixed"):
            case = self._case(assignment, attrs, roles)
            inputs = dict(case.inputs)
            for arg, role in zip(self.args, roles):
                value = inputs[arg.name]
                if role.is_integer and isinstance(value, np.ndarray) and role.dtype != "bool" and extreme != "mixed":
                    inputs[arg.name] = np.full_like(value, role.least if extreme == "least" else role.limit - 1)
            if not self.trial.attempt(replace(case, inputs=inputs)).is_accepted:
                return False
        return True

    def _emptied_cases(self, shapes: Sequence[Case]) -> list[Case]:
        """Take a natural case of several arrays and make each of its sizes 0 in turn, and each part of a list empty."""
        full = [case for case in shapes if all(sizes_of(case))]
        found: list[Case] = []
        if not full or self.options.shapes or sum(1 for _ in arrays_of(full[0])) < 2:
            return found
        known = {tuple(array.shape for array in arrays_of(case)) for case in shapes}
        for carrier in full[:3]:
            sizes = sorted({size for array in arrays_of(carrier) for size in array.shape})
            changes = [{name: cut(value, size) for name, value in carrier.inputs.items()} for size in sizes]
            changes += partly_cut(carrier)
            for inputs in changes:
                case = replace(carrier, inputs=inputs)
                kind = tuple(array.shape for array in arrays_of(case))
                if kind in known:
                    continue
                known.add(kind)
                outcome = self.trial.attempt(case)
                is_partial = len({array.size == 0 for array in arrays_of(case)}) > 1
                if outcome.is_accepted and outcome.keeps_promise() and (not is_partial or self._works(case)):
                    found.append(case)
        return found

    # --- attributes
    def _attribute_cases(self, shapes: Sequence[Case]) -> list[Case]:
        found: list[Case] = []
        base = {**self.checkable.default_attrs, **self.options.attrs}
        choices: dict[str, list[Any]] = {}
        for attr in self.checkable.attrs:
            if attr.name in self.options.attrs or attr.name == "device_sub_tag":
                continue
            for number, value in enumerate(alternatives(attr, self.checkable.constants)):
                limit = 8 if isinstance(value, (bool, str)) else 5 if number < 4 or type(value) is not float else 2
                cases = self._cases_with({**base, attr.name: value}, shapes, limit, 100 + number, value)
                if type(value) is int and value <= 0 <= attr.default:  # most counts and sizes mean no such ones
                    cases = [case for case in cases if self._works(case)]
                if cases:
                    choices.setdefault(attr.name, []).append(value)
                    found.extend(cases)
        if len(choices) > 1:
            rng = self._rng(77)
            for number in range(10):
                mixed = dict(base)
                for name, values in choices.items():
                    if rng.random() < 0.6:
                        mixed[name] = values[int(rng.integers(len(values)))]
                found.extend(self._cases_with(mixed, shapes, 2, 300 + number))
        return found

    def _cases_with(
        self, attrs: Mapping[str, Any], shapes: Sequence[Case], limit: int, seed: int, value: Any = None
    ) -> list[Case]:
        """Return up to ``limit`` of the known cases with other attributes, searching anew where none works.

        ``value`` is the one attribute's that is not the default.
        """
        found: list[Case] = []
        broken: list[Case] = []
        for case in diverse(shapes):
            if len(found) >= limit:
                break
            changed = replace(case, attrs=dict(attrs), seed=seed)
            outcome = self.trial.attempt(changed)
            if outcome.is_accepted and outcome.keeps_promise():
                found.append(changed)
            elif outcome.is_accepted and is_definite(outcome):
                broken.append(changed)
        if value is not None:  # the contract check shows where a value that fits the shapes breaks the promise
            found += [case for case in broken if fits(value, case)][:1]
        return found or self._accepted(attrs, min(limit, 2), seed, 600)

    # --- regimes
    def _regime_cases(self, shapes: Sequence[Case]) -> list[Case]:
        found: list[Case] = []
        carriers = self._carriers(shapes)
        for number, carrier in enumerate(carriers):
            for index, regime in enumerate(_SWEEP):
                if self.dtype == "float32" and regime == "far offset":
                    continue  # its values are a few float32 steps apart: no step fits between them
                found.extend(self._regime(carrier, regime, None, 1000 + 100 * number + index))
        floats = [arg.name for arg in self.args if is_float_input(carriers[0].inputs[arg.name])] if carriers else []
        if len(floats) > 1:
            for number, name in enumerate(floats[:4]):
                for index, regime in enumerate(
                    ("large", "saturated", "small", "negative", "positive", "zeros", "ties")
                ):
                    found.extend(self._regime(carriers[0], regime, name, 2000 + 100 * number + index))
        constants = sorted({abs(float(c)) for c in self.checkable.constants if is_anchor(c)})[:12]
        if constants:
            for number, carrier in enumerate(carriers):
                for exact in (False, True):
                    found.extend(self._anchored(carrier, constants, exact, 3000 + 10 * number + exact))
        return found

    def _carriers(self, shapes: Sequence[Case]) -> list[Case]:
        """Pick the cases that carry the sweep: the most natural one, a long one and one of another rank."""
        full = [case for case in shapes if all(size for size in sizes_of(case))]
        if not full:
            return []
        chosen = [full[0]]
        longer = [case for case in full if 12 < max(sizes_of(case), default=0) <= 48]
        other = [case for case in full if ranks_of(case) != ranks_of(full[0]) and max(sizes_of(case), default=0) > 2]
        for pool in (longer, other):
            if pool and pool[0] not in chosen:
                chosen.append(pool[0])
        return chosen

    def _regime(self, carrier: Case, regime: str, only: str | None, seed: int) -> Iterable[Case]:
        roles = self._roles or (Role(),) * len(self.args)
        rng = self._rng(seed)
        inputs = dict(carrier.inputs)
        for arg, role in zip(self.args, roles):
            if only is not None and arg.name != only:
                continue
            inputs[arg.name] = self._refill(inputs[arg.name], role, regime, rng)
        label = regime if only is None else f"{regime} {only}"
        case = replace(carrier, inputs=inputs, regime=label, seed=seed)
        if self.trial.attempt(case).is_accepted:
            yield case

    def _anchored(self, carrier: Case, constants: Sequence[float], exact: bool, seed: int) -> Iterable[Case]:
        roles = self._roles or (Role(),) * len(self.args)
        rng = self._rng(seed)
        inputs = dict(carrier.inputs)
        for arg, role in zip(self.args, roles):
            value = inputs[arg.name]
            if is_float_input(value) and isinstance(value, np.ndarray):
                inputs[arg.name] = near_constants(constants, value.shape, exact, role.domain, rng, self.dtype)
        label = "at constants" if exact else "near constants"
        case = replace(carrier, inputs=inputs, regime=label, seed=seed)
        if self.trial.attempt(case).is_accepted:
            yield case

    def _refill(self, value: Any, role: Role, regime: str, rng: np.random.Generator) -> Any:
        if isinstance(value, list):
            return [self._refill(item, role, regime, rng) for item in value]
        if not isinstance(value, np.ndarray):
            return value
        if role.is_integer:
            return self._array(value.shape, role, regime, rng) if regime == "ties" else value
        return fill(value.shape, regime, role.domain, rng, self.dtype)

    # --- ranks that the spec's author did not think of
    def _without_foreign_ranks(self, cases: list[Case]) -> list[Case]:
        """Leave out ranks at which forward or backward never keep their promises while they do at others.

        An infer function that reads fixed axes, or none, also takes ranks that the op is not meant for; that is a gap
        in the spec's checks. Where every element is computed on its own, 0-d arrays are meant too.
        """
        if not cases:
            return cases
        kept: dict[tuple[int, ...], list[bool]] = {}
        for case in cases:
            if all(sizes_of(case)):
                kept.setdefault(ranks_of(case), []).append(self._works(case))
        if not any(all(values) for values in kept.values()):
            return cases
        foreign = {ranks for ranks, values in kept.items() if not any(values)}
        if any(not any(ranks) for ranks in foreign) and self._is_pointwise(cases[0]):
            foreign = {ranks for ranks in foreign if any(ranks)}
        if foreign:
            listed = ", ".join(str(list(ranks)) for ranks in sorted(foreign))
            self.notes.append(
                f"inputs of rank {listed} were left out: the infer function takes them, but the op never works there "
                "while it does at others; a CHECK in the spec would say so"
            )
        return [case for case in cases if ranks_of(case) not in foreign]

    def _works(self, case: Case) -> bool:
        """Say whether forward has the promised shapes.

        Of 0-d arrays, and where infer never looks at some input, backward must run and fit its inputs as well.
        """
        outcome = self.trial.attempt(case)
        if not outcome.keeps_promise():
            return False
        is_vague = not any(ranks_of(case)) or any(self._is_unread(case, index) for index in range(len(self.args)))
        return not is_vague or not self.checkable.has_gradient or self._misfits(case) == set()

    def _misfits(self, case: Case) -> set[str] | None:
        """Return the inputs whose gradient has another shape than they have; None where backward raises."""
        evaluator = Evaluator(self.checkable, case)
        try:
            with np.errstate(all="ignore"):
                evaluator.prepare()
                found = evaluator.gradients([np.ones(item.shape, item.dtype) for item in evaluator.outputs])
        except Exception:  # user code
            return None
        return {
            leaf.name
            for leaf, value in found.items()
            if isinstance(value, np.ndarray) and value.shape != evaluator.array(leaf).shape
        }

    def _is_pointwise(self, case: Case) -> bool:
        """Say whether each element of the results depends on the elements at its own place alone."""
        arrays = list(arrays_of(case))
        outcome = self.trial.attempt(case)
        if not outcome.outputs or any(np.shape(item) != array.shape for item in outcome.outputs for array in arrays):
            return False
        moved = {name: nudged(value) for name, value in case.inputs.items()}
        again = self.trial.attempt(replace(case, inputs=moved))
        if len(again.outputs) != len(outcome.outputs):
            return False
        return all(
            np.array_equal(np.ravel(one)[1:], np.ravel(other)[1:], equal_nan=True)
            for one, other in zip(outcome.outputs, again.outputs)
        )
