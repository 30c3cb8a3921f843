"""Layers: registration, modes, printing, state, hooks, bad input; and small networks that learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit.errors import MissingNameError
from opkit.paddle import nn
from opkit.static.names import guard_names


class Net(nn.Layer):
    """A network with every way of holding parts."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 3)
        self.rest = nn.Sequential(nn.ReLU(), ("last", nn.Linear(3, 2)))
        self.scale = self.create_parameter([1], default_initializer=nn.initializer.Constant(2.0))
        self.register_buffer("seen", paddle.zeros([1]))
        self.layers = nn.LayerList([nn.Linear(2, 2, bias_attr=False)])

    def forward(self, x: Any) -> Any:
        return self.layers[0](self.rest(self.first(x))) * self.scale


def test_parameters_are_found_under_dotted_names() -> None:
    """Assigning registers parameters, sublayers and buffers in order."""
    with guard_names():
        net = Net()
    names = [name for name, _ in net.named_parameters()]
    assert names == ["scale", "first.weight", "first.bias", "rest.last.weight", "rest.last.bias", "layers.0.weight"]
    assert list(net.state_dict()) == ["scale", "seen", *names[1:]]
    assert net.first.weight.name == "linear_0.w_0"
    assert net.full_name() == "net_0"
    assert len(net.sublayers()) == 6


def test_printing() -> None:
    """A layer prints its parts, indented, with their settings."""
    text = repr(nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.Dropout(0.1))))
    assert text == (
        "Sequential(\n  (0): Linear(in_features=2, out_features=3, dtype=float32)\n  (1): Sequential(\n"
        "    (0): Dropout(p=0.1, axis=None, mode=upscale_in_train)\n  )\n)"
    )


def test_training_and_evaluation() -> None:
    """Dropout drops in training only; batch norm updates its statistics in training only."""
    layer = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1D(3))
    x = paddle.ones([50, 3])
    layer.eval()
    assert layer(x).numpy().std() < 1e-6
    before = layer[1]._mean.numpy().tolist()
    layer(x)
    assert layer[1]._mean.numpy().tolist() == before
    layer.train()
    assert layer(x).numpy().std() > 0.1
    assert layer[1]._mean.numpy().tolist() != before


def test_hooks_around_forward() -> None:
    """A pre hook changes the inputs, a post hook the outputs, until they are removed."""
    layer = nn.Identity()
    before = layer.register_forward_pre_hook(lambda layer, inputs: (inputs[0] + 1,))
    layer.register_forward_post_hook(lambda layer, inputs, outputs: outputs * 10)
    assert layer(paddle.ones([1])).item() == 20.0
    before.remove()
    assert layer(paddle.ones([1])).item() == 10.0


def test_bad_assignments() -> None:
    """A parameter is replaced by a parameter or None; layers need the base's __init__."""
    net = Net()
    with pytest.raises(TypeError, match="takes a parameter or None, got int"):
        net.scale = 3

    class Hasty(nn.Layer):
        def __init__(self) -> None:
            self.part = nn.Linear(1, 1)

    with pytest.raises(ValueError, match="super"):
        Hasty()
    with pytest.raises(MissingNameError, match="did you mean 'first'"):
        net.frist  # noqa: B018


@pytest.mark.filterwarnings("ignore:.*the state does not have it")
def test_a_state_of_another_shape_is_left_out_with_a_warning() -> None:
    """Fine-tuning with a new head loads what fits, and says what does not."""
    net = Net()
    held = net.scale.numpy()
    with pytest.warns(UserWarning, match=r"'scale' is left unchanged: its shape is .* that of the state \[5\]"):
        missing, unexpected = net.set_state_dict({"scale": np.zeros(5, np.float32)})
    assert "scale" in missing
    assert unexpected == ["scale"]
    np.testing.assert_array_equal(net.scale.numpy(), held)


@pytest.mark.parametrize("module", [paddle, nn, nn.functional, paddle.optimizer, paddle.autograd, paddle.linalg])
def test_missing_names_offer_the_nearest(module: Any) -> None:
    """A name that opkit lacks is an AttributeError that says so."""
    known = next(name for name in module.__all__ if len(name) > 4)
    with pytest.raises(AttributeError, match="opkit has no") as caught:
        getattr(module, known[:-1] + "qq")
    assert known in caught.value.help


@pytest.mark.parametrize(
    "make",
    [
        lambda p: paddle.optimizer.SGD(0.5, p),
        lambda p: paddle.optimizer.Momentum(0.1, 0.9, p),
        lambda p: paddle.optimizer.Adam(0.05, parameters=p),
        lambda p: paddle.optimizer.AdamW(0.05, parameters=p),
        lambda p: paddle.optimizer.RMSProp(0.01, parameters=p),
        lambda p: paddle.optimizer.Adagrad(0.2, parameters=p),
    ],
)
def test_a_network_learns(make: Any) -> None:
    """A small classifier's loss falls to less than half."""
    paddle.seed(1)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(64, 4)).astype("float32")
    y = (x[:, 0] > x[:, 1]).astype("int64")
    net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer, criterion = make(net.parameters()), nn.CrossEntropyLoss()
    losses = []
    for _ in range(60):
        loss = criterion(net(paddle.to_tensor(x)), paddle.to_tensor(y))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


def test_seeds_fix_random_numbers() -> None:
    """The same seed, the same numbers; initial weights included."""
    paddle.seed(7)
    first = paddle.randn([3]).numpy().tolist(), nn.Linear(2, 2).weight.numpy().tolist()
    paddle.seed(7)
    assert (paddle.randn([3]).numpy().tolist(), nn.Linear(2, 2).weight.numpy().tolist()) == first


def test_submodules_are_modules() -> None:
    """Import paddle.nn.functional and its like work under the shim, as scripts write them."""
    from opkit.shim import frameworks

    with frameworks():
        import paddle.autograd.py_layer as py_layer
        import paddle.nn.functional as functional
        import paddle.optimizer.lr as lr
        from paddle.autograd import PyLayer
        from paddle.framework import set_flags
        from paddle.nn.initializer import Constant
        from paddle.utils import unique_name

        assert py_layer.PyLayer is PyLayer
        assert all(map(callable, (functional.relu, lr.StepDecay, set_flags, Constant, unique_name.generate)))
