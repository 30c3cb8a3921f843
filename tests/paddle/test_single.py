"""Devices, readers, downloads, lazily made parameters and branches, with their meaning on one CPU."""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit.errors import UnsupportedError, UsageError
from opkit.paddle import reader
from opkit.paddle.base.framework import EagerParamBase
from opkit.paddle.static import nn as static_nn
from opkit.paddle.utils import download


# ---- devices ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["cuda", "rocm", "xpu", "cinn"])
def test_it_is_compiled_with_none_of_them(name: str) -> None:
    """Every question has one answer under all its paths."""
    assert not getattr(paddle, f"is_compiled_with_{name}")()
    assert not getattr(paddle.device, f"is_compiled_with_{name}")()


def test_there_is_no_gpu() -> None:
    """None is counted; emptying its cache does nothing; asking one is an error, as in a CPU-only Paddle 2.6.2."""
    assert paddle.is_compiled_with_distribute()
    assert not paddle.is_compiled_with_custom_device("npu")
    assert paddle.device.cuda.device_count() == 0
    paddle.device.cuda.empty_cache()
    for ask in (paddle.device.cuda.max_memory_allocated, paddle.device.cuda.get_device_properties):
        with pytest.raises(ValueError, match="CPU only"):
            ask()
    paddle.set_cuda_rng_state(paddle.get_cuda_rng_state())
    with pytest.raises(UsageError, match="1 states for 0 GPUs"):
        paddle.set_cuda_rng_state([1])
    assert np.allclose(paddle.inverse(paddle.to_tensor([[2.0]])).numpy(), [[0.5]])
    for place in (paddle.XPUPlace, paddle.CustomPlace, paddle.device.Stream):
        with pytest.raises(UnsupportedError, match="CPU"):
            place(0)


def test_the_version_says_there_is_no_cuda() -> None:
    """In Paddle's words."""
    assert paddle.version.cuda() == "False"
    assert paddle.version.commit.isalnum()


# ---- readers ---------------------------------------------------------------------------------------------------------
def _numbers(count: int) -> Callable[[], Any]:
    return lambda: iter(range(count))


def test_readers_of_readers() -> None:
    """Each can be read more than once, and keeps the order."""
    rows: dict[str, tuple[Callable[[], Any], list[Any]]] = {
        "map": (reader.map_readers(lambda a, b: a + b, _numbers(3), _numbers(3)), [0, 2, 4]),
        "buffered": (reader.buffered(_numbers(2), 10), [0, 1]),
        "xmap": (reader.xmap_readers(lambda x: x * x, _numbers(4), 2, 3), [0, 1, 4, 9]),
        "processes": (reader.multiprocess_reader([_numbers(3), _numbers(1)]), [0, 0, 1, 2]),
    }
    for name, (made, expected) in rows.items():
        assert list(made()) == expected, name
        assert list(made()) == expected, name


def test_shuffling_keeps_the_samples_of_a_buffer() -> None:
    """The order within each buffer is random."""
    random.seed(1)
    found = list(reader.shuffle(_numbers(10), 5)())
    assert sorted(found[:5]) == list(range(5))
    assert sorted(found[5:]) == list(range(5, 10))
    assert found != list(range(10))


def test_a_reader_of_no_readers_is_refused() -> None:
    """There is nothing to read."""
    with pytest.raises(UsageError, match="got none"):
        reader.multiprocess_reader([])
    with pytest.raises(ValueError, match="None"):
        list(reader.multiprocess_reader([lambda: iter([None])])())


# ---- downloads -------------------------------------------------------------------------------------------------------
def test_a_file_that_is_there_is_found(tmp_path: Path) -> None:
    """By the last part of the address, with its sum checked."""
    path = tmp_path / "net.pdparams"
    path.write_bytes(b"x")
    url = "https://example.com/a/net.pdparams?v=1"
    assert download.get_path_from_url(url, str(tmp_path), hashlib.md5(b"x").hexdigest()) == str(path)
    with pytest.raises(download.NotDownloadedError, match="md5"):
        download.get_path_from_url(url, str(tmp_path), "0")


def test_nothing_is_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says where to put the file; what an archive was unpacked to counts where the archive is gone."""
    monkeypatch.setattr(download, "WEIGHTS_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"download it to .*net\.pdparams"):
        download.get_weights_path_from_url("https://example.com/net.pdparams")
    with pytest.raises(RuntimeError, match=r"download it to .*data\.tar\.gz"):
        download.get_path_from_url("https://example.com/data.tar.gz", str(tmp_path))
    (tmp_path / "data").mkdir()
    assert download.get_path_from_url("https://example.com/data.tar.gz", str(tmp_path)) == str(tmp_path / "data")
    with pytest.raises(UsageError, match="not an address"):
        download.get_path_from_url("net.pdparams", str(tmp_path))


def test_an_archive_is_unpacked_in_its_folder_and_nowhere_else(tmp_path: Path) -> None:
    """A member that would be written elsewhere makes the archive a bad one; so does a damaged file."""
    (tmp_path / "inner").mkdir()
    with zipfile.ZipFile(tmp_path / "inner" / "things.zip", "w") as pack:
        pack.writestr("things/a.txt", "a")
    found = download.get_path_from_url("https://example.com/things.zip", str(tmp_path / "inner"))
    assert (Path(found) / "a.txt").read_text("utf-8") == "a"
    with tarfile.open(tmp_path / "inner" / "evil.tar.gz", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("../outside.txt"))
    (tmp_path / "inner" / "short.tgz").write_bytes(b"\x1f\x8b\x08")
    for name in ("evil.tar.gz", "short.tgz"):
        with pytest.raises(download.BadArchiveError, match="cannot unpack"):
            download.get_path_from_url(f"https://example.com/{name}", str(tmp_path / "inner"))
    assert not (tmp_path / "outside.txt").exists()


# ---- parameters ------------------------------------------------------------------------------------------------------
def test_a_parameter_of_a_tensor() -> None:
    """It has a copy of the data, takes a gradient, and is a parameter to isinstance and to Layers."""
    x = paddle.to_tensor([1.0, 2.0])
    made = EagerParamBase.from_tensor(x, name="w", trainable=True)
    assert isinstance(made, EagerParamBase)
    assert not isinstance(x, EagerParamBase)
    assert (made.name, made.stop_gradient, made.tolist()) == ("w", False, [1.0, 2.0])
    assert not np.shares_memory(made._data, x._data)
    layer = paddle.nn.Layer()
    layer.w = made
    assert layer.parameters() == [made]
    with pytest.raises(TypeError, match="takes a Tensor"):
        EagerParamBase.from_tensor(3)


def test_old_paths_of_parameters() -> None:
    """ParamAttr, core and the parameter's class are the same objects under all paths."""
    assert paddle.framework.ParamAttr is paddle.ParamAttr is paddle.base.param_attr.ParamAttr
    assert paddle.framework.core is paddle.base.core
    assert paddle.framework.io.EagerParamBase is EagerParamBase
    with paddle.LazyGuard():
        assert paddle.nn.Linear(1, 1).weight.shape == [1, 1]


def test_spectral_norm_divides_by_the_largest_singular_value() -> None:
    """After enough steps; backward reaches the original weight; evaluation leaves the vectors alone."""
    paddle.seed(3)
    layer = paddle.nn.utils.spectral_norm(paddle.nn.Linear(3, 4), n_power_iterations=50)
    assert set(layer.state_dict()) == {"weight_orig", "weight_u", "weight_v", "bias"}
    assert [name for name, _ in layer.named_parameters()] == ["bias", "weight_orig"]
    assert layer.weight_u.shape == [4]
    layer(paddle.ones([1, 3])).sum().backward()
    assert np.isclose(np.linalg.norm(layer.weight.numpy(), 2), 1.0, atol=1e-5)
    assert layer.weight_orig.grad.shape == [3, 4]
    layer.eval()
    before = layer.weight_u.tolist()
    layer(paddle.ones([1, 3]))
    assert layer.weight_u.tolist() == before
    with pytest.raises(RuntimeError, match="already"):
        paddle.nn.utils.spectral_norm(layer)
    with pytest.raises(ValueError, match="positive"):
        paddle.nn.utils.spectral_norm(paddle.nn.Linear(1, 1), n_power_iterations=0)


@pytest.mark.parametrize("dim", [0, 1])
def test_a_spectral_layer_in_a_graph(dim: int) -> None:
    """It gives what it gives in dynamic mode from the same vectors, with the same gradient."""
    matrix = np.linspace(-1.0, 2.0, 12, dtype="float32").reshape(3, 4)
    layer = paddle.nn.SpectralNorm([3, 4], dim=dim, power_iters=2)
    vectors = [layer.weight_u.numpy(), layer.weight_v.numpy()]
    x = paddle.to_tensor(matrix, stop_gradient=False)
    expected = layer(x)
    (expected * expected).sum().backward()
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup):
        fed = paddle.static.data("x", [3, 4])
        fed.stop_gradient = False
        twin = paddle.nn.SpectralNorm([3, 4], dim=dim, power_iters=2)
        y = twin(fed)
        (slope,) = paddle.static.gradients(paddle.sum(y * y), fed)
        exe = paddle.static.Executor()
        exe.run(startup)
        for variable, vector in zip((twin.weight_u, twin.weight_v), vectors, strict=True):
            paddle.static.global_scope().find_var(variable.name).get_tensor().set(vector)
        got = exe.run(main, {"x": matrix}, [y, slope])
    assert np.allclose(got[0], expected.numpy(), atol=1e-6)
    assert np.allclose(got[1], x.grad.numpy(), atol=1e-5)


def test_spectral_norm_treats_u_and_v_as_constants() -> None:
    """The gradient is that of w / (u' W v) with fixed vectors (Miyato et al. 2018)."""
    paddle.seed(4)
    layer = paddle.nn.utils.spectral_norm(paddle.nn.Linear(2, 3))
    layer.eval()
    layer(paddle.ones([1, 2])).sum().backward()
    w, u, v = layer.weight_orig.numpy(), layer.weight_u.numpy(), layer.weight_v.numpy()
    largest = u @ w.T @ v
    expected = np.ones_like(w) / largest - w.sum() / largest**2 * np.outer(v, u)
    assert np.allclose(layer.weight_orig.grad.numpy(), expected, rtol=1e-4, atol=1e-5)


# ---- branches --------------------------------------------------------------------------------------------------------
def test_one_branch_runs() -> None:
    """A condition and a list of cases call the chosen function alone, and gradients flow."""
    x = paddle.to_tensor([2.0], stop_gradient=False)
    static_nn.cond(x.sum() > 1, lambda: x * 3, lambda: 1 / 0).backward()
    assert x.grad.tolist() == [3.0]
    assert static_nn.cond(paddle.to_tensor(False), lambda: 1, None) is None
    pairs = [(paddle.to_tensor(False), lambda: 1 / 0), (paddle.to_tensor(True), lambda: 2)]
    assert static_nn.case(pairs, default=lambda: 3) == 2
    assert static_nn.case(pairs[:1], default=lambda: 3) == 3


def test_a_loop_runs_while_its_condition_holds() -> None:
    """The last Tensors are returned, and gradients flow through all rounds."""
    x = paddle.to_tensor([2.0], stop_gradient=False)
    count, power = static_nn.while_loop(
        lambda i, y: i < 3, lambda i, y: [i + 1, y * x], [paddle.to_tensor(0), paddle.ones([1])]
    )
    assert (int(count), power.tolist()) == (3, [8.0])
    power.backward()
    assert x.grad.tolist() == [12.0]


def test_branches_check_their_arguments() -> None:
    """Conditions are bools of one element, loops keep the number of their Tensors."""
    with pytest.raises(TypeError, match="bool Tensor of one element"):
        static_nn.cond(paddle.ones([2]), None, None)
    with pytest.raises(TypeError, match="true_fn"):
        static_nn.cond(True, 3)
    with pytest.raises(TypeError, match="condition, function"):
        static_nn.case([])
    with pytest.raises(ValueError, match="empty"):
        static_nn.while_loop(lambda: True, list, [])
    with pytest.raises(ValueError, match="returns 2 values"):
        static_nn.while_loop(lambda x: paddle.to_tensor(True), lambda x: [x, x], [1])


def test_a_branch_in_a_graph_takes_variables_only() -> None:
    """A number as a branch's result, and a loop's variable that is a number, are errors that say what to do."""
    with paddle.static.program_guard(paddle.static.Program()):
        x = paddle.static.data("x", [1], "bool")
        with pytest.raises(TypeError, match="got int"):
            static_nn.cond(x, lambda: 3, lambda: 4)
        with pytest.raises(TypeError, match="holds Variables, got int"):
            static_nn.while_loop(lambda i: x, lambda i: [i], [1])
        with pytest.raises(TypeError, match="one element"):
            static_nn.while_loop(lambda i: i, lambda i: [i], [paddle.static.data("many", [2], "bool")])


# ---- loaders and mixed precision in graphs ---------------------------------------------------------------------------
def test_a_loader_of_a_generator() -> None:
    """Samples are joined, lists of samples and batches are taken as they come."""
    make = paddle.io.DataLoader.from_generator
    samples = lambda: (([float(k)] * 2, k) for k in range(5))  # noqa: E731
    batches = list(make(capacity=4).set_sample_generator(samples, batch_size=2, drop_last=False))
    assert [field.shape for field in batches[0]] == [[2, 2], [2]]
    assert [int(batch[1].sum()) for batch in batches] == [1, 5, 4]
    assert len(list(make().set_sample_generator(samples, batch_size=2)())) == 2
    lists = make().set_sample_list_generator(lambda: [[(np.ones(2),), (np.ones(2),)]])
    assert next(iter(lists))[0].shape == [2, 2]
    whole = make().set_batch_generator(lambda: [(np.ones((3, 2)),)])
    assert next(iter(whole))[0].shape == [3, 2]
    with pytest.raises(UsageError, match="no generator"):
        next(iter(make()))
    assert make(iterable=False).iterable  # as in Paddle's dynamic mode
    with pytest.raises(UsageError, match="positive"):
        make().set_sample_generator(samples, batch_size=0)


def test_a_graph_is_trained_with_the_names_of_mixed_precision() -> None:
    """The decorated optimizer minimises as the plain one."""
    paddle.enable_static()
    try:
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup):
            x = paddle.static.data("x", [None, 2])
            with paddle.static.amp.fp16_guard():
                loss = paddle.mean(paddle.static.nn.fc(x, 1))
            optimizer = paddle.static.amp.decorate(paddle.optimizer.SGD(0.1), init_loss_scaling=128.0)
            optimizer.minimize(loss)
            assert optimizer.get_loss_scaling() == 1.0
        exe = paddle.static.Executor()
        exe.run(startup)
        optimizer.amp_init(paddle.CPUPlace())
        first, second = (exe.run(main, {"x": np.ones((1, 2), "float32")}, [loss])[0] for _ in range(2))
        assert second < first
    finally:
        paddle.disable_static()


# ---- cost ------------------------------------------------------------------------------------------------------------
def test_families_are_imported_when_asked_for() -> None:
    """`import paddle` loads none of them."""
    families = (
        "amp",
        "distributed",
        "jit",
        "reader",
        "device.cuda",
        "nn.spectral_norm",
        "static.amp",
        "utils.download",
    )
    code = f"import sys, opkit.paddle; print([n for n in {families!r} if 'opkit.paddle.' + n in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


# ---- oldest names ----------------------------------------------------------------------------------------------------
def test_a_shuffle_without_a_buffer_loses_nothing() -> None:
    """A buffer of nothing holds one sample at a time."""
    assert [list(reader.shuffle(_numbers(4), size)()) for size in (0, -1)] == [[0, 1, 2, 3]] * 2


def test_dynamic_mode_within_a_block() -> None:
    """``dygraph.guard`` runs ops at once and goes back to building graphs."""
    paddle.enable_static()
    try:
        with paddle.base.dygraph.guard():
            assert paddle.base.dygraph.to_variable([1.0, 2.0]).numpy().tolist() == [1.0, 2.0]
            assert paddle.in_dynamic_mode()
        assert not paddle.in_dynamic_mode()
    finally:
        paddle.disable_static()


def test_a_weight_norm_along_minus_one_is_that_of_the_whole() -> None:
    """As None, and unlike an axis counted from the end (Paddle 2.6.2)."""
    assert paddle.nn.utils.weight_norm(paddle.nn.Linear(4, 5), dim=-1).weight_g.shape == []
