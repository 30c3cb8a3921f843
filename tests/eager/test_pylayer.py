"""PyLayer: what apply records, what backward receives, what it may return, and every rule that is refused."""

from __future__ import annotations

import gc
import threading
import traceback
import weakref
from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit import ops
from opkit.eager.pylayer_faults import MissingBackwardError, PyLayerError
from opkit.errors import UsageError
from opkit.paddle.autograd import PyLayer
from opkit.paddle.autograd.py_layer import once_differentiable


def leaf(values: Any = (1.0, 2.0, 3.0)) -> Any:
    """Return a leaf that takes a gradient."""
    return paddle.to_tensor(list(values), stop_gradient=False)


def make(forward: Any, backward: Any = None) -> Any:
    """Return a PyLayer class made of two functions."""
    members = {"forward": staticmethod(forward)}
    if backward is not None:
        members["backward"] = staticmethod(backward)
    return type("Made", (PyLayer,), members)


class Tanh(PyLayer):
    """The benchmark's op: numpy inside."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = paddle.to_tensor(np.tanh(x.numpy()))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        (y,) = ctx.saved_tensor()
        return paddle.to_tensor(dy.numpy() * (1 - y.numpy() ** 2))


# ---- the chain -------------------------------------------------------------------------------------------------------
def test_a_chain_has_the_chain_rules_gradient() -> None:
    """Five tanh in a row, checked against the product of their slopes."""
    x = leaf((0.1, -0.4))
    y = x
    expected = np.ones(2)
    value = np.array([0.1, -0.4])
    for _ in range(5):
        y = Tanh.apply(y)
        value = np.tanh(value)
        expected = expected * (1 - value**2)
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-5)


def test_a_deep_chain_needs_no_recursion() -> None:
    """50,000 links, forward, backward and dropped without a backward."""
    x = leaf((0.01,))
    y = x
    for _ in range(50_000):
        y = Tanh.apply(y)
    y.backward()
    assert np.isfinite(x.grad.numpy()).all()
    y = x
    for _ in range(50_000):
        y = Tanh.apply(y)
    del y


def test_no_cycle_keeps_a_graph_alive() -> None:
    """With the collector off, dropping the result frees a saved output and its context."""
    gc.collect()
    gc.disable()
    try:
        kept = []

        def forward(ctx: Any, x: Any) -> Any:
            y = x * 2
            ctx.save_for_backward(y, x)
            kept.append((weakref.ref(ctx), weakref.ref(y)))
            return y

        x = leaf()
        result = make(forward, lambda ctx, dy: dy).apply(x)
        assert kept[0][0]() is not None
        del result
        assert kept[0][0]() is None
        assert kept[0][1]() is None
    finally:
        gc.enable()


def test_saved_buffers_are_freed_while_the_walk_goes_on() -> None:
    """When the walk reaches the first op, the context of the last one is gone."""
    contexts: list[Any] = []
    alive_at_first: list[bool] = []

    def forward(ctx: Any, x: Any) -> Any:
        contexts.append(weakref.ref(ctx))
        y = x * 1
        ctx.save_for_backward(y)
        return y

    def backward(ctx: Any, dy: Any) -> Any:
        if ctx is contexts[0]():
            alive_at_first.append(contexts[-1]() is not None)
        return dy * 1

    layer = make(forward, backward)
    y = leaf()
    for _ in range(4):
        y = layer.apply(y)
    loss = y.sum()
    del y
    loss.backward()
    assert alive_at_first == [False]


def test_a_kept_result_does_not_keep_what_led_to_it() -> None:
    """After backward, holding the last output holds its own saved tensors, not the contexts before it."""
    contexts: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        contexts.append(weakref.ref(ctx))
        ctx.save_for_backward(x)
        return x * 2

    layer = make(forward, lambda ctx, dy: dy * 2)
    y = leaf()
    for _ in range(4):
        y = layer.apply(y)
    y.sum().backward()
    assert [ctx() is not None for ctx in contexts] == [False, False, False, True]
    assert contexts[-1]().saved_tensor()[0].numpy().tolist() == [8.0, 16.0, 24.0]


def test_a_saved_output_is_the_returned_object_while_it_lives() -> None:
    """C3: identity is kept; after the output died, an equal Tensor on the same data stands in."""
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.save_for_backward(y)
        return y

    def backward(ctx: Any, dy: Any) -> Any:
        seen.append(ctx.saved_tensor()[0])
        return dy * 2

    layer = make(forward, backward)
    y = layer.apply(leaf())
    y.backward()
    assert seen[-1] is y
    x = leaf()
    layer.apply(x).sum().backward()
    assert seen[-1].numpy().tolist() == [2.0, 4.0, 6.0]
    assert not seen[-1].stop_gradient


# ---- what backward receives ------------------------------------------------------------------------------------------
def test_gradients_arrive_taking_a_gradient_and_grad_mode_is_off() -> None:
    """B8: dy.stop_gradient is False although backward itself is not recorded."""
    seen: list[Any] = []

    def backward(ctx: Any, dy: Any) -> Any:
        seen.append((dy.stop_gradient, paddle.is_grad_enabled()))
        return dy * 2

    layer = make(lambda ctx, x: x * 2, backward)
    layer.apply(layer.apply(leaf())).sum().backward()
    assert seen == [(False, False), (False, False)]


def test_a_gradient_that_others_hold_is_not_changed() -> None:
    """The flag is flipped in place only where nobody else can see the Tensor."""
    held: list[Any] = []

    def keeping(ctx: Any, dy: Any) -> Any:
        held.append(paddle.to_tensor(dy.numpy() * 2))
        return held[-1]

    first = make(lambda ctx, x: x * 2, lambda ctx, dy: dy * 1)
    second = make(lambda ctx, x: x * 2, keeping)
    second.apply(first.apply(leaf())).sum().backward()
    assert held[0].stop_gradient is True


def test_hooks_on_outputs_count() -> None:
    """D7: what a hook on a PyLayer's output returns is what backward receives (Paddle ignores it)."""
    x = leaf()
    y = Tanh.apply(x)
    y.register_hook(lambda grad: grad * 10)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 10 * (1 - np.tanh([1.0, 2.0, 3.0]) ** 2), rtol=1e-5)


def test_second_backward_works_with_a_retained_graph() -> None:
    """D3: with retain_graph twice the gradient; without it an error that says so."""
    x = leaf()
    y = Tanh.apply(x).sum()
    y.backward(retain_graph=True)
    first = x.grad.numpy()
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * first)
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()


def test_double_gradient_passes_through_saved_outputs() -> None:
    """D9: the second derivative of a PyLayer tanh built of ops is that of tanh."""

    class OpsTanh(PyLayer):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = paddle.tanh(x)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            (y,) = ctx.saved_tensor()
            return dy * (1 - paddle.square(y))

    x = leaf()
    (first,) = paddle.grad(OpsTanh.apply(x).sum(), [x], create_graph=True)
    (second,) = paddle.grad(first.sum(), [x])
    t = np.tanh([1.0, 2.0, 3.0])
    np.testing.assert_allclose(second.numpy(), -2 * t * (1 - t**2), rtol=1e-4)


def test_once_differentiable_blocks_the_second_derivative() -> None:
    """The first gradient has no graph of its own."""

    class Once(PyLayer):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, dy: Any) -> Any:
            (x,) = ctx.saved_tensor()
            return dy * 2 * x

    x = leaf()
    (first,) = paddle.grad(Once.apply(x).sum(), [x], create_graph=True)
    assert first.stop_gradient


def test_grad_for_a_subset_of_the_inputs() -> None:
    """D8: backward returns a gradient for every input, and only those asked for are kept (Paddle raises)."""
    a, b = leaf(), leaf()
    layer = make(lambda ctx, a, b: a * b, lambda ctx, dy: (dy * 2, dy * 3))
    (found,) = paddle.grad(layer.apply(a, b).sum(), [a])
    assert found.numpy().tolist() == [2.0, 2.0, 2.0]
    assert b.grad is None


def test_nested_output_lists_are_attached() -> None:
    """A3: a list of Tensors within the result is one argument of backward, a list of gradients."""

    def forward(ctx: Any, x: Any) -> Any:
        return x * 2, [x * 3, x * 4]

    def backward(ctx: Any, first: Any, rest: Any) -> Any:
        return first * 2 + rest[0] * 3 + rest[1] * 4

    x = leaf()
    first, (second, third) = make(forward, backward).apply(x)
    (first + second * 10 + third * 100).sum().backward()
    assert x.grad.numpy().tolist() == [432.0] * 3


# ---- free use of the context -----------------------------------------------------------------------------------------
def test_the_walk_leaves_all_names_to_the_user() -> None:
    """Attributes called edges, width, indices, hooks and the like survive and disturb nothing."""
    names = ["edges", "width", "indices", "hooks", "opdef", "rule", "shape", "dtype", "saved", "attrs", "_saved"]

    def forward(ctx: Any, x: Any) -> Any:
        for name in names:
            setattr(ctx, name, name.upper())
        return x * 2

    def backward(ctx: Any, dy: Any) -> Any:
        assert [getattr(ctx, name) for name in names] == [name.upper() for name in names]
        return dy * 2

    x = leaf()
    make(forward, backward).apply(x).sum().backward()
    assert x.grad.numpy().tolist() == [2.0] * 3


def test_a_context_that_outlives_the_walk_still_has_its_tensors() -> None:
    """C1: saved_tensor() may be called after backward is over."""
    contexts: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        contexts.append(ctx)
        ctx.save_for_backward(x)
        return x * 2

    x = leaf()
    make(forward, lambda ctx, dy: dy).apply(x).sum().backward()
    assert contexts[0].saved_tensor() == (x,) or contexts[0].saved_tensor()[0] is x


def test_of_two_calls_of_save_for_backward_the_last_counts() -> None:
    """C2: the page says once; Paddle 2.6 replaces what was saved, and here a warning says so."""

    def twice(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.save_for_backward(x, x)
        ctx.save_for_backward(y)
        return x * x

    def backward(ctx: Any, dy: Any) -> Any:
        (y,) = ctx.saved_tensor()
        return dy * y

    x = leaf()
    with pytest.warns(UserWarning, match="called twice"):
        y = make(twice, backward).apply(x)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * x.numpy())


def test_save_for_backward_is_for_forward_alone() -> None:
    """C2: the page says only in forward, and it is an error elsewhere."""

    def late(ctx: Any, dy: Any) -> Any:
        ctx.save_for_backward(dy)
        return dy

    with pytest.raises(UsageError, match="after forward had ended"):
        make(lambda ctx, x: x * 2, late).apply(leaf()).sum().backward()


def test_pack_and_unpack_hooks_see_saved_tensors() -> None:
    """C6: what is saved under saved_tensors_hooks is what pack returned, and unpack gives it back."""
    seen: list[str] = []

    def pack(tensor: Any) -> Any:
        seen.append("pack")
        return tensor.numpy()

    def unpack(array: Any) -> Any:
        seen.append("unpack")
        return paddle.to_tensor(array)

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    x = leaf()
    with paddle.autograd.saved_tensors_hooks(pack, unpack):
        y = make(forward, lambda ctx, dy: dy * 2 * ctx.saved_tensor()[0]).apply(x)
    y.sum().backward()
    assert seen == ["pack", "unpack"]
    assert x.grad.numpy().tolist() == [2.0, 4.0, 6.0]


# ---- refusals --------------------------------------------------------------------------------------------------------
RETURNS: dict[str, tuple[Any, str]] = {
    "too many": (lambda dy: (dy, dy, dy), "must return 2 gradients, one per Tensor input of forward, it returned 3"),
    "too few": (lambda dy: dy, "it returned 1"),
    "none at all": (lambda dy: (), "it returned 0"),
    "None": (lambda dy: (dy, None), "None at position 1, but that input takes a gradient"),
    "a number": (lambda dy: (dy, 1.0), "got float at position 1"),
    "an array": (lambda dy: (dy.numpy(), dy), "got ndarray at position 0"),
    "another shape": (lambda dy: (dy, dy.sum()), r"must have its input's shape \[3\], got \[\]"),
    "a dict": (lambda dy: {"a": dy}, "got dict at position 0"),
}


@pytest.mark.parametrize("name", RETURNS)
def test_wrong_results_of_backward_are_refused(name: str) -> None:
    """B1 to B6: the message names the PyLayer, the position, what was expected and got, and where backward stands."""
    result, message = RETURNS[name]
    layer = make(lambda ctx, a, b: a + b, lambda ctx, dy: result(dy))
    a, b = leaf(), leaf()
    with pytest.raises(PyLayerError, match=message) as caught:
        layer.apply(a, b).sum().backward()
    assert isinstance(caught.value, ValueError)
    assert "PyLayer Made" in str(caught.value)
    assert str(caught.value.where).startswith(__file__)


def test_a_tensor_for_a_stopped_input_is_refused() -> None:
    """B4: the gradient of an input whose stop_gradient is True must be None."""
    layer = make(lambda ctx, a, b: a + b, lambda ctx, dy: (dy, dy))
    with pytest.raises(PyLayerError, match="must return None at position 1"):
        layer.apply(leaf(), paddle.ones([3])).sum().backward()


def test_trailing_gradients_of_stopped_inputs_may_be_left_out() -> None:
    """B2: missing gradients at the end are those of stopped inputs."""
    a = leaf()
    make(lambda ctx, a, b: a + b, lambda ctx, dy: dy * 3).apply(a, paddle.ones([3])).sum().backward()
    assert a.grad.numpy().tolist() == [3.0] * 3


def test_a_gradient_of_another_dtype_is_cast() -> None:
    """B7: it becomes the input's dtype."""
    x = leaf()
    make(lambda ctx, x: x * 2, lambda ctx, dy: dy.astype("float64")).apply(x).sum().backward()
    assert x.grad.dtype == paddle.float32


def test_exceptions_keep_their_class_and_say_where() -> None:
    """A21: a KeyError in backward stays a KeyError, with a note that names the PyLayer and its file."""

    def broken(ctx: Any, dy: Any) -> Any:
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost") as caught:
        make(lambda ctx, x: x * 2, broken).apply(leaf()).sum().backward()
    assert any("in backward of PyLayer Made" in note and __file__ in note for note in caught.value.__notes__)
    assert "broken" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    with pytest.raises(KeyError) as caught:
        make(broken).apply(leaf())
    assert any("in forward of PyLayer Made" in note for note in caught.value.__notes__)
    assert paddle.is_grad_enabled()


def test_a_missing_backward_is_both_errors() -> None:
    """A15: NotImplementedError by its meaning, OSError as Paddle raises it."""
    with pytest.raises(MissingBackwardError) as caught:
        make(lambda ctx, x: x * 2).apply(leaf()).sum().backward()
    assert isinstance(caught.value, NotImplementedError)
    assert isinstance(caught.value, OSError)
    assert caught.value.__notes__ == ["in backward of PyLayer Made"]


def test_in_static_mode_the_way_is_py_func() -> None:
    """A22: a PyLayer is not an op of a static program; the error says what is."""
    paddle.enable_static()
    try:
        with pytest.raises(ValueError, match="py_func"):
            Tanh.apply(paddle.static.data("x", [2]))
    finally:
        paddle.disable_static()


# ---- around it -------------------------------------------------------------------------------------------------------
def test_an_observer_sees_class_and_arguments() -> None:
    """A recorder learns of every application: the class, its arguments, arrays in and out."""
    seen: list[Any] = []
    with ops.observe(lambda opdef, inputs, attrs, outputs, seconds: seen.append((opdef, inputs, attrs, outputs))):
        make(lambda ctx, x, factor=1: x * factor, lambda ctx, dy: dy).apply(leaf(), factor=3)
    opdef, inputs, attrs, outputs = seen[-1]
    assert opdef.name == "Made"
    assert opdef.is_user
    assert opdef.layer.__name__ == "Made"
    assert attrs["kwargs"] == {"factor": 3}
    assert inputs[0].tolist() == [1.0, 2.0, 3.0]
    assert outputs[0].tolist() == [3.0, 6.0, 9.0]


def test_threads_have_a_mode_of_their_own() -> None:
    """no_grad in one thread does not stop another from recording."""
    flags: list[bool] = []
    with paddle.no_grad():
        thread = threading.Thread(target=lambda: flags.append(Tanh.apply(leaf()).stop_gradient))
        thread.start()
        thread.join()
    assert flags == [False]


def test_interleaved_applications_keep_their_own_contexts() -> None:
    """Two forwards before any backward, walked in either order."""
    a, b = leaf((0.1,)), leaf((0.9,))
    first, second = Tanh.apply(a), Tanh.apply(b)
    first.backward()
    second.backward()
    np.testing.assert_allclose(a.grad.numpy(), 1 - np.tanh(0.1) ** 2, rtol=1e-5)
    np.testing.assert_allclose(b.grad.numpy(), 1 - np.tanh(0.9) ** 2, rtol=1e-5)


@pytest.mark.parametrize(("shape", "given"), [([], [1]), ([1], [])])
def test_a_gradient_of_one_element_takes_its_inputs_shape(shape: list[int], given: list[int]) -> None:
    """[1] for [] and [] for [1] are brought into shape, and second derivatives flow through that."""

    class Square(PyLayer):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            (x,) = ctx.saved_tensor()
            return (2 * dy * x).reshape(given)

    x = paddle.full(shape, 3.0)
    x.stop_gradient = False
    (first,) = paddle.grad(Square.apply(x), x, create_graph=True)
    (second,) = paddle.grad(first, x)
    assert (first.shape, float(first)) == (shape, 6.0)
    assert (second.shape, float(second)) == (shape, 2.0)
