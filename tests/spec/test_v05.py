"""What only specs of OneFlow v0.5 use: expanded shapes, placements as text, shapes of the whole from one device's part."""

from __future__ import annotations

import pytest

from opkit.diagnostics import SourceText
from opkit.errors import InferError
from opkit.ir.desc import TensorDesc
from opkit.spec import compile_spec
from opkit.spec.runtime.expand import expanded, expanded_backward, expanded_forward
from opkit.spec.runtime.faults import RefusalError
from opkit.spec.runtime.placing import parse_distribution
from opkit.spec.runtime.sbp import Distribution
from tests.spec.texts import OK, SHAPE, compiled, f32, found

EXPAND = f"""
REGISTER_USER_OP("stretch").Input("in").Output("out").Attr<std::vector<int32_t>>("sizes").{SHAPE}
  std::vector<int32_t> given;
  const Shape& shape = ctx->InputShape("in", 0);
  for (int i = 0; i < shape.NumAxes(); ++i) {{ given.push_back(shape.At(i)); }}
  std::vector<int32_t> made;
  std::vector<int32_t> strides;
  CHECK_JUST(getOutShapeAndStrideForFp(given, ctx->Attr<std::vector<int32_t>>("sizes"), made, strides));
  *ctx->OutputShape("out", 0) = Shape(DimVector(made.begin(), made.end()));
{OK};
"""
DEVICES = f"""
REGISTER_USER_OP("devices").Input("in").Output("out").Attr<std::string>("where").{SHAPE}
  Symbol<ParallelDesc> desc = JUST(TxtStringToPlacement(ctx->Attr<std::string>("where")));
  *ctx->OutputShape("out", 0) = Shape({{desc->parallel_num()}});
{OK};
"""


@pytest.mark.parametrize(
    ("given", "sizes", "made"),
    [((3, 1, 4), [2, -1, 5, 4], (2, 3, 5, 4)), ((1,), [3], (3,)), ((2, 3), [-1, -1], (2, 3))],
)
def test_a_spec_expands_a_shape(given: tuple[int, ...], sizes: list[int], made: tuple[int, ...]) -> None:
    """Sizes of 1 are stretched, -1 keeps a size, new axes stand in front."""
    op = compiled(EXPAND).ops["stretch"]
    assert op.infer({"in": f32(*given)}, {"sizes": sizes})["out"] == f32(*made)


def test_a_spec_refuses_an_axis_without_a_size() -> None:
    """The line of the spec is named."""
    op = compiled(EXPAND).ops["stretch"]
    with pytest.raises(InferError, match=r"\[3\] cannot be expanded to \[0, 3\]") as caught:
        op.infer({"in": f32(3)}, {"sizes": [0, 3]})
    assert caught.value.where is not None
    assert caught.value.where.line == 8


def test_strides_are_zero_along_stretched_axes() -> None:
    """The strides read the input's elements; those of a new axis of size 1 are the next axis's."""
    shape: list[int] = []
    strides: list[int] = []
    expanded([3, 1, 4], [2, 1, 3, 5, 4], shape, strides)
    assert (shape, strides) == ([2, 1, 3, 5, 4], [0, 4, 4, 0, 1])


def test_one_devices_part_is_expanded_to_its_own_size() -> None:
    """An axis that is split has a smaller size here than the one asked for."""
    shape: list[int] = []
    expanded_forward([2, 1], [4, 3], shape, [])
    assert shape == [2, 3]


def test_the_backward_shape_is_the_one_before() -> None:
    """Stretched axes get their 1 back, a split axis keeps its part."""
    shape: list[int] = []
    expanded_backward([3, 1, 4], [2, -1, 5, 4], [2, 3, 5, 2], shape, [])
    assert shape == [3, 1, 2]


def test_fewer_axes_than_there_are_is_refused() -> None:
    """Nothing is dropped in silence."""
    with pytest.raises(RefusalError, match="more axes"):
        expanded([2, 3], [3], [], [])


@pytest.mark.parametrize(
    ("text", "count"),
    [('device_tag: "cpu" device_name: "0:0-3"', 4), ('device_name: "@0:0" device_name: "@1:2-3"', 3)],
)
def test_a_placement_is_counted(text: str, count: int) -> None:
    """Every device of every machine."""
    assert compiled(DEVICES).ops["devices"].infer({"in": f32(1)}, {"where": text})["out"] == f32(count)


@pytest.mark.parametrize("text", ["", "huh {", 'device_name: "0:3-1"', 'device_tag: "cpu"', 'device_name: "a:b"', "}"])
def test_what_is_no_placement_is_refused(text: str) -> None:
    """The text is quoted, and an example is given."""
    with pytest.raises(InferError, match='not a placement such as device_tag: "cpu"'):
        compiled(DEVICES).ops["devices"].infer({"in": f32(1)}, {"where": text})


def test_the_shape_of_the_whole() -> None:
    """On one device it is the shape of its part."""
    text = f"""
REGISTER_USER_OP("a").Input("in").Output("out").{SHAPE}
  *ctx->OutputShape("out", 0) = *JUST(GetLogicalShape(ctx->InputShape("in", 0), ctx->NdSbp4ArgNameAndIndex("in", 0),
                                                      ctx->parallel_desc()));
{OK};"""
    assert compiled(text).ops["a"].infer({"in": f32(2, 3)})["out"] == f32(2, 3)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("sbp_parallel { split_parallel { axis: 1 } }", ["S(1)"]),
        ("sbp_parallel { broadcast_parallel { } } sbp_parallel { partial_sum_parallel { } }", ["B", "P"]),
    ],
)
def test_a_distribution_as_text(text: str, shown: list[str]) -> None:
    """One part for each axis of the devices."""
    into = Distribution()
    assert parse_distribution(text, into)
    assert [str(part) for part in into.parts] == shown


@pytest.mark.parametrize(
    "text", ["sbp_parallel", "sbp_parallel {", "other { }", "sbp_parallel { x { } }", "sbp_parallel: 1", "%"]
)
def test_what_is_no_distribution_changes_nothing(text: str) -> None:
    """The function says no, as TxtString2PbMessage does."""
    into = Distribution()
    assert not parse_distribution(text, into)
    assert into.parts == []


def test_a_spec_may_ask_whether_there_are_several_clients() -> None:
    """There is one: the branch for several is compiled and not taken."""
    text = f"""
REGISTER_USER_OP("a").Input("in").Output("out").{SHAPE}
  *ctx->OutputShape("out", 0) = Shape({{JUST(*Global<Maybe<bool>, MultiClient>::Get()) ? 2 : 1}});
{OK};"""
    assert compiled(text).ops["a"].infer({"in": [TensorDesc((2,), "float32")]})["out"] == f32(1)


def test_other_globals_are_refused_with_the_one_there_is() -> None:
    """No member of another type is looked for in its place."""
    text = f'REGISTER_USER_OP("a").Input("in").Output("out").{SHAPE}\n  Global<ResourceDesc>::Get();\n{OK};'
    (finding,) = [item for item in found(text) if item.is_error]
    assert finding.message == "no function is named 'Global::Get'"
    assert "MultiClient" in finding.help
    assert not compile_spec(SourceText(text, "a_cpp_def.cpp")).ok
