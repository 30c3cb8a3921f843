"""CompiledOp: the order of OneFlow's checks, attributes, defaults, variadic arguments, and sharding signatures."""

from __future__ import annotations

import numpy as np
import pytest

from opkit.errors import InferError
from opkit.ir.desc import TensorDesc
from opkit.spec import ArgSpec
from tests.spec.texts import OK, SBP, SHAPE, compiled, f32, op

DTYPE = "SetDataTypeInferFn([](user_op::InferContext* ctx) -> Maybe<void> {"
CONCAT = f"""
REGISTER_USER_OP("concat")
    .InputWithMinimum("in", 2)
    .OptionalInput("bias")
    .Output("out")
    .OptionalOutput("count")
    .Attr<int32_t>("axis", 0)
    .Attr<std::string>("mode")
    .SetCheckAttrFn([](const user_op::UserOpDefWrapper& def, const user_op::UserOpConfWrapper& conf) -> Maybe<void> {{
      std::stringstream err;
      err << "Illegal axis of " << conf.op_type_name() << ": " << conf.attr<int32_t>("axis");
      if (conf.attr<int32_t>("axis") < 0) {{ return oneflow::Error::CheckFailedError() << err.str(); }}
      return Maybe<void>::Ok();
    }})
    .{SHAPE}
  const int32_t axis = ctx->Attr<int32_t>("axis");
  Shape out = *ctx->Shape4ArgNameAndIndex("in", 0);
  int64_t size = 0;
  for (const auto& pair : ctx->inputs()) {{
    if (pair.first != "in") {{ continue; }}
    size += ctx->Shape4ArgNameAndIndex(pair.first, pair.second)->At(axis);
  }}
  out.Set(axis, size);
  *ctx->Shape4ArgNameAndIndex("out", 0) = out;
  if (ctx->has_output("count", 0)) {{ *ctx->Shape4ArgNameAndIndex("count", 0) = Shape({{ctx->input_size("in")}}); }}
{OK}
    .{DTYPE}
  CHECK_EQ_OR_RETURN(*ctx->Dtype4ArgNameAndIndex("in", 0), *ctx->Dtype4ArgNameAndIndex("in", 1));
  if (ctx->has_output("count", 0)) {{ *ctx->Dtype4ArgNameAndIndex("count", 0) = DataType::kInt64; }}
{OK};
"""


def test_variadic_and_optional_arguments() -> None:
    """Counts come from what is given; optional outputs appear where they are asked for."""
    concat = compiled(CONCAT).ops["concat"]
    two = {"in": [*f32(2, 3), *f32(4, 3)]}
    assert concat.infer(two) == {"out": f32(6, 3)}
    assert concat.infer(two, outputs={"count": 1}) == {"out": f32(6, 3), "count": [TensorDesc((2,), "int64")]}
    assert concat.inputs == (
        ArgSpec("in", False, 2, True, concat.inputs[0].span),
        ArgSpec("bias", True, 1, False, concat.inputs[1].span),
    )


@pytest.mark.parametrize(
    ("inputs", "attrs", "outputs", "message"),
    [
        ({}, {"nope": 1}, None, "has no attribute 'nope'"),
        ({}, {"axis": "one"}, None, "expected an integer"),
        ({}, {}, None, "input 'in' of op 'concat' needs at least 2 tensors, 0 given"),
        ({"in": f32(1)}, {}, None, "needs at least 2 tensors, 1 given"),
        ({"in": f32(1) * 2, "bias": f32(1) * 2}, {}, None, "input 'bias' of op 'concat' needs 1 tensor, 2 given"),
        ({"in": f32(1) * 2, "inn": f32(1)}, {}, None, "has no input 'inn'"),
        ({"in": f32(1) * 2}, {}, {"outs": 1}, "has no output 'outs'"),
        ({"in": f32(1) * 2}, {}, {"out": 2}, "output 'out' of op 'concat' needs 1 tensor, 2 given"),
        ({"in": f32(1) * 2}, {"axis": -1}, None, "Illegal axis of concat: -1"),
        ({"in": [TensorDesc((1,), "int8"), *f32(1)]}, {}, None, "inferring the dtype"),
        ({"in": f32(1) * 2}, {"axis": 4}, None, "axis 4 is out of range"),
    ],
)
def test_checks_in_the_order_of_oneflow(
    inputs: dict[str, list[TensorDesc]], attrs: dict[str, object], outputs: dict[str, int] | None, message: str
) -> None:
    """Attributes come first, then inputs, outputs, the spec's own check, dtypes and shapes."""
    with pytest.raises(InferError, match=message.replace("(", r"\(")):
        compiled(CONCAT).ops["concat"].infer(inputs, attrs, outputs)


def test_an_attribute_is_refused_before_an_argument() -> None:
    """With several mistakes the one that OneFlow finds first is told."""
    with pytest.raises(InferError, match="no attribute 'nope'"):
        compiled(CONCAT).ops["concat"].infer({"inn": []}, {"nope": 1, "axis": -1})


ATTRS = """
REGISTER_USER_OP("a").Input("x").Output("y")
    .Attr<int32_t>("i32", -3).Attr<int64_t>("i64", 1LL << 40).Attr<bool>("flag", true).Attr<float>("f", 0.1)
    .Attr<double>("d", 1e-12).Attr<std::string>("s", std::string("") + "a" "b").Attr<Shape>("shape", Shape({2, 3}))
    .Attr<DataType>("dtype", DataType::kInt32).Attr<std::vector<int32_t>>("li32", std::vector<int32_t>{1, 2})
    .Attr<std::vector<int64_t>>("li64", {4, 5}).Attr<std::vector<float>>("lf", {0.5, 0.1})
    .Attr<std::vector<DataType>>("ldt", {DataType::kFloat, DataType::kInt8})
    .Attr<std::vector<Shape>>("lshape", {Shape({1}), Shape({2, 2})}).Attr<std::vector<std::string>>("ls", {"p", "q"})
    .Attr<int>("zero").Attr("typed", UserOpAttrType::kAtFloat, 0.5f)
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);
"""


def test_all_attribute_types_with_their_defaults() -> None:
    """All 14 types; a float default is the decimal that the spec writes; without a default it is T()."""
    attrs = compiled(ATTRS).ops["a"].attrs
    assert {name: (spec.type, spec.default) for name, spec in attrs.items()} == {
        "i32": ("int32", -3),
        "i64": ("int64", 1 << 40),
        "flag": ("bool", True),
        "f": ("float", 0.1),
        "d": ("double", 1e-12),
        "s": ("string", "ab"),
        "shape": ("shape", (2, 3)),
        "dtype": ("data_type", "int32"),
        "li32": ("list_int32", [1, 2]),
        "li64": ("list_int64", [4, 5]),
        "lf": ("list_float", [0.5, 0.1]),
        "ldt": ("list_data_type", ["float32", "int8"]),
        "lshape": ("list_shape", [(1,), (2, 2)]),
        "ls": ("list_string", ["p", "q"]),
        "zero": ("int32", 0),
        "typed": ("float", 0.5),
    }
    assert attrs["f"].span is not None
    assert attrs["f"].span.text == '"f"'


@pytest.mark.parametrize(
    ("name", "given", "kept"),
    [
        ("i32", np.int64(5), 5),
        ("i64", 5, 5),
        ("flag", np.bool_(False), False),
        ("f", 2, 2.0),
        ("f", np.float32(0.5), 0.5),
        ("d", 0.1, 0.1),
        ("shape", [4, np.int32(5)], (4, 5)),
        ("dtype", np.float32, "float32"),
        ("dtype", "tensor_buffer", "tensor_buffer"),
        ("li64", (1, 2), [1, 2]),
        ("li64", np.array([3, 4]), [3, 4]),
        ("ls", ["a"], ["a"]),
        ("lshape", [(1,), [2]], [(1,), (2,)]),
    ],
)
def test_attributes_take_python_and_numpy_values(name: str, given: object, kept: object) -> None:
    """Numpy scalars are accepted, and come out as plain Python values."""
    found = compiled(ATTRS).ops["a"].check_attrs({name: given})[name]
    assert found == kept
    assert type(found) is type(kept)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("i32", True),
        ("i32", 1.0),
        ("i32", 1 << 31),
        ("i64", 1 << 63),
        ("flag", 1),
        ("f", "1"),
        ("f", True),
        ("s", 1),
        ("s", b"a"),
        ("shape", 3),
        ("shape", "ab"),
        ("shape", [1.5]),
        ("dtype", "float33"),
        ("li32", 1),
        ("li32", "12"),
        ("li32", [True]),
        ("ls", "ab"),
        ("ls", [1]),
        ("lshape", [3]),
        ("i32", None),
    ],
)
def test_attributes_refuse_other_types(name: str, given: object) -> None:
    """A bool is not an integer, a number no string; the error is at the attribute's declaration."""
    with pytest.raises(InferError) as caught:
        compiled(ATTRS).ops["a"].check_attrs({name: given})
    assert caught.value.where is not None
    assert caught.value.where.line > 1


def test_a_float_attribute_is_float32_in_infer_code() -> None:
    """0.1 as float32, times ten million, is not a round number."""
    text = op(
        '  *ctx->Shape4ArgNameAndIndex("y", 0) = Shape({static_cast<int64_t>(ctx->Attr<float>("f") * 1e10)});',
        extra='.Attr<float>("f", 0.1)',
    )
    assert compiled(text).ops["t"].infer({"x": f32(1)}) == {"y": f32(1000000014)}


def test_outputs_start_as_the_first_input() -> None:
    """What no function sets stays as the first input has it: shape, dtype and is_dynamic."""
    text = f'REGISTER_USER_OP("a").Input("x").Input("z").Output("y").{SHAPE}\n{OK};'
    first = TensorDesc((2,), "int8", True)
    assert compiled(text).ops["a"].infer({"z": f32(1), "x": [first]}) == {"y": [first]}


def test_an_op_without_inputs_has_an_invalid_dtype_until_it_is_set() -> None:
    """OneFlow's descriptions start empty and invalid."""
    text = f'REGISTER_USER_OP("a").Output("y").{SHAPE}\n  *ctx->Shape4ArgNameAndIndex("y", 0) = Shape({{4}});\n{OK};'
    assert compiled(text).ops["a"].infer({}) == {"y": [TensorDesc((4,), "invalid")]}


def test_inputs_are_not_changed() -> None:
    """A function that writes to an input's description writes to a copy."""
    text = op(
        '  ctx->Shape4ArgNameAndIndex("x", 0)->Set(0, 9);\n  *ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);'
    )
    given = f32(1, 2)
    assert compiled(text).ops["t"].infer({"x": given}) == {"y": f32(9, 2)}
    assert given == f32(1, 2)


def test_the_names_of_all_versions_mean_the_same() -> None:
    """v0.3.4's user_op_conf(), v0.4.0's Shape4ArgNameAndIndex and v0.5.0's InputShape give the same."""
    bodies = (
        '*ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);',
        '*ctx->OutputShape("y", 0) = ctx->InputShape("x", 0);',
        '*ctx->OutputTensorDesc("y", 0)->mut_shape() = ctx->InputTensorDesc("x", 0).shape();',
        '*ctx->TensorDesc4ArgNameAndIndex("y", 0) = *ctx->TensorDesc4ArgNameAndIndex("x", 0);',
        'CHECK_OR_RETURN(ctx->user_op_conf().has_input("x", 0));\n*ctx->mut_y = 1;',
    )
    for body in bodies[:4]:
        assert compiled(op(body)).ops["t"].infer({"x": f32(2, 5)}) == {"y": f32(2, 5)}


# -- sharding ------------------------------------------------------------------------------------

SHARDED = f"""
REGISTER_USER_OP("a").Input("x").OptionalInput("w").Output("y").Attr<int32_t>("axis", 0)
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged)
    .{SBP}
  const Shape& x = ctx->LogicalTensorDesc4InputArgNameAndIndex("x", 0).shape();
  FOR_RANGE(int64_t, i, 0, x.NumAxes()) {{
    if (x.At(i) % ctx->parallel_num() != 0) {{ continue; }}
    ctx->NewBuilder().Split(ctx->inputs(), i).Split(user_op::OpArg("y", 0), i).Build();
  }}
  std::vector<user_op::OpArg> args;
  args.emplace_back("x", 0);
  args.push_back({{"y", 0}});
  auto builder = ctx->NewBuilder();
  builder.PartialSum(args);
  if (ctx->user_op_conf().has_input("w", 0)) {{ builder.Broadcast(user_op::OpArg("w", 0)); }}
  builder.Build();
{OK};
REGISTER_USER_OP("b").Input("x").Output("y").SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);
REGISTER_USER_OP("c").Input("x").Output("y").SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged)
    .SetGetSbpFn(user_op::GetSbpFnUtil::SplitForEachAxis);
"""


def test_sharding_signatures_are_what_the_function_builds() -> None:
    """In its order, with the number of devices it is asked for, and nothing that it does not build."""
    ops = compiled(SHARDED).ops
    assert ops["a"].sbp_signatures({"x": f32(4, 3)}, parallel_num=2) == [
        {"x": ["S(0)"], "y": ["S(0)"]},
        {"x": ["P"], "y": ["P"]},
    ]
    assert ops["a"].sbp_signatures({"x": f32(6), "w": f32(6)}, parallel_num=3) == [
        {"x": ["S(0)"], "w": ["S(0)"], "y": ["S(0)"]},
        {"x": ["P"], "y": ["P"], "w": ["B"]},
    ]
    assert ops["b"].sbp_signatures({"x": f32(4)}) == []
    assert ops["c"].sbp_signatures({"x": f32(4, 4)}) == [{"x": [f"S({i})"], "y": [f"S({i})"]} for i in range(2)]


def test_a_wrong_number_of_devices_is_refused() -> None:
    """Devices are counted from one."""
    with pytest.raises(InferError, match="parallel_num is 0"):
        compiled(SHARDED).ops["a"].sbp_signatures({"x": f32(4)}, parallel_num=0)


def test_python_source_is_python() -> None:
    """What --show-python prints compiles, and holds the functions of the op."""
    source = compiled(SHARDED).ops["a"].python_source()
    compile(source, "shown", "exec")
    assert "def a__sbp(ctx):" in source


def test_each_part_of_a_claim_has_its_place() -> None:
    """Line and column of the name of the call that gave it, also where several calls stand in one statement."""
    extra = f""".{SBP}
      ctx->NewBuilder().Split(user_op::OpArg("x", 0), 0)
          .PartialSum(ctx->outputs())
          .Build();
    {OK}"""
    text = op("", extra=extra)
    (claim,) = compiled(text).ops["t"].sbp_claims({"x": f32(4, 3)}, parallel_num=2)
    lines = text.splitlines()
    for place, name in (
        (claim.places["x", 0], "Split("),
        (claim.places["y", 0], "PartialSum("),
        (claim.where, "Build("),
    ):
        assert lines[place.line - 1][place.col - 1 :].startswith(name)


def test_a_claim_of_the_framework_stands_where_its_function_is_named() -> None:
    """SplitForEachAxis has no lines of its own in the definition."""
    text = op("", extra=".SetGetSbpFn(user_op::GetSbpFnUtil::SplitForEachAxis)")
    claims = compiled(text).ops["t"].sbp_claims({"x": f32(4, 3)}, parallel_num=2)
    assert [claim.parts["x", 0] for claim in claims] == ["S(0)", "S(1)"]
    assert not claims[0].places
    assert "SplitForEachAxis" in text.splitlines()[claims[0].where.line - 1]


def test_a_function_with_nothing_in_it_can_be_called() -> None:
    """As a template whose specialisations alone build signatures."""
    before = """template<typename T>
void More(user_op::SbpContext* ctx) {}
template<>
void More<float>(user_op::SbpContext* ctx) { ctx->NewBuilder().PartialSum(ctx->inputs()).PartialSum(ctx->outputs()).Build(); }
"""
    for kind, count in (("float", 1), ("double", 0)):
        text = op("", extra=f".{SBP}\n  More<{kind}>(ctx);\n{OK}", before=before)
        assert len(compiled(text).ops["t"].sbp_signatures({"x": f32(4, 3)}, parallel_num=2)) == count
