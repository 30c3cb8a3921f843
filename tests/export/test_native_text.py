"""Facts about the text of exported files, without any framework: what is written, and that it is always the same."""

import ast
from pathlib import Path

import pytest

from opkit.export import Exported, export
from opkit.export.native import NotNativeError
from opkit.project import scaffold
from opkit.project.kind import KINDS
from tests.corpus.model import Op, write
from tests.corpus.ops import OPS
from tests.export.ops import DIRECTORIES, ROW_WISE, write_directory


def exported(folder: Path, name: str, to: str = "torch", form: str = "native") -> Exported:
    """Export an op of the corpus without a proof."""
    return export(write({**OPS, "row_wise": ROW_WISE}[name], folder), to=to, form=form, check=False)


def body_of(text: str, function: str) -> str:
    """Return a function of a file as text."""
    found = [item for item in ast.parse(text).body if isinstance(item, ast.FunctionDef) and item.name == function]
    return ast.unparse(found[0])


def test_torch_forward_reads_as_written_by_hand(tmp_path: Path) -> None:
    """The kernel's variables and the attribute's name stay."""
    text = body_of(exported(tmp_path, "soft_max").text, "_soft_max_forward")
    assert text.splitlines() == [
        "def _soft_max_forward(x, axis):",
        "    e = (x - x.amax(dim=axis, keepdim=True)).exp_()",
        "    return e.div_(e.sum(dim=axis, keepdim=True))",
    ]


def test_jax_writes_are_functional(tmp_path: Path) -> None:
    """A write of the kernel is ``.at[...].set`` in JAX."""
    text = body_of(exported(tmp_path, "best_of_row", "jax").text, "_best_of_row_backward")
    assert ".at[jnp.arange(x.shape[0], dtype=jnp.int64), place].set(dbest)" in text


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("form", ["native", "callback"])
def test_text_is_deterministic_and_free_of_opkit(tmp_path: Path, to: str, form: str) -> None:
    """Two exports are the same text, and it imports the framework and numpy at most."""
    one, two = (exported(tmp_path, "layer_norm", to, form).text for _ in range(2))
    assert one == two
    imported = {item.name for node in ast.walk(ast.parse(one)) if isinstance(node, ast.Import) for item in node.names}
    assert imported <= {"torch", "jax", "jax.numpy", "numpy", "math", "functools", "inspect"}


def test_public_function_has_keywords_with_defaults(tmp_path: Path) -> None:
    """Inputs come in registration order, attributes as keywords with the definition's defaults."""
    assert "def layer_norm(x, g, b, *, eps=0.001):" in exported(tmp_path, "layer_norm").text


def test_an_untraceable_kernel_is_refused_under_native(tmp_path: Path) -> None:
    """The error says why and at which line of the kernel."""
    with pytest.raises(NotNativeError, match="once per row") as caught:
        exported(tmp_path, "row_wise")
    assert caught.value.where is not None
    assert caught.value.where.line == 5


def test_auto_takes_the_callback_form_and_says_why(tmp_path: Path) -> None:
    """What cannot be traced is carried along."""
    made = exported(tmp_path, "row_wise", form="auto")
    assert made.form == "callback"
    assert "once per row" in made.note


def test_a_branch_of_the_kernel_is_a_branch_of_the_text(tmp_path: Path) -> None:
    """A bool attribute that chooses between two computations does so in the file too."""
    op = Op(
        "either",
        "return x + 1 if attrs['up'] else x - 1",
        "return dy * 1",
        saved=("dy",),
        like={"x": "dy"},
        attrs=(("up", "bool", "true"),),
    )
    made = export(write(op, tmp_path), form="native", check=False)
    assert "if bool(up):" in made.text


def test_an_import_beyond_numpy_is_refused_as_callback(tmp_path: Path) -> None:
    """The file carries the kernel along, so what that imports must be there."""
    op = Op("needy", "import tests.corpus\nreturn x * 2", "return dy * 2", saved=("dy",), like={"x": "dy"})
    with pytest.raises(Exception, match=r"imports 'tests.corpus', line 5"):
        export(write(op, tmp_path), form="callback", check=False)


def test_the_header_says_what_was_not_proved(tmp_path: Path) -> None:
    """Without a check the file says so itself."""
    assert "Not checked: nothing was proved." in exported(tmp_path, "swish").text


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("form", ["native", "callback"])
@pytest.mark.parametrize("name", list(DIRECTORIES))
def test_lists_options_and_several_ops_are_written(tmp_path: Path, name: str, form: str, to: str) -> None:
    """Each directory is one file, which is Python and offers all its forward ops."""
    made = export(write_directory(name, tmp_path), to=to, form=form, check=False)
    tree = ast.parse(made.text)
    defined = {item.name for item in tree.body if isinstance(item, ast.FunctionDef)}
    assert set(made.functions) <= defined
    assert made.functions == (("twins", "twins_windows") if name == "twins" else (name,))


def test_what_optional_inputs_decide_is_a_branch_of_the_gradient(tmp_path: Path) -> None:
    """A weight that is left out gets no gradient, and the others' is computed without it."""
    text = export(write_directory("weighted", tmp_path), to="torch", form="native", check=False).text
    assert "if w is None:" in text
    assert "return out1, out2" in text or "return out1, out" in text


def test_a_list_of_gradients_is_unpacked(tmp_path: Path) -> None:
    """``autograd.Function`` takes and gives the tensors of a list one by one, the custom op as a list."""
    text = export(write_directory("joined", tmp_path), to="torch", form="native", check=False).text
    assert "Joined.apply(axis, *xs)" in text
    assert "return None, *dxs" in text
    assert "return list(dxs), None" in text


def test_loops_are_written_as_loops(tmp_path: Path) -> None:
    """A kernel's loop over a size is a loop of the file, whatever sizes the examples have."""
    text = body_of(exported(tmp_path, "product_axis").text, "_product_axis_backward")
    assert "for i in range(x.shape[1]):" in text


#: (forward, how it ends): memory is taken again only where the result surely is as large and nothing reads it after.
REUSED = [
    ("return 1 + np.exp(2 * x)", "(2 * x).exp_().add_(1)"),
    ("t = x * 2\nreturn t - np.sin(t)", "t.sub_(torch.sin(t))"),
    ("t = x * 2\nreturn np.exp(t) + t", "torch.exp(t).add_(t)"),
    ("t = x * 2\nreturn t * t", "t * t"),
    ("t = np.exp(x)\nreturn t + t.T", "t + t.T"),
    ("t = np.exp(x)\nreturn t + x.mean()", "t + x.mean()"),
    ("t = np.exp(x)\nreturn t / t.sum(axis=0)", "t / t.sum(dim=0)"),
    ("return np.exp(x) > 0", "torch.exp(x) > 0"),
]
_SQUARE = """
    const Shape* x = ctx->Shape4ArgNameAndIndex("x", 0);
    CHECK_EQ_OR_RETURN(x->NumAxes(), 2);
    CHECK_EQ_OR_RETURN(x->At(0), x->At(1));
    *ctx->Shape4ArgNameAndIndex("y", 0) = *x;
    """
_CASES = "def cases(rng):\n    yield {'x': rng.normal(size=(2, 2))}"


@pytest.mark.parametrize(("forward", "end"), REUSED)
def test_memory_is_taken_again_where_nothing_reads_it(tmp_path: Path, forward: str, end: str) -> None:
    """A forward under ``autograd.Function`` writes into what it made itself, and into nothing that is still read."""
    kind = {"y": "DataType::kBool"} if ">" in forward else {}
    op = Op("taken", forward, "return dy * 1", saved=("dy",), like={"x": "dy"}, infer=_SQUARE, dtypes=kind, cases=_CASES)
    op = op if not kind else Op("taken", forward, infer=_SQUARE, dtypes=kind, cases=_CASES)
    text = body_of(export(write(op, tmp_path), to="torch", form="native", check=False).text, "_taken_forward")
    assert text.endswith(f"return {end}"), text


@pytest.mark.parametrize("forward", ["return 1 + np.exp(2 * x)"])
def test_memory_is_not_taken_again_where_torch_differentiates(tmp_path: Path, forward: str) -> None:
    """Without a gradient of its own, and in backward, which may be differentiated again, values stay as they are."""
    text = export(write(Op("plain", forward, infer=_SQUARE, cases=_CASES), tmp_path), form="native", check=False).text
    assert "torch.exp(2 * x)" in text
    backward = "return dy * np.exp(2 * dy)"
    op = Op("back", forward, backward, saved=("dy",), like={"x": "dy"}, infer=_SQUARE, cases=_CASES)
    assert "exp_" not in body_of(export(write(op, tmp_path), form="native", check=False).text, "_back_backward")


def test_a_copy_that_a_loop_adds_to_is_not_the_argument(tmp_path: Path) -> None:
    """Where arrays never change, a copy has no text of its own; the loop's variable is still another one."""
    forward = "r = x.copy()\nfor i in range(1, attrs['k']):\n    r += np.roll(x, i, axis=-1)\nreturn r"
    op = Op("rolled", forward, attrs=(("k", "int32", "3"),), infer=_SQUARE, cases=_CASES)
    text = body_of(export(write(op, tmp_path), to="jax", form="native", check=False).text, "_rolled_forward")
    assert "r = x\n" in text
    assert "r = r + jnp.roll(x, i, axis=-1)" in text


#: Kernels made of functions that are written as simpler ones, with what the file holds.
ARRANGED = [
    ("i, j = np.indices((x.shape[0], 2))\nreturn x[i, j] + 0 * x", "torch.arange"),
    ("a, b = np.meshgrid(x[0], x[:, 0])\nreturn a + b", "broadcast_to"),
    ("return np.polyval([2.0, 1.0], x)", "torch.zeros_like(x) * x"),
    ("return x + np.digitize(x, np.array([0.0, 1.0]))", "torch.searchsorted("),
    ("a, b = np.hsplit(x, 2)\nreturn np.append(b, a, axis=1)", "torch.cat("),
    ("return np.add(*tuple(x.T))[:, None] + 0 * x", "x.shape[-1] != 2"),
]


@pytest.mark.parametrize(("forward", "part"), ARRANGED)
def test_functions_that_are_made_of_others(tmp_path: Path, forward: str, part: str) -> None:
    """They are traced as what they do."""
    op = Op("arranged", forward, infer=_SQUARE, cases=_CASES)
    assert part in export(write(op, tmp_path), form="native", check=False).text


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if kind.has_spec])
def test_every_scaffolded_op_directory_leaves(tmp_path: Path, kind: str, to: str) -> None:
    """What ``opkit new --kind`` writes has a native form, with its inference, in every framework."""
    scaffold("t", tmp_path, kind)
    made = export(tmp_path / "t", to=to, form="native", check=False)
    assert body_of(made.text, "_infer_t_forward")
