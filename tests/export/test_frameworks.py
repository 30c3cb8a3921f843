"""Facts that need torch and JAX: exported files are the same ops there, and wrong ones are refused."""

import importlib.util
from pathlib import Path

import pytest

from opkit.export import Exported, export
from opkit.export.proof import prove
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
    ("sum_axis", "torch", "x.sum(dim=axis)", "x.sum(dim=axis, keepdim=True)"),
    ("layer_norm", "torch", "correction=0", "correction=1"),
    ("layer_norm", "torch", "(dy * h).sum(dim=(0,)), dy", "(dy * h), dy"),
    ("swish", "torch", "beta=1.0", "beta=1.5"),
    ("running_sum", "torch", "torch.flip(torch.cumsum(", "(torch.cumsum("),
    ("sorted_row", "torch", "dim=-1, stable=True", "dim=-1, stable=True, descending=True"),
    ("only_single", "torch", ".to(torch.float32)", ".to(torch.float64)"),
    ("product", "torch", "return dy * b, dy * a", "return dy * a, dy * b"),
    ("mat_mul", "torch", "dy @ b.T", "dy @ b"),
]


@pytest.mark.parametrize("to", FRAMEWORKS[:1])
@pytest.mark.parametrize(("name", "framework", "right", "wrong"), MUTANTS)
def test_a_wrong_emission_is_refused(
    tmp_path: Path, to: str, name: str, framework: str, right: str, wrong: str
) -> None:
    """A file that an emitter's mistake would write fails its proof."""
    directory = write(OPS[name], tmp_path)
    made = export(directory, to=to, form="native", check=False)
    assert isinstance(made, Exported)
    assert right in made.text
    op = subject_of(load(directory), f"{name}_forward")
    assert not prove(op, to, made.text.replace(right, wrong)).is_proved
