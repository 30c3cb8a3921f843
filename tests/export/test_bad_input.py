"""Facts about what cannot leave the workbench, or not as it is: each is refused or mended, and the message says why."""

import importlib
import importlib.metadata
import sys
from pathlib import Path
from types import ModuleType

import pytest

from opkit.export import export
from opkit.export.model import ExportError
from opkit.export.native import NotNativeError
from opkit.export.proof import prove, too_old
from opkit.export.subject import subject_of
from opkit.project import scaffold
from opkit.project.loading import load
from tests.corpus.model import Op, write
from tests.export.ops import AWKWARD

DOUBLE = "return 2 * dy"
_ONE = "def cases(rng):\n    yield {'x': rng.normal(size=(2, 2))}"
_SMALL = """
    CHECK_EQ_OR_RETURN(ctx->Shape4ArgNameAndIndex("x", 0)->NumAxes(), 2);
    *ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);
    """


def written(folder: Path, op: Op, form: str = "native", to: str = "torch") -> str:
    """Export an op without a proof and return the file's text."""
    return export(write(op, folder), to=to, form=form, check=False).text


# --- C++ kernels
def test_cpp_kernels_stay(tmp_path: Path) -> None:
    """Kernels in numpy go along, and a note says which do not; a directory that has none in numpy is refused."""
    scaffold("t", tmp_path, cpp=True)
    made = export(tmp_path / "t", form="native", check=False)
    assert made.note == "the numpy kernels go along, and those in C++ stay (t_cpp_kernel.cpp)"
    (tmp_path / "t" / "t_py_kernel.py").unlink()
    with pytest.raises(ExportError, match="kernels in C\\+\\+ alone"):
        export(tmp_path / "t", check=False)


def test_an_op_that_runs_in_cpp_leaves_with_its_python_kernel(tmp_path: Path) -> None:
    """A directory that was loaded with its C++ kernels is exported by those in Python, which are run here."""
    scaffold("t", tmp_path, cpp=True)
    op = subject_of(load(tmp_path / "t"), "t_forward")
    assert op.forward.op.kernel is not None
    assert op.forward.op.kernel.where.file.endswith("t_py_kernel.py")


# --- frameworks
@pytest.mark.parametrize(
    ("framework", "found", "is_old"),
    [("torch", "2.3.1+cu121", True), ("torch", "2.4.0", False), ("torch", "2.13.0", False), ("jax", "0.4.9", True)],
)
def test_a_framework_that_is_too_old(monkeypatch: pytest.MonkeyPatch, framework: str, found: str, is_old: bool) -> None:
    """What is installed and what is needed are said; releases are compared as numbers."""
    monkeypatch.setattr(importlib.metadata, "version", lambda name: found)
    said = too_old(framework)
    assert bool(said) is is_old
    assert not is_old or (found in said and "are needed" not in said and "at least" in said)


def test_a_proof_with_an_old_framework_is_unverified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is run, and the row says from which version on it would be."""
    monkeypatch.setattr("opkit.export.proof.is_installed", lambda name: True)
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "2.1.0")
    op = subject_of(load(write(Op("twice", "return 2 * x", DOUBLE), tmp_path)), "twice_forward")
    found = prove([op], "torch", "")
    assert not found.is_proved
    assert "torch 2.1.0 is too old: exported files need 2.4 at least" in found.rows[0][3]


@pytest.mark.parametrize(("to", "found"), [("torch", "2.3.1+cpu"), ("jax", "0.4.33")])
def test_a_file_refuses_an_old_framework(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str, found: str) -> None:
    """Importing it is an ImportError with both versions, before anything of the framework is used."""
    text = written(tmp_path, Op("twice", "return 2 * x", DOUBLE), to=to)
    old = ModuleType(to)
    old.__version__ = found  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, to, old)
    monkeypatch.setitem(sys.modules, "jax.numpy", ModuleType("jax.numpy"))
    if to == "jax":
        old.numpy = sys.modules["jax.numpy"]  # type: ignore[attr-defined]
    with pytest.raises(ImportError, match=rf"{to} {found.replace('+', '.')} is too old: .* is needed"):
        exec(compile(text, "twice", "exec"), {})


# --- names
@pytest.mark.parametrize(("to", "form"), [("torch", "native"), ("jax", "callback")])
@pytest.mark.parametrize("name", list(AWKWARD))
def test_names_that_clash_get_an_underscore(tmp_path: Path, name: str, to: str, form: str) -> None:
    """Keywords, modules, Python's functions and the file's own variables are not hidden by a name of the op."""
    text = written(tmp_path, AWKWARD[name], form, to)
    compile(text, name, "exec")
    public = text.rpartition("\ndef ")[2].partition(":\n")[0]
    for declared in (*AWKWARD[name].inputs, *(attr for attr, _, _ in AWKWARD[name].attrs)):
        assert f"{declared}_" in public, public


@pytest.mark.parametrize("name", ["torch", "lambda", "list"])
def test_an_op_whose_name_clashes(tmp_path: Path, name: str) -> None:
    """Its function has an underscore, so that it hides neither the framework nor what the file calls."""
    assert f'__all__ = ["{name}_"]' in written(tmp_path, Op(name, "return 2 * x", DOUBLE))


# --- side effects
@pytest.mark.parametrize("form", ["native", "callback"])
@pytest.mark.parametrize(
    ("forward", "prelude", "said"),
    [
        ("STATE['calls'] += 1\nreturn 2 * x", "STATE = {'calls': 0}", "changes 'STATE' of its module"),
        ("global SEEN\nSEEN = SEEN + 1\nreturn 2 * x", "SEEN = 0", "changes 'SEEN' of its module"),
        ("global MADE\nMADE = x\nreturn 2 * x", "", "changes 'MADE' of its module"),
        ("LAST.append(x)\nreturn 2 * x", "LAST = []", "changes 'LAST' of its module"),
        ("return x * random.random()", "import random", "gives other results when it is called again"),
        ("return x * np.random.uniform()", "", "gives other results when it is called again"),
    ],
)
def test_a_kernel_that_is_not_a_function_of_its_arguments(
    tmp_path: Path, forward: str, prelude: str, said: str, form: str
) -> None:
    """What it changes is named, at the kernel's line, in every form."""
    with pytest.raises(ExportError, match=said) as caught:
        written(tmp_path, Op("impure", forward, DOUBLE, prelude=prelude), form)
    assert "impure_py_kernel.py" in str(caught.value)


def test_a_kernel_that_writes_to_its_argument(tmp_path: Path) -> None:
    """The write is named."""
    with pytest.raises(ExportError, match="output array is read-only"):
        written(tmp_path, Op("writes", "x += 1\nreturn x", DOUBLE, infer=_SMALL, cases=_ONE))


@pytest.mark.parametrize(
    ("forward", "said"),
    [
        ("rng = np.random.default_rng(0)\nreturn x + rng.uniform()", "draws random numbers"),
        ("print(x.shape)\nreturn 2 * x", r"calls print\(\), whose effect"),
    ],
)
def test_effects_that_only_the_numpy_kernel_has(tmp_path: Path, forward: str, said: str) -> None:
    """The native form refuses them at their line; the callback form carries them along."""
    op = Op("noisy", forward, DOUBLE, infer=_SMALL, cases=_ONE)
    with pytest.raises(NotNativeError, match=said) as caught:
        written(tmp_path, op)
    assert caught.value.where is not None
    assert caught.value.where.line == 5
    assert forward.splitlines()[0] in written(tmp_path / "again", op, "callback")


# --- dtypes
def test_a_dtype_that_the_framework_lacks(tmp_path: Path) -> None:
    """The native form names the dtype and the line."""
    op = Op("wide", "return (x.astype(np.uint32) + np.uint32(1)).astype(x.dtype)", infer=_SMALL, cases=_ONE)
    with pytest.raises(NotNativeError, match="uint32, which torch lacks"):
        written(tmp_path, op)
    assert "jnp.uint32" in written(tmp_path / "again", op, to="jax")
