"""BuiltTypes: which op types a gradient's code can build, without running it."""

from __future__ import annotations

import pytest

from opkit.diagnostics import SourceText
from opkit.spec import BuiltTypes, compile_spec
from tests.spec.test_grads import NEW, OLD, OPS
from tests.spec.texts import compiled

HELPER = """
void Make(const user_op::UserOpWrapper& op, const std::string& kind, const std::string& dy) {
  user_op::UserOpConfWrapperBuilder builder("a");
  auto made = builder.Op(%s).Input("dy", dy).Output("dx").Build();
}
"""
FRONT = (
    'REGISTER_USER_OP_GRAD("f").SetGenBackwardOpConfFn([](const user_op::UserOpWrapper& op, user_op::AddOpFn AddOp) {'
)


def computed(expression: str) -> BuiltTypes:
    """The built types of a gradient whose helper gives the op type by this C++."""
    text = f'{OPS}{HELPER % expression}{FRONT} Make(op, "left", op.GetGradTensorWithOpOutput("y", 0)); }});'
    return compiled(text).grads["f"].built_types


@pytest.mark.parametrize("text", [OLD, NEW], ids=["old", "new"])
def test_constant_types(text: str) -> None:
    """Op types that are constants are names, in both interfaces, and nothing else is built."""
    types = compiled(text).grads["f"].built_types
    assert types == BuiltTypes(frozenset({"f_grad"}))
    assert not types.is_computed


def test_macro_type() -> None:
    """An op type that a macro puts together is a constant."""
    text = NEW.replace('OpTypeName("f_grad")', "OpTypeName(TYPE(f_))")
    assert compiled("#define TYPE(a) OF_PP_STRINGIZE(a##grad)\n" + text).grads["f"].built_types.names == {"f_grad"}


@pytest.mark.parametrize(
    ("expression", "names", "patterns"),
    [
        ('"my_" + kind', set(), ("my_*",)),
        ('std::string("my_") + kind + "_grad"', set(), ("my_*_grad",)),
        ('op.op_type_name() + "_grad"', {"f_grad"}, ()),
        ('kind == "left" ? "my_left" : "my_right"', {"my_left", "my_right"}, ()),
        ('(kind == "left" ? "a_" : "b_") + op.op_type_name()', {"a_f", "b_f"}, ()),
        ("kind", set(), ("*",)),
    ],
)
def test_computed_types(expression: str, names: set[str], patterns: tuple[str, ...]) -> None:
    """A computed op type gives its constant parts, the forward op's type included."""
    types = computed(expression)
    assert types.names == names
    assert types.patterns == patterns
    assert types.is_computed == bool(patterns)


def test_pattern_is_of_the_whole_name() -> None:
    """A pattern matches whole op types only."""
    types = computed('"my_" + kind + "_grad"')
    assert "my_left_grad" in types
    assert "my_grad_scale" not in types
    assert "my_left_grad_scale" not in types


def test_type_of_no_constant_part_is_one_of_the_literals() -> None:
    """Where nothing of an op type is constant, it is one of the code's string constants."""
    types = computed("kind")
    assert "left" in types
    assert "right" not in types


def test_gradient_with_errors_says_its_types_too() -> None:
    """The types of a gradient that does not compile are those that it names."""
    text = OLD.replace('op.input("x", 0)', 'op.inptu("x", 0)')
    grad = compile_spec(SourceText(text, "a.cpp")).grads["f"]
    assert not grad.ok
    assert grad.built_types.names == {"f_grad"}


def test_computed_type_leaves_other_arguments_unjudged() -> None:
    """Where one op type is computed, an argument of it is not counted as one of another op type."""
    text = NEW.replace(
        "ctx->DefineOp(grad_op_name, grad_op_func);",
        """ctx->DefineOp(grad_op_name, grad_op_func);
  ctx->DefineOp(grad_op_name + "_2", [&ctx](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("f" + ctx->FwOp().op_name()).InputBind("other", ctx->FwOp().input("x", 0)).Build();
  });""",
    )
    assert compiled(text, known_ops=("relu",)).grads["f"].ok
