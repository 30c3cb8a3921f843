"""Facts that need torch and JAX: exported files are the same ops there, and wrong ones are refused."""

import hashlib
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from opkit.export import export
from opkit.export.proof import task_of
from opkit.export.provers.agreement import Proof, load_exported, refusals
from opkit.export.subject import subject_of
from opkit.project import scaffold
from opkit.project.loading import load
from tests.corpus.model import write
from tests.corpus.ops import OPS
from tests.export.ops import DIRECTORIES, write_directory

pytestmark = pytest.mark.peer
FRAMEWORKS = [
    pytest.param(name, marks=pytest.mark.skipif(importlib.util.find_spec(name) is None, reason=f"{name} is missing"))
    for name in ("torch", "jax")
]
NATIVE = ("soft_max", "layer_norm", "best_of_row")


#: Each op in one framework, in turn; all in both by ``python -m tests.campaigns.exports``.
@pytest.mark.parametrize(
    ("name", "to"),
    [pytest.param(name, to.values[0], marks=to.marks) for name, to in zip(NATIVE, FRAMEWORKS * 2)],
)
def test_native_form_is_proved(tmp_path: Path, name: str, to: str) -> None:
    """Values, gradients and the framework's own checks hold."""
    made = export(write(OPS[name], tmp_path), to=to, form="native", is_checked=True, inductor=False)
    assert made.proof is not None
    assert made.proof.is_proved, made.proof.table


@pytest.mark.parametrize("to", FRAMEWORKS)
@pytest.mark.parametrize("name", ["pass_through"])
def test_callback_form_is_proved(tmp_path: Path, name: str, to: str) -> None:
    """The numpy kernel carried along is the same op, also where its result is its argument."""
    made = export(write(OPS[name], tmp_path), to=to, form="callback", is_checked=True, inductor=False)
    assert made.proof is not None
    assert made.proof.is_proved, made.proof.table


#: (op, framework, text of the right file, text of the mutant): emissions that a wrong emitter would write.
MUTANTS = [
    ("soft_max", "torch", "e.sum(dim=axis, keepdim=True)", "e.sum(dim=axis - 1, keepdim=True)"),
    ("soft_max", "jax", "jnp.sum(e, axis=axis, keepdims=True)", "jnp.sum(e, axis=axis - 1, keepdims=True)"),
    ("sum_axis", "torch", "x.sum(dim=axis)", "x.sum(dim=axis, keepdim=True)"),
    ("sum_axis", "jax", "jnp.sum(x, axis=axis)", "jnp.sum(x, axis=axis, keepdims=True)"),
    ("layer_norm", "torch", "correction=0", "correction=1"),
    ("layer_norm", "torch", "dy.sum(dim=(0,))", "dy.mean(dim=(0,))"),
    ("swish", "torch", "beta=1.0", "beta=1.5"),
    ("swish", "jax", "beta=1.0", "beta=1.5"),
    ("running_sum", "torch", "torch.flip(torch.cumsum(", "(torch.cumsum("),
    ("sorted_row", "torch", "dim=-1, stable=True", "dim=-1, stable=True, descending=True"),
    ("only_single", "torch", ".to(torch.float32)", ".to(torch.float64)"),
    ("only_single", "jax", ".astype(jnp.float32)", ".astype(jnp.float64)"),
    ("product", "torch", "return dy * b, dy * a", "return dy * a, dy * b"),
    ("product", "jax", "return dy * b, dy * a", "return dy * a, dy * b"),
    ("mat_mul", "torch", "dy @ b.T", "dy @ b"),
    # a lost guard
    ("mat_mul", "torch", "if a.shape[1] != b.shape[0]:", "if False:"),
    ("mat_mul", "jax", "if a.shape[1] != b.shape[0]:", "if False:"),
    ("layer_norm", "torch", "if len(x.shape) < 2:", "if False:"),
    # a sort that is not stable, as one that leaves equal values in the other order
    (
        "top_two",
        "torch",
        "torch.argsort(-x, dim=1, stable=True)",
        "(x.shape[1] - 1 - torch.argsort(-x.flip(1), dim=1, stable=True))",
    ),
    # a loop with a round too few, a state that starts elsewhere
    ("product_axis", "torch", "in range(x.shape[1]):", "in range(x.shape[1] - 1):"),
    ("horner", "jax", "range(len(coefs) - 1, 0, -1)", "range(len(coefs) - 1, 1, -1)"),
    # a broadcast axis that is not summed over
    ("add_bias", "torch", "dim=(0,)", "dim=(-1,)"),
    ("group_sum", "torch", "accumulate=True", "accumulate=False"),
    ("lookup", "jax", ".add(", ".set("),
]


# The prover runs with warnings ignored: torch warns of a variance over one element.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "to", "right", "wrong"), MUTANTS[::2])
def test_a_wrong_emission_is_refused(tmp_path: Path, name: str, to: str, right: str, wrong: str) -> None:
    """A file that an emitter's mistake would write differs from the numpy kernel; the right one does not."""
    if importlib.util.find_spec(to) is None:
        pytest.skip(f"{to} is missing")
    directory = write(OPS[name], tmp_path)
    made = export(directory, to=to, form="native", check=False)
    assert right in made.text
    task = task_of(subject_of(load(directory), f"{name}_forward"))
    assert compared(tmp_path, made.text, to, task) == "equal"
    assert compared(tmp_path, made.text.replace(right, wrong), to, task) == "FAIL"


def compared(folder: Path, text: str, to: str, task: dict[str, Any]) -> str:
    """Return the outcome of the proof's comparison of values, run in this process."""
    prover = importlib.import_module(f"opkit.export.provers.{to}_prover")
    # A name per text: Python takes a compiled file for valid where size and second of the change agree.
    file = folder / f"exported_{hashlib.sha256(text.encode()).hexdigest()[:12]}.py"
    file.write_text(text)
    function = getattr(load_exported(str(file)), task["name"])
    proof = Proof()
    if to == "jax":
        importlib.import_module("jax").config.update("jax_enable_x64", True)
    proof.compare(task["cases"], lambda case: prover.outcome(function, case))
    try:
        refusals(task["refused"], lambda case: prover.called(function, case))
    except AssertionError:
        return "FAIL"
    return proof.rows[0][1]


@pytest.mark.parametrize("to", FRAMEWORKS)
@pytest.mark.parametrize("form", ["native", "callback"])
@pytest.mark.parametrize("name", list(DIRECTORIES))
def test_lists_options_and_several_ops(tmp_path: Path, name: str, form: str, to: str) -> None:
    """Variadic and optional inputs, attributes of lists of texts and several ops in a file are the same ops there."""
    directory = write_directory(name, tmp_path)
    made = export(directory, to=to, form=form, check=False)
    loaded = load(directory)
    for op in loaded.forward_ops:
        assert compared(tmp_path, made.text, to, task_of(subject_of(loaded, op))) == "equal"


def test_an_output_that_no_loss_reaches_gives_zeros(tmp_path: Path) -> None:
    """The gradient rule of an op with two outputs runs where only one is used."""
    torch = pytest.importorskip("torch")
    made = export(write(OPS["sine_cosine"], tmp_path), form="native", check=False)
    path = tmp_path / "sine_cosine_torch.py"
    path.write_text(made.text)
    x = torch.linspace(0, 1, 3, dtype=torch.float64, requires_grad=True)
    load_exported(str(path)).sine_cosine(x)[0].sum().backward()
    torch.testing.assert_close(x.grad, torch.cos(x.detach()))


@pytest.mark.parametrize("to", FRAMEWORKS)
def test_a_shape_with_one_size_set_is_the_results(tmp_path: Path, to: str) -> None:
    """The scaffolded reduction, whose definition sets the last size to 1, infers what its forward gives, and refuses what that refuses."""
    scaffold("t", tmp_path, "reduction")
    made = export(tmp_path / "t", to=to, form="native", is_checked=True, inductor=False)
    assert made.proof is not None
    assert made.proof.is_proved, made.proof.table
    path = tmp_path / f"t_{to}.py"
    path.write_text(made.text)
    module = load_exported(str(path))
    zeros = importlib.import_module("torch" if to == "torch" else "jax.numpy").zeros
    for shape, expected in (((3,), (1,)), ((2, 3), (2, 1)), ((0, 3), (0, 1)), ((2, 3, 4), (2, 3, 1))):
        ((inferred, _),) = module._infer_t_forward(zeros(shape))
        assert inferred == tuple(module.t(zeros(shape)).shape) == expected
    with pytest.raises(ValueError, match="there must be an axis to reduce"):
        module._infer_t_forward(zeros(()))
