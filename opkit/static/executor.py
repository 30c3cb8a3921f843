"""Executor: runs programs with feeds and fetches; it finds the plan for a run, or has one made.

``opkit.static.plan`` computes; ``opkit.static.scope`` holds the variables.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import DtypeError, GraphError, ShapeError, UsageError, unknown
from opkit.ir import Program, TensorDesc, Value, Variable, canonical_dtype
from opkit.listed import listed
from opkit.ops.core.mode import local
from opkit.ops.core.types import Arrays
from opkit.static.builder import apply, default_main_program
from opkit.static.plan import Plan, compile_plan
from opkit.static.plan.failures import check_initialized
from opkit.static.plan.plan import forbidden
from opkit.static.scope import Holder, Scope, global_scope
from opkit.static.site import user_site

#: Plans that are kept per Executor, the least recently used one goes first.
_MOST_PLANS = 64
#: Plans for exact sizes per program version and fetches; after that, one for any sizes is made.
_MOST_EXACT = 8


class FetchError(GraphError, ValueError):
    """A name that is fetched is not in the program."""


class FetchTypeError(UsageError, TypeError):
    """Something is fetched that is neither a Variable nor a name."""


class FeedShapeError(ShapeError):
    """A fed array does not have the declared shape."""


class ModeError(UsageError, AssertionError):
    """A program was run in dynamic mode."""


class PlanCache:
    """The cached plans, by key."""

    def __init__(self, limit: int = _MOST_PLANS) -> None:
        self._plans: OrderedDict[Any, Plan] = OrderedDict()
        self._exact: dict[Any, int] = {}
        self._limit = limit

    def __len__(self) -> int:
        return len(self._plans)

    def find(self, key: Any) -> Plan | None:
        """Return the plan of a key, None where there is none or it turned out to be invalid."""
        plan = self._plans.get(key)
        if plan is None:
            return None
        self._plans.move_to_end(key)
        return plan

    def add(self, key: Any, plan: Plan) -> None:
        """Keep a plan; the least recently used ones beyond the limit are forgotten."""
        held = self._plans.pop(key, None)
        if held is not None:
            held.forget()
        self._plans[key] = plan
        while len(self._plans) > self._limit:
            self._plans.popitem(last=False)[1].forget()

    def may_be_exact(self, family: Any) -> bool:
        """Count a new set of sizes; say whether it should have a plan of its own."""
        count = self._exact.get(family, 0) + 1
        if len(self._exact) > 4 * self._limit:
            self._exact.clear()
        self._exact[family] = count
        return count <= _MOST_EXACT

    def clear(self) -> None:
        """Forget all plans."""
        for plan in self._plans.values():
            plan.forget()
        self._plans.clear()
        self._exact.clear()


class _Bound:
    """A plan with the places of its variables in one scope, and the condition for using it again."""

    __slots__ = (
        "checks",
        "feed_names",
        "fetch_ids",
        "fetch_list",
        "holders",
        "layout",
        "plan",
        "program",
        "scope",
        "version",
    )

    def __init__(self, plan: Plan, program: Program, scope: Scope, fetch_list: Sequence[Any], arrays: Arrays) -> None:
        self.plan = plan
        self.program = program
        self.version = program.version
        self.scope = scope
        self.fetch_list = list(fetch_list)
        self.feed_names = [value.variable.name for value in plan.feeds]
        self.checks = [(name, array.shape, array.dtype) for name, array in zip(self.feed_names, arrays)]
        self.holders = [_holder(scope, name) for name in plan.holders]
        self.layout = scope.layout

    def arrays(self, program: Program, feed: Any, fetches: Sequence[Any], scope: Scope) -> list[Any] | None:
        """Return the fed arrays in order if this run matches the last one, else None."""
        held = self.fetch_list
        if (
            program is not self.program
            or program.version != self.version
            or scope is not self.scope
            or scope.layout != self.layout
            or self.plan.is_outdated
            or len(feed) != len(self.checks)
            or len(fetches) != len(held)
        ):
            return None
        for item, old in zip(fetches, held):
            if item is not old and (type(item) is not str or type(old) is not str or item != old):
                return None
        arrays = []
        for name, shape, dtype in self.checks:
            array = feed.get(name)
            if type(array) is not ndarray or array.dtype is not dtype or array.shape != shape:
                return None
            arrays.append(array)
        return arrays


class Executor:
    """Runs programs.

    Args:
        place: accepted, without effect: everything runs on the CPU.
    """

    #: What to do where dynamic mode is on; a facade names its own function.
    mode_help = "call enable_static() before building and running programs"

    def __init__(self, place: Any = None) -> None:
        self.place = place
        self.cache = PlanCache()
        self._is_closed = False
        self._last: _Bound | None = None

    def close(self) -> None:
        """Forget all plans; later runs are errors."""
        self.cache.clear()
        self._last = None
        self._is_closed = True

    def run(
        self,
        program: Program | None = None,
        feed: Mapping[str, Any] | None = None,
        fetch_list: Any = None,
        scope: Scope | None = None,
    ) -> list[Any]:
        """Run a program.

        Args:
            program: left out: the default main program.
            feed: arrays by name, of the declared dtypes and shapes.
            fetch_list: Variables or names; lists and tuples of them within it count as what they hold.
            scope: where the variables live; left out: the global one.

        Returns:
            one array per fetch, the caller's own; None for a Variable that nothing writes.

        Raises:
            GraphError: a feed is missing, a name unknown, a variable not initialised.
            ShapeError, DtypeError: a feed does not fit its declaration.
        """
        if program is None:
            program = default_main_program()
        fetches = _fetch_list(fetch_list)
        if feed is None:
            feed = {}
        if scope is None:
            scope = global_scope()
        for prepare in getattr(program, "before_run", ()):
            prepare(scope)
        last = self._last
        if last is not None and type(feed) is dict:
            arrays = last.arrays(program, feed, fetches, scope)
            if arrays is not None and local.mode.apply in (apply, forbidden):
                return last.plan.run(arrays, last.holders)
        return self._run_anew(program, feed, fetches, scope)

    def _run_anew(self, program: Any, feed: Any, fetches: Sequence[Any], scope: Scope) -> list[Any]:
        self._check(program, feed)
        block = program.blocks[0]
        values = [_fetched_value(program, item, i) for i, item in enumerate(_flat(fetches))]
        fed = {}
        for name, item in feed.items():
            variable = block.vars.get(name)
            if variable is None or not (variable.is_data or variable.persistable):
                _warn_unused(name, variable, block.vars)
            elif variable.is_data:
                fed[name] = _fed_array(variable, item)
            else:
                scope.var(name).put(np.array(item))
        family = (program.serial, program.version, tuple(map(id, values)), tuple(fed))
        key = (family, tuple((array.shape, array.dtype.str) for array in fed.values()), scope.serial, scope.layout)
        plan = self.cache.find(key)
        if plan is None or plan.is_outdated:
            is_exact = plan is None and self.cache.may_be_exact(family)
            plan = self._compile(program, fed, values, scope, is_exact)
            self.cache.add(key, plan)
        arrays = list(fed.values())
        bound = _Bound(plan, program, scope, fetches, arrays)
        check_initialized(plan.read_names, bound.holders)
        result = plan.run(arrays, bound.holders)
        self._last = bound if len(fed) == len(feed) else None
        return result

    def _compile(
        self, program: Program, fed: Mapping[str, ndarray], values: Sequence[Value | None], scope: Scope, is_exact: bool
    ) -> Plan:
        block = program.blocks[0]
        feeds, sizes = [], {}
        for name, array in fed.items():
            value = _source_value(block.vars[name], program)
            feeds.append(value)
            sizes[value] = TensorDesc(array.shape, array.dtype.name)
        if is_exact:
            for op in block.ops:
                for held in op.inputs:
                    if held is not None and held.variable.persistable and held not in sizes:
                        holder = scope.find_var(held.variable.name)
                        if holder is not None and holder.array is not None:
                            sizes[held] = TensorDesc(holder.array.shape, holder.array.dtype.name)
        return compile_plan(program, feeds, values, sizes, is_exact=is_exact)

    def _check(self, program: Any, feed: Any) -> None:
        if self._is_closed:
            raise GraphError("the Executor was closed", help="make a new one: static.Executor(place)")
        if not isinstance(program, Program):
            raise FetchTypeError(f"Executor.run takes a Program, got {type(program).__name__}")
        if not isinstance(feed, Mapping):
            raise FetchTypeError(f"feed is a dict of arrays by name, got {type(feed).__name__}")
        if local.mode.apply not in (apply, forbidden):
            raise ModeError("a program was run in dynamic mode", help=self.mode_help)


def _source_value(variable: Variable, program: Program) -> Value:
    """Return the version of a Variable that is fed: the first."""
    if variable.value.version == 0:
        return variable.value
    for op in program.blocks[0].ops:
        for value in op.inputs:
            if value is not None and value.variable is variable and value.version == 0:
                return value
    return Value(variable, variable.value.shape, variable.value.dtype)


def _holder(scope: Scope, name: str) -> Holder:
    return scope.find_var(name) or scope.var(name)


def _fetch_list(given: Any) -> Sequence[Any]:
    if given is None:
        return []
    if isinstance(given, (list, tuple)):
        return given
    return [given]


def _flat(fetches: Sequence[Any]) -> Sequence[Any]:
    if not any(isinstance(item, (list, tuple)) for item in fetches):
        return fetches
    return [one for item in fetches for one in listed(item)]


def _fetched_value(program: Program, item: Any, index: int) -> Value | None:
    if isinstance(item, Variable):
        if item.block.program is program:
            return item.value
        item = item.name
    if not isinstance(item, str):
        raise FetchTypeError(f"fetch_list[{index}] must be a Variable or a name, got {type(item).__name__}")
    variable = program.blocks[0].vars.get(item)
    if variable is None:
        known = program.blocks[0].vars
        what = f"fetch_list[{index}]: no variable"
        raise unknown(what, item, known, tail=" is in the program", limit=3).error(FetchError)
    return variable.value


def _warn_unused(name: str, variable: Variable | None, known: Mapping[str, Variable]) -> None:
    if variable is not None:
        text = f"the feed {name!r} is ignored: the program computes that variable"
    else:
        names = [item.name for item in known.values() if item.is_data]
        text = str(unknown("the feed", name, names, tail=" is ignored: the program has no such variable"))
    file, line, _ = user_site() or ("<unknown>", 0, "")
    warnings.warn_explicit(text, UserWarning, file, line)


def _fed_array(variable: Variable, item: Any) -> ndarray:
    """Return what is fed as an array that fits the declaration."""
    declared = variable.value if variable.value.version == 0 else variable.desc
    wanted = canonical_dtype(declared.dtype)
    data = getattr(item, "_data", item)
    if isinstance(data, ndarray):
        array = data if type(data) is ndarray else np.asarray(data)
    elif hasattr(data, "__array__") and not isinstance(data, np.generic):
        array = np.asarray(data)
    else:
        array = _converted(variable.name, data, wanted)
    if array.dtype != wanted and array.dtype.name != wanted:
        raise DtypeError(
            f"the feed {variable.name!r} must have dtype {wanted!r}, got {array.dtype.name!r}",
            help=f"cast it: array.astype({wanted!r})",
        )
    shape = declared.shape
    if len(shape) != array.ndim or any(want not in (-1, size) for size, want in zip(array.shape, shape)):
        raise FeedShapeError(
            f"the feed {variable.name!r} must have shape {_shown(shape)}, got {list(array.shape)}",
            help="sizes shown as ? may be any" if -1 in shape else "",
        )
    return array


def _converted(name: str, data: Any, dtype: str) -> ndarray:
    try:
        return np.array(data, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise DtypeError(f"the feed {name!r} is not an array of {dtype}: {error}") from error


def _shown(shape: Sequence[int]) -> str:
    return "[" + ", ".join("?" if size == -1 else str(size) for size in shape) + "]"
