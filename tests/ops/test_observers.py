"""Observers: any number at once, in any order, in dynamic mode, in plans, in optimizers and in PyLayers."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import opkit.oneflow as flow
import opkit.paddle as paddle
from opkit import ops, static
from opkit.eager import NonFiniteError, Tensor
from opkit.ops.core.mode import local
from opkit.ops.core.observers import observing
from opkit.ops.core.profile import Profile


class Double(paddle.autograd.PyLayer):
    """Twice its input, or whatever ``factor`` says."""

    @staticmethod
    def forward(ctx: Any, x: Any, factor: float = 2.0) -> Any:
        ctx.factor = factor
        return paddle.to_tensor(x.numpy() * factor)

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        return paddle.to_tensor(dy.numpy() * ctx.factor)


class Names:
    """An observer that keeps the titles of what ran and what was differentiated."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.differentiated: list[str] = []

    def on_op(self, opdef: Any, inputs: Any, attrs: Any, outputs: Any, seconds: float) -> None:
        self.ran.append(opdef.title)

    def on_gradient(self, opdef: Any, douts: Any, grads: Any) -> None:
        self.differentiated.append(opdef.title)


@pytest.fixture(autouse=True)
def _nobody_left() -> Iterator[None]:
    """No test leaves an observer behind."""
    static.disable_static()
    with observing():
        yield
    assert local.mode.observers == ()
    static.disable_static()


def leaf(*values: float) -> Any:
    return paddle.to_tensor(list(values), stop_gradient=False)


# ---- the stack -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_observers_leave_in_any_order(order: tuple[int, ...]) -> None:
    """Each observer is notified until it is taken off, whoever leaves before or after it."""
    watchers = [Names() for _ in range(3)]
    handles = [ops.observe(item.on_op) for item in watchers]
    for index in order:
        paddle.tanh(leaf(1.0))
        handles[index].remove()
    assert [len(watchers[index].ran) for index in order] == [1, 2, 3]


def test_taking_off_twice_changes_nothing() -> None:
    """An observer that is off stays off, and the others stay on."""
    watcher = Names()
    with ops.observe(watcher.on_op), ops.observe(watcher.on_op) as second:
        second.remove()
        second.remove()
        paddle.tanh(leaf(1.0))
    assert watcher.ran == ["tanh"]


def test_all_are_notified_before_one_raises() -> None:
    """An observer that raises keeps the op from nobody, before it in the stack or after it."""
    before, after = Names(), Names()

    def refuse(*shown: Any) -> None:
        raise ValueError("no")

    with (
        ops.observe(before.on_op),
        ops.observe(refuse),
        ops.observe(after.on_op),
        pytest.raises(ValueError, match="no"),
    ):
        paddle.tanh(leaf(1.0))
    assert before.ran == after.ran == ["tanh"]


def test_an_observer_belongs_to_its_thread() -> None:
    """What another thread runs is not shown, unless the observer was put on everywhere."""
    mine, everyones = Names(), Names()

    def work(ready: threading.Event, go: threading.Event) -> None:
        local.mode.observers  # noqa: B018 - this thread's Mode is older than the observers
        ready.set()
        go.wait()
        paddle.tanh(leaf(1.0))

    ready, go = threading.Event(), threading.Event()
    old = threading.Thread(target=work, args=(ready, go))
    old.start()
    ready.wait()
    with ops.observe(mine.on_op), ops.observe(everyones.on_op, everywhere=True):
        go.set()
        old.join()
        new = threading.Thread(target=work, args=(ready, go))
        new.start()
        new.join()
    assert (mine.ran, everyones.ran) == ([], ["tanh", "tanh"])
    assert ops.Mode.observers_everywhere == ()


def test_what_a_block_puts_on_goes_with_it() -> None:
    """``observing`` takes off what was put on within it, and nothing else."""
    outer, inner = Names(), Names()
    with ops.observe(outer.on_op):
        with observing():
            ops.observe(inner.on_op)
            ops.observe(inner.on_op, everywhere=True)
        paddle.tanh(leaf(1.0))
    assert (outer.ran, inner.ran) == (["tanh"], [])


# ---- who notifies ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["SGD", "Momentum", "Adam", "AdamW", "RMSProp", "Adagrad", "Lamb"])
def test_an_optimizers_step_is_shown(kind: str) -> None:
    """Every parameter that a step changes is one op that ran."""
    weights = [paddle.create_parameter([2], "float32") for _ in range(2)]
    optimizer = getattr(paddle.optimizer, kind)(0.1, parameters=weights)
    (weights[0] * weights[1]).sum().backward()
    watcher = Names()
    with ops.observe(watcher.on_op):
        optimizer.step()
    assert len(watcher.ran) == 2
    assert set(watcher.ran) == {optimizer.update.name}


def test_a_pylayers_backward_is_shown() -> None:
    """Apply and backward are an op each, and backward is not the forward's row in a profile."""
    profile = Profile()
    x = leaf(1.0, 2.0)
    with ops.observe(profile.observe):
        Double.apply(Double.apply(x)).sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]
    assert {name: row.calls for name, row in profile.rows.items() if "Double" in name} == {
        "Double": 2,
        "Double_backward": 2,
    }


def test_a_general_pylayers_backward_is_shown_in_grad_and_under_hooks() -> None:
    """Keyword arguments, gradient hooks and ``paddle.grad`` make no difference."""
    watcher = Names()
    x = leaf(1.0)
    y = Double.apply(x, factor=3.0)
    y.register_hook(lambda dy: dy * 2)
    with ops.observe(watcher.on_op):
        (found,) = paddle.grad(y * 1.0, [x])
    assert found.tolist() == [6.0]
    assert watcher.ran.count("Double_backward") == 1


def test_what_was_differentiated_is_shown() -> None:
    """A gradient observer is notified of each op of the walk, built-in or a user's, and not of leaves."""
    watcher = Names()
    x = leaf(4.0)
    with ops.observe(watcher.on_op, watcher.on_gradient):
        Double.apply(paddle.sqrt(x)).backward()
    assert watcher.differentiated == ["Double", "sqrt"]


def test_observers_change_no_result() -> None:
    """Gradients that are summed over several uses are the same with and without observers."""

    def gradient() -> Any:
        x = leaf(1.0, 2.0)
        (Double.apply(x) * x + paddle.exp(x)).sum().backward()
        return x.grad.tolist()

    plain = gradient()
    with ops.observe(lambda *shown: None):
        assert gradient() == plain


# ---- together --------------------------------------------------------------------------------------------------------
def debug_mode() -> Callable[[], Any]:
    flow.config.enable_debug_mode(True)
    return lambda: flow.config.enable_debug_mode(False)


def nan_flag() -> Callable[[], Any]:
    paddle.set_flags({"FLAGS_check_nan_inf": 1})
    return lambda: paddle.set_flags({"FLAGS_check_nan_inf": 0})


def dynamic(value: float) -> None:
    paddle.log(leaf(value))


def graph(value: float) -> None:
    paddle.enable_static()
    with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        y = paddle.log(paddle.static.data("x", [1], "float32"))
        static.Executor().run(paddle.static.default_main_program(), {"x": np.array([value], np.float32)}, [y])


def backward(value: float) -> None:
    Double.apply(leaf(1.0), factor=np.inf if value < 0 else 1.0).backward()


@pytest.mark.parametrize("profile_first", [True, False])
@pytest.mark.parametrize("switch", [debug_mode, nan_flag])
@pytest.mark.parametrize("run", [dynamic, graph, backward])
def test_a_profile_and_a_nan_check_work_together(
    run: Callable[[float], None], switch: Callable[[], Callable[[], Any]], profile_first: bool
) -> None:
    """Whichever was put on first, the op that made the NaN is refused and stands in the profile."""
    profile = Profile()
    off = None if profile_first else switch()
    with ops.observe(profile.observe), np.errstate(all="ignore"):
        off = off or switch()
        run(1.0)
        with pytest.raises(NonFiniteError, match=r"'(log|Double)' made 1 NaN or infinite value of 1"):
            run(-1.0)
        off()
        run(-1.0)
    expected = "Double" if run is backward else "log"
    assert profile.rows[expected].calls == 3


@pytest.mark.parametrize("switches", list(itertools.permutations([debug_mode, nan_flag])))
@pytest.mark.parametrize("leaves_first", [0, 1])
def test_two_nan_checks_are_switched_on_and_off_independently(switches: Any, leaves_first: int) -> None:
    """The one that stays goes on checking."""
    offs = [switch() for switch in switches]
    offs[leaves_first]()
    with pytest.raises(NonFiniteError), np.errstate(all="ignore"):
        dynamic(-1.0)
    offs[1 - leaves_first]()
    with np.errstate(all="ignore"):
        dynamic(-1.0)


def test_switching_on_twice_is_switching_on_once() -> None:
    """One ``enable_debug_mode(False)`` ends what two calls with True began."""
    debug_mode()
    debug_mode()()
    assert local.mode.observers == ()


def test_a_watch_sees_its_blob_under_a_profile_and_debug_mode() -> None:
    """``flow.watch`` hands its data on, and is itself one of the ops of the profile."""
    seen: list[Any] = []
    flow.clear_default_session()

    @flow.global_function()
    def job(x: flow.typing.Numpy.Placeholder((2,))) -> flow.typing.Numpy:
        y = flow.math.exp(x)
        flow.watch(y, lambda blob: seen.append(np.asarray(blob)))
        return y

    profile = Profile()
    off = debug_mode()
    with ops.observe(profile.observe):
        job(np.zeros(2, np.float32))
    off()
    assert [array.tolist() for array in seen] == [[1.0, 1.0]]
    assert profile.rows["exp"].calls == 1
    assert profile.rows["watch in job job"].calls == 1


# ---- what is refused -------------------------------------------------------------------------------------------------
def test_the_flag_looks_at_gradients_as_wholes() -> None:
    """A gradient whose formula passes through infinity and ends finite is accepted; debug mode names the step."""
    paddle.set_flags({"FLAGS_check_nan_inf": 1})
    with pytest.raises(NonFiniteError, match=r"the gradient of 'sqrt' for input 0 holds 1 NaN or infinite value of 1"):
        paddle.sqrt(leaf(0.0)).backward()
    nan_flag()()
    debug_mode()
    with pytest.raises(NonFiniteError, match="its inputs were finite"):
        paddle.sqrt(leaf(0.0)).backward()


def test_a_wrong_pylayer_backward_is_named() -> None:
    """NaN that a user's backward makes is that function's, with its line."""

    class Wrong(Double):
        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            return Tensor(dy.numpy() * np.float32("nan"))

    debug_mode()
    with pytest.raises(NonFiniteError, match=r"(?s)'Wrong_backward' made 1 NaN.*test_observers\.py"):
        Wrong.apply(leaf(1.0)).backward()


def test_debug_mode_does_not_blame_an_op_for_its_inputs() -> None:
    """NaN that comes in is not the op's fault; the flag stops there all the same."""
    debug_mode()
    paddle.tanh(leaf(float("nan")))
    nan_flag()
    with pytest.raises(NonFiniteError, match="its inputs contained some already"):
        paddle.tanh(leaf(float("nan")))


@pytest.mark.parametrize("switch", [debug_mode, nan_flag])
def test_an_optimizer_that_overflows_is_named(switch: Callable[[], Any]) -> None:
    """An update op answers for the parameter that it writes."""
    weight = paddle.create_parameter([2], "float32")
    optimizer = paddle.optimizer.SGD(1e38, parameters=[weight])
    (weight * 1e30).sum().backward()
    switch()
    with pytest.raises(NonFiniteError, match=r"made 2 NaN or infinite values of 2 in input '\w+', which it writes"):
        optimizer.step()


def test_an_op_that_is_asked_for_infinity_is_silent() -> None:
    """Filling with infinity on purpose is not refused; computing with it is."""
    nan_flag()
    x = paddle.full([2], float("inf"))
    with pytest.raises(NonFiniteError, match="contained some already"):
        paddle.abs(x)
