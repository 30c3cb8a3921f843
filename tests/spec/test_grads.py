"""CompiledGrad: the graphs that both gradient interfaces build, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.diagnostics import SourceText
from opkit.errors import InferError
from opkit.spec import BackwardOp, compile_spec
from tests.spec.texts import compiled, f32, found

UNCHANGED = ".SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged)"
OPS = f"""
REGISTER_USER_OP("f").Input("x").Input("w").Output("y").Attr<float>("alpha", 0.1).Attr<std::vector<int32_t>>("axis")
    .SetInputArgModifyFn([](user_op::GetInputArgModifier GetInputArgModifierFn, const user_op::UserOpConfWrapper&) {{
      user_op::InputArgModifier* w = GetInputArgModifierFn("w", 0);
      CHECK(w != nullptr);
      w->set_requires_grad(false);
    }})
    {UNCHANGED};
REGISTER_USER_OP("f_grad").Input("dy").Input("x").Output("dx").Attr<float>("alpha").Attr<int64_t>("n", 4){UNCHANGED};
"""
OLD = (
    OPS
    + """
REGISTER_USER_OP_GRAD("f").SetGenBackwardOpConfFn([](const user_op::UserOpWrapper& op, user_op::AddOpFn AddOp) {
  if (op.NeedGenGradTensor4OpInput("x", 0)) {
    user_op::UserOpConfWrapperBuilder builder(op.op_name() + "_grad");
    user_op::UserOpConfWrapper grad_op = builder.Op("f_grad")
                                             .Input("dy", op.GetGradTensorWithOpOutput("y", 0))
                                             .Input("x", op.input("x", 0))
                                             .Attr("alpha", op.attr<float>("alpha"))
                                             .Output("dx")
                                             .Build();
    op.BindGradTensorWithOpInput(grad_op.output("dx", 0), "x", 0);
    AddOp(grad_op);
  }
});
"""
)
NEW = (
    OPS
    + """
REGISTER_USER_OP_GRAD("f").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
  const auto grad_op_name = ctx->FwOp().op_name() + "_grad";
  const auto& grad_op_func = [&ctx](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("f_grad")
        .InputBind("dy", ctx->FwOp().output_grad("y", 0))
        .InputBind("x", ctx->FwOp().input("x", 0))
        .Attr<float>("alpha", ctx->FwOp().attr<float>("alpha"))
        .Output("dx")
        .Build();
  };
  ctx->DefineOp(grad_op_name, grad_op_func);
  ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&ctx, &grad_op_name]() -> const std::string& {
    return ctx->GetOp(grad_op_name).output("dx", 0);
  });
});
"""
)
INPUTS = {"x": f32(2), "w": f32(2)}
GRAD_OP = BackwardOp(
    "fw_grad", "f_grad", {"dy": ["dout:y_0"], "x": ["in:x_0"]}, {"dx": ["fw_grad/dx_0"]}, {"alpha": 0.1, "n": 4}
)


@pytest.mark.parametrize("text", [OLD, NEW], ids=["old", "new"])
def test_both_interfaces_build_the_same(text: str) -> None:
    """The op, its blobs, its attributes complete with defaults, and the binding of the input."""
    graph = compiled(text).grads["f"].build(INPUTS)
    assert graph.ops == [GRAD_OP]
    assert graph.bindings == {"x_0": "fw_grad/dx_0"}
    assert graph.unbound == []
    assert graph.requires_grad == {"x_0": True, "w_0": False}


@pytest.mark.parametrize("text", [OLD, NEW], ids=["old", "new"])
def test_nothing_is_built_for_what_needs_no_gradient(text: str) -> None:
    """An op is built when a gradient is asked for, and not before."""
    graph = compiled(text).grads["f"].build(INPUTS, needs_grad=set(), op_name="other")
    assert (graph.ops, graph.bindings) == ([], {})


def test_the_name_of_the_forward_op_names_the_backward_ops() -> None:
    """Blob names carry the backward op's name."""
    graph = compiled(OLD).grads["f"].build(INPUTS, attrs={"alpha": 0.25}, op_name="job-f_1")
    assert graph.bindings == {"x_0": "job-f_1_grad/dx_0"}
    assert graph.ops[0].attrs["alpha"] == 0.25


def test_what_is_known_of_a_gradient_without_building_it() -> None:
    """Bound inputs and the forward op are there for tools that check a directory."""
    grad = compiled(OLD).grads["f"]
    assert grad.bound == ("x",)
    assert grad.op is not None
    assert grad.op.name == "f"
    assert "def f__grad(op, AddOp):" in grad.python_source()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('.Attr("alpha", op', '.Attr("beta", op', "no such attribute"),
        ('.Attr("alpha", op.attr<float>("alpha"))', '.Attr("n", 1)', "it is of type int64"),
        ('.Input("x", op.input("x", 0))', "", "input 'x' of op 'f_grad' needs 1 tensor, 0 given"),
        ('.Output("dx")\n', '.Output("dz")\n', "has no output 'dz'"),
        ('grad_op.output("dx", 0), "x"', 'grad_op.output("dx", 1), "x"', "no output 'dx' at index 1"),
        (
            "{\n    user_op::UserOpConfWrapperBuilder",
            '{\n    op.BindGradTensorWithOpInput("b", "w", 0);\n    user_op::UserOpConfWrapperBuilder',
            "needs no gradient",
        ),
    ],
)
def test_mistakes_that_show_when_a_gradient_is_built(old: str, new: str, message: str) -> None:
    """Unknown attributes and arguments of backward ops are InferErrors of the spec."""
    assert old in OLD
    grad = compiled(OLD.replace(old, new)).grads["f"]
    with pytest.raises(InferError, match=message) as caught:
        grad.build(INPUTS)
    assert caught.value.where is not None


@pytest.mark.parametrize(
    ("old", "new", "code", "message", "help"),
    [
        ('Op("f_grad")', 'Op("f_gradd")', "SPEC049", "'f' uses the op type 'f_gradd'", "did you mean 'f_grad'?"),
        ('.Attr("alpha", op', '.Attr("alfa", op', "SPEC041", "no attribute 'alfa'", "did you mean 'alpha'?"),
        ('.Input("dy", op', '.Input("dyy", op', "SPEC040", "no input 'dyy'", "did you mean 'dy'?"),
        ('.Output("dx")\n', '.Output("out")\n', "SPEC040", "no output 'out'", "its outputs are 'dx'"),
        ('grad_op.output("dx", 0)', 'grad_op.output("z", 0)', "SPEC040", "no output 'z'", "its outputs are 'dx'"),
        ('.Input("x", op.input("x", 0))', "", "SPEC051", "gives op 'f_grad' no input 'x'", 'add .InputBind("x", ...)'),
    ],
)
def test_mistakes_about_backward_ops_show_when_all_ops_are_known(
    old: str, new: str, code: str, message: str, help: str
) -> None:
    """In an op directory all op types are known: one error on the gradient alone, and forward can be used."""
    assert old in OLD
    result = compile_spec(SourceText(OLD.replace(old, new), "a_cpp_def.cpp"), known_ops=["relu"])
    (finding,) = [item for item in result.diagnostics if item.is_error]
    assert (finding.code, finding.help) == (code, help)
    assert message in finding.message
    assert result.ops["f"].ok
    assert not result.grads["f"].ok


def test_a_backward_op_of_another_spec_is_not_judged() -> None:
    """Its arguments are not known here."""
    text = OLD.replace('Op("f_grad")', 'Op("relu")')
    assert [
        item.code for item in compile_spec(SourceText(text, "a"), known_ops=["relu"]).diagnostics if item.is_error
    ] == []


def test_built_in_op_types_are_known_by_name() -> None:
    """An op type that the registry has may be used without a spec; its attributes are as given."""
    graph = compiled(OLD.replace('Op("f_grad")', 'Op("relu_grad")'), known_ops=["relu_grad"]).grads["f"].build(INPUTS)
    assert graph.ops[0].attrs == {"alpha": 0.1}


def test_a_wrong_name_breaks_the_gradient_alone() -> None:
    """The forward op stays usable, and only building the gradient raises."""
    text = NEW.replace('output_grad("y", 0)', 'output_grad("out", 0)')
    (only,) = found(text)
    assert (only.code, only.severity.value, only.help) == ("SPEC040", "error", "the op declares 'y'")
    result = compile_spec(SourceText(text, "a.cpp"))
    assert result.ops["f"].infer(INPUTS) == {"y": f32(2)}
    assert not result.grads["f"].ok
    with pytest.raises(InferError, match="op 'f' has no output 'out'"):
        result.grads["f"].build(INPUTS)


def test_needed_inputs_without_a_binding_are_listed() -> None:
    """OneFlow aborts there; here the graph says which they are."""
    graph = compiled(OLD).grads["f"].build(INPUTS, needs_grad={("x", 0), ("w", 0)})
    assert graph.unbound == ["w_0"]


def test_the_first_value_of_an_attribute_stays() -> None:
    """OneFlow emplaces attributes, so that a second value is dropped."""
    text = OLD.replace('op.attr<float>("alpha"))', 'op.attr<float>("alpha"))\n.Attr<float>("alpha", 0.5f)')
    assert text != OLD
    assert compiled(text).grads["f"].build(INPUTS).ops[0].attrs["alpha"] == 0.1


def test_a_forward_op_of_another_spec_of_the_folder_is_found(tmp_path: Path) -> None:
    """OneFlow links specs together: broadcast_add's gradient is in a file of its own."""
    head, tail = OLD.split('REGISTER_USER_OP_GRAD("f")')
    (tmp_path / "ops.cpp").write_text(head)
    (tmp_path / "grads.cpp").write_text('REGISTER_USER_OP_GRAD("f")' + tail)
    graph = compile_spec(tmp_path / "grads.cpp").grads["f"].build(INPUTS)
    assert graph.bindings == {"x_0": "fw_grad/dx_0"}
