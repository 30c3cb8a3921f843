"""Gradient kernels: where nothing is recorded, an op's gradient is computed on arrays, and equals its rule's bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opkit import ops
from opkit.eager import Tensor, grad
from opkit.eager.node import Node, VersionError, array_rule, node_rule
from opkit.eager.tensor import version_cell
from opkit.errors import OpkitError
from opkit.ops import BUILTIN
from tests.ops.cases import CASES, OpCase, arrays_of

#: Numbers at which formulas part: corners, extremes, what is not a number.
SPECIAL = [0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 6.0, 0.5, -0.5, 20.0, -20.0, 1e-8, 3e4, -3e4, np.inf, -np.inf, np.nan]


def recorded(roots: list[Tensor]) -> set[Node]:
    """Return the nodes that the roots depend on."""
    found: set[Node] = set()
    stack = [root._node for root in roots]
    while stack:
        node = stack.pop()
        if isinstance(node, Node) and node not in found:
            found.add(node)
            stack += node.walk_edges or ()
    return found


def outputs_of(case: OpCase, arrays: list[np.ndarray]) -> tuple[list[Tensor], list[Tensor]]:
    """Return the floating leaves, and the outputs that depend on them."""
    values = [Tensor(array, stop_gradient=array.dtype.kind != "f") for array in arrays]
    built = case.build(*values)
    results = built if isinstance(built, tuple) else (built,)
    return [value for value in values if not value._sg], [item for item in results if item is not None and not item._sg]


def rule_of_an_op_without_kernel(node: Node, douts: Any, release: bool) -> Any:
    """Run a rule, but not in place of a kernel that failed."""
    assert node.opdef.grad_kernel is None, node.opdef.name
    return node_rule(node, douts, release)


def both(case: OpCase, arrays: list[np.ndarray]) -> tuple[list[Any], list[Any]]:
    """Return the gradients of a case by its rules, which are recorded, and without recording."""
    leaves, roots = outputs_of(case, arrays)
    rng = np.random.default_rng(1)
    seeds: list[Tensor | None] = [
        Tensor(np.asarray(rng.uniform(0.5, 2, root._data.shape)).astype(root._data.dtype)) for root in roots
    ]
    options: dict[str, Any] = {"allow_unused": True}
    by_rule = grad(roots, leaves, seeds, create_graph=True, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("opkit.eager.node.node_rule", rule_of_an_op_without_kernel)
        by_kernel = grad(roots, leaves, seeds, **options)
    return by_rule, by_kernel


def assert_same(by_rule: list[Any], by_kernel: list[Any]) -> None:
    """Compare gradients to the last bit."""
    for rule, kernel in zip(by_rule, by_kernel, strict=True):
        assert (rule is None) == (kernel is None)
        if rule is not None:
            assert kernel._data.dtype == rule._data.dtype
            np.testing.assert_array_equal(kernel._data, rule._data)


WITH_GRADIENT = [case for case in CASES if case.has_gradient]


@pytest.mark.parametrize("case", WITH_GRADIENT, ids=str)
def test_a_gradient_without_recording_is_bit_for_bit_the_rules(case: OpCase) -> None:
    """With ``create_graph`` and without, gradients are equal, in every dtype of the case."""
    for dtype in case.dtypes:
        assert_same(*both(case, arrays_of(case, dtype)))


@pytest.mark.parametrize("case", [case for case in WITH_GRADIENT if len(case.domains) == 1], ids=str)
def test_a_gradient_without_recording_is_the_rules_at_special_numbers(case: OpCase) -> None:
    """The same at corners, at extremes, and where there is no number."""
    (array,) = arrays_of(case)
    if array.dtype.kind == "f":
        given = np.resize(np.array(SPECIAL), array.shape)
        try:
            found = both(case, [given])
        except (OpkitError, ValueError):
            pytest.skip("the op refuses such inputs")
        assert_same(*found)


def test_every_gradient_kernel_is_run_by_a_case() -> None:
    """No gradient kernel escapes the comparison."""
    BUILTIN.load()
    run = set()
    for case in WITH_GRADIENT:
        _, roots = outputs_of(case, arrays_of(case))
        run |= {node.opdef.name for node in recorded(roots) if node.walk_rule is array_rule}
    having = {name for name in BUILTIN if getattr(BUILTIN.get(name), "grad_kernel", None) is not None}
    assert having
    assert having == run


@pytest.mark.parametrize("name", ["elu", "selu", "gelu", "silu", "mish"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_what_a_kernel_leaves_for_the_gradient_changes_no_bit(name: str, dtype: str) -> None:
    """A small array's gradient, from what forward computed, is that of a large array, and of a second walk."""
    few = np.array(SPECIAL, dtype)
    many = np.resize(few, (100 * len(few), 40))
    found = []
    for array in (few, many):
        leaf = Tensor(array, stop_gradient=False)
        root = getattr(ops, name)(leaf)
        assert (root._node.part is None) == (array is many)
        seed = Tensor(np.full(array.shape, 1.5, dtype))
        found += [grad([root], [leaf], [seed], retain_graph=True)[0]._data.reshape(-1)[: len(few)] for _ in range(2)]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


def test_an_operand_changed_in_place_is_refused_where_something_was_kept() -> None:
    """What a kernel left does not hide that its operand changed."""
    leaf = Tensor(np.array([0.5, -0.5]), stop_gradient=False)
    middle = ops.mul(leaf, leaf)
    root = ops.silu(middle)
    version_cell(middle)[0] += 1
    with pytest.raises(VersionError):
        grad([root], [leaf])
