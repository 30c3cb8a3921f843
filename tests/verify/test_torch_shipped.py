"""torch Functions as libraries ship them: bound to modules, insisting on ``.backward()``, in place, of one precision."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path
from typing import Any

import pytest

from opkit.checker import OpReport, Options, Status, check
from opkit.verify import gradcheck
from opkit.verify.subjects.foreign.framework import framework_of

torch = pytest.importorskip("torch", reason="torch is not installed: its custom functions cannot be checked")
pytestmark = pytest.mark.peer


class Recomputed(torch.autograd.Function):
    """Runs a module anew in backward, as reversible blocks and checkpoints do."""

    factor = 1.0

    @staticmethod
    def forward(ctx: Any, x: Any, block: Any, *params: Any) -> Any:
        ctx.block = block
        ctx.save_for_backward(x)
        with torch.no_grad():
            return block(x)

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.block(x)
        dx, *rest = torch.autograd.grad(y, [x, *ctx.block.parameters()], dy)
        return (dx, None, *(Recomputed.factor * item for item in rest))


class Insisting(torch.autograd.Function):
    """Refuses ``torch.autograd.grad``, as reentrant checkpoints do."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        if not torch.autograd._is_checkpoint_valid():
            raise RuntimeError("use .backward()")
        return 2 * ctx.saved_tensors[0] * dy


class Named(torch.autograd.Function):
    """Has an option that can be given by name only, which apply never hands on."""

    @staticmethod
    def forward(ctx: Any, x: Any, *, beta: float = 2.0) -> Any:
        ctx.beta = beta
        return x * beta

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        return dy * ctx.beta


class Overwriting(torch.autograd.Function):
    """Leaves its gradient in the memory of its input, as fused losses do."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = (x * x).sum()
        x.mul_(2)
        ctx.gradient = x
        return y

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        return ctx.gradient * dy


class Marked(torch.autograd.Function):
    """Marks its second output as without a gradient, and takes undefined gradients as None."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        mask = x > 0
        ctx.save_for_backward(mask)
        count = mask.to(x.dtype)
        ctx.mark_non_differentiable(count)
        return x * mask, count

    @staticmethod
    def backward(ctx: Any, dy: Any, dcount: Any) -> Any:
        return None if dy is None else dy * ctx.saved_tensors[0]


class Single(torch.autograd.Function):
    """Takes float32 alone, and says so by an assertion without words."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        assert x.dtype == torch.float32
        ctx.save_for_backward(x)
        return torch.tanh(x)

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        return dy * (1 - torch.tanh(ctx.saved_tensors[0]) ** 2)


_CASES = """

def cases(rng):
    block = torch.nn.Linear(3, 2).double()
    x = torch.from_numpy(rng.standard_normal((2, 3))).requires_grad_()
    yield {"x": x, "block": block, "params": list(block.parameters())}
"""


def searched(function: type, names: dict[str, Any] | None = None) -> OpReport:
    """Check a Function on inputs that are searched."""
    options = Options(effort=0.05)
    made = framework_of("torch").named(function, names or {}, function.__name__, options)
    return check(made, options)


@pytest.mark.parametrize(("factor", "status"), [(1.0, Status.PASS), (1.5, Status.FAIL)])
def test_a_parameter_that_forward_reaches_through_its_module_is_perturbed_where_it_is(
    factor: float, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is put back afterwards, its gradient too."""
    monkeypatch.setattr(Recomputed, "factor", factor)
    block = torch.nn.Linear(3, 2).double()
    before = [item.detach().clone() for item in block.parameters()]
    x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    (op,) = gradcheck(Recomputed, [x, block, *block.parameters()], effort=0.1).ops
    assert op.status is status, op.checks
    assert all(torch.equal(item, old) for item, old in zip(block.parameters(), before))
    assert all(item.grad is None for item in block.parameters())


def test_a_parameter_reached_through_its_module_is_confirmed_where_it_is(here: Path) -> None:
    """In a process of its own the module would hold another one than the argument."""
    text = "import torch\nfrom typing import Any\n\n\n" + inspect.getsource(Recomputed) + _CASES
    (here / "bound.py").write_text(text)
    (op,) = gradcheck(str(here / "bound.py::Recomputed"), replay=False, effort=0.1).ops
    assert op.status is Status.PASS, op.checks
    assert {item.status for item in op.checks if item.code == "GC199"} == {Status.PASS}


@pytest.mark.parametrize("function", [Insisting, Named, Marked, Single])
def test_what_a_correct_function_insists_on_is_no_fault(function: type) -> None:
    """Its own way to be called is kept."""
    report = searched(function)
    assert report.status is Status.PASS, report.checks


def test_an_input_that_is_overwritten_on_purpose_is_declared() -> None:
    """INPLACE names it; without it writing to an argument is a failure."""
    report = searched(Overwriting)
    assert "GC122" in {item.code for item in report.findings}
    report = searched(Overwriting, {"INPLACE_Overwriting": ("x",)})
    assert "GC122" not in {item.code for item in report.findings}
    assert report.status in (Status.PASS, Status.UNDECIDED), report.checks
    assert any("INPLACE" in note for note in report.notes)


class Turned(torch.autograd.Function):
    """The features of tokens in four axes, by the tables of a rotary embedding, which take no gradient."""

    @staticmethod
    def forward(ctx: Any, q: Any, k: Any, cosines: Any, sines: Any) -> Any:
        ctx.save_for_backward(cosines, sines)
        return Turned.of(q, cosines, sines), Turned.of(k, cosines, sines)

    @staticmethod
    def of(x: Any, cosines: Any, sines: Any) -> Any:
        """Return the features turned, the first half against the second."""
        cosines, sines = cosines[None, :, None, :], sines[None, :, None, :]
        first, second = x.chunk(2, dim=-1)
        return torch.cat((first * cosines - second * sines, first * sines + second * cosines), dim=-1)

    @staticmethod
    def backward(ctx: Any, dq: Any, dk: Any) -> Any:
        cosines, sines = ctx.saved_tensors
        return Turned.of(dq, cosines, -sines), Turned.of(dk, cosines, -sines), None, None


def test_an_input_without_a_gradient_is_one_on_shapes_that_are_found_later_too() -> None:
    """Forward broadcasts vectors to four axes, where torch refuses the gradient: nothing tells there."""
    report = searched(Turned)
    assert report.status is Status.PASS, report.checks
    assert any("cosines gets no gradient" in note for note in report.notes)


class Chosen(torch.autograd.Function):
    """What is kept of x; a gradient of which the rest is written to, or not."""

    is_filled = True

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        if keep.dtype != torch.bool or keep.shape != x.shape:
            raise TypeError("keep must be of truth values, of x's shape")
        ctx.save_for_backward(keep)
        return torch.where(keep, x, 0)

    @staticmethod
    def backward(ctx: Any, dy: torch.Tensor) -> Any:
        (keep,) = ctx.saved_tensors
        dx = torch.empty_like(dy)
        dx[keep] = dy[keep]
        if Chosen.is_filled:
            dx[~keep] = 0
        return dx, None


@pytest.mark.parametrize("is_filled", [True, False])
def test_memory_that_nobody_filled_is_one_finding(is_filled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows from it, such as other results for the same arguments, is folded under it."""
    monkeypatch.setattr(Chosen, "is_filled", is_filled)
    report = searched(Chosen)
    assert [item.code for item in report.findings] == ([] if is_filled else ["GC208"]), report.checks
    assert not torch.are_deterministic_algorithms_enabled()


class Totals(torch.autograd.Function):
    """Sums by the replaced operation below, or by one of its own that looks at memory."""

    is_own = False

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        if x.dim() != 2:
            raise ValueError("x must have 2 axes")
        ctx.shape = x.shape
        return _sums(x, -1)[0] if Totals.is_own else x.median(-1).values

    @staticmethod
    def backward(ctx: Any, dy: torch.Tensor) -> torch.Tensor:
        return dy.unsqueeze(-1).expand(ctx.shape)


def _sums(x: torch.Tensor, dim: int, keepdim: bool = False) -> Any:
    """Return sums, others where an axis has no stride."""
    found = x.sum(dim) + float(0 in x.stride()) * (x > -torch.inf).all()  # truth values are compared, too
    return found, torch.zeros_like(found, dtype=torch.int64)


@pytest.mark.parametrize(("is_own", "status"), [(False, Status.PASS), (True, Status.FAIL)])
def test_what_an_operation_of_torch_itself_makes_of_expanded_tensors_is_a_line(
    is_own: bool, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as the median of a release; of an operation of the author's own it is a failure."""
    monkeypatch.setattr(Totals, "is_own", is_own)
    replaced = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        replaced.impl("median.dim", _sums, "CPU")
    try:
        report = searched(Totals)
    finally:
        replaced._destroy()
    assert report.status is status, report.checks
    assert any("aten.median.dim" in note for note in report.notes) != is_own
