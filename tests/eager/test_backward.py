"""backward and grad: what is accumulated where, hooks, higher derivatives, freed graphs, in-place changes, checks."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit import ops
from opkit.autograd import reverse_walk
from opkit.eager import NonFiniteError, Tensor, grad, run_backward
from opkit.eager.node import VersionError
from opkit.errors import AutogradError


def leaf(values: Any = (1.0, 2.0, 3.0)) -> Any:
    """Return a leaf that takes a gradient."""
    return paddle.to_tensor(list(values), stop_gradient=False)


# ---- accumulation ----------------------------------------------------------------------------------------------------
def test_gradients_accumulate_into_one_object() -> None:
    """D4: the grad object stays, and an alias sees what a second backward adds."""
    x = leaf()
    (x * 2).sum().backward()
    alias = x.grad
    (x * 3).sum().backward()
    assert x.grad is alias
    assert alias.numpy().tolist() == [5.0, 5.0, 5.0]


def test_a_first_gradient_does_not_share_memory_with_others() -> None:
    """The seed that a user passed is not changed by a second backward."""
    x = leaf()
    seed = paddle.ones([3])
    x.backward(seed)
    x.backward(seed)
    assert x.grad.numpy().tolist() == [2.0] * 3
    assert seed.numpy().tolist() == [1.0] * 3


def test_two_leaves_do_not_share_one_gradient() -> None:
    """X + y hands both the same cotangent; changing one gradient in place leaves the other alone."""
    x, y = leaf(), leaf()
    (x + y).sum().backward()
    x.clear_grad()
    assert x.grad.numpy().tolist() == [0.0] * 3
    assert y.grad.numpy().tolist() == [1.0] * 3


def test_a_value_used_twice_gets_the_sum() -> None:
    """Diamonds: every consumer's contribution is waited for before the producer is visited."""
    calls: list[int] = []
    x = leaf()
    y = x * 2
    y.register_hook(lambda g: calls.append(1))
    z = y * 3 + y * y
    z.sum().backward()
    assert calls == [1]
    np.testing.assert_allclose(x.grad.numpy(), 2 * (3 + 4 * np.array([1.0, 2.0, 3.0])))


def test_roots_may_lie_inside_each_others_graphs() -> None:
    """Backward of a value and of one it was computed from, in either order."""
    for flip in (False, True):
        x = leaf()
        inner = x * 2
        outer = inner * 3
        roots = [outer, inner] if flip else [inner, outer]
        paddle.autograd.backward(roots)
        assert x.grad.numpy().tolist() == [8.0] * 3


# ---- grad ------------------------------------------------------------------------------------------------------------
def test_grad_writes_no_leaf() -> None:
    """paddle.grad returns gradients and leaves .grad alone."""
    x, y = leaf(), leaf()
    (found,) = paddle.grad((x * y).sum(), [x])
    assert found.numpy().tolist() == [1.0, 2.0, 3.0]
    assert x.grad is None
    assert y.grad is None


def test_grad_captures_what_lies_between() -> None:
    """A computed Tensor as input gets the gradient at its place, with what flows on to a leaf."""
    x = leaf()
    middle = x * 2
    loss = (middle * middle).sum() + x.sum()
    at_middle, at_x = paddle.grad(loss, [middle, x])
    np.testing.assert_allclose(at_middle.numpy(), [4.0, 8.0, 12.0])
    np.testing.assert_allclose(at_x.numpy(), [9.0, 17.0, 25.0])


def test_grad_enters_only_what_leads_to_the_inputs() -> None:
    """A PyLayer on a branch that leads to no input is not run backwards."""

    class Refuses(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            raise AssertionError("not wanted")

    x, y = leaf(), leaf()
    (found,) = paddle.grad((x * 2 + Refuses.apply(y)).sum(), [x])
    assert found.numpy().tolist() == [2.0] * 3


def test_no_gradient_passes_through_blocked_values() -> None:
    """no_grad_vars cuts the graph at a computed value."""
    x = leaf()
    inner = x * 2
    (found,) = paddle.grad((inner * 3 + x).sum(), [x], no_grad_vars=[inner])
    assert found.numpy().tolist() == [1.0] * 3


def test_third_derivatives() -> None:
    """x**4 differentiated three times is 24 x."""
    x = leaf()
    value = (x * x * x * x).sum()
    for _ in range(2):
        (first,) = paddle.grad(value, [x], create_graph=True)
        value = first.sum()
    (third,) = paddle.grad(value, [x])
    np.testing.assert_allclose(third.numpy(), 24 * np.array([1.0, 2.0, 3.0]), rtol=1e-5)


def test_unused_inputs() -> None:
    """An input that does not appear is an error that offers allow_unused, which gives None."""
    x, y = leaf(), leaf()
    with pytest.raises(ValueError, match="allow_unused=True"):
        paddle.grad((x * 2).sum(), [y])
    assert paddle.grad((x * 2).sum(), [y, x], allow_unused=True)[0] is None


def test_a_freed_graph_says_so() -> None:
    """The second walk over a freed graph names the way out, and adds nothing."""
    x = leaf()
    loss = (x * x).sum()
    loss.backward()
    before = x.grad.numpy()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        loss.backward()
    assert x.grad.numpy().tolist() == before.tolist()


# ---- hooks -----------------------------------------------------------------------------------------------------------
def test_hooks_run_in_order_and_can_be_removed() -> None:
    """Each hook sees what the one before it returned; remove() works once."""
    x = leaf()
    y = x * 1
    first = y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: g + 1)
    y.sum().backward(retain_graph=True)
    assert x.grad.numpy().tolist() == [11.0] * 3
    assert first.remove() is True
    assert first.remove() is False
    x.clear_grad()
    y.sum().backward()
    assert x.grad.numpy().tolist() == [2.0] * 3


def test_hooks_on_grad_and_on_leaves() -> None:
    """paddle.grad applies hooks too, those of leaves included."""
    x = leaf()
    x.register_hook(lambda g: g * 2)
    (found,) = paddle.grad((x * 3).sum(), [x])
    assert found.numpy().tolist() == [6.0] * 3


def test_retained_gradients() -> None:
    """retain_grads fills grad of a computed Tensor; without it there is none."""
    x = leaf()
    y, z = x * 2, x * 3
    y.retain_grads()
    (y + z).sum().backward()
    assert y.grad.numpy().tolist() == [1.0] * 3
    assert z.grad is None


def test_a_hook_that_returns_no_tensor_is_refused() -> None:
    """What a hook may return is said with what it returned."""
    x = leaf()
    y = x * 2
    y.register_hook(lambda g: 3)
    with pytest.raises(ValueError, match=r"must return a Tensor or None.*returned int"):
        y.sum().backward()


# ---- memory ----------------------------------------------------------------------------------------------------------
def test_arrays_that_no_rule_reads_are_freed_at_once() -> None:
    """A sum keeps the shape of its input, not its data: 100 MB of inputs do not pile up."""
    big = 250_000
    tracemalloc.start()
    try:
        total = leaf((0.0,)) * 0
        for _ in range(50):
            total = total + (paddle.ones([big], "float64") * 2).sum()
        assert tracemalloc.get_traced_memory()[1] < 8 * big * 8
    finally:
        tracemalloc.stop()


def test_graphs_of_built_in_ops_hold_no_cycle() -> None:
    """With the collector off, a dropped graph's arrays are gone."""
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        for _ in range(3):
            x = paddle.ones([100_000], "float64")
            x.stop_gradient = False
            y = paddle.exp(paddle.tanh(x) * x)
            y.sum().backward()
            del x, y
        assert tracemalloc.get_traced_memory()[0] < 400_000
    finally:
        tracemalloc.stop()
        gc.enable()


def test_a_long_chain_of_ops_is_walked_without_recursion() -> None:
    """20,000 links of built-in ops."""
    x = leaf((1.0,))
    y = x
    for _ in range(20_000):
        y = y * 1.0
    y.backward()
    assert x.grad.numpy().tolist() == [1.0]


# ---- in-place changes ------------------------------------------------------------------------------------------------
def test_a_changed_input_is_found() -> None:
    """What a gradient reads must be as it was recorded; the message names op, argument and versions."""
    x = leaf()
    y = x * 1
    z = y * y
    y.add_(paddle.ones([3]))
    with pytest.raises(VersionError, match="received tensor_version:1 != wrapper_version_snapshot:0"):
        z.sum().backward()


def test_a_changed_output_is_found_also_through_a_view() -> None:
    """Exp's gradient reads its output, which a view of it changed."""
    y = paddle.exp(leaf())
    y.detach().fill_(0.0)
    with pytest.raises(VersionError, match="'exp'"):
        y.sum().backward()
    y = paddle.exp(leaf() * 1)
    view = y.reshape([3, 1])
    view[0] = 5.0
    with pytest.raises(VersionError):
        y.sum().backward()


def test_a_change_that_no_gradient_reads_is_harmless() -> None:
    """Addition reads nothing, so that an in-place change after it is fine."""
    x = leaf()
    y = x * 1
    z = y + y
    y.add_(paddle.ones([3]))
    (z.sum() + y.sum()).backward()
    assert x.grad.numpy().tolist() == [3.0] * 3


def test_assignment_keeps_the_gradient_of_what_stays() -> None:
    """y[0] = value cuts y[0] and sends its gradient to the value."""
    x, value = leaf(), leaf((7.0,))
    y = x * 2
    y[0] = value[0] * 3
    (y * paddle.to_tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.numpy().tolist() == [0.0, 20.0, 200.0]
    assert value.grad.numpy().tolist() == [3.0]


def test_leaves_are_changed_only_without_recording() -> None:
    """A leaf that takes a gradient refuses; under no_grad it is changed in place."""
    x = leaf()
    with pytest.raises(ValueError, match="leaf"):
        x.add_(x)
    with paddle.no_grad():
        x.add_(paddle.ones([3]))
    assert x.numpy().tolist() == [2.0, 3.0, 4.0]
    assert x.is_leaf
    assert not x.stop_gradient


# ---- checks, other modes ---------------------------------------------------------------------------------------------
def test_nan_in_a_gradient_is_reported_on_request() -> None:
    """FLAGS_check_nan_inf names the op and says whether the infinity came in or was made there."""
    paddle.set_flags({"FLAGS_check_nan_inf": 1})
    try:
        x = leaf((0.0,))
        with pytest.raises(NonFiniteError, match=r"(?s)'sqrt'.*the incoming gradient was finite"):
            paddle.sqrt(x).sum().backward()
        with pytest.raises(NonFiniteError):
            paddle.grad(paddle.log(x).sum(), [x])
    finally:
        paddle.set_flags({"FLAGS_check_nan_inf": 0})
    paddle.sqrt(x).sum().backward()
    assert np.isinf(x.grad.numpy()).all()


def test_the_walk_takes_an_order_as_it_is() -> None:
    """Given an order, the walk visits each step once, sums, and passes over steps that got nothing."""

    class Step:
        def __init__(self, name: str, edges: tuple[Any, ...]) -> None:
            self.name, self.walk_edges, self.walk_indices = name, edges, (0,) * len(edges)
            self.walk_width = 1

        def walk_rule(self, step: Any, douts: Any, release: bool) -> Any:
            visited.append((self.name, douts[0]))
            return [douts[0] + 1] * len(self.walk_edges)

    visited: list[Any] = []
    a = Step("a", ())
    b, c, lost = Step("b", (a,)), Step("c", (a,)), Step("lost", (a,))
    root = Step("root", (b, c, None))
    reverse_walk([root, lost, c, b, a], {root: [1]}, lambda first, second: first + second)
    assert visited == [("root", 1), ("c", 2), ("b", 2), ("a", 6)]


def test_bare_eager_functions_work_without_the_facade() -> None:
    """opkit.eager is usable alone: Tensors, operators, gradients."""
    x = Tensor(np.array([1.0, 2.0]), stop_gradient=False)
    y = ops.reduce_sum(x * x)
    run_backward([y], retain_graph=True)
    assert x.grad is not None
    assert x.grad.numpy().tolist() == [2.0, 4.0]
    assert grad([y], [x])[0].numpy().tolist() == [2.0, 4.0]  # type: ignore[union-attr]


@pytest.mark.parametrize("retain", [True, False])
def test_a_chain_is_walked_to_the_same_bits(retain: bool) -> None:
    """``grad`` of one output and one input, beside the walk that records, which counts and queues."""
    x = leaf([-2.0, 0.5, 1.5])
    start = paddle.tanh(x)
    end = paddle.square(paddle.exp(start))
    seed = paddle.to_tensor([0.5, 1.0, 1.5])
    plain = {}
    for place in (x, start, end):
        (general,) = grad([end], [place], [seed], create_graph=True)
        (found,) = grad([end], [place], [seed])
        assert found is not None
        assert general is not None
        plain[place] = found.numpy()
        assert plain[place].tobytes() == general.numpy().tobytes()
    heard: list[Any] = []
    x.register_hook(lambda dout: heard.append(dout) or dout * 2)
    (doubled,) = grad([end], [x], [seed], retain_graph=retain)
    assert doubled is not None
    assert (doubled.numpy() == 2 * plain[x]).all()
    assert len(heard) == 1
    if not retain:
        with pytest.raises(AutogradError):
            grad([end], [start], [seed])


def test_a_chain_is_freed_when_it_was_walked_for_the_last_time() -> None:
    """The second walk says so; what is not on the way to the input stays as it is."""
    x = leaf()
    middle = paddle.tanh(x)
    end = paddle.square(middle)
    grad([end], [middle], retain_graph=False)
    with pytest.raises(AutogradError):
        grad([end], [x])
    assert grad([middle], [x])[0] is not None


def test_a_hook_that_returns_nothing_does_not_end_the_others() -> None:
    x = leaf()
    y = x * 2
    y.register_hook(lambda grad: None)
    y.register_hook(lambda grad: grad * 10)
    y.sum().backward()
    assert x.grad.numpy().tolist() == [20.0, 20.0, 20.0]


@pytest.mark.parametrize(("place", "said"), [(0, "input 'x'"), (1, "input 'y'")])
def test_the_changed_input_is_named(place: int, said: str) -> None:
    pair = [leaf() * 1, leaf() * 1]
    out = pair[0] * pair[1]
    pair[place].add_(paddle.ones([3]))
    with pytest.raises(VersionError, match=rf"^{said} of op 'broadcast_mul'"):
        out.sum().backward()


def test_the_changed_output_is_named() -> None:
    out = paddle.exp(leaf())
    total = out.sum()
    out.add_(paddle.ones([3]))
    with pytest.raises(VersionError, match=r"^output 'y' of op 'exp'"):
        total.backward()


def test_what_shares_memory_sees_a_change_in_place() -> None:
    x = paddle.to_tensor([1.0, 2.0])
    view = x.detach()
    x.add_(paddle.ones([2]))
    assert view.numpy().tolist() == [2.0, 3.0]


def test_a_value_that_is_set_is_not_the_callers_array() -> None:
    x = paddle.to_tensor([1.0, 2.0])
    values = np.array([5.0, 6.0, 7.0], np.float32)
    x.set_value(values[:2])
    values[0] = 0.0
    assert x.numpy().tolist() == [5.0, 6.0]


def test_a_chain_passes_steps_that_others_use_too() -> None:
    """What another output uses, one of two outputs, and an operand without a gradient end no chain."""
    x = paddle.to_tensor([[3.0, 1.0], [2.0, 5.0]], stop_gradient=False)
    middle = paddle.tanh(x)
    other = paddle.exp(middle)
    first, second = ops.split(middle, 2, 1)
    (paddle.to_tensor([[2.0], [4.0]]) * second).backward(paddle.ones([2, 1]), retain_graph=True)
    slope = 1 - np.tanh(x.numpy()) ** 2
    np.testing.assert_allclose(x.grad.numpy(), slope * [[0.0, 2.0], [0.0, 4.0]], rtol=1e-6)
    x.clear_gradient(False)
    other.backward(paddle.ones([2, 2]))
    np.testing.assert_allclose(x.grad.numpy(), slope * other.numpy(), rtol=1e-6)
    with pytest.raises(AutogradError, match="freed"):
        first.backward(paddle.ones([2, 1]))


def test_a_leaf_keeps_the_array_that_nothing_else_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the end of a chain as of any other walk, a first gradient is not copied."""
    shared: list[bool] = []
    monkeypatch.setattr("opkit.eager.backward.accumulate", lambda *given: shared.append(given[2]))
    x, y = leaf(), leaf()
    paddle.square(paddle.tanh(x)).sum().backward()
    (paddle.ones([3]) * paddle.tanh(x)).sum().backward()
    (paddle.tanh(x) * paddle.tanh(y)).sum().backward()
    assert shared == [False] * 4
