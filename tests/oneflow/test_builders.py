"""Builders of ``flow``, ``flow.nn``, ``flow.layers`` and ``flow.experimental`` against numpy: one row each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opkit.oneflow as flow
from opkit.errors import OpkitError, ShapeError, UsageError

RNG = np.random.default_rng(7)
X = RNG.normal(size=(3, 4)).astype(np.float32)
Y = RNG.normal(size=(3, 4)).astype(np.float32)
P = RNG.uniform(0.1, 0.9, size=(3, 4)).astype(np.float32)
Q = RNG.uniform(0.1, 0.9, size=(3, 4)).astype(np.float32)
IMAGE = RNG.normal(size=(2, 8, 4, 5)).astype(np.float32)
VOLUME = RNG.normal(size=(1, 2, 3, 4, 3)).astype(np.float32)
WEIGHT = RNG.normal(size=(2, 3, 4)).astype(np.float32)
PLACES = np.array([[0, 2, 1, 3], [3, 3, 0, 0], [1, 1, 2, 2]], np.int32)
MASK = np.array([[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, 1]], np.int8)


def _normalised(x: np.ndarray, groups: int) -> np.ndarray:
    rows = x.reshape(x.shape[0], groups, -1)
    out = (rows - rows.mean(2, keepdims=True)) / np.sqrt(rows.var(2, keepdims=True) + 1e-5)
    return out.reshape(x.shape)


def _entropy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return -(y * np.log(x) + (1 - y) * np.log(1 - x))


SIGMOID = 1 / (1 + np.exp(-X))
TRIL = np.where(np.tri(3, 4, dtype=bool), 2 * X, -1)

#: name, call, what it gives
ROWS: list[tuple[str, Callable[[], Any], Any]] = [
    ("L1Loss", lambda: flow.nn.L1Loss(X, Y), [np.abs(X - Y).mean()]),
    ("L1Loss sum", lambda: flow.nn.L1Loss(X, Y, "sum"), [np.abs(X - Y).sum()]),
    ("MSELoss", lambda: flow.nn.MSELoss(X, Y, "none"), (X - Y) ** 2),
    ("BCELoss", lambda: flow.nn.BCELoss(P, Q, weight=Q), [(Q * _entropy(P, Q)).mean()]),
    ("BCEWithLogitsLoss", lambda: flow.nn.BCEWithLogitsLoss(X, Q), [_entropy(SIGMOID, Q).mean()]),
    (
        "BCEWithLogitsLoss positive",
        lambda: flow.nn.BCEWithLogitsLoss(X, Q, pos_weight=P[0], reduction="none"),
        -(P[0] * Q * np.log(SIGMOID) + (1 - Q) * np.log(1 - SIGMOID)),
    ),
    ("KLDivLoss", lambda: flow.nn.KLDivLoss(X, Q, reduction="none"), Q * (np.log(Q) - X)),
    ("KLDivLoss of zero", lambda: flow.nn.KLDivLoss(X, 0 * Q, reduction="none"), 0 * X),
    ("KLDivLoss logarithms", lambda: flow.nn.KLDivLoss(X, Y, True, "none"), np.exp(Y) * (Y - X)),
    ("MarginRankingLoss", lambda: flow.nn.MarginRankingLoss(X, Y, Q, 0.5, "none"), np.maximum(0, 0.5 - Q * (X - Y))),
    ("smooth_l1_loss", lambda: flow.smooth_l1_loss(X, X + 3, 2.0), 0 * X + 2),
    ("GroupNorm", lambda: flow.nn.GroupNorm(IMAGE, 4, affine=False), _normalised(IMAGE, 4)),
    ("InstanceNorm1d", lambda: flow.nn.InstanceNorm1d(IMAGE[0], affine=False), _normalised(IMAGE[0], 4)),
    ("InstanceNorm2d", lambda: flow.nn.InstanceNorm2d(IMAGE, affine=False), _normalised(IMAGE, 8)),
    ("PixelShuffle", lambda: flow.nn.PixelShuffle(IMAGE, 2)[0, 1, 3, 2], IMAGE[0, 6, 1, 1]),
    ("fused_bias_add_gelu", lambda: flow.nn.fused_bias_add_gelu(X, Y[0]), flow.math.gelu(X + Y[0]).numpy()),
    ("fused_bias_add_dropout", lambda: flow.nn.fused_bias_add_dropout(X, Y[0], rate=0.5), X + Y[0]),
    ("random_mask_like", lambda: flow.nn.random_mask_like(X, 0.0), 0 * X + 1),
    ("avg_pool1d", lambda: flow.nn.avg_pool1d(WEIGHT, 2, 2, "VALID"), WEIGHT.reshape(2, 3, 2, 2).mean(3)),
    ("max_pool3d", lambda: flow.nn.max_pool3d(VOLUME, (3, 4, 3), 1, "VALID").numpy().ravel(), VOLUME.max((2, 3, 4))[0]),
    ("conv1d", lambda: flow.nn.conv1d(WEIGHT, WEIGHT, 1, "VALID")[:, :, 0], np.einsum("icw,ocw->io", WEIGHT, WEIGHT)),
    (
        "conv3d",
        lambda: flow.nn.conv3d(VOLUME, VOLUME, 1, "VALID").numpy().ravel(),
        [(VOLUME * VOLUME).sum()],
    ),
    (
        "reflection_pad2d",
        lambda: flow.reflection_pad2d(IMAGE, 1),
        np.pad(IMAGE, ((0, 0), (0, 0), (1, 1), (1, 1)), "reflect"),
    ),
    ("pad_grad", lambda: flow.pad_grad(X, [(1, 0), (0, 2)]), X[1:, :2]),
    ("dim_gather", lambda: flow.dim_gather(X, 1, PLACES), np.take_along_axis(X, PLACES.astype(int), 1)),
    ("masked_fill", lambda: flow.masked_fill(X, MASK, 9), np.where(MASK, 9, X)),
    ("argwhere", lambda: flow.argwhere(MASK), np.argwhere(MASK)),
    ("nonzero", lambda: flow.nonzero(MASK), np.stack(np.nonzero(MASK))),
    ("where of a condition", lambda: flow.where(MASK), np.argwhere(MASK)),
    ("diag", lambda: flow.diag(X[0]), np.diag(X[0])),
    ("sort", lambda: flow.sort(X, 0, "DESCENDING"), -np.sort(-X, 0)),
    ("argsort", lambda: flow.argsort(X), np.argsort(X, 1)),
    ("top_k", lambda: flow.math.top_k(X, 0, 2), np.argsort(-X, 0)[:2]),
    ("slice_v2 backwards", lambda: flow.slice_v2(X, [(None, None, -1), (3, 0, -2)]), X[::-1, 3:0:-2]),
    ("slice_update", lambda: flow.slice_update(X, Y[:2, :1], [(0, 2, 1), (1, 2, None)])[:2, 1], Y[:2, 0]),
    ("expand", lambda: flow.expand(X[:, :1], [2, -1, 4]), np.broadcast_to(X[:, :1], (2, 3, 4))),
    (
        "broadcast_to_compatible_with",
        lambda: flow.broadcast_to_compatible_with(X[:, :1], [Y[0], X[:1]]),
        np.broadcast_to(X[:, :1], (3, 4)),
    ),
    ("identity_n", lambda: flow.identity_n([X, Y])[1], Y),
    ("fused_scale_tril", lambda: flow.math.fused_scale_tril(X, 0, -1.0, 2.0), TRIL),
    ("tril filled", lambda: flow.math.tril(X, 0, 5), np.where(np.tri(3, 4, dtype=bool), X, 5)),
    ("shuffle", lambda: np.sort(flow.random.shuffle(X).numpy(), 0), np.sort(X, 0)),
    ("unique_with_counts", lambda: flow.experimental.unique_with_counts(PLACES[1])[2], [2, 2, 0, 0]),
    ("logical_slice", lambda: flow.experimental.logical_slice(X, [(1, 3, 1)]), X[1:3]),
    ("upsample_2d", lambda: flow.layers.upsample_2d(IMAGE, (2, 1))[:, :, ::2], IMAGE),
    ("upsample_2d last", lambda: flow.layers.upsample_2d(IMAGE, 3, data_format="NHWC")[:, 1::3, 2::3], IMAGE),
    (
        "combined_margin_loss",
        lambda: flow.combined_margin_loss(P, np.array([3, 0, 1], np.int32), 0.9, 0.1, 0.2)[[0, 1, 2], [3, 0, 1]],
        np.cos(0.9 * np.arccos(P[[0, 1, 2], [3, 0, 1]]) + 0.1) - 0.2,
    ),
    ("FixedTensorDef", lambda: flow.FixedTensorDef([2, 3]).shape, (2, 3)),
]


@pytest.mark.parametrize(("call", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_a_builder_gives_what_numpy_gives(call: Callable[[], Any], expected: Any) -> None:
    """Outside a job a builder runs at once, and its values are those of the formula in numpy."""
    with np.errstate(all="ignore"):
        got = call()
    got = got.numpy() if hasattr(got, "numpy") else np.asarray(got)
    assert got.shape == np.shape(expected)
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-6)


REFUSED: list[tuple[str, Callable[[], Any], type[Exception], str]] = [
    ("a reduction", lambda: flow.nn.L1Loss(X, Y, "most"), UsageError, "none, mean or sum, got 'most'"),
    ("shapes of a loss", lambda: flow.nn.MSELoss(X, Y[:2]), ShapeError, r"\(3, 4\), \(2, 4\)"),
    ("a padding as wide as the image", lambda: flow.reflection_pad2d(IMAGE, (5, 0, 0, 0)), ShapeError, "not less than the images"),
    ("axes beyond the gathered one", lambda: flow.dim_gather(X, 0, PLACES[:, :2]), ShapeError, "may differ along axis 0 alone"),
    ("a start outside", lambda: flow.slice_v2(X, [(3, None, 1)]), ShapeError, "start 3 is outside axis 0 of 3 elements"),
    ("a step of 0", lambda: flow.slice_update(X, X, [(0, 1, 0)]), UsageError, "the step of axis 0 is 0"),
    ("groups", lambda: flow.nn.GroupNorm(IMAGE, 3), ShapeError, "whose channels 3 groups divide"),
    ("steps backwards", lambda: flow.experimental.logical_slice(X, [(2, 0, -1)]), UsageError, "steps are above 0"),
    ("a direction", lambda: flow.sort(X, direction="UP"), UsageError, "ASCENDING or DESCENDING"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "words"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_builder_refuses(call: Callable[[], Any], kind: type[OpkitError], words: str) -> None:
    """A wrong argument is named, with what was expected."""
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_conv2d_transpose_is_the_gradient_of_the_convolution(padding: str) -> None:
    """``<conv(x), y> == <x, conv2d_transpose(y)>`` with the padding that puts the larger half after."""
    x = RNG.normal(size=(1, 2, 6, 5)).astype(np.float32)
    weight = RNG.normal(size=(3, 2, 3, 2)).astype(np.float32)
    out = flow.nn.compat_conv2d(x, weight, 2, padding).numpy()
    y = RNG.normal(size=out.shape).astype(np.float32)
    back = flow.nn.conv2d_transpose(y, weight, x.shape, 2, padding).numpy()
    assert (out * y).sum() == pytest.approx((x * back).sum(), rel=1e-4)


def test_scope_and_settings_can_be_read() -> None:
    """A job reads where it runs and its own settings."""
    config = flow.FunctionConfig()
    config.default_placement_scope(flow.scope.placement("cpu", "0:0"))
    config.enable_inplace()
    seen = []

    @flow.global_function(function_config=config)
    def job(x: flow.typing.Numpy.Placeholder((2,))) -> flow.typing.Numpy:
        desc = flow.current_global_function_desc()
        seen.append(
            (flow.current_scope().device_parallel_desc_symbol.device_tag, desc.IsTrainable(), desc.enable_inplace)
        )
        return x

    job(np.zeros(2, np.float32))
    assert seen == [("cpu", False, True)]
    assert config.function_desc.enable_inplace is True


def test_watch_of_a_variable_shows_what_the_step_read() -> None:
    """A watched variable is not changed by the update at the end of the step."""
    flow.clear_default_session()
    seen: list[np.ndarray] = []

    @flow.global_function(type="train")
    def job(x: flow.typing.Numpy.Placeholder((2,))) -> flow.typing.Numpy:
        v = flow.get_variable("v", (2,), initializer=flow.ones_initializer())
        loss = x * v
        flow.optimizer.SGD(flow.optimizer.PiecewiseConstantScheduler([], [0.5]), momentum=0).minimize(loss)
        flow.watch(v, lambda blob: seen.append(blob.numpy()))
        return loss

    job(np.ones(2, np.float32))
    np.testing.assert_array_equal(seen[0], np.ones(2))


def test_older_placeholders_are_defaults() -> None:
    """``x=flow.FixedTensorDef(...)`` declares an argument as an annotation does."""

    @flow.global_function()
    def job(x=flow.FixedTensorDef((2,), dtype=flow.float)) -> flow.typing.Numpy:  # type: ignore[no-untyped-def]  # noqa: B008
        return x + 1

    np.testing.assert_array_equal(job(np.zeros(2, np.float32)), [1, 1])


def test_skips_ask_for_the_number_of_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """``skip_unless_1n2d`` runs a test where ONEFLOW_TEST_DEVICE_NUM says that there are two devices."""

    def skips() -> bool:
        return hasattr(flow.unittest.skip_unless_1n2d()(lambda: None), "__unittest_skip__")

    monkeypatch.delenv("ONEFLOW_TEST_DEVICE_NUM", raising=False)
    assert skips()
    monkeypatch.setenv("ONEFLOW_TEST_DEVICE_NUM", "2")
    assert not skips()


def test_an_encoder_counts_values_in_the_order_of_first_sight() -> None:
    """Ordinals begin with 1 and stay the same in later runs; a full table is an error."""
    flow.clear_default_session()

    @flow.global_function()
    def job(x: flow.typing.Numpy.Placeholder((3,), dtype=flow.int64)) -> flow.typing.Numpy:
        return flow.layers.categorical_ordinal_encoder(x, capacity=4)

    assert job(np.array([7, -2, 7])).tolist() == [1, 2, 1]
    assert job(np.array([0, -2, 9])).tolist() == [3, 2, 4]
    with pytest.raises(UsageError, match="5 values were seen, the table has room for 4"):
        job(np.array([1, 7, 0]))


def test_variables_are_read_and_written_by_name() -> None:
    """``set_interface_blob_value`` gives a job's variable its contents, before and between runs."""
    flow.clear_default_session()

    @flow.global_function()
    def job() -> flow.typing.Numpy:
        return flow.identity(flow.get_variable("w", (2,), initializer=flow.ones_initializer()))

    flow.experimental.set_interface_blob_value("w", np.array([3, 4], np.float32))
    assert flow.experimental.get_interface_blob_value("w").tolist() == job().tolist() == [3, 4]
    with pytest.raises(UsageError, match="no variable of this session's jobs is named 'v'"):
        flow.experimental.get_interface_blob_value("v")


def test_blobs_of_devices_become_one() -> None:
    """``flow.advanced`` joins one blob of each of the placement's devices."""
    flow.clear_default_session()
    flow.config.cpu_device_num(2)

    @flow.global_function()
    def job(x: flow.typing.Numpy.Placeholder((4, 2))) -> flow.typing.Numpy:
        with flow.scope.placement("cpu", "0:0-1"):
            return flow.advanced.distribute_concat([flow.math.negative(x), x])

    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    np.testing.assert_array_equal(job(x), np.concatenate([-x, x]))
    with pytest.raises(UsageError, match="each of the 2 devices, got 1"):
        flow.advanced.distribute_concat([x])


def test_settings_of_boxing_are_remembered() -> None:
    """A setting of ``flow.config.collective_boxing`` is accepted, another name brings the nearest."""
    flow.config.collective_boxing.nccl_enable_all_to_all(True)
    with pytest.raises(AttributeError, match="nccl_num_streams"):
        _ = flow.config.collective_boxing.nccl_num_stream


def test_split_like_takes_the_leading_axes() -> None:
    """A like with fewer axes than the blob gives the sizes of the leading ones."""
    op = flow.user_op_builder("s").Op("split_like").Input("in", [IMAGE]).Input("like", [np.zeros(1, np.float32)] * 2)
    first, second = op.Output("out", 2).Attr("axis", 0).Build().InferAndTryRun().RemoteBlobList()
    assert (first.numpy() == IMAGE[:1]).all()
    assert (second.numpy() == IMAGE[1:]).all()


def test_sums_of_halves_go_on() -> None:
    """Many halves of one segment are added up in single precision."""
    data, ids = np.ones(4096, np.float16), np.zeros(4096, np.int32)
    assert flow.unsorted_segment_sum(data, ids, 1).numpy()[0] == 4096
