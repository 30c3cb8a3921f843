"""The tracer, and decorators that keep signatures: what scripts with a recompute of their own use. Facts of 2.6.2."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import opkit.paddle as paddle
from opkit.paddle.base import core, framework
from opkit.paddle.base.wrapped_decorator import signature_safe_contextmanager, wrap_decorator
from opkit.static.names import guard_names


def _plain(a: int, b: int = 1) -> int:
    return a + b


def test_the_tracer_reads_and_sets_recording() -> None:
    """_has_grad is the flag that no_grad sets, and sets it."""
    tracer = framework._dygraph_tracer()
    with paddle.no_grad():
        assert tracer._has_grad is False
        tracer._has_grad = True
        assert paddle.is_grad_enabled()
    assert tracer._has_grad is True


def test_the_tracer_names_and_casts_nothing() -> None:
    """Names count up; on a CPU the level of casting is O0 with empty lists."""
    tracer = framework._dygraph_tracer()
    with guard_names():
        assert [tracer._generate_unique_name() for _ in range(2)] == ["dygraph_tmp_0", "dygraph_tmp_1"]
    assert tracer._amp_level == core.AmpLevel.O0
    assert tracer._get_amp_op_list() == (set(), set())


def test_a_graph_has_no_tracer() -> None:
    """While a graph is built there is none, and functions of dynamic mode refuse."""
    paddle.enable_static()
    try:
        assert framework._dygraph_tracer() is None
        assert framework.dygraph_not_support(_plain)(1) == 2
        with pytest.raises(AssertionError, match="disable_static"):
            framework.dygraph_only(_plain)(1)
    finally:
        paddle.disable_static()
    with pytest.raises(AssertionError, match="enable_static"):
        framework.static_only(_plain)(1)


@pytest.mark.parametrize(
    "decorate", [paddle.no_grad(), paddle.no_grad, paddle.enable_grad(), wrap_decorator(lambda f: f)]
)
def test_decorators_keep_the_signature(decorate: Any) -> None:
    """Getfullargspec sees the arguments of the decorated function."""
    made = decorate(_plain)
    assert inspect.getfullargspec(made) == inspect.getfullargspec(_plain)
    assert made.__name__ == "_plain"
    assert made(1, b=2) == 3


def test_a_context_keeps_the_signature() -> None:
    """signature_safe_contextmanager makes a context manager."""

    @signature_safe_contextmanager
    def doubled(a: int) -> Any:
        yield a * 2

    with doubled(4) as value:
        assert value == 8


def test_set_grad_enabled_decorates() -> None:
    """A decorated function runs with the mode, and decorating changes nothing else."""

    @paddle.set_grad_enabled(False)
    def asked() -> bool:
        return bool(paddle.is_grad_enabled())

    assert paddle.is_grad_enabled()
    assert not asked()
    assert paddle.is_grad_enabled()
    with paddle.no_grad():
        assert paddle.set_grad_enabled(True)(lambda: paddle.is_grad_enabled())()
