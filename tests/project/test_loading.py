"""Loading an op directory: kernels bound by name, op types for both modes, nothing stale, nothing written."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import opkit.eager
from opkit import ops
from opkit.eager import Tensor, wrap
from opkit.errors import AutogradError, InferError, KernelError, ProjectError, UsageError
from opkit.ir import TensorDesc
from opkit.ops import BUILTIN
from opkit.project import Library, load, to_op_def
from tests.project.opdir import edit, write_op

X = np.linspace(-1, 1, 5, dtype=np.float32)


def run(loaded, op: str, *arrays: np.ndarray, **attrs: object) -> np.ndarray:
    """Apply an op eagerly to arrays, in the order of its inputs."""
    kind = loaded.ops[op]
    names = [arg.name for arg in kind.compiled.inputs]
    bound = kind.bind({name: [wrap(array)] for name, array in zip(names, arrays)}, attrs)
    return ops.apply(bound.opdef, bound.inputs, bound.attrs)._data


def gradients(loaded, op: str, *arrays: np.ndarray, dy: np.ndarray, **attrs: object) -> list[np.ndarray | None]:
    """Return the gradients of all inputs."""
    kind = loaded.ops[op]
    names = [arg.name for arg in kind.compiled.inputs]
    leaves = [wrap(array, stop_gradient=array.dtype.kind != "f") for array in arrays]
    bound = kind.bind({name: [leaf] for name, leaf in zip(names, leaves)}, attrs)
    y: Tensor = ops.apply(bound.opdef, bound.inputs, bound.attrs)
    opkit.eager.run_backward([y], [wrap(dy)])
    return [None if leaf.grad is None else leaf.grad._data for leaf in leaves]


def test_forward_and_gradient(tmp_path: Path) -> None:
    """A loaded op computes its kernel, and its gradient is the user's backward kernel."""
    loaded = load(write_op(tmp_path, attrs=["alpha:float=0.5"]))
    assert list(loaded.ops) == ["t_forward", "t_backward"]
    np.testing.assert_allclose(run(loaded, "t_forward", X), 0.5 * np.logaddexp(X, 0), rtol=1e-6)
    (dx,) = gradients(loaded, "t_forward", X, dy=np.ones_like(X))
    np.testing.assert_allclose(dx, 0.5 / (1 + np.exp(-X)), rtol=1e-6)


def test_attributes_reach_both_kernels_as_python_values(tmp_path: Path) -> None:
    """A float attribute is the very Python number, in forward and, handed on by the gradient, in backward."""
    path = write_op(tmp_path, attrs=["alpha:float=0.1", "n:int=2", "mode:str=a", "axes:ints=1,2"])
    kernel = path / "t_py_kernel.py"
    kernel.write_text(
        "seen = []\n\n"
        "def forward(args, attrs):\n    seen.append(attrs)\n    return args[0] + 0\n\n"
        "def backward(args, attrs):\n    seen.append(attrs)\n    return args[1] + 0\n"
    )
    loaded = load(path)
    for attrs in ({}, {"alpha": np.float32(0.3), "n": np.int64(7), "mode": "b", "axes": (4,)}):
        gradients(loaded, "t_forward", X, dy=X, **attrs)
    given = {"alpha": float(np.float32(0.3)), "n": 7, "mode": "b", "axes": [4]}
    defaults = {"alpha": 0.1, "n": 2, "mode": "a", "axes": [1, 2]}
    assert loaded.kernel_module.seen == [defaults, defaults, given, given]
    assert [type(value) for value in loaded.kernel_module.seen[2].values()] == [float, int, str, list]


def test_several_gradients_and_integer_inputs(tmp_path: Path) -> None:
    """Each input gets its own gradient; an input without one gets none."""
    loaded = load(write_op(tmp_path, "m", "matmul"))
    a, b = np.arange(6.0).reshape(2, 3), np.ones((3, 2))
    da, db = gradients(loaded, "m_forward", a, b, dy=np.ones((2, 2)))
    np.testing.assert_allclose(da, np.ones((2, 2)) @ b.T)
    np.testing.assert_allclose(db, a.T @ np.ones((2, 2)))
    loss = load(write_op(tmp_path, "l", "loss"))
    dx, dlabel = gradients(loss, "l_forward", np.zeros((2, 3)), np.array([0, 2]), dy=np.ones(2))
    assert dlabel is None
    np.testing.assert_allclose(dx.sum(axis=1), 0, atol=1e-12)


def test_only_needed_backward_ops_run(tmp_path: Path) -> None:
    """A backward op whose gradient nobody wants is not run."""
    path = write_op(tmp_path, "s", "binary")
    edit(path / "s_py_kernel.py", ("    return dy * b, dy * a\n", "    raise AssertionError\n"))
    loaded = load(path)
    kind = loaded.ops["s_forward"]
    a = wrap(X, stop_gradient=False)
    bound = kind.bind({"a": [a], "b": [a]}, {})
    assert bound.opdef.grad is not None
    assert run(loaded, "s_forward", X, X).shape == X.shape


def test_reads_only_what_the_gradient_reads(tmp_path: Path) -> None:
    """The OpDef of a signature names exactly the values whose data its backward ops read."""
    cases = {"elementwise": ("x_0",), "binary": ("a_0", "b_0"), "reduction": ("x_0", "y_0")}
    for kind, reads in cases.items():
        op = load(write_op(tmp_path, f"r_{kind}", kind)).ops[f"r_{kind}_forward"]
        desc = [TensorDesc((2, 2), "float32")]
        opdef = to_op_def(op, {arg.name: desc for arg in op.compiled.inputs})
        assert opdef.reads == reads
        assert opdef.is_user
        assert opdef.where.function == "forward"


def test_infer_of_a_signature(tmp_path: Path) -> None:
    """An op type infers its outputs, and refuses what the definitions refuse, with their line."""
    op = load(write_op(tmp_path, "m", "matmul")).ops["m_forward"]
    a, b = TensorDesc((2, 3), "float64"), TensorDesc((3, 4), "float64")
    opdef = to_op_def(op, {"a": [a], "b": [b]})
    assert opdef.infer((a, b), {}) == [TensorDesc((2, 4), "float64")]
    with pytest.raises(InferError, match="as many columns as b has rows") as caught:
        to_op_def(op, {"a": [a], "b": [a]})
    assert caught.value.where.file.endswith("m_cpp_def.cpp")


@pytest.mark.parametrize(
    ("inputs", "attrs", "message"),
    [
        ({"q": [X]}, {}, "no input 'q'"),
        ({}, {}, "input 'x' is missing"),
        ({"x": [X, X]}, {}, "takes one value, got 2"),
        ({"x": [X]}, {"alhpa": 1.0}, "did you mean 'alpha'"),
        ({"x": [X]}, {"alpha": "a"}, "expected a number"),
    ],
)
def test_binding_wrongly(inputs: dict, attrs: dict, message: str, tmp_path: Path) -> None:
    """Unknown, missing and superfluous arguments and attributes are errors that say which."""
    op = load(write_op(tmp_path, attrs=["alpha:float=0.5"])).ops["t_forward"]
    with pytest.raises((UsageError, InferError), match=message):
        op.bind(inputs, attrs)


def test_never_stale(tmp_path: Path) -> None:
    """An edited file is seen at the next load, however quickly it was edited and whatever its time says."""
    path = write_op(tmp_path)
    kernel = path / "t_py_kernel.py"
    kernel.write_text("def forward(args):\n    return args[0] * 2\n\n\ndef backward(args):\n    return args[1]\n")
    times = os.stat(kernel)
    assert run(load(path), "t_forward", X)[0] == -2
    edit(kernel, ("* 2", "* 3"))
    os.utime(kernel, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert run(load(path), "t_forward", X)[0] == -3


def test_nothing_is_written_and_nothing_else_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading writes no file, changes no working directory, and leaves ``sys.path`` alone."""
    path = write_op(tmp_path / "ops")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    before = sorted(tmp_path.rglob("*")), list(sys.path)
    loaded = load(path)
    loaded.cases()
    run(loaded, "t_forward", X)
    assert (sorted(tmp_path.rglob("*")), list(sys.path)) == before
    assert Path.cwd() == tmp_path / "empty"


def test_read_only_folder(tmp_path: Path) -> None:
    """A folder that may not be written to can be loaded."""
    path = write_op(tmp_path)
    path.chmod(0o555)
    try:
        assert run(load(path), "t_forward", X).shape == X.shape
    finally:
        path.chmod(0o755)


def test_two_processes_at_once(tmp_path: Path) -> None:
    """Two processes can load the same op at the same time."""
    path = write_op(tmp_path)
    code = f"from opkit.project import load\nfor _ in range(20): load({str(path)!r})"
    processes = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    assert [process.wait(timeout=1200) for process in processes] == [0, 0]


def test_a_missing_file(tmp_path: Path) -> None:
    """Each of the three files is needed; the error names the path, and a file of a similar name."""
    for number, name in enumerate(("cpp_def.cpp", "py_api.py", "py_kernel.py")):
        path = write_op(tmp_path, f"op{number}")
        (path / f"op{number}_{name}").rename(path / f"op_{name}")
        with pytest.raises(ProjectError) as caught:
            load(path)
        assert f"op{number}_{name}" in str(caught.value)
        assert f"op_{name}" in str(caught.value)


def test_no_such_folder(tmp_path: Path) -> None:
    """A folder that does not exist is named."""
    with pytest.raises(ProjectError, match="nowhere"):
        load(tmp_path / "nowhere")


def test_kernel_file_that_raises(tmp_path: Path) -> None:
    """The error of a kernel file that does not load is quoted, with its line."""
    path = write_op(tmp_path)
    (path / "t_py_kernel.py").write_text("import numpy\n\nnumpy.no_such_name\n")
    with pytest.raises(ProjectError, match=r"(?s)PROJ004.*no_such_name.*t_py_kernel\.py:3:1"):
        load(path)


def test_missing_kernel_function(tmp_path: Path) -> None:
    """Without its function an op type loads beside the others; who runs it is told what is missing."""
    path = write_op(tmp_path)
    edit(path / "t_py_kernel.py", ("def backward", "def backwards"))
    loaded = load(path)
    assert run(loaded, "t_forward", X).shape == X.shape
    with pytest.raises(ProjectError, match=r"no function 'backward'") as caught:
        gradients(loaded, "t_forward", X, dy=X)
    assert caught.value.help == "did you mean 'backwards'?"
    (finding,) = [item for item in loaded.diagnostics if item.is_error]
    assert (finding.code, finding.help) == ("PROJ003", "did you mean 'backwards'?")


def test_broken_gradient_leaves_forward_usable(tmp_path: Path) -> None:
    """A gradient registration with errors is reported; forward still runs, and only a gradient raises."""
    path = write_op(tmp_path)
    edit(path / "t_cpp_def.cpp", ('.output_grad("y", 0)', '.output_grad("z", 0)'))
    loaded = load(path)
    assert loaded.has_errors
    assert run(loaded, "t_forward", X).shape == X.shape
    with pytest.raises(AutogradError, match="'z'"):
        gradients(loaded, "t_forward", X, dy=X)


def test_gradient_of_the_wrong_shape(tmp_path: Path) -> None:
    """A gradient whose shape is not its input's is an error that names both."""
    path = write_op(tmp_path)
    edit(
        path / "t_cpp_def.cpp",
        (
            '*ctx->Shape4ArgNameAndIndex("dx", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);',
            '*ctx->Shape4ArgNameAndIndex("dx", 0) = Shape({1});',
        ),
    )
    edit(path / "t_py_kernel.py", ("    x, dy = args\n", "    x, dy = args\n    return dy[:1]\n"))
    with pytest.raises(AutogradError, match=r"shape \(1,\) to input 'x_0', whose shape is \(5,\)"):
        gradients(load(path), "t_forward", X, dy=X)


def test_contract_is_enforced_at_run_time(tmp_path: Path) -> None:
    """What a kernel returns must have the inferred shape and dtype."""
    path = write_op(tmp_path)
    edit(path / "t_py_kernel.py", ("return np.logaddexp(x, 0)", "return np.logaddexp(x, np.float64(0))"))
    with pytest.raises(KernelError, match="dtype float64 for output 'y', the definition infers float32"):
        run(load(path), "t_forward", X)


def test_registry_is_a_child(tmp_path: Path) -> None:
    """A directory's ops are found beside the built-in ones, and do not appear among these."""
    loaded = load(write_op(tmp_path))
    assert loaded.registry.find("t_forward") is loaded.ops["t_forward"]
    assert loaded.registry.find("relu") is BUILTIN.find("relu")
    assert "t_forward" not in BUILTIN


def test_library_replaces_the_same_path(tmp_path: Path) -> None:
    """Loading a real path again, through a link too, replaces its ops with what the files say now."""
    path = write_op(tmp_path)
    library = Library()
    first = library.load(path)
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "t").symlink_to(path)
    edit(path / "t_cpp_def.cpp", ('REGISTER_USER_OP_GRAD("t_forward")', 'REGISTER_USER_OP_GRAD("t_forward")'))
    second = library.load(tmp_path / "link" / "t")
    assert library.registry.find("t_forward") is second.ops["t_forward"]
    assert first.ops["t_forward"] is not second.ops["t_forward"]
    assert len(list(library)) == 1


def test_library_refuses_a_second_path(tmp_path: Path) -> None:
    """The same op type from another path is an error that names both; the first stays."""
    one, two = write_op(tmp_path / "one"), write_op(tmp_path / "two")
    library = Library()
    loaded = library.load(one)
    with pytest.raises(ProjectError) as caught:
        library.load(two)
    assert str(one) in str(caught.value)
    assert str(two) in str(caught.value)
    assert library.registry.find("t_forward") is loaded.ops["t_forward"]


def test_op_types_of_two_directories_in_one_gradient(tmp_path: Path) -> None:
    """In a library a gradient may use another directory's op types."""
    first, second = write_op(tmp_path, "first"), write_op(tmp_path, "second")
    edit(second / "second_cpp_def.cpp", ('OpTypeName("second_backward")', 'OpTypeName("first_backward")'))
    library = Library()
    library.load(first)
    (dx,) = gradients(library.load(second), "second_forward", X, dy=np.ones_like(X))
    np.testing.assert_allclose(dx, 1 / (1 + np.exp(-X)), rtol=1e-6)


def test_api_module(tmp_path: Path) -> None:
    """The API file is a module of its own; one that raises is a finding with its line."""
    path = write_op(tmp_path)
    with opkit.frameworks():
        assert load(path).api().t_forward.__name__ == "t_forward"
    api = path / "t_py_api.py"
    edit(api, ("import oneflow as flow\n", "import oneflow as flow\n\nflow.no_such_thing_here\n"))
    with opkit.frameworks(), pytest.raises(ProjectError, match=r"(?s)PROJ016.*no_such_thing_here.*t_py_api\.py:5:1"):
        load(path).api()


def test_module_of_a_kernel_file_can_be_inspected(tmp_path: Path) -> None:
    """Dataclasses with string annotations and pickling work in a kernel file."""
    path = write_op(tmp_path)
    edit(
        path / "t_py_kernel.py",
        (
            "import numpy as np\n",
            "from __future__ import annotations\nimport pickle\nfrom dataclasses import dataclass\n"
            "import numpy as np\n\n\n@dataclass\nclass Box:\n    size: int\n\n\n"
            "assert pickle.loads(pickle.dumps(Box(3))) == Box(3)\n",
        ),
    )
    assert not load(path).has_errors
