"""Runner: a PyLayer applied to arrays, as it is in a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opkit.eager import PyLayer
from opkit.eager.pylayer_faults import PyLayerError
from opkit.errors import KernelError
from opkit.ops import local
from opkit.verify.subjects.parameters import parameters_of
from opkit.verify.subjects.pylayer import LayerRunner
from opkit.verify.subjects.subject import Signature

ARRAYS = {"x": np.ones(2), "y": np.ones(2)}


class First(PyLayer):
    """Returns its first argument."""

    contexts: list[Any] = []

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any, raises: bool = False) -> Any:
        """Return x, or raise."""
        First.contexts.append(ctx)
        if raises:
            raise ValueError("no")
        return x

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        """Return the gradients of x and y."""
        return dy, dy * 0


class Second(First):
    """Returns a new Tensor."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any, raises: bool = False) -> Any:
        """Return x + y."""
        First.forward(ctx, x, y, raises)
        return x + y


def runner_of(layer: type, leaves: frozenset[str] = frozenset()) -> LayerRunner:
    """Return a runner of one of the layers; both inputs take a gradient."""
    return LayerRunner(layer, Signature(parameters_of(layer), frozenset(ARRAYS), leaves=leaves))


def test_a_leaf_that_forward_returns_is_refused_without_a_backward_too() -> None:
    """An argument that a run gave as a leaf may not be returned; one that came out of an op may."""
    with pytest.raises(PyLayerError, match="a leaf that takes a gradient"):
        runner_of(First, frozenset({"x"})).forward(ARRAYS, {})
    assert (runner_of(First).forward(ARRAYS, {})[0] == 1).all()


def test_a_forward_alone_leaves_no_record() -> None:
    """Nothing is kept for a backward that will not come."""
    assert (runner_of(Second).forward(ARRAYS, {})[0] == 2).all()
    assert First.contexts[-1].walk_rule is None


def test_a_forward_that_raises_leaves_recording_on() -> None:
    """What comes after a forward that raised is recorded as before."""
    with pytest.raises(ValueError, match="no"):
        runner_of(Second).forward(ARRAYS, {"raises": True})
    assert local.mode.is_grad_enabled


class Reuses(PyLayer):
    """Keeps one gradient for all calls."""

    kept: Any = None

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        """Return x + y."""
        return x + y

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        """Write the gradient into the Tensor that was returned before."""
        if Reuses.kept is None:
            Reuses.kept = dy * 1
        else:
            Reuses.kept.set_value(dy)
        return Reuses.kept, dy * 1


def test_a_gradient_that_was_returned_may_not_be_changed() -> None:
    """A Tensor that stands for another array after a later call is one that the caller still holds."""
    _, pullback = runner_of(Reuses).vjp(ARRAYS, {})
    names = frozenset(ARRAYS)
    assert (pullback([np.ones(2)], names)["x"] == 1).all()
    with pytest.raises(KernelError, match="changed a gradient that it returned earlier"):
        pullback([np.full(2, 3.0)], names)
