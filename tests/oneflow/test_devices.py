"""Jobs on several devices: one device's results, whatever the placement, the distribution or the view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opkit.oneflow as flow
import opkit.oneflow.typing as tp
from opkit.errors import ShapeError, UnsupportedError, UsageError
from opkit.oneflow.semantics import claims
from opkit.oneflow.semantics.claims import UnprovedWarning
from opkit.oneflow.session import clear_default_session, session
from opkit.ops.basis import random
from opkit.project.proofs import remember_proofs
from opkit.settings import settings

F = np.float32
BATCH = 12
RATE = flow.optimizer.PiecewiseConstantScheduler([], [0.2])
OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: flow.optimizer.SGD(RATE, momentum=0),
    "momentum": lambda: flow.optimizer.SGD(RATE, momentum=0.9),
    "adam": lambda: flow.optimizer.Adam(RATE, do_bias_correction=True),
    "adamw": lambda: flow.optimizer.AdamW(RATE, weight_decay=0.01),
    "rmsprop": lambda: flow.optimizer.RMSProp(RATE, centered=True),
    "clipped": lambda: flow.optimizer.SGD(
        RATE, momentum=0.9, grad_clipping=flow.optimizer.grad_clipping.by_global_norm(0.5)
    ),
}


def batches(count: int = 4) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    return [
        (rng.normal(size=(BATCH, 1, 4, 4)).astype(F), rng.integers(0, 10, BATCH).astype(np.int32)) for _ in range(count)
    ]


def dense(x: Any, units: int, name: str, **options: Any) -> Any:
    return flow.layers.dense(
        x, units, kernel_initializer=flow.random_normal_initializer(stddev=0.3), name=name, **options
    )


def perceptron(images: Any, distribute: Any = None) -> Any:
    flat = flow.reshape(images, [images.shape[0], -1])
    hidden = dense(flat, 8, "one", activation=flow.nn.relu)
    return dense(hidden, 10, "two", model_distribute=distribute)


def placed(images: Any) -> Any:
    flat = flow.reshape(images, [images.shape[0], -1])
    with flow.scope.placement("cpu", "0:0"):
        hidden = dense(flat, 8, "one", activation=flow.nn.relu)
    hidden = flow.nn.dropout(hidden, rate=0.5)
    with flow.scope.placement("cpu", "0:1"):
        return dense(hidden, 10, "two")


def convolution(images: Any) -> Any:
    hidden = flow.layers.conv2d(
        images,
        4,
        3,
        padding="SAME",
        activation=flow.nn.relu,
        name="conv",
        kernel_initializer=flow.random_normal_initializer(stddev=0.3),
    )
    hidden = flow.layers.batch_normalization(hidden, axis=1, name="norm")
    hidden = flow.nn.max_pool2d(hidden, ksize=2, strides=2, padding="SAME")
    hidden = flow.nn.avg_pool2d(hidden, ksize=2, strides=1, padding="VALID")
    return dense(flow.layers.layer_norm(flow.reshape(hidden, [BATCH, -1]), name="rows"), 10, "last")


def cast(images: Any) -> Any:
    flat = flow.reshape(images, [images.shape[0], -1])
    hidden = flow.parallel_cast(dense(flat, 8, "one"), distribute=flow.distribute.split(1))
    return dense(hidden.with_distribute(flow.distribute.broadcast()), 10, "two")


def cast_back(images: Any) -> Any:
    flat = flow.reshape(images, [images.shape[0], -1])
    hidden = flow.parallel_cast(dense(flat, 8, "one"), gradient_distribute=flow.distribute.split(1))
    return dense(hidden, 10, "two")


MODELS: dict[str, Callable[[Any], Any]] = {
    "data parallel": perceptron,
    "rows of a weight": lambda images: perceptron(images, flow.distribute.split(0)),
    "placements": placed,
    "convolution": convolution,
    "casts": cast,
    "casts of a gradient": cast_back,
}


def trained(
    devices: int, model: Callable[[Any], Any], optimizer: str = "momentum", steps: int = 4
) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    """Train on some devices; return the losses and the variables."""
    clear_default_session()
    random.seed(5)
    flow.config.cpu_device_num(devices)

    @flow.global_function(type="train")
    def job(
        images: tp.Numpy.Placeholder((BATCH, 1, 4, 4)), labels: tp.Numpy.Placeholder((BATCH,), dtype=flow.int32)
    ) -> tp.Numpy:
        loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, model(images))
        OPTIMIZERS[optimizer]().minimize(loss)
        return loss

    losses = [job(*batch) for batch in batches(steps)]
    assert (job.job.on_devices is not None) == (devices > 1)
    return losses, {name: item.numpy() for name, item in flow.get_all_variables().items()}


def same(found: Any, expected: Any) -> None:
    for one, other in zip(found[0], expected[0], strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=1e-5)
    assert list(found[1]) == list(expected[1])
    for name, array in expected[1].items():
        np.testing.assert_allclose(found[1][name], array, rtol=2e-4, atol=2e-5, err_msg=name)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_optimizer_on_two_devices(optimizer: str) -> None:
    """Losses, variables and optimizer state are those of one device."""
    same(trained(2, perceptron, optimizer), trained(1, perceptron, optimizer))


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("model", [name for name in MODELS if name != "placements"])
def test_models_on_devices(model: str, count: int) -> None:
    """Losses and variables are those of one device, with uneven shards too."""
    same(trained(count, MODELS[model]), trained(1, MODELS[model]))


def test_the_gradient_of_a_cast_lies_as_the_script_says() -> None:
    """``gradient_distribute`` cuts the gradient alone; the blob lies as its ops choose."""
    clear_default_session()
    flow.config.cpu_device_num(2)

    @flow.global_function(type="train")
    def job(images: tp.Numpy.Placeholder((BATCH, 1, 4, 4)), labels: tp.Numpy.Placeholder((BATCH,), dtype=flow.int32)) -> tp.Numpy:
        loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, cast_back(images))
        OPTIMIZERS["sgd"]().minimize(loss)
        return loss

    job(*batches(1)[0])
    (physical,) = job.job.on_devices.laid_out()
    casts = {item.op.role: str(item.way) for item in physical.choice.ops if item.op.type == "parallel_cast"}
    assert casts["backward"] == "S(1) -> S(1)"
    assert casts["forward"] != "S(1) -> S(1)"


def test_placements_and_random_numbers() -> None:
    """Layers on devices of their own, and dropout that draws the numbers that one device draws."""
    found = trained(2, placed)

    def alone(images: Any) -> Any:
        flat = flow.reshape(images, [images.shape[0], -1])
        hidden = flow.nn.dropout(dense(flat, 8, "one", activation=flow.nn.relu), rate=0.5)
        return dense(hidden, 10, "two")

    same(found, trained(1, alone))


def test_what_sums_nothing_in_another_order_is_the_same_bit_for_bit() -> None:
    """Elementwise functions and reductions of rows give one device's bits."""

    def run(devices: int) -> np.ndarray:
        clear_default_session()
        flow.config.cpu_device_num(devices)

        @flow.global_function()
        def job(x: tp.Numpy.Placeholder((7, 5))) -> tp.Numpy:
            y = flow.math.tanh(x) * 3.0 + flow.math.exp(x)
            return flow.nn.softmax(y) + flow.math.reduce_mean(y, axis=1, keepdims=True)

        result: np.ndarray = job(np.random.default_rng(1).normal(size=(7, 5)).astype(F))
        return result

    assert run(3).tobytes() == run(1).tobytes()


def mirrored_job(devices: int) -> Any:
    clear_default_session()
    flow.config.cpu_device_num(devices)
    config = flow.FunctionConfig()
    config.default_logical_view(flow.scope.mirrored_view())

    @flow.global_function(type="train", function_config=config)
    def job(
        images: tp.ListNumpy.Placeholder((BATCH // devices, 1, 4, 4)),
        labels: tp.ListNumpy.Placeholder((BATCH // devices,), dtype=flow.int32),
    ) -> tp.ListNumpy:
        assert images.shape[0] == BATCH // devices
        assert flow.scope.mirrored_view_enabled()
        loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, perceptron(images))
        OPTIMIZERS["momentum"]().minimize(loss)
        return loss

    return job


@pytest.mark.parametrize("count", [2, 3])
def test_mirrored_view(count: int) -> None:
    """Each device gets and gives arrays of its own; variables are trained as on one device with the whole batch."""
    expected = trained(1, perceptron)
    job = mirrored_job(count)
    losses = [job(np.split(x, count), np.split(t, count)) for x, t in batches()]
    assert all(len(item) == count for item in losses)
    found = [np.concatenate(item) for item in losses]
    same((found, {name: item.numpy() for name, item in flow.get_all_variables().items()}), expected)


def test_a_mirrored_loss_that_is_the_same_on_all_devices() -> None:
    """Its gradient is summed over the devices and divided by the elements on all of them: one device's step."""
    flow.config.cpu_device_num(2)
    config = flow.FunctionConfig()
    config.default_logical_view(flow.scope.mirrored_view())

    @flow.global_function(type="train", function_config=config)
    def job() -> tp.Numpy:
        w = flow.get_variable("w", (10,), initializer=flow.ones_initializer())
        flow.optimizer.SGD(flow.optimizer.PiecewiseConstantScheduler([], [5]), momentum=0).minimize(w)
        return w

    assert [job()[0], job()[0], job()[0]] == [1.0, 0.5, 0.0]


def test_what_a_mirrored_job_is_not_given() -> None:
    """Lists of other lengths, and parts of different sizes, are refused with the way to split a batch."""
    job = mirrored_job(2)
    x, t = batches(1)[0]
    with pytest.raises(UsageError, match=r"one array per device \(2 here\)[\s\S]*numpy.split"):
        job([x], [t])
    with pytest.raises(ShapeError, match="same size on every device"):
        job([x[:6], x[6:11]], [t[:6], t[6:11]])


def test_placeholders_must_fit_the_view() -> None:
    """A list in the consistent view of two devices is refused, where the job is defined."""
    flow.config.cpu_device_num(2)

    @flow.global_function()
    def job(x: tp.ListNumpy.Placeholder((4,))) -> tp.ListNumpy:
        return flow.math.relu(x)

    with pytest.raises(UsageError, match=r"'x' is a ListNumpy.Placeholder in the consistent view of 2 devices"):
        job([np.ones(4, F)])


def test_more_devices_than_there_are() -> None:
    """The message says how to get them."""

    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((4,))) -> tp.Numpy:
        with flow.scope.placement("cpu", "0:0-3"):
            return flow.math.relu(x)

    with pytest.raises(UsageError, match=r"device 0:1, and each machine has 1 cpu device[\s\S]*cpu_device_num\(2\)"):
        job(np.ones(4, F))


@pytest.mark.parametrize("given", [0, -1, True, 2.0, "2"])
def test_a_number_of_devices_is_a_positive_int(given: Any) -> None:
    """Anything else is refused."""
    with pytest.raises(UsageError, match="cpu_device_num takes a number of devices"):
        flow.config.cpu_device_num(given)


def test_gpus_are_cpu_devices_where_that_is_asked_for() -> None:
    """``gpu_device_num(2)`` under ``--gpu-as-cpu`` gives a job two devices."""
    with settings(gpu_as_cpu=True):
        flow.config.gpu_device_num(2)
        assert session().resources.devices().devices == flow_devices(2)
        with flow.scope.placement("gpu", "0:1"):
            pass


def flow_devices(count: int) -> Sequence[Any]:
    from opkit.sharding import DeviceGroup

    return DeviceGroup.local(count).devices


def test_a_distribution_that_does_not_fit() -> None:
    """A split of an axis that is shorter than the number of devices names the variable."""
    flow.config.cpu_device_num(3)

    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((4, 2))) -> tp.Numpy:
        w = flow.get_variable("w", (2, 2), initializer=flow.ones_initializer(), distribute=flow.distribute.split(0))
        return flow.matmul(x, w)

    with pytest.raises(UsageError, match=r"variable 'w' of shape \[2, 2\] cannot be distributed as S\(0\) over 3"):
        job(np.ones((4, 2), F))


def test_a_watch_sees_the_whole() -> None:
    """Handlers are called in the script's thread with the whole blob."""
    flow.config.cpu_device_num(2)
    seen: list[np.ndarray] = []

    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((5, 3))) -> tp.Numpy:
        y = flow.math.relu(x)
        flow.watch(y, lambda blob: seen.append(blob.numpy().copy()))
        return y * 2.0

    x = np.random.default_rng(0).normal(size=(5, 3)).astype(F)
    assert (job(x) == 2 * np.maximum(x, 0)).all()
    assert (seen[0] == np.maximum(x, 0)).all()


def test_an_error_on_a_device_names_the_op() -> None:
    """What a kernel raises in another thread is the job's error, with the line that added the op."""
    flow.config.cpu_device_num(2)

    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((4, 3)), at: tp.Numpy.Placeholder((4,), dtype=flow.int32)) -> tp.Numpy:
        return flow.gather(x, at) * 2.0

    x = np.ones((4, 3), F)
    job(x, np.array([0, 1, 2, 3], np.int32))
    with pytest.raises(Exception, match=r".") as caught:
        job(x, np.array([0, 1, 2, 99], np.int32))
    assert any("gather" in note and "test_devices.py" in note for note in getattr(caught.value, "__notes__", []))
    assert job(x, np.array([0, 1, 2, 3], np.int32)).shape == (4, 3)


def test_checkpoints_load_on_any_number_of_devices(tmp_path: Path) -> None:
    """What two devices saved, three go on with, as one would."""
    trained(2, perceptron, "adam", 2)
    flow.checkpoint.save(str(tmp_path / "saved"))

    def went_on(devices: int) -> Any:
        clear_default_session()
        flow.config.cpu_device_num(devices)

        @flow.global_function(type="train")
        def job(
            images: tp.Numpy.Placeholder((BATCH, 1, 4, 4)), labels: tp.Numpy.Placeholder((BATCH,), dtype=flow.int32)
        ) -> tp.Numpy:
            loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, perceptron(images))
            OPTIMIZERS["adam"]().minimize(loss)
            return loss

        flow.load_variables(flow.checkpoint.get(str(tmp_path / "saved")))
        losses = [job(*batch) for batch in batches()]
        return losses, {name: item.numpy() for name, item in flow.get_all_variables().items()}

    same(went_on(3), went_on(1))


def test_results_are_the_callers_own() -> None:
    """Changing what was fed or returned does not change another array or a variable."""
    flow.config.cpu_device_num(2)

    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((4, 2))) -> tuple[tp.Numpy, tp.Numpy, tp.Numpy]:
        w = flow.get_variable("w", (2,), initializer=flow.ones_initializer())
        y = flow.math.relu(x)
        return y, flow.identity(y), flow.identity(w)

    x = np.ones((4, 2), F)
    first = job(x)
    for array in first:
        array[...] = 7
    assert (x == 1).all()
    assert all((array == 1).all() for array in job(x))


def test_a_mirrored_watch_is_refused() -> None:
    """A Python function cannot see arrays that differ from device to device."""
    flow.config.cpu_device_num(2)
    config = flow.FunctionConfig()
    config.default_logical_view(flow.scope.mirrored_view())

    @flow.global_function(function_config=config)
    def job(x: tp.ListNumpy.Placeholder((2,))) -> tp.ListNumpy:
        flow.watch(x)
        return flow.math.relu(x)

    with pytest.raises(UnsupportedError, match="mirrored view of 2 devices"):
        job([np.ones(2, F), np.ones(2, F)])


def halving(folder: Path, kernel: str = "return args[0] * 0.5") -> Path:
    """Write an op directory that claims to be split along its rows."""
    made = folder / "halving"
    made.mkdir()
    (made / "halving_cpp_def.cpp").write_text(
        """#include "oneflow/core/framework/framework.h"
namespace oneflow {
REGISTER_USER_OP("halving_forward").Attr<std::string>("device_sub_tag", "py").Input("x").Output("y")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);
      *ctx->Dtype4ArgNameAndIndex("y", 0) = *ctx->Dtype4ArgNameAndIndex("x", 0);
      return Maybe<void>::Ok();
    })
    .SetGetSbpFn([](user_op::SbpContext* ctx) -> Maybe<void> {
      ctx->NewBuilder().Split(ctx->inputs(), 0).Split(ctx->outputs(), 0).Build();
      return Maybe<void>::Ok();
    });
}
"""
    )
    (made / "halving_py_kernel.py").write_text(f"def forward(args):\n    {kernel}\n")
    (made / "halving_py_api.py").write_text(
        'import oneflow as flow\n\n\ndef halving(x):\n    return flow.user_op_builder("h").Op("halving_forward").Input("x", [x])'
        '.Output("y").Build().InferAndTryRun().RemoteBlobList()[0]\n'
    )
    return made


def user_job(folder: Path) -> tuple[np.ndarray, Any]:
    """Run a job on two devices that applies an op directory; return its result and the way that the op ran."""
    flow.config.cpu_device_num(2)
    module = flow.experimental.custom_op_module("halving", str(folder))
    module.cpp_def().py_kernel().py_api().build_load()

    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((5, 2))) -> tp.Numpy:
        return flow.math.relu(module.api.halving(x))

    found = job(np.arange(10, dtype=F).reshape(5, 2))
    physical = job.job.on_devices.laid_out()[0]
    return found, next(str(item.way) for item in physical.choice.ops if item.op.type == "halving_forward")


def test_a_users_op_is_cut_where_its_claims_are_proved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before ``opkit sbp`` one device runs it whole, with a warning; afterwards the devices share it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = halving(tmp_path)
    expected = np.arange(10, dtype=F).reshape(5, 2) * 0.5
    with pytest.warns(UnprovedWarning, match="run opkit sbp"):
        found, way = user_job(tmp_path)
    assert (found == expected).all()
    assert way == "B -> B"
    remember_proofs(made, [("halving_forward", "2", "S(0) -> S(0)")])
    claims._known.cache_clear()
    clear_default_session()
    found, way = user_job(tmp_path)
    assert (found == expected).all()
    assert way == "S(0) -> S(0)"
