"""Scripts whose output under Paddle 2.6.2 is checked in, run under opkit: fact by fact the same, but for a list.

``data/NAME.paddle262`` is what Paddle 2.6.2 printed; of an error only its class counts, since the wording is opkit's
own, and opkit's error must be an instance of that class. Where Paddle is at hand (``OPKIT_PADDLE_PYTHON``, or installed
beside opkit), the scripts are run under it again.
"""

from __future__ import annotations

import contextlib
import io
import math
import re
from pathlib import Path

import pytest

import opkit
from opkit.static.names import guard_names
from tests.paddle.under_paddle import paddle_python, printed

DATA = Path(__file__).with_name("data")
SCRIPTS = [
    "pylayer",
    "tensor",
    "operators",
    "functions",
    "optimizers",
    "inplace",
    "more",
    "linear_algebra",
    "images_and_margins",
    "more_layers",
    "reading",
    "whole_numbers",
    "signatures",
    "habits",
    "edges",
    "branches",
    "areas",
    "objects",
    "rows_and_trees",
    "own_gradients",
    "run_shapes",
]

#: Facts that differ on purpose: label -> why. docs/paddle-differences.md speaks of each.
DIFFERENCES = {
    "pylayer": {
        "A7": "a dtype in a container prints as paddle.int64",
        "A9 reshape": "a reshape is a new Tensor, not the input changed in place",
        "A10": "mark_not_inplace keeps the gradient, which Paddle 2.6.2 loses",
        "A19": "Paddle 2.6.2 gives the gradients of a list argument to the wrong Tensors",
        "A19 nested": "Paddle 2.6.2 gives the gradients of a list argument to the wrong Tensors",
        "A19 two": "Paddle 2.6.2 gives the gradients of a list argument to the wrong Tensors",
        "A19 short": "too few gradients for a list argument are an error",
        "A20": "backward may return a list",
        "A23 dag": "Paddle 2.6.2 adds in place into a gradient that backward returned twice",
        "B none2": "None for an input that takes a gradient is an error",
        "D4": "x.grad is one object, not a new one at each access",
    },
    "tensor": {},
    "operators": {
        "abs(T([-1,2]))": "abs() works",
        "T([True])+T([True])": "sums of booleans work",
        "T([True])+1": "a boolean tensor plus an int is an int",
        "T([1],dtype='int32')+T([1])": "int32 plus int64 is int64",
        "T([1.])=='a'": "a tensor does not compare with a string",
        "T([1.])+'a'": "a tensor does not add a string",
        "T([1.])+[1.]": "a list is taken as an array",
        "paddle.tanh(T([1,2]))": "integers become float32",
        "paddle.sqrt(T([4,9]))": "integers become float32",
    },
    "functions": {
        "p.sigmoid": "the function is there",
        "p.mod": "the remainder has a gradient",
        "p.remainder": "the remainder has a gradient",
        "p.atan2": "operands of different ranks broadcast",
        "gather ax": "Paddle 2.6.2 computes a wrong gradient along axis 1",
        "strided": "an end beyond the front means the front, as in Python",
        "ce1 ls": "label smoothing takes integer labels of either shape",
        "bcelpw": "Paddle 2.6.2 weights only a part of the positives' loss",
        "logloss": "float64 works",
        "E paddle.transpose(x,[0])": "a permutation names every axis",
        "E x.numpy(1,2)": "numpy() takes one argument",
    },
    "optimizers": {},
    "inplace": {},
    "more": {
        "diff 2": "Paddle 2.6.2 computes wrong second differences with prepend and append",
        "trapezoid": "Paddle 2.6.2 gives all rows the first one's gradient",
        "trapezoid x": "Paddle 2.6.2 gives all rows the first one's gradient",
        "cumulative_trapezoid": "Paddle 2.6.2 gives all rows the first one's gradient",
        "unfold": "Paddle 2.6.2 loses gradients where windows overlap",
        "unfold 2": "Paddle 2.6.2 loses gradients where windows overlap",
        **{
            f"diag_embed {arguments}": "Paddle 2.6.2 loses the gradient"
            for arguments in (
                {},
                {"offset": 1},
                {"offset": -2},
                {"offset": 1, "dim1": 0, "dim2": 2},
                {"dim1": 1, "dim2": 0},
            )
        },
        "view": "a view works",
        "view_as": "a view works",
    },
    "images_and_margins": {
        "attention causal": "causal attention works on the CPU",
        "attention mask": "a mask need not be of halves",
    },
    "more_layers": {
        "E GroupNorm": "groups that do not divide the channels are refused at once",
        "Bilinear init": "Paddle 2.6.2 computes filters that are not bilinear",
    },
    "reading": {
        "ws": "weighted sampling works",
        "ws no": "weighted sampling works",
    },
    "whole_numbers": {},
    "linear_algebra": {
        "eigvalsh (2,)": "Paddle 2.6.2 computes a wrong gradient for stacks of matrices",
        "eigh (2,)": "Paddle 2.6.2 computes a wrong gradient for stacks of matrices",
    },
    "signatures": {},
    "edges": {
        "avg_pool3d True True": "windows that hold no element give 0",
        "max_pool2d mask 2 2 0 True": "ceil_mode holds with a mask too",
        "max_pool2d mask SAME": "padding by name holds with a mask too",
        "max_pool2d NaN": "NaN counts as the largest with a mask too",
        "max_unpool2d int64": "places may be int64",
    },
    "areas": {"auc double": "scores may be float64", "auc curve": "another curve's name is an error"},
    "branches": {
        "while reads": "a loop's gradient reaches what its body reads",
        "while cond": "a loop's gradient goes through a branch in its body",
    },
    "rows_and_trees": {
        "empty": "no rows are a shape of 0 rows",
        "summary [1, 1, 8, 8]": "a list of sizes is a shape",
        "conv2d_transpose {}": "the error is a UsageError",
    },
    "run_shapes": {
        "reshape by a vector": "a size that is known is in the shape",
        "broadcast_to": "a size that is known is in the shape",
    },
    "own_gradients": {
        "reads outer": "the functions may read other Variables",
        "nested list": "the error is an OwnGradientError",
        "same in": "Paddle 2.6.2 gives an input that is passed twice its last gradient twice",
        "constant forward": "a result that rests on no input has a gradient too",
    },
    "objects": {
        "kinds Variable beside": "a Variable stays one in dynamic mode",
        "create_parameter static [True]": "a bool is not a size, in graphs too",
        "create_parameter array": "an array is a shape in both modes",
        "Layer.create_parameter array": "an array is a shape in both modes",
        "create_parameter static np.float": "numpy's whole floats are sizes in both modes",
        "create_parameter int8": "the error is a DtypeError",
        "weighted draw text": "the error is a DtypeError",
        "weighted draw Tensor": "weights may be a Tensor",
        "set_device 3": "the error is a UsageError",
        "set_device None": "the error is a UsageError",
        "set_device place": "a place is taken too",
        "op_namescope": "layers are scopes too",
        "save_inference_model": "the file of parameters is written even where there are none",
        "save_inference_model no feed": "what is needed and not fed is an error",
        "save_inference_model feed fetched": "the file of parameters is written even where there are none",
        "graph remainder_": "the remainder has a gradient",
    },
    "habits": {
        "gradient [1] of [], its shape": "x.grad has the shape of x",
        "gradient [] of [1], its shape": "x.grad has the shape of x",
        "max_pool2d (2, 2, 0, True, True)": "ceil_mode holds with a mask too",
        "max_pool2d (2, 2, 0, True, True) negative": "ceil_mode holds with a mask too",
        **{
            f"nanmean int32 {values}": "int32 works as int64 does"
            for values in ([[1, 2, 4], [3, 5, 9]], [[-1, -2, -4], [-3, -4, -9]], [[1, 2], [4, 7]], [[-1, -2], [-4, -9]])
        },
    },
}

_NUMBER = re.compile(r"(?<![\w'])-?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|inf|nan)(?![\w])")


def facts(text: str) -> dict[str, str]:
    """Return the printed facts by label; a label that occurs again counts on."""
    found: dict[str, str] = {}
    for chunk in re.split(r"^#@ ", text, flags=re.MULTILINE)[1:]:
        label, sign, value = re.split(r" (->|!!) ?", chunk.strip(), maxsplit=1)
        key, count = label, 1
        while key in found:
            count += 1
            key = f"{label} ({count})"
        found[key] = f"{sign} {value.strip()}"
    return found


def agree(expected: str, got: str) -> bool:
    """Say whether two facts agree: the same error class, or the same text with numbers that are close."""
    if expected.startswith("!!"):
        return got.startswith("!!") and expected[3:].strip() in got[3:].split(",")
    shapes = [re.sub(r"\s+", " ", _NUMBER.sub("#", text)) for text in (expected, got)]
    if shapes[0].replace(" ", "") != shapes[1].replace(" ", ""):
        return False
    pairs = zip(_NUMBER.findall(expected), _NUMBER.findall(got), strict=True)
    return all(_close(float(a), float(b)) for a, b in pairs)


def _close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=2e-5, abs_tol=2e-6) or (math.isnan(a) and math.isnan(b))


def run_under_opkit(name: str) -> dict[str, str]:
    """Run a script in this process under the shim and return its facts."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), guard_names():
        opkit.run_script(DATA / f"{name}.py")
    return facts(said.getvalue())


@pytest.fixture(scope="module", params=SCRIPTS)
def script(request: pytest.FixtureRequest) -> tuple[str, dict[str, str]]:
    """Each script's name, and its facts under opkit."""
    return request.param, run_under_opkit(request.param)


def test_facts_are_paddles(script: tuple[str, dict[str, str]]) -> None:
    """What a script prints under opkit is what it printed under Paddle 2.6.2."""
    name, got = script
    expected = facts((DATA / f"{name}.paddle262").read_text("utf-8"))
    assert len(expected) > 20
    wrong = {
        label: (value, got.get(label))
        for label, value in expected.items()
        if label not in DIFFERENCES[name] and not (label in got and agree(value, got[label]))
    }
    assert wrong == {}


def test_listed_differences_are_real(script: tuple[str, dict[str, str]]) -> None:
    """A fact that is listed as different does differ, so that the list holds nothing stale."""
    name, got = script
    expected = facts((DATA / f"{name}.paddle262").read_text("utf-8"))
    stale = [label for label in DIFFERENCES[name] if agree(expected[label], got[label])]
    assert stale == []


@pytest.mark.peer
@pytest.mark.skipif(paddle_python() is None, reason="no Paddle here: set OPKIT_PADDLE_PYTHON to an interpreter with it")
@pytest.mark.parametrize("name", SCRIPTS)
def test_checked_in_facts_are_what_paddle_prints(name: str) -> None:
    """The checked-in output is Paddle's, run again now."""
    now = facts(printed(DATA / f"{name}.py"))
    expected = facts((DATA / f"{name}.paddle262").read_text("utf-8"))
    assert {label for label, value in expected.items() if not agree(_class_only(now[label]), value)} == set()


def _class_only(fact: str) -> str:
    return fact.split(",")[0] if fact.startswith("!!") else fact
