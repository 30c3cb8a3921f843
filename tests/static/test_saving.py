"""Saving and loading: parameters, programs for inference, Python functions by import path, damaged files."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit import static
from opkit.static.program_file import SerialiseError
from opkit.static.storage import StorageError, read_archive, write_archive
from tests.static.nets import X, fed, made, tanh

ROOT = Path(__file__).resolve().parents[2]


def trained(tmp_path: Path) -> tuple[Any, Any, Any]:
    """Return (executor, loss, output) of a small trained net."""
    x = fed(shape=[None, 3], stops=True)
    out = static.py_func(tanh, paddle.static.nn.fc(x, 4), made("o", [-1, 4]), functools.partial(_tanh_grad))
    loss = paddle.mean(out * out)
    paddle.optimizer.Adam(0.1).minimize(loss)
    executor = paddle.static.Executor()
    executor.run(paddle.static.default_startup_program())
    executor.run(feed={"x": X}, fetch_list=[loss])
    return executor, loss, out


def _tanh_grad(x: Any, y: Any, dy: Any) -> Any:
    return dy * (1 - y * y)


def test_training_goes_on_where_it_was_saved(tmp_path: Path) -> None:
    """Saved and loaded, parameters and optimizer state continue to the same losses."""
    executor, loss, _ = trained(tmp_path)
    program = static.default_main_program()
    paddle.static.save(program, str(tmp_path / "net"))
    expected = [float(executor.run(feed={"x": X}, fetch_list=[loss])[0]) for _ in range(3)]
    executor.run(paddle.static.default_startup_program())
    paddle.static.load(program, str(tmp_path / "net"), executor)
    assert [float(executor.run(feed={"x": X}, fetch_list=[loss])[0]) for _ in range(3)] == expected
    assert {"fc_0.w_0", "fc_0.b_0"} == set(read_archive(tmp_path / "net.pdparams"))
    state = paddle.static.load_program_state(str(tmp_path / "net"))
    assert "fc_0.w_0_moment1_0" in state


def test_a_state_that_does_not_fit(tmp_path: Path) -> None:
    """An array of another shape is refused and nothing is changed; an unknown name warns."""
    trained(tmp_path)
    program = static.default_main_program()
    before = program.state_dict("param")
    with pytest.raises(StorageError, match=r"'fc_0.w_0' is float32\[3, 4\].*float32\[2, 2\]"):
        program.set_state_dict({"fc_0.b_0": np.zeros(4, np.float32), "fc_0.w_0": np.zeros((2, 2), np.float32)})
    for name, array in program.state_dict("param").items():
        np.testing.assert_array_equal(array, before[name])
    with pytest.warns(UserWarning, match=r"no persistable variable .* 'fc_0.w': .*fc_0.w_0"):
        program.set_state_dict({"fc_0.w": np.zeros(1)})


def test_an_inference_model(tmp_path: Path) -> None:
    """A saved inference model computes the same in a process of its own; only what it needs is in it."""
    executor, _, out = trained(tmp_path)
    path = str(tmp_path / "model")
    x = static.default_main_program().global_block().var("x")
    with pytest.raises(SerialiseError, match=r"'_tanh_grad' cannot be saved.*import path"):
        paddle.static.save_inference_model(path, [x], [out], executor)
    expected = executor.run(static.default_main_program().clone(for_test=True), feed={"x": X}, fetch_list=[out])[0]

    functions = tmp_path / "own_functions.py"
    functions.write_text("import numpy as np\ndef tanh(x):\n    return np.tanh(x)\n")
    sys.path.insert(0, str(tmp_path))
    try:
        import own_functions  # type: ignore[import-not-found]

        with static.guard_names(), static.program_guard(type(static.default_main_program())(), None):
            x = fed(shape=[None, 3], stops=True)
            out = static.py_func(own_functions.tanh, paddle.static.nn.fc(x, 4), made("o", [-1, 4]))
            paddle.static.save_inference_model(path, [x], [out], executor)
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("own_functions", None)
    assert set(read_archive(path + ".pdiparams")) == {"fc_0.w_0", "fc_0.b_0"}
    script = tmp_path / "load.py"
    script.write_text(
        "import sys, numpy as np, paddle\npaddle.enable_static()\n"
        "exe = paddle.static.Executor(paddle.CPUPlace())\n"
        "allow = sys.argv[2:]\n"
        "program, feeds, fetches = paddle.static.load_inference_model(sys.argv[1], exe, allow=allow)\n"
        "x = np.arange(6, dtype='float32').reshape(2, 3) / 4\n"
        "print(feeds, exe.run(program, feed={feeds[0]: x}, fetch_list=fetches)[0].tolist())\n"
    )
    run = functools.partial(subprocess.run, capture_output=True, text=True, timeout=1200, check=False, cwd=ROOT)
    command = [sys.executable, "-m", "opkit", "run", str(script), path]
    importable = {**os.environ, "PYTHONPATH": str(tmp_path)}
    refused = run(command, env=importable)
    assert refused.returncode == 1
    assert "'own_functions:tanh', which this script has neither registered nor allowed" in refused.stderr
    found = run([*command, "own_functions"], env=importable)
    assert found.returncode == 0, found.stderr
    name, _, values = found.stdout.partition(" ")
    assert name == "['x']"
    np.testing.assert_allclose(json.loads(values), expected, rtol=1e-6)
    functions.unlink()
    lost = run([*command, "own_functions"])
    assert lost.returncode == 1
    assert "the module 'own_functions' cannot be imported" in lost.stderr


def test_functions_without_an_import_path(tmp_path: Path) -> None:
    """A lambda, a method or an inner function is refused with the line that added it."""
    x = fed(stops=True)
    out = static.py_func(lambda v: v * 2, x, made("o"))
    with pytest.raises(SerialiseError, match=r"<lambda>.*import path") as caught:
        paddle.static.save_inference_model(str(tmp_path / "m"), [x], [out], None)
    assert __file__ in str(caught.value)
    assert not (tmp_path / "m.pdmodel").exists()


def test_damaged_files(tmp_path: Path) -> None:
    """Missing, truncated and foreign files are told apart from good ones; nothing is unpickled."""
    with pytest.raises(StorageError, match="there is no file"):
        read_archive(tmp_path / "none.pdparams")
    write_archive(tmp_path / "a.pdparams", {"w": np.ones(1000)})
    data = (tmp_path / "a.pdparams").read_bytes()
    (tmp_path / "a.pdparams").write_bytes(data[: len(data) // 2])
    with pytest.raises(StorageError, match="damaged"):
        read_archive(tmp_path / "a.pdparams")
    with zipfile.ZipFile(tmp_path / "b.pdparams", "w") as archive:
        archive.writestr("names.json", '["w"]')
        archive.writestr("0.npy", np.lib.format.magic(1, 0) + b"\x00" * 10)
    with pytest.raises(StorageError, match="damaged"):
        read_archive(tmp_path / "b.pdparams")


def test_archives_keep_arrays(tmp_path: Path) -> None:
    """Shapes, dtypes, order and values of arrays survive, 0-d, empty, Fortran-ordered and oddly named ones too."""
    arrays = {
        "a/b c": np.float64(2.5) * np.ones(()),
        "empty": np.zeros((0, 3), np.int8),
        "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "bool": np.array([True, False]),
    }
    write_archive(tmp_path / "folder" / "x", arrays)
    found = read_archive(tmp_path / "folder" / "x")
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert (found[name].shape, found[name].dtype) == (array.shape, array.dtype)
        np.testing.assert_array_equal(found[name], array)


def test_a_model_that_an_earlier_opkit_saved() -> None:
    """A file written before ops declared what they write loads and computes what it computed then."""
    executor = paddle.static.Executor()
    saved = str(Path(__file__).parent / "data" / "saved" / "earlier")
    program, feeds, fetches = paddle.static.load_inference_model(saved, executor)
    assert [op.type for op in program.global_block().ops] == [
        "matmul", "broadcast_add", "normalization", "relu", "py_func",
    ]  # fmt: skip
    found = executor.run(program, feed={feeds[0]: np.arange(6, dtype="float32").reshape(2, 3)}, fetch_list=fetches)[0]
    expected = [[0.2434626817703247, 0, 0, 0], [0, 0, 0.48440253734588623, 0]]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_fetched_dropout_is_saved(tmp_path: Path) -> None:
    """The op is gone in the copy for inference; what it stood for is saved under its name."""
    x = fed(shape=[None, 3], stops=True)
    out = paddle.nn.functional.dropout(x * 2, 0.5)
    paddle.static.save_inference_model(tmp_path / "net", [x], [out], paddle.static.Executor())
    program, feeds, fetches = paddle.static.load_inference_model(tmp_path / "net", paddle.static.Executor())
    got = paddle.static.Executor().run(program, feed={feeds[0]: X}, fetch_list=fetches)[0]
    np.testing.assert_allclose(got, X * 2)
    assert fetches[0].name == out.name
