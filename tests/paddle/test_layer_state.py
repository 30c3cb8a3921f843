"""A layer's state: what it holds, hooks on it, and loading it; names and casts of its parts. Facts of Paddle 2.6.2."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit.paddle import nn


class Part(nn.Layer):
    """A layer with a parameter of a sublayer and two buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(1, 1)
        self.register_buffer("kept", paddle.ones([1]))
        self.register_buffer("passing", paddle.ones([1]), persistable=False)


class Renamed(Part):
    """A layer whose state has a name of its own."""

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Rename one entry."""
        state = super().state_dict(*args, **kwargs)
        state["other"] = state.pop("a.weight")
        return state

    def set_state_dict(self, state_dict: Any, use_structured_name: bool = True) -> Any:
        """Rename it back."""
        state_dict["a.weight"] = state_dict.pop("other")
        return super().set_state_dict(state_dict, use_structured_name)


def test_loading_does_not_ask_an_overridden_state_dict() -> None:
    """A class that renames entries in both directions loads what it saved."""
    first, second = Renamed(), Renamed()
    assert second.set_state_dict(first.state_dict()) == ([], [])
    assert second.a.weight.numpy() == first.a.weight.numpy()


def test_passing_buffers_are_left_out() -> None:
    """Buffers that are not persistable are not in the state."""
    assert list(Part().state_dict()) == ["kept", "a.weight", "a.bias"]


def test_a_hook_changes_or_replaces_the_state() -> None:
    """Hooks run in their order, those of sublayers too, until they are removed."""
    net = Part()
    inner = net.a.register_state_dict_hook(lambda state: state.update(inner=1))
    outer = net.register_state_dict_hook(lambda state: {"all": list(state)})
    assert net.state_dict() == {"all": ["kept", "a.weight", "a.bias", "inner"]}
    assert "inner" not in net.state_dict(use_hook=False)
    outer.remove()
    inner.remove()
    assert list(net.state_dict()) == ["kept", "a.weight", "a.bias"]


def test_an_option_that_paddle_lacks_is_refused() -> None:
    """state_dict has no option keep_vars."""
    with pytest.raises(TypeError):
        Part().state_dict(keep_vars=False)  # type: ignore[call-arg]


def test_what_is_not_loaded_is_warned_of() -> None:
    """A missing name and one of another shape are left, returned in the order of the layer, and warned of."""
    net = Part()
    with pytest.warns(UserWarning, match="set_state_dict") as caught:
        missing, unexpected = net.set_state_dict(
            {"zz": 1, "kept": paddle.zeros([2]), "a.weight": paddle.to_tensor([[4.0]])}
        )
    assert (missing, unexpected) == (["kept", "a.bias"], ["zz", "kept"])
    assert [str(item.message).split("'")[1] for item in caught] == ["kept", "a.bias"]
    assert net.a.weight.numpy().tolist() == [[4.0]]
    assert net.kept.numpy().tolist() == [1.0]


@pytest.mark.filterwarnings("ignore:set_state_dict")
def test_another_dtype_is_not_loaded() -> None:
    """A float64 value is not cast to a float32 buffer in silence."""
    with pytest.raises((TypeError, ValueError), match="float32"):
        Part().set_state_dict({"kept": np.ones([1], "float64")})


def test_layers_of_a_class_keep_their_dtype() -> None:
    """float() leaves the excluded classes as they are."""
    net = nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2)).to(dtype="float64")
    net.float(excluded_layers=[nn.Linear])
    assert [item.dtype for item in net.parameters()] == [paddle.float64] * 2 + [paddle.float32] * 2


def test_layers_as_excluded_ones_are_refused() -> None:
    """The excluded layers are classes."""
    with pytest.raises(TypeError, match="classes of layers"):
        nn.Linear(1, 1).float(excluded_layers=nn.Linear(1, 1))


def test_float16_changes_nothing_on_a_cpu() -> None:
    """float16() warns and leaves the layer."""
    with pytest.warns(UserWarning, match="CPU"):
        assert nn.Linear(1, 1).float16().weight.dtype == paddle.float32


@pytest.mark.parametrize("name", ["x.y", "", "a"])
def test_a_name_that_cannot_be_reached_is_refused(name: str) -> None:
    """Buffers and parameters have names without a dot that hide nothing."""
    net = Part()
    with pytest.raises(KeyError):
        net.register_buffer(name, paddle.ones([1]))
    with pytest.raises(KeyError):
        net.add_parameter(name, net.a.bias)


def test_a_layer_dict_changes_as_a_dict_does() -> None:
    """Update takes dicts and pairs; pop, del and clear take layers out."""
    held = nn.LayerDict([("a", nn.ReLU())])
    held.update({"b": nn.Tanh()})
    held.update(nn.LayerDict({"c": nn.Sigmoid()}))
    taken = held.pop("b")
    del held["a"]
    assert isinstance(taken, nn.Tanh)
    assert list(held) == ["c"]
    held.clear()
    assert len(held) == 0
    with pytest.raises(ValueError, match="item 0"):
        held.update([("a", nn.ReLU(), 1)])
    with pytest.raises(AssertionError):
        held.update(1)


def test_a_layer_is_taken_out_of_a_sequence() -> None:
    """Del takes a position or a name."""
    net = nn.Sequential(("a", nn.ReLU()), ("b", nn.Tanh()), ("c", nn.Sigmoid()))
    del net[0], net["c"]
    assert [type(layer).__name__ for layer in net] == ["Tanh"]


def test_trainable_takes_a_bool() -> None:
    """Another value is not taken for true."""
    with pytest.raises(ValueError, match="trainable takes a bool"):
        nn.Linear(1, 1).weight.trainable = "1"


def test_a_layer_has_no_backward() -> None:
    """Layer.backward is refused."""
    with pytest.raises(ValueError, match="no backward"):
        nn.ReLU().backward()
