"""Containers of the definition language: elements of their own, ends of iterators, what is made of no arguments."""

from __future__ import annotations

import pytest

from opkit.errors import InferError
from tests.spec.texts import compiled, f32, found, op

STRUCT = "struct S { int64_t v = 1; };"


def shape(body: str) -> tuple[int, ...]:
    """The output shape of an op whose shape function's body ends in ``y = Shape(...)``."""
    text = op(body.replace("y = ", '*ctx->Shape4ArgNameAndIndex("y", 0) = '), before=STRUCT)
    return compiled(text).ops["t"].infer({"x": f32(2, 3)})["y"][0].shape


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("std::vector<S> v(2); v[0].v = 3; y = Shape({v[0].v, v[1].v});", (3, 1)),
        ("std::vector<S> v; v.resize(2); v[0].v = 3; y = Shape({v[0].v, v[1].v});", (3, 1)),
        ("HashMap<int64_t, S> v; v[1].v = 3; y = Shape({v[1].v, v[2].v});", (3, 1)),
        (
            "std::vector<std::vector<int64_t>> v; v.resize(2); v[0].push_back(3);"
            " y = Shape({(int64_t)v[0].size() + 1, (int64_t)v[1].size() + 1});",
            (2, 1),
        ),
        (
            "std::vector<std::vector<int64_t>> v; std::vector<int64_t> w; v.assign(2, w); v[0].push_back(1);"
            " y = Shape({(int64_t)v[0].size() + 1, (int64_t)v[1].size() + 1});",
            (2, 1),
        ),
        (
            "std::vector<std::vector<int64_t>> v; std::vector<int64_t> w; v.insert(v.end(), w); w.push_back(1);"
            " y = Shape({(int64_t)v[0].size() + 1});",
            (1,),
        ),
        (
            "std::map<int64_t, std::vector<int64_t>> v; std::vector<int64_t> w; v.emplace(1, w); w.push_back(1);"
            " y = Shape({(int64_t)v[1].size() + 1});",
            (1,),
        ),
    ],
)
def test_elements_are_their_own(body: str, expected: tuple[int, ...]) -> None:
    """Elements that a container is filled with, or that are put into it, share nothing with others."""
    assert shape("  " + body) == expected


BUFFERS = """
REGISTER_CPU_ONLY_USER_OP("to_buffers").Input("in").Output("out").Attr<int32_t>("instance_dims")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      const Shape& shape = ctx->TensorDesc4ArgNameAndIndex("in", 0)->shape();
      const auto& count = ctx->Attr<int32_t>("instance_dims");
      CHECK_LT_OR_RETURN(count, shape.NumAxes());
      DimVector kept;
      kept.insert(kept.end(), shape.dim_vec().cbegin(), shape.dim_vec().cend() - count);
      *ctx->TensorDesc4ArgNameAndIndex("out", 0)->mut_shape() = Shape(kept);
      return Maybe<void>::Ok();
    });
"""


@pytest.mark.parametrize("sizes", [(4,), (2, 3), (2, 0), (2, 3, 4)])
def test_trailing_axes_that_become_buffers(sizes: tuple[int, ...]) -> None:
    """As many trailing axes go as an attribute says: every count below the rank is accepted, any other refused.

    A negative count passes the definition's own check, and C++ then reads past the end of the sizes.
    """
    buffers = compiled(BUFFERS).ops["to_buffers"]
    for count in range(len(sizes)):
        out = buffers.infer({"in": f32(*sizes)}, {"instance_dims": count})["out"][0]
        assert out.shape == sizes[: len(sizes) - count]
    with pytest.raises(InferError, match="CHECK_LT_OR_RETURN"):
        buffers.infer({"in": f32(*sizes)}, {"instance_dims": len(sizes)})
    with pytest.raises(InferError, match=r"(?s)an iterator 1 past the end\(\).*a_cpp_def.cpp:8:7"):
        buffers.infer({"in": f32(*sizes)}, {"instance_dims": -1})


@pytest.mark.parametrize(("count", "expected"), [(0, (2, 3)), (1, (2,)), (2, ())])
def test_end_minus_a_count(count: int, expected: tuple[int, ...]) -> None:
    """``cend() - n`` is an end, up to the begin()."""
    body = f"""  const Shape& s = *ctx->Shape4ArgNameAndIndex("x", 0); const int32_t n = {count};
  DimVector d; d.insert(d.end(), s.dim_vec().cbegin(), s.dim_vec().cend() - n); y = Shape(d);"""
    assert shape(body) == expected


SIZES = '  const Shape& s = *ctx->Shape4ArgNameAndIndex("x", 0); const DimVector& v = s.dim_vec(); DimVector d;\n'


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("std::vector<int64_t> w(3, 1); d.insert(d.end(), v.begin(), v.end() + (v.size() - w.size()));", (2,)),
        (
            "std::vector<int64_t> w(3, 1); auto it = v.end(); it += v.size() - w.size(); d.insert(d.end(), v.begin(), it);",
            (2,),
        ),
        ("std::vector<int64_t> w(3, 1); d.push_back(v.end()[v.size() - w.size()]);", (3,)),
        ("const uint32_t n = 1; d.insert(d.end(), v.begin(), v.end() - n);", (2,)),
        ("d.insert(d.end(), 1 + v.begin(), v.end());", (3,)),
        ("size_t n = 1; d.insert(d.end(), n + v.begin(), v.end());", (3,)),
    ],
)
def test_offsets_of_iterators(body: str, expected: tuple[int, ...]) -> None:
    """An iterator moves by any integer, on either side; a difference of sizes that wraps below 0 moves it back."""
    assert shape(f"{SIZES}  {body} y = Shape(d);") == expected


@pytest.mark.parametrize(
    ("first", "goes_on", "expected"),
    [
        ("v.begin()", "it < v.end()", (2, 3)),
        ("v.begin()", "it <= v.end() - 1", (2, 3)),
        ("v.begin()", "v.end() > it", (2, 3)),
        ("v.begin()", "!(it >= v.end())", (2, 3)),
        ("v.rbegin()", "it < v.rend()", (3, 2)),
        ("v.rbegin()", "!(it >= v.rend())", (3, 2)),
    ],
)
def test_order_of_iterators(first: str, goes_on: str, expected: tuple[int, ...]) -> None:
    """Iterators have the order of their way, which for reverse ones is from the back."""
    loop = f"for (auto it = {first}; {goes_on}; ++it) {{ d.push_back(*it); }}"
    assert shape(f"{SIZES}  {loop} y = Shape(d);") == expected


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ("cend() + 1", "an iterator 1 past the end() of a container of 2 elements"),
        ("cend() - 3", "an iterator 1 before the begin() of a container of 2 elements"),
    ],
)
def test_iterator_outside(last: str, message: str) -> None:
    """An iterator outside of its container says where it is; the place is that of the statement."""
    body = f"""  const Shape& s = *ctx->Shape4ArgNameAndIndex("x", 0);
  DimVector d;
  d.insert(d.end(), s.dim_vec().cbegin(), s.dim_vec().{last}); y = Shape(d);"""
    with pytest.raises(InferError, match=r"a_cpp_def.cpp:13:3") as raised:
        shape(body)
    assert message in str(raised.value).replace("()", "()")


@pytest.mark.parametrize(
    ("kind", "column"),
    [("user_op::OpArg()", 48), ("user_op::OpArg{}", 48), ('user_op::OpArg("x")', 48)],
)
def test_op_arg_is_made_of_a_name_and_an_index(kind: str, column: int) -> None:
    """An OpArg without its name or index is an error in the spec, as in C++."""
    extra = (
        ".SetGetSbpFn([](user_op::SbpContext* ctx) -> Maybe<void> {\n"
        f"  for (int i = 0; i < 2; ++i) {{ ctx->NewBuilder().Split({kind}, i).Build(); }}\n"
        "  return Maybe<void>::Ok(); })"
    )
    errors = [item for item in found(op("", extra=extra)) if item.is_error]
    assert [item.code for item in errors] == ["SPEC022"]
    assert errors[0].span is not None
    assert errors[0].span.location.line == 10


@pytest.mark.parametrize(
    "kind", ["user_op::UserOpConfWrapper", "user_op::InputArgModifier", "user_op::UserOpWrapper", "BalancedSplitter"]
)
def test_types_that_are_not_made_of_nothing(kind: str) -> None:
    """A type without a default is an error where it is made of no arguments."""
    errors = [item for item in found(op(f"  auto a = {kind}();")) if item.is_error]
    assert [item.code for item in errors] == ["SPEC022"]


@pytest.mark.parametrize("kind", ["std::pair<int>", "std::map<int>", "HashMap<std::string>"])
def test_a_template_with_too_few_arguments(kind: str) -> None:
    """A template of two types that is given one is an error at its name, which says how many are expected."""
    (error,) = (item for item in found(op(f"  {kind} a;\n  for (const auto& b : {{a}}) {{ b.second; }}")) if item.is_error)
    assert (error.code, error.span.col if error.span else 0) == ("SPEC022", 3)
    assert error.message == f"template arguments of {kind.partition('<')[0]!r}: 2 expected, 1 given"
