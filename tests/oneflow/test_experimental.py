"""``oneflow.experimental``: tensors, functions, modules, optimizers and schedules of dynamic mode."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opkit.oneflow as stable
import opkit.oneflow.experimental as flow
from opkit.errors import MissingNameError, OpkitError, ShapeError, UnsupportedError, UsageError

RNG = np.random.default_rng(3)
X = RNG.normal(size=(3, 4)).astype(np.float32)
Y = RNG.normal(size=(3, 4)).astype(np.float32)
P = RNG.uniform(0.1, 0.9, size=(3, 4)).astype(np.float32)
IMAGE = RNG.normal(size=(2, 3, 4, 4)).astype(np.float32)
PLACES = np.array([[0, 2, 1, 3], [3, 3, 0, 0], [1, 1, 2, 2]], np.int32)


def tensor(array: np.ndarray) -> Any:
    """Return a tensor with the array's own dtype."""
    return flow.tensor(array)


#: name, function of tensors, what it gives
ROWS: list[tuple[str, Callable[[], Any], Any]] = [
    ("sum of all", lambda: tensor(X).sum(), [X.sum()]),
    ("sum", lambda: flow.sum(tensor(X), dim=1, keepdims=True), X.sum(1, keepdims=True)),
    ("mean", lambda: tensor(X).mean(dim=0), X.mean(0)),
    ("var", lambda: flow.var(tensor(X), 1), X.var(1)),
    ("std", lambda: flow.std(tensor(X), 1), X.std(1)),
    ("argmax of all", lambda: flow.argmax(tensor(X)), [X.argmax()]),
    ("argmax", lambda: flow.argmax(tensor(X), 0, True), X.argmax(0)[None]),
    ("arithmetic", lambda: (2 - tensor(X)) / 2 * tensor(Y) + 1, (2 - X) / 2 * Y + 1),
    ("comparison", lambda: tensor(X) > tensor(Y), X > Y),
    ("power", lambda: flow.pow(tensor(P), 3), P**3),
    ("arcsin", lambda: flow.arcsin(input=tensor(P)), np.arcsin(P)),
    ("matmul", lambda: flow.matmul(tensor(X), tensor(Y.T.copy())), X @ Y.T),
    ("permute", lambda: tensor(IMAGE).permute(0, 2, 3, -3), IMAGE.transpose(0, 2, 3, 1)),
    ("transpose", lambda: tensor(IMAGE).transpose(1, 3), IMAGE.swapaxes(1, 3)),
    ("squeeze", lambda: flow.squeeze(tensor(X[:1]), 0), X[0]),
    ("expand", lambda: tensor(X[:, :1]).expand(2, -1, 4), np.broadcast_to(X[:, :1], (2, 3, 4))),
    ("repeat", lambda: tensor(X).repeat(sizes=(2, 1, 2)), np.tile(X, (2, 1, 2))),
    ("cat", lambda: flow.cat([tensor(X), tensor(Y)], dim=-1), np.concatenate([X, Y], 1)),
    ("gather", lambda: flow.gather(tensor(X), tensor(PLACES), dim=1), np.take_along_axis(X, PLACES.astype(int), 1)),
    ("where", lambda: flow.where(tensor(X) > 0, tensor(X), tensor(Y)), np.where(X > 0, X, Y)),
    ("masked_fill", lambda: tensor(X).masked_fill(tensor(X) > 0, 5.0), np.where(X > 0, 5, X)),
    ("item", lambda: tensor(X)[1:, ::2], X[1:, ::2]),
    ("arange", lambda: flow.arange(1, 8, 3), [1, 4, 7]),
    ("slice_update", lambda: flow.slice_update(tensor(X), tensor(Y[:1]), [(1, 2, 1)])[1], Y[0]),
    ("softmax", lambda: flow.nn.LogSoftmax(0)(tensor(X)), X - np.log(np.exp(X).sum(0))),
    ("Softplus", lambda: flow.nn.Softplus(2, 1)(tensor(X)), np.where(2 * X > 1, X, np.log1p(np.exp(2 * X)) / 2)),
    ("Hardtanh", lambda: flow.nn.Hardtanh(min_value=-0.5)(tensor(X)), np.clip(X, -0.5, 1)),
    ("LeakyReLU", lambda: flow.nn.LeakyReLU()(tensor(X)), np.where(X > 0, X, 0.01 * X)),
    ("PReLU", lambda: flow.nn.PReLU(3, 0.5)(tensor(IMAGE)), np.where(IMAGE > 0, IMAGE, 0.5 * IMAGE)),
    ("MaxPool2d", lambda: flow.nn.MaxPool2d(2)(tensor(IMAGE)), IMAGE.reshape(2, 3, 2, 2, 2, 2).max((3, 5))),
    ("AvgPool2d", lambda: flow.nn.AvgPool2d(2)(tensor(IMAGE)), IMAGE.reshape(2, 3, 2, 2, 2, 2).mean((3, 5))),
    ("Upsample", lambda: flow.nn.Upsample(size=8)(tensor(IMAGE))[:, :, ::2, 1::2], IMAGE),
    ("Flatten", lambda: flow.nn.Flatten()(tensor(IMAGE)), IMAGE.reshape(2, -1)),
    ("Dropout at rest", lambda: flow.nn.Dropout(0.9).eval()(tensor(X)), X),
    ("NLLLoss", lambda: flow.nn.NLLLoss(reduction="none")(tensor(X), tensor(PLACES[0, :3])), -X[[0, 1, 2], [0, 2, 1]]),
    (
        "CrossEntropyLoss of images",
        lambda: flow.nn.CrossEntropyLoss(reduction="none")(tensor(IMAGE), tensor(np.ones((2, 4, 4), np.int32))),
        np.log(np.exp(IMAGE).sum(1)) - IMAGE[:, 1],
    ),
    ("LayerNorm", lambda: flow.nn.LayerNorm(4)(tensor(X)), (X - X.mean(1)[:, None]) / np.sqrt(X.var(1) + 1e-5)[:, None]),
    ("builtin_op", lambda: flow.builtin_op("tanh").Input("x").Output("y").Build()(tensor(X))[0], np.tanh(X)),
]


@pytest.mark.parametrize(("call", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_a_function_of_tensors_gives_what_numpy_gives(call: Callable[[], Any], expected: Any) -> None:
    """Functions and modules without drawn parameters compute the formula."""
    got = call().numpy()
    assert got.shape == np.shape(expected)
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-6)


def test_backward_gives_gradients_of_tensors_and_parameters() -> None:
    """The gradients of a layer's sum are those of the formula."""
    x = flow.Tensor(X, requires_grad=True)
    layer = flow.nn.Linear(4, 2)
    layer(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.broadcast_to(layer.weight.numpy().sum(0), (3, 4)), rtol=1e-5)
    np.testing.assert_allclose(layer.weight.grad.numpy(), np.broadcast_to(X.sum(0), (2, 4)), rtol=1e-5)
    assert layer.bias.grad.numpy().tolist() == [3, 3]


def test_tensors_are_made_of_sizes_and_of_data() -> None:
    """Ints are sizes, lists and arrays data; ``flow.tensor`` keeps an array's dtype, ``flow.Tensor`` takes float32."""
    assert flow.Tensor(2, 3).shape == flow.Size([2, 3]) == (2, 3)
    assert flow.Tensor([1, 2]).dtype == stable.float32
    assert flow.tensor(np.arange(2)).dtype == stable.int64
    assert flow.tensor([0.5]).dtype == stable.float32
    assert flow.Tensor(X).size(1) == 4
    assert stable.Tensor is flow.Tensor
    with pytest.raises(TypeError, match="takes sizes, or one array"):
        flow.Tensor("x")


def test_batch_normalization_moves_its_statistics() -> None:
    """Training normalises by the batch and moves the running mean by ``momentum``; at rest the moved one is used."""
    layer = flow.nn.BatchNorm2d(3, momentum=0.5)
    out = layer(tensor(IMAGE)).numpy()
    np.testing.assert_allclose(out.mean((0, 2, 3)), 0, atol=1e-5)
    np.testing.assert_allclose(layer.running_mean.numpy(), IMAGE.mean((0, 2, 3)) / 2, rtol=1e-4, atol=1e-6)
    layer.eval()
    moved = layer.running_mean.numpy().reshape(1, 3, 1, 1)
    scale = np.sqrt(layer.running_var.numpy() + 1e-5).reshape(1, 3, 1, 1)
    np.testing.assert_allclose(layer(tensor(IMAGE)).numpy(), (IMAGE - moved) / scale, rtol=1e-4, atol=1e-5)


def test_a_module_saves_and_loads_what_it_holds(tmp_path: Path) -> None:
    """Names of parameters and buffers follow the submodules; what was saved is loaded by name."""

    def make() -> Any:
        return flow.nn.Sequential(flow.nn.Linear(4, 3), flow.nn.BatchNorm1d(3))

    one, two = make(), make()
    names = ["0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var"]
    assert list(one.state_dict()) == names
    assert [name for name, _ in one.named_parameters()] == names[:4]
    flow.save(one.state_dict(), tmp_path / "state")
    two.load_state_dict(flow.load(tmp_path / "state"))
    np.testing.assert_array_equal(one(tensor(X)).numpy(), two(tensor(X)).numpy())
    with pytest.raises(UsageError, match=r"lacks 1\.running_var"):
        two.load_state_dict({name: item for name, item in one.state_dict().items() if name != "1.running_var"})
    with pytest.raises(ShapeError, match=r"'0\.bias' has shape \(3,\), the state \(2,\)"):
        two.load_state_dict({**one.state_dict(), "0.bias": np.zeros(2)})


#: name, optimizer, what a step takes away from a parameter of ones whose gradient is g
STEPS: list[tuple[str, Callable[[Any], Any], Callable[[np.ndarray], np.ndarray]]] = [
    ("SGD", lambda p: flow.optim.SGD(p, lr=0.1), lambda g: 0.1 * g),
    ("SGD momentum", lambda p: flow.optim.SGD(p, lr=0.1, momentum=0.9, scale=2.0), lambda g: 0.2 * g),
    ("Adam", lambda p: flow.optim.Adam(p, lr=0.1), lambda g: 0.1 * 0.1 * g / (np.sqrt(0.001 * g * g) + 1e-8)),
    (
        "AdamW",
        lambda p: flow.optim.AdamW(p, lr=0.1, weight_decay=0.5),
        lambda g: 0.1 * (0.1 * g / (np.sqrt(0.001 * g * g) + 1e-8) + 0.5),
    ),
    ("RMSprop", lambda p: flow.optim.RMSprop(p, lr=0.1), lambda g: 0.1 * g / np.sqrt(0.01 * g * g + 1e-8)),
    (
        "groups",
        lambda p: flow.optim.SGD([{"params": p, "lr": 0.5}], lr=0.1),
        lambda g: 0.5 * g,
    ),
]


@pytest.mark.parametrize(("make", "change"), [row[1:] for row in STEPS], ids=[row[0] for row in STEPS])
def test_a_step_of_an_optimizer(make: Callable[[Any], Any], change: Callable[[np.ndarray], np.ndarray]) -> None:
    """The first step changes a parameter by the update's formula, and a cleared gradient is 0."""
    parameter = flow.nn.Parameter(flow.Tensor(3, 4).fill_(1))
    optimizer = make([parameter])
    (parameter * tensor(X)).sum().backward()
    optimizer.step()
    np.testing.assert_allclose(parameter.numpy(), 1 - change(X), rtol=1e-3, atol=1e-4)
    optimizer.zero_grad()
    assert not parameter.grad.numpy().any()
    with pytest.warns(UserWarning, match="no parameter of the optimizer has a gradient"):
        flow.optim.SGD([flow.nn.Parameter(flow.Tensor(1))]).zero_grad()


def test_schedules_set_the_rate() -> None:
    """Each ``step()`` sets the rate of the step it begins."""

    def rates(make: Callable[[Any], Any]) -> list[float]:
        optimizer = flow.optim.SGD([flow.nn.Parameter(flow.Tensor(1))], lr=1.0)
        schedule = make(optimizer)
        found = list(schedule.get_last_lr())
        for _ in range(3):
            schedule.step()
            found.append(optimizer.param_groups[0].options["lr"])
        return found

    schedules = flow.optim.lr_scheduler
    assert rates(lambda o: schedules.StepLR(o, 2, 0.5)) == [1, 1, 0.5, 0.5]
    assert rates(lambda o: schedules.LambdaLR(o, lambda step: 1 / (1 + step))) == [1, 1 / 2, 1 / 3, 1 / 4]
    assert rates(lambda o: schedules.CosineScheduler(o, 2, 0.2)) == pytest.approx([1, 0.6, 0.2, 0.2])


REFUSED: list[tuple[str, Callable[[], Any], type[Exception], str]] = [
    ("a GPU", lambda: flow.device("cuda:0"), UnsupportedError, "CPU only"),
    ("another device", lambda: flow.device("tpu"), UsageError, "expected 'cpu', 'cuda'"),
    ("several elements", lambda: flow.Tensor(2, requires_grad=True).backward(), UsageError, "needs its gradient"),
    ("channels", lambda: flow.nn.BatchNorm2d(4)(tensor(IMAGE)), ShapeError, r"takes \(batch, 4, ...\)"),
    ("an unknown part", lambda: flow.nn.Linear(1, 1).weigth, MissingNameError, "weight"),
    ("a part before the base", lambda: type("M", (flow.nn.Module,), {"__init__": lambda self: setattr(self, "w", flow.nn.ReLU())})(), AttributeError, r"super\(\).__init__\(\)"),
    ("a record reader", lambda: flow.nn.OfrecordReader("x"), MissingNameError, "opkit has no"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "words"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_dynamic_mode_refuses(call: Callable[[], Any], kind: type[OpkitError], words: str) -> None:
    """What cannot work is named, with what was expected."""
    with pytest.raises(kind, match=words):
        call()


def test_names_of_jobs_are_there_too() -> None:
    """``oneflow.experimental`` lists what ``oneflow`` has, and v0.4's own places of modules can be imported."""
    from opkit.oneflow.python.nn.parameter import Parameter

    assert flow.global_function is stable.global_function
    assert flow.unittest is stable.unittest
    assert Parameter is stable.nn.Parameter is flow.nn.Parameter


def test_modules_are_imported_when_asked_for() -> None:
    """``import oneflow`` alone loads no module of dynamic mode."""
    code = "import sys, opkit.oneflow; print([m for m in sys.modules if 'experimental.nn' in m or 'experimental.functions' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
