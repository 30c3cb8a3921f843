"""Each way in which a rule says that a built-in op may be cut, tried on the op's cases: cut, run, put together, compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from opkit import ops, static
from opkit.distribute.rules import ways_of
from opkit.distribute.way import Facts, Way, local_shape
from opkit.ir import Operation, TensorDesc, Value
from opkit.ops import OpDef
from opkit.sharding import cut, gathered, split
from tests.ops.cases import CASES, OpCase, arrays_of

Arrays = Sequence[np.ndarray | None]


def operations(case: OpCase) -> Iterator[tuple[Operation, Arrays, Sequence[np.ndarray]]]:
    """Yield each op that a case and its gradient apply, with what it gets and what it gives."""
    arrays = arrays_of(case)
    tracer = static.JobTracer("job", static.Scope())
    with tracer.tracing():
        inputs = [tracer.placeholder(f"x{i}", TensorDesc(a.shape, a.dtype.name)) for i, a in enumerate(arrays)]
        for item in inputs:
            item.stop_gradient = False
        result = case.build(*inputs)
        goals = [
            item for item in (result if isinstance(result, tuple | list) else (result,)) if item.value.dtype.kind == "f"
        ]
        if case.has_gradient and goals:
            static.differentiate(goals, [ops.ones_like(goal) for goal in goals], inputs)
    known: dict[Value, np.ndarray] = {item.value: array for item, array in zip(inputs, arrays)}
    for op in tracer.program.blocks[0].ops:
        opdef: Any = op.opdef
        given = [None if value is None else known[value] for value in op.inputs]
        found = opdef.kernel(*[None if a is None else a.copy() for a in given], **op.attrs)
        results = [np.asarray(item) for item in (found if type(found) is tuple else (found,))]
        known.update(zip(op.results, results))
        if not opdef.is_user and not opdef.is_random:
            yield op, given, results


def facts_of(op: Operation, given: Arrays, results: Sequence[np.ndarray], count: int) -> Facts:
    shapes = tuple(None if a is None else a.shape for a in given)
    dtypes = tuple(None if a is None else a.dtype for a in given)
    return Facts(shapes, tuple(a.shape for a in results), dtypes, op.attrs, count)


def check(op: Operation, given: Arrays, results: Sequence[np.ndarray], way: Way, count: int) -> None:
    """Run an op on shards, and compare what they come to with what one device has."""
    opdef: OpDef = op.opdef  # type: ignore[assignment]
    rng = np.random.default_rng(7)
    shards = [None if a is None else cut(a, sbp, count, rng) for a, sbp in zip(given, way.inputs)]  # type: ignore[arg-type]
    parts: list[list[np.ndarray]] = []
    for place in range(count):
        attrs = dict(op.attrs)
        if way.shape_attr:
            attrs[way.shape_attr] = local_shape(results[0].shape, way.results[0], count, place)
        local = [None if item is None else item[place].copy() for item in shards]
        found = opdef.kernel(*local, **attrs)
        parts.append([np.asarray(item) for item in (found if type(found) is tuple else (found,))])
        descs = opdef.infer([None if a is None else TensorDesc(a.shape, a.dtype.name) for a in local], attrs)  # type: ignore[misc]
        assert [desc.shape for desc in descs] == [a.shape for a in parts[-1]], (opdef.name, str(way))
    for index, (sbp, whole) in enumerate(zip(way.results, results)):
        pieces = [part[index] for part in parts]
        expected = [local_shape(whole.shape, sbp, count, place) for place in range(count)]
        assert [piece.shape for piece in pieces] == expected, (opdef.name, str(way), op.attrs)
        np.testing.assert_allclose(
            gathered(pieces, sbp).astype(np.float64),
            whole.astype(np.float64),
            rtol=1e-9,
            atol=1e-10,
            err_msg=f"{opdef.name} {way} on {count} devices",
        )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_ways_hold(case: OpCase) -> None:
    """What devices compute in a way that a rule allows comes to what one device computes."""
    for op, given, results in operations(case):
        opdef: OpDef = op.opdef  # type: ignore[assignment]
        if op.writes or any(not np.isfinite(a).all() for a in results if a.dtype.kind == "f"):
            continue
        for count in (2, 3):
            facts = facts_of(op, given, results, count)
            for way in ways_of(opdef, facts):
                check(op, given, results, way, count)


UPDATES: dict[str, tuple[int, dict[str, Any]]] = {
    "sgd_update": (0, {"scale": 0.5, "l1": 0.1, "l2": 0.2, "weight_decay": 0.3}),
    "momentum_update": (1, {"beta": 0.8}),
    "adam_update": (2, {"weight_decay": 0.1}),
    "rmsprop_update": (2, {"centered": True}),
}


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("name", UPDATES)
def test_updates_of_parts(name: str, count: int) -> None:
    """Devices that each change their part of a variable and its state change it as one device does."""
    states, attrs = UPDATES[name]
    opdef = ops.BUILTIN.get(name)
    assert isinstance(opdef, OpDef)
    complete = {attr.name: attr.default for attr in opdef.attrs} | attrs
    rng = np.random.default_rng(3)
    arrays: list[Any] = [rng.normal(size=(5, 4)), rng.normal(size=(5, 4)), np.array([0.1], np.float32)]
    arrays += [rng.uniform(1, 2, (5, 4)) * 0.1**index for index in range(states)]
    arrays += [None] * (len(opdef.inputs) - len(arrays))
    whole = [None if a is None else a.copy() for a in arrays]
    opdef.kernel(*whole, **complete)
    facts = Facts(tuple(None if a is None else a.shape for a in arrays), (), tuple(None if a is None else a.dtype for a in arrays), complete, count)
    found = ways_of(opdef, facts)
    assert [str(way.inputs[0]) for way in found] == ["S(0)", "S(1)"]
    for way in found:
        parts = [None if a is None else a.copy() for a in arrays]
        shards = [None if a is None or sbp is None else cut(a, sbp, count) for a, sbp in zip(parts, way.inputs)]
        for place in range(count):
            opdef.kernel(*[None if item is None else item[place] for item in shards], **complete)
        for one, other in zip(parts, whole):
            assert one is None or np.array_equal(one, other)


def test_a_wrong_way_is_found() -> None:
    """The test of the rules can fail: a softmax that is split along its own axis does."""
    found = (item for case in CASES if "softmax" in str(case) for item in operations(case))
    op, given, results = next(item for item in found if item[0].type == "softmax")
    with pytest.raises(AssertionError, match="softmax"):
        check(op, given, results, Way((split(1),), (split(1),)), 2)
