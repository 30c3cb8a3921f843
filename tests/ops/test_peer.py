"""Values and gradients of the built-in ops against another framework's, where one is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opkit import ops
from opkit.eager import Tensor, grad
from tests.ops.cases import named, resized

torch = pytest.importorskip("torch", reason="torch is not installed: nothing to compare with")
F = torch.nn.functional
pytestmark = pytest.mark.peer


def _rng() -> np.random.Generator:
    return np.random.default_rng(3)


def x34() -> np.ndarray:
    return _rng().normal(size=(3, 4))


def positive34() -> np.ndarray:
    return _rng().uniform(0.3, 3.0, size=(3, 4))


LABELS = np.array([2, 0, 3])
INDEX = np.array([2, 0, 2])

#: name -> (opkit's, torch's, inputs)
ROWS: dict[str, tuple[Callable[..., Any], Callable[..., Any], list[np.ndarray]]] = {}


def row(name: str, ours: Callable[..., Any], theirs: Callable[..., Any], *inputs: np.ndarray) -> None:
    ROWS[name] = (ours, theirs, list(inputs))


for _name in [
    "exp",
    "expm1",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "atan",
    "square",
    "sigmoid",
    "erf",
    "erfc",
    "reciprocal",
    "abs",
]:
    row(_name, getattr(ops, _name), getattr(torch, _name), x34())
for _name in ["log", "log2", "log10", "log1p", "sqrt", "rsqrt", "lgamma", "digamma"]:
    row(_name, getattr(ops, _name), getattr(torch, _name), positive34())
for _name, _torch in {
    "softplus": F.softplus,
    "log_sigmoid": F.logsigmoid,
    "relu": F.relu,
    "elu": F.elu,
    "selu": F.selu,
    "gelu": F.gelu,
    "silu": F.silu,
    "mish": F.mish,
    "hardswish": F.hardswish,
    "hardtanh": F.hardtanh,
    "relu6": F.relu6,
    "leaky_relu": F.leaky_relu,
    "hardshrink": F.hardshrink,
    "softshrink": F.softshrink,
    "tanhshrink": F.tanhshrink,
    "softsign": F.softsign,
}.items():
    row(_name, getattr(ops, _name), _torch, x34())
row("gelu/tanh", lambda x: ops.gelu(x, approximate=True), lambda x: F.gelu(x, approximate="tanh"), x34())
row("polygamma", lambda x: ops.polygamma(x, 2), lambda x: torch.polygamma(2, x), positive34())
row("atan2", ops.atan2, torch.atan2, x34(), positive34())
row("xlogy", ops.xlogy, torch.xlogy, x34(), positive34())
row("pow", ops.pow, torch.pow, positive34(), x34())
row("add", ops.add, torch.add, x34(), positive34()[:1])
row("div", ops.div, torch.div, x34(), positive34())
row("maximum", ops.maximum, torch.maximum, x34(), positive34() - 1)
row("prod", lambda x: ops.reduce_prod(x, 1), lambda x: torch.prod(x, 1), np.array([[1.0, 0.0, 2.0], [3.0, 4.0, 5.0]]))
row("logsumexp", lambda x: ops.logsumexp(x, 1), lambda x: torch.logsumexp(x, 1), x34())
row("var", lambda x: ops.var(x, 0), lambda x: torch.var(x, 0), x34())
row("norm", ops.norm, torch.linalg.norm, x34())
row("cumsum", lambda x: ops.cumsum(x, 1), lambda x: torch.cumsum(x, 1), x34())
row("cumprod", lambda x: ops.cumprod(x, 1), lambda x: torch.cumprod(x, 1), np.array([[1.0, 0.0, 2.0, 0.0, 3.0]]))
row("softmax", lambda x: ops.softmax(x, 0), lambda x: torch.softmax(x, 0), x34() * 30)
row("log_softmax", ops.log_softmax, lambda x: torch.log_softmax(x, -1), x34() * 30)
row("matmul", ops.matmul, torch.matmul, _rng().normal(size=(2, 3, 4)), _rng().normal(size=(4, 2)))
row("amax", lambda x: ops.amax(x, 1), lambda x: torch.amax(x, 1), np.array([[1.0, 3.0, 3.0]]))
row("sort", ops.sort, lambda x: torch.sort(x)[0], x34())
row("topk", lambda x: ops.topk(x, 2)[0], lambda x: torch.topk(x, 2)[0], x34())
row("diag", lambda x: ops.diag(x, 1), lambda x: torch.diag(x, 1), x34())
row("tril", lambda x: ops.tril(x, -1), lambda x: torch.tril(x, -1), x34())
row("roll", lambda x: ops.roll(x, 2, 1), lambda x: torch.roll(x, 2, 1), x34())
row("flip", lambda x: ops.flip(x, (0, 1)), lambda x: torch.flip(x, (0, 1)), x34())
row(
    "gather",
    lambda x: ops.gather(x, Tensor(INDEX), 1),
    lambda x: torch.index_select(x, 1, torch.tensor(INDEX)),
    x34(),
)
row("embedding", lambda w: ops.gather(w, Tensor(INDEX)), lambda w: F.embedding(torch.tensor(INDEX), w), x34())
for _mode in ("reflect", "replicate", "circular"):
    row(
        f"pad/{_mode}",
        lambda x, m=_mode: ops.pad(x, (0, 0, 1), (0, 0, 2), mode=m),
        lambda x, m=_mode: F.pad(x, (1, 2), mode=m),
        _rng().normal(size=(1, 2, 5)),
    )
row(
    "cross_entropy",
    lambda x: ops.sparse_softmax_cross_entropy(x, Tensor(LABELS))[1],
    lambda x: F.cross_entropy(x, torch.tensor(LABELS), reduction="none"),
    x34() * 30,
)
row(
    "binary_cross_entropy",
    ops.binary_cross_entropy,
    lambda x, y: F.binary_cross_entropy(x, y, reduction="none"),
    positive34() / 4,
    positive34() / 3,
)
row(
    "binary_cross_entropy_with_logits",
    lambda x, y: named("sigmoid_cross_entropy", {"prediction": [x], "label": [y]}),
    lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction="none"),
    x34() * 30,
    positive34() / 3,
)
row(
    "smooth_l1",
    lambda x, y: ops.smooth_l1_loss(x, y, 0.5),
    lambda x, y: F.smooth_l1_loss(x, y, reduction="none", beta=0.5),
    x34(),
    positive34(),
)
row(
    "layer_norm",
    lambda x, g, b: ops.layer_norm(x, g, b)[0],
    lambda x, g, b: F.layer_norm(x, (4,), g, b),
    x34(),
    positive34()[0],
    x34()[0],
)
row(
    "batch_norm",
    lambda x, g, b: ops.batch_norm(x, Tensor(np.zeros(4)), Tensor(np.ones(4)), g, b, training=True),
    lambda x, g, b: F.batch_norm(x, torch.zeros(4).double(), torch.ones(4).double(), g, b, training=True),
    x34(),
    positive34()[0],
    x34()[0],
)
row(
    "conv2d",
    lambda x, w, b: ops.conv(x, w, b, (2, 1), (1, 2), (1, 2), 2),
    lambda x, w, b: F.conv2d(x, w, b, (2, 1), (1, 2), (1, 2), 2),
    _rng().normal(size=(2, 4, 6, 7)),
    _rng().normal(size=(6, 2, 3, 2)),
    _rng().normal(size=6),
)
row(
    "conv_transpose2d",
    lambda x, w, b: ops.conv_transpose(x, w, b, 2, 1, 1, 1, 2),
    lambda x, w, b: F.conv_transpose2d(x, w, b, 2, 1, 1, 2),
    _rng().normal(size=(2, 4, 3, 4)),
    _rng().normal(size=(4, 3, 3, 2)),
    _rng().normal(size=6),
)
row("conv3d", ops.conv, F.conv3d, _rng().normal(size=(1, 2, 3, 4, 3)), _rng().normal(size=(2, 2, 2, 2, 2)))
row(
    "max_pool2d",
    lambda x: ops.max_pool(x, 3, 2, 1, True),
    lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
    _rng().normal(size=(2, 3, 6, 7)),
)
row(
    "avg_pool2d",
    lambda x: ops.avg_pool(x, 3, 2, 1, exclusive=False),
    lambda x: F.avg_pool2d(x, 3, 2, 1),
    _rng().normal(size=(2, 3, 6, 7)),
)


for _corners in (False, True):
    row(
        f"interpolate/{_corners}",
        lambda x, c=_corners: resized(x, (5, 7), (), "linear", c),
        lambda x, c=_corners: F.interpolate(x, (5, 7), mode="bilinear", align_corners=c),
        _rng().normal(size=(1, 2, 3, 4)),
    )
row(
    "interpolate/nearest",
    lambda x: resized(x, (5, 3)),
    lambda x: F.interpolate(x, (5, 3)),
    _rng().normal(size=(1, 2, 3, 4)),
)


def _square() -> np.ndarray:
    return _rng().normal(size=(2, 3, 3)) + 3 * np.eye(3)


def _symmetric(x: Any) -> Any:
    return x + (x.transpose(-1, -2) if isinstance(x, torch.Tensor) else ops.swapaxes(x, -1, -2))


row("inverse", ops.inverse, torch.linalg.inv, _square())
row("determinant", ops.determinant, torch.linalg.det, _square())
row("log_determinant", lambda x: ops.log_determinant(x)[1], lambda x: torch.linalg.slogdet(x)[1], _square())
row("solve", ops.solve, torch.linalg.solve, _square(), _rng().normal(size=(2, 3, 2)))
row("pseudo_inverse", ops.pseudo_inverse, torch.linalg.pinv, _rng().normal(size=(4, 3)))
row("cholesky", lambda x: ops.cholesky(_symmetric(x)), lambda x: torch.linalg.cholesky(_symmetric(x)), _square() * 3)
row("eigh", lambda x: ops.eigh(_symmetric(x))[0], lambda x: torch.linalg.eigh(_symmetric(x))[0], _square())
row(
    "eigh/vectors",
    lambda x: ops.square(ops.eigh(_symmetric(x))[1]),
    lambda x: torch.linalg.eigh(_symmetric(x))[1] ** 2,
    _square(),
)
row("qr", lambda x: ops.abs(ops.qr(x)[0]), lambda x: torch.linalg.qr(x)[0].abs(), _rng().normal(size=(4, 3)))
row("qr/r", lambda x: ops.abs(ops.qr(x)[1]), lambda x: torch.linalg.qr(x)[1].abs(), _rng().normal(size=(4, 3)))
row("svd", lambda x: ops.svd(x)[1], lambda x: torch.linalg.svd(x, False)[1], _rng().normal(size=(4, 3)))
row(
    "svd/u",
    lambda x: ops.square(ops.svd(x)[0]),
    lambda x: torch.linalg.svd(x, False)[0] ** 2,
    _rng().normal(size=(4, 3)),
)
row("erfinv", ops.erfinv, torch.erfinv, _rng().uniform(-0.99, 0.99, (3, 4)))
row("logcumsumexp", lambda x: ops.logcumsumexp(x, 1), lambda x: torch.logcumsumexp(x, 1), x34() * 30)
row(
    "einsum",
    lambda x, y: ops.einsum("bij,kj->bik", [x, y]),
    lambda x, y: torch.einsum("bij,kj->bik", x, y),
    _rng().normal(size=(2, 3, 4)),
    x34(),
)
row(
    "tensordot",
    lambda x, y: ops.tensordot(x, y, [0], [0]),
    lambda x, y: torch.tensordot(x, y, ([0], [0])),
    x34(),
    x34(),
)


@pytest.mark.parametrize("name", ROWS)
def test_values_and_gradients_are_theirs(name: str) -> None:
    """In float64, each value and each gradient agrees to 1e-10 relative."""
    ours, theirs, inputs = ROWS[name]
    values = [Tensor(array.copy(), stop_gradient=False) for array in inputs]
    result = ours(*values)
    peers = [torch.tensor(array, requires_grad=True) for array in inputs]
    expected = theirs(*peers)
    np.testing.assert_allclose(result._data, expected.detach().numpy(), rtol=1e-10, atol=1e-12)
    weight = _rng().normal(size=result._data.shape)
    expected_grads = torch.autograd.grad((expected * torch.tensor(weight)).sum(), peers)
    for found, wanted in zip(grad([result], values, [Tensor(weight)]), expected_grads):
        assert found is not None
        np.testing.assert_allclose(found._data, wanted.numpy(), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["tanh", "gelu", "log_softmax", "layer_norm", "conv2d"])
def test_single_precision_is_as_exact_as_theirs(name: str) -> None:
    """In float32, the error against float64 is at most three times the peer's (and at least an ulp is allowed)."""
    ours, theirs, inputs = ROWS[name]
    exact = theirs(*[torch.tensor(array) for array in inputs]).numpy()
    single = [array.astype(np.float32) for array in inputs]
    mine = ours(*[Tensor(array) for array in single])._data
    peer = theirs(*[torch.tensor(array) for array in single]).numpy()
    scale = np.abs(exact).max()
    assert np.abs(mine - exact).max() <= 3 * np.abs(peer - exact).max() + 1.2e-7 * scale
