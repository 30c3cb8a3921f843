"""Facts that need torch and JAX: exported files are the same ops there, and wrong ones are refused."""

import hashlib
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from opkit.export import Exported, export
from opkit.export.proof import task_of
from opkit.export.provers.agreement import Proof, load_exported
from opkit.export.subject import subject_of
from opkit.project.loading import load
from tests.corpus.model import write
from tests.corpus.ops import OPS

pytestmark = pytest.mark.peer
FRAMEWORKS = [
    pytest.param(name, marks=pytest.mark.skipif(importlib.util.find_spec(name) is None, reason=f"{name} is missing"))
    for name in ("torch", "jax")
]
NATIVE = ("soft_max", "layer_norm", "best_of_row")


@pytest.mark.parametrize("to", FRAMEWORKS)
@pytest.mark.parametrize("name", NATIVE)
def test_native_form_is_proved(tmp_path: Path, name: str, to: str) -> None:
    """Values, gradients and the framework's own checks hold."""
    made = export(write(OPS[name], tmp_path), to=to, form="native", is_checked=True)
    assert isinstance(made, Exported)
    assert made.proof is not None
    assert made.proof.is_proved, made.proof.table


@pytest.mark.parametrize("to", FRAMEWORKS)
@pytest.mark.parametrize("name", ["pass_through", "product_axis"])
def test_callback_form_is_proved(tmp_path: Path, name: str, to: str) -> None:
    """The numpy kernel carried along is the same op, also where its result is its argument."""
    made = export(write(OPS[name], tmp_path), to=to, form="callback", is_checked=True)
    assert isinstance(made, Exported)
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
]


# The prover runs with warnings ignored: torch warns of a variance over one element.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "to", "right", "wrong"), MUTANTS)
def test_a_wrong_emission_is_refused(tmp_path: Path, name: str, to: str, right: str, wrong: str) -> None:
    """A file that an emitter's mistake would write differs from the numpy kernel; the right one does not."""
    if importlib.util.find_spec(to) is None:
        pytest.skip(f"{to} is missing")
    directory = write(OPS[name], tmp_path)
    made = export(directory, to=to, form="native", check=False)
    assert isinstance(made, Exported)
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
    return proof.rows[0][1]
