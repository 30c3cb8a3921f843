"""What an op declares of itself (what it writes, what becomes of it in inference) is what it does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opkit.paddle.static  # noqa: F401 - its updates count too
from opkit.errors import UsageError
from opkit.ops import ArgDef, AttrDef, OpDef
from opkit.ops.core.quiet import bare_kernel, quiet
from opkit.ops.core.registry import BUILTIN

UPDATES = sorted(name for name in BUILTIN if getattr(BUILTIN.get(name), "writes", ()))
ATTRS: dict[str, dict[str, Any]] = {
    "auc": {"num_thresholds": 4, "slide_steps": 0},
    "normalization": {"axis": 1, "epsilon": 1e-5, "training": True, "momentum": 0.5},
    "moving_average_update": {"momentum": 0.5},
    "rmsprop_update": {"centered": True},
}


def arguments(name: str) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    count = len(BUILTIN.get(name).inputs)
    arrays = [rng.uniform(0.5, 1.0, 4).astype("float32") for _ in range(count)]
    if name == "CategoricalOrdinalEncode":
        arrays[:2] = np.zeros(8, "float32"), np.zeros(1, "float32")
    if name == "auc":
        arrays[0] = rng.uniform(0.5, 1.0, (4, 2)).astype("float32")
        arrays[1] = np.array([[0], [1], [1], [0]])
        arrays[2:] = np.zeros((1, 5), "int64"), np.zeros((1, 5), "int64")
    if name == "normalization":
        arrays[0] = rng.uniform(0.5, 1.0, (3, 4)).astype("float32")
        arrays[5] = np.zeros((3, 4), "float32")
    return arrays


@pytest.mark.parametrize("name", UPDATES)
def test_an_op_changes_the_inputs_that_it_declares(name: str) -> None:
    """The kernel changes every input that it declares to write, and no other."""
    opdef = BUILTIN.get(name)
    arrays = arguments(name)
    held = [array.copy() for array in arrays]
    attrs = {attr.name: attr.default for attr in opdef.attrs} | ATTRS.get(name, {})
    opdef.kernel(*arrays, **attrs)
    changed = tuple(i for i, (old, new) in enumerate(zip(held, arrays)) if not np.array_equal(old, new))
    assert changed == opdef.written(attrs)


def test_an_op_that_writes_has_a_side_effect() -> None:
    """What writes a variable runs even where nothing is fetched from it."""
    assert all(BUILTIN.get(name).has_side_effect for name in UPDATES)
    assert len(UPDATES) >= 8


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"writes": ("y",)}, "writes \\['y'\\]"),
        ({"writes": ("x",), "writes_when": "training"}, "writes when \\['training'\\]"),
        ({"reads": ("z",)}, "reads \\['z'\\]"),
    ],
)
def test_what_is_not_declared_cannot_be_referred_to(fields: dict[str, Any], named: str) -> None:
    """An op that writes or reads something that it does not declare is refused, with the name."""
    with pytest.raises(UsageError, match=named):
        OpDef("f", (ArgDef("x"),), (), lambda x: (), **fields)


def test_an_op_writes_only_under_its_condition() -> None:
    """With ``writes_when`` an op writes where that attribute is true."""
    attrs = (AttrDef("training", "bool"),)
    opdef = OpDef(
        "f",
        (ArgDef("a"), ArgDef("b")),
        (),
        lambda a, b, training: (),
        attrs=attrs,
        writes=("b",),
        writes_when="training",
    )
    assert opdef.written({"training": True}) == (1,)
    assert opdef.written({"training": False}) == ()


def test_a_quiet_kernel_says_what_it_runs() -> None:
    """A kernel is quiet where it was declared so; one that numpy.errstate decorates elsewhere is not."""
    assert bare_kernel(quiet(np.divide)) is np.divide
    assert quiet(np.divide)(1.0, 0.0) == np.inf
    assert bare_kernel(np.errstate(all="ignore")(np.divide)) is None
    assert bare_kernel(np.divide) is None
