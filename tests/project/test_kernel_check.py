"""Kernels against definitions by their syntax tree: each finding with its place, and no right kernel accused."""

import pytest

from opkit.diagnostics import Severity, SourceText
from opkit.project.kernel_check import check_kernels
from opkit.spec import CompileResult, compile_spec
from tests.spec.test_codes import unmarked

SAME = ".SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged)"
SPEC = f"""
REGISTER_USER_OP("t_forward").Input("x").Input("w").Output("y").Attr<float>("alpha", 0.5).Attr<std::string>("mode", "a")
    .Attr<std::string>("device_sub_tag", "py"){SAME};
REGISTER_USER_OP("t_backward").Input("x").Input("w").Input("dy").Output("dx").Output("dw").Attr<float>("alpha", 0.5)
    .Attr<float>("eps", 0.1){SAME};
REGISTER_USER_OP("t_log").Input("x").Output("y"){SAME};
REGISTER_USER_OP_GRAD("t_forward").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {{
  const auto name = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(name, [&ctx](user_op::BackwardOpBuilder& builder) {{
    return builder.OpTypeName("t_backward").InputBind("x", ctx->FwOp().input("x", 0)).InputBind("w", ctx->FwOp().input("w", 0))
        .InputBind("dy", ctx->FwOp().output_grad("y", 0)).Output("dx").Output("dw")
        .Attr("alpha", ctx->FwOp().attr<float>("alpha")).Build();
  }});
  ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&ctx, &name]() -> const std::string& {{ return ctx->GetOp(name).output("dx", 0); }});
  ctx->FwOp().InputGradBind(user_op::OpArg("w", 0), [&ctx, &name]() -> const std::string& {{ return ctx->GetOp(name).output("dw", 0); }});
}});
"""
HANDED_ON = '\n        .Attr("alpha", ctx->FwOp().attr<float>("alpha"))'


@pytest.fixture(scope="module")
def result() -> CompileResult:
    """The compiled definitions."""
    made = compile_spec(SourceText(SPEC, "t_cpp_def.cpp"))
    assert not made.diagnostics, [item.message for item in made.diagnostics]
    return made


#: What is wrong: code, kernel file with the place marked, a piece of the message or help.
WRONG = {
    "subscript": ("PROJ025", 'def forward(args, attrs):\n    x, w = args\n    return x * attrs[⟦"alhpa"⟧]\n', "did you mean 'alpha'?"),
    "nothing alike": ("PROJ025", 'def forward(args, attrs):\n    k = attrs[⟦"kernel_size"⟧]\n    return k\n', "declare it"),
    "of another op": ("PROJ025", 'def forward(args, attrs):\n    return args[0] + attrs[⟦"eps"⟧]\n', "it declares alpha, mode"),
    "in errstate": ("PROJ025", 'def forward(args, a):\n    with np.errstate(all="ignore"):\n        return args[0] / a[⟦"beta"⟧]\n', "'beta'"),
    "the tag": ("PROJ025", 'def forward(args, attrs):\n    return args[0] if attrs[⟦"device_sub_tag"⟧] else 0\n', "kernels do not get"),
    "get": ("PROJ029", 'def forward(args, attrs):\n    return args[0] * attrs.get(⟦"beta"⟧, 1)\n', "'beta'"),
    "in a branch": ("PROJ029", 'def forward(args, attrs):\n    if attrs["mode"] == "b":\n        return args[0] * attrs[⟦"beta"⟧]\n    return args[0]\n', "'beta'"),
    "too few": ("PROJ026", "def forward(args):\n    ⟦x,⟧ = args\n    return x\n", "unpacks 1 value from its arguments, but op type 't_forward' declares 2 inputs (x, w)"),
    "too many": ("PROJ026", "def backward(inputs):\n    ⟦x, w, y, dy⟧ = inputs\n    return x, w\n", "write x, w, dy = inputs"),
    "in brackets": ("PROJ026", "def forward(args):\n    ⟦[x, w, b]⟧ = args\n    return x\n", "unpacks 3 values"),
    "starred": ("PROJ026", "def forward(args):\n    ⟦x, w, b, *rest⟧ = args\n    return x\n", "unpacks at least 3 values"),
    "index": ("PROJ026", "def log(args):\n    return np.log(args[0]) + ⟦args[1]⟧\n", "unpacks at least 2 values"),
    "index from behind": ("PROJ026", "def forward(args):\n    dy = ⟦args[-3]⟧\n    return dy\n", "unpacks at least 3 values"),
    "no return": ("PROJ027", "def log(args):\n    (x,) = args\n    ⟦np.log(x)⟧\n", "returns no value on any path; the op's output is 'y'"),
    "no value": ("PROJ027", "def log(args):\n    y = np.log(args[0])\n    ⟦return⟧\n", "return statement"),
    "a stub": ("PROJ027", "def log(args):\n    ⟦pass⟧\n", "'y'"),
    "return in a helper": ("PROJ027", "def log(args):\n    def inner(x):\n        return x\n\n    ⟦y = inner(args[0])⟧\n", "'y'"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kernel(name: str, result: CompileResult) -> None:
    """A kernel that fails on every call is one error, exactly where the mistake stands."""
    code, marked, part = WRONG[name]
    text, start, end = unmarked(marked)
    source = SourceText(text, "t_py_kernel.py")
    (finding,) = check_kernels(source, "t", result)
    assert finding.code == code
    assert finding.severity is (Severity.WARNING if code == "PROJ029" else Severity.ERROR)
    assert (finding.span.start, finding.span.end) == (start, end), finding.span.text
    assert part in f"{finding.message} {finding.help}"
    assert finding.subject in result.ops


#: Right kernels of odd styles.
RIGHT = {
    "plain": "def forward(args):\n    x, w = args\n    return x * w\n",
    "trailing comma": "def log(args):\n    x, = args\n    return np.log(x)\n",
    "brackets": "def log(args):\n    [x] = args\n    return np.log(x)\n",
    "star": "def backward(args):\n    x, *rest = args\n    w, dy = rest\n    return dy * w, dy * x\n",
    "all starred": "def forward(args):\n    *most, last = args\n    return last * most[0]\n",
    "empty star": "def forward(args):\n    x, w, *none = args\n    return x * w\n",
    "two steps": "def forward(args, attrs):\n    both = args\n    x, w = both\n    return x * w\n",
    "rebound": "def forward(args):\n    args = [*args, 1.0]\n    x, w, one = args\n    return x * w * one\n",
    "helper function": "def _product(x, w):\n    return x * w\n\n\ndef forward(args):\n    return _product(*args)\n",
    "helper takes args": "def _product(args):\n    a, b, c = args\n    return a * b * c\n\n\ndef forward(args):\n    return _product((*args, 1.0))\n",
    "shared function": "def _both(args, attrs):\n    return args[0] * attrs['gamma']\n\n\nforward = _both\n",
    "lambda": "forward = lambda args: args[5] * 0\n",
    "decorator": "def with_one(function):\n    return lambda args: function([*args, 1.0])\n\n\n@with_one\ndef forward(args):\n    x, w, one = args\n    return x * w * one\n",
    "decorator returns": "def returning(function):\n    return lambda args: args[0]\n\n\n@returning\ndef forward(args):\n    pass\n",
    "defined twice": "def forward(args):\n    x, w, b = args\n\n\ndef forward(args):\n    x, w = args\n    return x * w\n",
    "by version": "if hasattr(np, 'none'):\n    def forward(args):\n        pass\nelse:\n    def forward(args):\n        return args[0]\n",
    "wrapped later": "def forward(args):\n    a, b, c = args\n\n\nforward = wrap(forward)\n",
    "star import": "from somewhere import *\n\n\ndef forward(args):\n    a, b, c = args\n",
    "set by globals": "def forward(args):\n    a, b, c = args\n\n\nglobals()['forward'] = lambda args: args[0]\n",
    "early return": "def forward(args):\n    if len(args) == 1:\n        return args[0]\n    x, w = args\n    return x * w\n",
    "early return by count": "def forward(args):\n    if len(args) == 2:\n        return args[0] * args[1]\n    x, w, b = args\n    return x * w + b\n",
    "count in a branch": "def forward(args):\n    if len(args) == 3:\n        x, w, b = args\n    else:\n        x, w = args\n    return x * w\n",
    "conditional index": "def forward(args):\n    b = args[2] if len(args) > 2 else 0\n    return args[0] + b\n",
    "short-circuit index": "def forward(args):\n    return args[0] * (len(args) > 2 and args[2] or 1)\n",
    "try": "def forward(args):\n    try:\n        x, w, b = args\n    except ValueError:\n        x, w = args\n    return x * w\n",
    "suppressed": "def forward(args):\n    with contextlib.suppress(ValueError):\n        x, w, b = args\n    return args[0]\n",
    "match": "def forward(args):\n    match args:\n        case (x, w, b):\n            return x\n        case (x, w):\n            return x * w\n",
    "match attrs": "def forward(args, attrs):\n    match attrs:\n        case {'beta': b}:\n            return b\n        case _:\n            return args[0]\n",
    "nested function": "def forward(args):\n    def inner(args):\n        a, b, c = args\n        return a\n    return inner([*args, 0])\n",
    "comprehension": "def forward(args):\n    x, w = (a.copy() for a in args)\n    return x * w\n",
    "slices": "def forward(args):\n    (x,), (w,) = args[:1], args[1:]\n    return x * w\n",
    "index from behind": "def forward(args):\n    return args[-1] * args[-2]\n",
    "conditional returns": "def forward(args, attrs):\n    x, w = args\n    if attrs['mode'] == 'a':\n        return x * w\n    elif attrs['mode'] == 'b':\n        return x + w\n    else:\n        raise ValueError(attrs['mode'])\n",
    "return in a loop": "def forward(args):\n    for a in args:\n        return a\n",
    "return in try": "def forward(args):\n    try:\n        return args[0]\n    finally:\n        pass\n",
    "always raises": "def log(args):\n    raise NotImplementedError('no kernel')\n",
    "raises by a helper": "def _refuse():\n    raise NotImplementedError\n\n\ndef log(args):\n    _refuse()\n",
    "generator": "def forward(args):\n    yield args[0] * args[1]\n",
    "yield from": "def forward(args):\n    yield from args[:1]\n",
    "attrs read": "def forward(args, attrs):\n    return args[0] * attrs['alpha'] if attrs.get('mode') == 'a' else args[0]\n",
    "attrs asked first": "def forward(args, attrs):\n    beta = attrs['beta'] if 'beta' in attrs else 1.0\n    return args[0] * beta\n",
    "attrs completed": "def forward(args, attrs):\n    attrs.setdefault('beta', 1.0)\n    return args[0] * attrs['beta']\n",
    "attrs assigned": "def forward(args, attrs):\n    attrs['beta'] = 2 * attrs['alpha']\n    return args[0] * attrs['beta']\n",
    "attrs merged": "def forward(args, attrs):\n    attrs = {'beta': 1.0, **attrs}\n    return args[0] * attrs['beta']\n",
    "attrs passed on": "def _scale(attrs):\n    return attrs['alpha']\n\n\ndef forward(args, attrs):\n    return args[0] * _scale(attrs)\n",
    "attrs completed elsewhere": "def _complete(attrs):\n    attrs['beta'] = 1.0\n\n\ndef forward(args, attrs):\n    if attrs['mode']:\n        _complete(attrs)\n        return attrs['beta'] * args[0]\n    return args[0]\n",
    "attrs by keyword": "def forward(args, attrs):\n    return _impl(*args, **attrs)\n",
    "attrs by a name": "def forward(args, attrs):\n    key = 'alpha'\n    return args[0] * attrs[key]\n",
    "attrs under try": "def forward(args, attrs):\n    try:\n        return args[0] * attrs['alpha']\n    except KeyError:\n        return args[0]\n",
    "another dict": "TABLE = {'beta': 1.0}\n\n\ndef forward(args, attrs):\n    return args[0] * TABLE['beta']\n",
    "default parameter": "def forward(args, attrs, table={'beta': 2.0}):\n    return args[0] * table['beta']\n",
    "one parameter of many": "def forward(*args):\n    (inputs,) = args\n    return inputs[0]\n",
    "a class": "class Kernel:\n    def __call__(self, args):\n        return args[0]\n\n\nforward = Kernel()\n",
    "walrus": "def forward(args):\n    if (n := len(args)) and n > 2:\n        return args[2]\n    return args[0]\n",
    "not a kernel": "def helper(args):\n    a, b, c, d, e = args\n",
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_kernel(name: str, result: CompileResult) -> None:
    """A kernel that may be right is not accused."""
    found = check_kernels(SourceText(RIGHT[name], "t_py_kernel.py"), "t", result)
    assert found == [], [item.message for item in found]


def test_no_output_no_value() -> None:
    """A kernel whose op has no output needs no return."""
    result = compile_spec(SourceText(f'REGISTER_USER_OP("t_forward").Input("x"){SAME};', "t_cpp_def.cpp"))
    assert check_kernels(SourceText("def forward(args):\n    args[0].sum()\n", "k.py"), "t", result) == []


BACKWARD = 'def backward(args, attrs):\n    x, w, dy = args\n    return dy * w * attrs["alpha"], dy * x\n'


@pytest.mark.parametrize(
    ("forward", "severity"),
    [
        ('def forward(args, attrs):\n    return args[0] * attrs["alpha"]\n\n\n', Severity.ERROR),
        ("def forward(args):\n    return args[0]\n\n\n", Severity.WARNING),
    ],
)
def test_a_forgotten_attribute(forward: str, severity: Severity) -> None:
    """A gradient that does not hand on what both kernels read is an error; a warning where forward does not read it."""
    spec = SourceText(SPEC.replace(HANDED_ON, ""), "t_cpp_def.cpp")
    (finding,) = check_kernels(SourceText(forward + BACKWARD, "t_py_kernel.py"), "t", compile_spec(spec))
    assert (finding.code, finding.severity, finding.subject) == ("PROJ028", severity, "t_forward")
    assert finding.span.text == '"t_forward"'
    assert finding.notes[0].span.text == '"alpha"'
    assert "the default 0.5" in finding.message


@pytest.mark.parametrize(
    "backward",
    [
        BACKWARD.replace("alpha", "eps"),  # forward has no such attribute: the default is meant
        BACKWARD.replace('attrs["alpha"]', "2"),
    ],
)
def test_an_attribute_that_is_backwards_own(backward: str) -> None:
    """An attribute that only the backward op has, or that it does not read, need not be handed on."""
    spec = SourceText(SPEC.replace(HANDED_ON, ""), "t_cpp_def.cpp")
    assert check_kernels(SourceText(backward, "t_py_kernel.py"), "t", compile_spec(spec)) == []


def test_a_computed_attribute_name_may_be_any() -> None:
    """A gradient that computes a name of an attribute is not accused of forgetting one."""
    spec = SPEC.replace(
        HANDED_ON, '\n        .Attr(std::string("al") + (true ? "pha" : ""), ctx->FwOp().attr<float>("alpha"))'
    )
    result = compile_spec(SourceText(spec, "t_cpp_def.cpp"))
    assert result.grads["t_forward"].given_attrs is None
    assert check_kernels(SourceText(BACKWARD, "t_py_kernel.py"), "t", result) == []


def test_an_op_type_with_errors_is_left_alone() -> None:
    """Nothing is said of a kernel whose definition does not compile."""
    spec = SPEC.replace('REGISTER_USER_OP("t_log").Input("x")', 'REGISTER_USER_OP("t_log").Input("x").Inpt("w")')
    result = compile_spec(SourceText(spec, "t_cpp_def.cpp"))
    assert check_kernels(SourceText("def log(args):\n    x, w = args\n", "k.py"), "t", result) == []
