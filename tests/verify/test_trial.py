"""Trials of API files: what is wrong is found at its place, and no right function is accused, however it is written."""

from pathlib import Path

import pytest

from opkit.diagnostics import Diagnostic, Severity
from opkit.project.api_fact import facts_as_findings
from opkit.project.directory import op_directory_of
from opkit.project.findings import source_of
from opkit.project.loading import assemble
from opkit.verify.trial.calls import try_api_file
from tests.spec.test_codes import unmarked

SAME = ".SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged)"
LIKE_X = """.SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
  for (const auto& out : ctx->outputs()) {
    *ctx->Shape4ArgNameAndIndex(out.first, out.second) = ctx->TensorDesc4ArgNameAndIndex("x", 0)->shape();
    *ctx->Dtype4ArgNameAndIndex(out.first, out.second) = ctx->TensorDesc4ArgNameAndIndex("x", 0)->data_type();
  }
  return Maybe<void>::Ok();
})"""
TAG = '.Attr<std::string>("device_sub_tag", "py")'
SPEC = f"""
REGISTER_USER_OP("t_forward").Input("x").Output("y").Attr<float>("alpha", 0.5).Attr<int32_t>("axis", 0)
    .Attr<std::string>("mode", "a"){TAG}{LIKE_X};
REGISTER_USER_OP("t_pair").Input("x").Input("w").Output("y"){TAG}{LIKE_X};
REGISTER_USER_OP("t_concat").InputWithMinimum("x", 1).Output("y").Attr<std::vector<int32_t>>("axes", std::vector<int32_t>({{0}})){TAG}{LIKE_X};
REGISTER_USER_OP("t_two").Input("x").Output("y").Output("z"){TAG}{LIKE_X};
REGISTER_USER_OP("t_parts").Input("x").OutputWithMinimum("y", 1){TAG}{LIKE_X};
REGISTER_USER_OP("t_maybe").Input("x").OptionalInput("b").Output("y"){TAG}{LIKE_X};
"""
KERNEL = "def forward(args):\n    return args[0]\n\n\npair = concat = two = parts = maybe = forward\n"
HEAD = "import oneflow as flow\n\n\n"
END = ".Build().InferAndTryRun().SoleOutputBlob()"
F = 'flow.user_op_builder("n").Op("t_forward")'


@pytest.fixture
def found(tmp_path: Path):
    """Give a function that returns the findings of a trial for the text of an API file."""

    def of(api: str) -> list[Diagnostic]:
        folder = tmp_path / "t"
        folder.mkdir()
        (folder / "t_cpp_def.cpp").write_text(SPEC)
        (folder / "t_py_kernel.py").write_text(KERNEL)
        (folder / "t_py_api.py").write_text(api)
        directory = op_directory_of(folder)
        loaded = assemble(directory)
        facts = list(try_api_file(directory, lambda name, line: None))
        return facts_as_findings(source_of(directory.api), facts, loaded.result.ops, loaded.diagnostics)

    return of


#: name: code, body of the file with the place marked, a piece of the message or help
WRONG = {
    "no Build": ("PROJ019", f'def f(x):\n    return {F}.Input("x", [x]).Output("y").⟦InferAndTryRun⟧().SoleOutputBlob()\n', "InferAndTryRun() is called on a builder of op type 't_forward' before Build()"),
    "no Build nor run": ("PROJ019", f'def f(x):\n    return {F}.Input("x", [x]).Output("y").⟦SoleOutputBlob⟧()\n', "before Build()"),
    "builder returned": ("PROJ019", 'def f(x):\n    return flow.user_op_builder("n").⟦Op⟧("t_forward").Input("x", [x]).Output("y")\n', "f() sets up a builder of op type 't_forward' and never calls Build()"),
    "builder dropped": ("PROJ019", 'def f(x):\n    b = flow.user_op_builder("n").⟦Op⟧("t_forward")\n    b.Input("x", [x]).Output("y")\n    return x\n', "never calls Build()"),
    "not run": ("PROJ019", f'def f(x):\n    return {F}.Input("x", [x]).Output("y").Build().SoleOutput⟦Blob⟧()\n', "before InferAndTryRun()"),
    "Attr before Op": ("PROJ019", 'def f(x):\n    return flow.user_op_builder("n").⟦Attr⟧("alpha", 1.0).Op("t_forward").Input("x", [x]).Output("y").Build()\n', "before Op("),
    "misspelt method": ("PROJ019", f'def f(x):\n    return {F}.⟦Inputs⟧("x", [x]).Output("y"){END}\n', "did you mean 'Input'?"),
    "one blob of two": ("PROJ019", 'def f(x):\n    return flow.user_op_builder("n").Op("t_two").Input("x", [x]).Output("y").Output("z").Build().InferAndTryRun().⟦SoleOutputBlob⟧()\n', "RemoteBlobList()"),
    "number of outputs": ("PROJ019", 'def f(x):\n    return flow.user_op_builder("n").Op("t_parts").Input("x", [x]).⟦Output⟧("y", 0).Build()\n', "positive int"),
    "no return": ("PROJ020", f'def ⟦fun⟧(x):\n    {F}.Input("x", [x]).Output("y"){END}\n', "fun() builds op type 't_forward' and returns nothing"),
    "no return of a variable": ("PROJ020", f'def ⟦fun⟧(x):\n    y = {F}.Input("x", [x]).Output("y"){END}\n    y = flow.math.relu(y)\n', "its result is lost"),
    "no return, not run": ("PROJ020", f'def ⟦fun⟧(x):\n    {F}.Input("x", [x]).Output("y").Build()\n', "its result is lost"),
    "not a list": ("PROJ021", f'def f(ids):\n    return {F}.⟦Input⟧("x", ids).Output("y"){END}\n', "write Input('x', [blob])"),
    "not a list, computed": ("PROJ021", f'def f(x):\n    return {F}.⟦Input⟧("x", flow.math.relu(x)).Output("y"){END}\n', "got a blob"),
    "a generator": ("PROJ021", f'def f(x):\n    return {F}.⟦Input⟧("x", (b for b in [x])).Output("y"){END}\n', "got a generator"),
    "in a helper": ("PROJ021", f'def _op(value):\n    return {F}.⟦Input⟧("x", value).Output("y"){END}\n\n\ndef f(x):\n    return _op(x)\n', "list of blobs"),
    "default of the wrong type": ("PROJ022", f'def f(x, axis=1.5):\n    return {F}.Input("x", [x]).Output("y").Attr("⟦axis⟧", axis){END}\n', "expected an integer, got 1.5 (float)"),
    "constant of the wrong type": ("PROJ022", f'def f(x):\n    return {F}.Input("x", [x]).Output("y").Attr("⟦mode⟧", 3){END}\n', "expected a string"),
    "bool for int": ("PROJ022", f'def f(x, last=True):\n    return {F}.Input("x", [x]).Output("y").Attr("⟦axis⟧", last){END}\n', "got True (bool)"),
    "wrong type beside a required one": ("PROJ022", f'def f(x, alpha, axis="0"):\n    return {F}.Input("x", [x]).Output("y").Attr("alpha", alpha).Attr("⟦axis⟧", axis){END}\n', "'0' (str)"),
    "computed input name": ("PROJ008", f'def f(x):\n    name = "i" + "n"\n    ⟦return {F}.Input(name, [x]).Output("y"){END}⟧\n', "declares no input 'in' (it declares x)"),
    "attribute in a loop": ("PROJ009", f'def f(x):\n    b = {F}.Input("x", [x]).Output("y")\n    for key in ("alhpa",):\n        ⟦b.Attr(key, 1.0)⟧\n    return b{END}\n', "did you mean 'alpha'?"),
    "computed op type": ("PROJ007", f'def f(x, kind="foward"):\n    ⟦return flow.user_op_builder("n").Op("t_" + kind).Input("x", [x]).Output("y"){END}⟧\n', "did you mean 't_forward'?"),
    "left out in a helper": ("PROJ014", f'def _op(kind, **inputs):\n    b = flow.user_op_builder("n").⟦Op⟧("t_" + kind)\n    for name, blob in inputs.items():\n        b = b.Input(name, [blob])\n    return b.Output("y"){END}\n\n\ndef f(x):\n    return _op("pair", x=x)\n', "leaves out its input 'w'"),
    "load": ("PROJ016", "⟦from oneflow import no_such_thing_here⟧\n", "does not load"),
    "load by itself": ("PROJ016", "⟦1 / 0⟧\n", "ZeroDivisionError"),
    "exit": ("PROJ016", "import sys\n⟦sys.exit(3)⟧\n", "SystemExit: 3"),
    "raises": ("PROJ023", "def f(x):\n    ⟦raise ValueError('nothing suits me')⟧\n", "on stub blobs it raised ValueError: nothing suits me"),
    "exits": ("PROJ023", "def f(x):\n    ⟦raise SystemExit(2)⟧\n", "SystemExit"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_function(name: str, found) -> None:
    """A function that cannot work is one finding, at the call that is wrong."""
    code, body, part = WRONG[name]
    if "⟦" in body:
        text, start, end = unmarked(HEAD + body)
    else:
        text, start, end = HEAD + body, -1, -1
    (finding,) = found(text)
    assert finding.code == code, finding.message
    assert part in f"{finding.message} {finding.help}"
    assert finding.severity is (Severity.NOTE if code == "PROJ023" else Severity.ERROR)
    if start >= 0:
        assert finding.span.text == text[start:end]
        assert finding.span.line == text.count("\n", 0, start) + 1


#: Right functions of odd styles.
RIGHT = {
    "plain": f'def f(x, name=None):\n    return {F}.Input("x", [x]).Output("y"){END}\n',
    "with attributes": f'def f(x, alpha=0.1, axis=0, mode="b"):\n    return {F}.Input("x", [x]).Output("y").Attr("alpha", alpha).Attr("axis", axis).Attr("mode", mode){END}\n',
    "integer for a float": f'def f(x, alpha=1):\n    return {F}.Input("x", [x]).Output("y").Attr("alpha", alpha){END}\n',
    "required attribute": f'def f(x, alpha, dim):\n    return {F}.Input("x", [x]).Output("y").Attr("alpha", float(alpha)).Attr("axis", dim){END}\n',
    "attribute by another name": f'def f(x, slope):\n    a = slope\n    return {F}.Input("x", [x]).Output("y").Attr("alpha", a){END}\n',
    "attribute that is converted": f'def f(x, size):\n    return {F}.Input("x", [x]).Output("y").Attr("axis", int(size) // 2){END}\n',
    "attribute by a table": f'MODES = {{"mean": "a"}}\n\n\ndef f(x, reduction="mean"):\n    return {F}.Input("x", [x]).Output("y").Attr("mode", MODES[reduction]){END}\n',
    "None for an attribute": f'def f(x, axis=None):\n    b = {F}.Input("x", [x]).Output("y")\n    if axis is not None:\n        b = b.Attr("axis", axis)\n    return b{END}\n',
    "None that must be given": f'def f(x, axis=None):\n    return {F}.Input("x", [x]).Output("y").Attr("axis", axis){END}\n',
    "one axis of a list": f'def f(xs, axis):\n    return flow.user_op_builder("n").Op("t_concat").Input("x", list(xs)).Output("y").Attr("axes", [axis]){END}\n',
    "list of blobs": f'def f(values):\n    return flow.user_op_builder("n").Op("t_concat").Input("x", values).Output("y"){END}\n',
    "list by declaration": f'def f(q):\n    return flow.user_op_builder("n").Op("t_concat").Input("x", q).Output("y"){END}\n',
    "star-arguments": f'def f(*xs):\n    return flow.user_op_builder("n").Op("t_concat").Input("x", list(xs)).Output("y"){END}\n',
    "pair by star": f'def f(*both):\n    x, w = both\n    return flow.user_op_builder("n").Op("t_pair").Input("x", [x]).Input("w", [w]).Output("y"){END}\n',
    "keywords": f'def f(x, **attrs):\n    b = {F}.Input("x", [x]).Output("y")\n    for key, value in attrs.items():\n        b.Attr(key, value)\n    return b{END}\n',
    "list for one input, annotated": f'from typing import Sequence\n\n\ndef f(q: Sequence):\n    return {F}.Input("x", q).Output("y"){END}\n',
    "list for one input, described": f'def f(q):\n    """Apply.\n\n    Args:\n        q: list of one blob.\n    """\n    return {F}.Input("x", q).Output("y"){END}\n',
    "list or blob": f'def f(x):\n    if not isinstance(x, (list, tuple)):\n        x = [x]\n    return {F}.Input("x", x).Output("y"){END}\n',
    "optional input": 'def f(x, b=None):\n    op = flow.user_op_builder("n").Op("t_maybe").Input("x", [x]).Output("y")\n    if b is not None:\n        op = op.Input("b", [b])\n    return op' + END + "\n",
    "second input that defaults to the first": f'def f(x, w=None):\n    return flow.user_op_builder("n").Op("t_pair").Input("x", [x]).Input("w", [x if w is None else w]).Output("y"){END}\n',
    "second input that must be given": f'def f(x, w=None):\n    b = flow.user_op_builder("n").Op("t_pair").Input("x", [x]).Output("y")\n    if w is not None:\n        b.Input("w", [w])\n    return b{END}\n',
    "two outputs": 'def f(x):\n    return flow.user_op_builder("n").Op("t_two").Input("x", [x]).Output("y").Output("z").Build().InferAndTryRun().RemoteBlobList()\n',
    "two outputs unpacked": 'def f(x):\n    y, z = flow.user_op_builder("n").Op("t_two").Input("x", [x]).Output("y").Output("z").Build().InferAndTryRun().RemoteBlobList()\n    return y + z\n',
    "outputs by name": 'def f(x):\n    d = flow.user_op_builder("n").Op("t_two").Input("x", [x]).Output("y").Output("z").Build().InferAndTryRun().RemoteBlobDict()\n    return d["y"][0], d["z"][0]\n',
    "number of outputs": 'def f(x, num):\n    return flow.user_op_builder("n").Op("t_parts").Input("x", [x]).Output("y", num).Build().InferAndTryRun().RemoteBlobList()\n',
    "helper": f'def _build(kind, **inputs):\n    b = flow.user_op_builder("n").Op("t_" + kind)\n    for name, blob in inputs.items():\n        b = b.Input(name, [blob])\n    return b.Output("y"){END}\n\n\ndef f(x, w):\n    return _build("pair", x=x, w=w)\n',
    "public helper": f'def build(kind, inputs, attrs=()):\n    b = flow.user_op_builder("n").Op("t_" + kind)\n    for name, blob in inputs.items():\n        b = b.Input(name, [blob])\n    return b.Output("y"){END}\n\n\ndef f(x):\n    return build("forward", {{"x": x}})\n',
    "public helper that begins": f'def start(kind):\n    return flow.user_op_builder("n").Op("t_" + kind)\n\n\ndef f(x):\n    return start("forward").Input("x", [x]).Output("y"){END}\n',
    "public helper with a prefix": f'def start(prefix):\n    return flow.user_op_builder("n").Op(prefix + "_forward")\n\n\ndef f(x):\n    return start("t").Input("x", [x]).Output("y"){END}\n',
    "public helper that ends": f'def finish(builder):\n    return builder.Output("y"){END}\n\n\ndef f(x):\n    return finish({F}.Input("x", [x]))\n',
    "returns the op": f'def f(x):\n    return {F}.Input("x", [x]).Output("y").Build()\n',
    "result in a list": f'def f(x, out):\n    """Append.\n\n    Args:\n        out: list that gets the result.\n    """\n    out.append({F}.Input("x", [x]).Output("y"){END})\n',
    "result in a global": f'LAST = []\n\n\ndef f(x):\n    LAST.append({F}.Input("x", [x]).Output("y"){END})\n',
    "result in a global name": f'last = None\n\n\ndef f(x):\n    global last\n    last = {F}.Input("x", [x]).Output("y"){END}\n',
    "run for its effect": f'def f(x):\n    {F}.Input("x", [x]).Output("y").Build().InferAndTryRun()\n',
    "generator": f'def f(xs):\n    for x in xs:\n        yield {F}.Input("x", [x]).Output("y"){END}\n',
    "decorator": f'import functools\n\n\ndef named(function):\n    @functools.wraps(function)\n    def inner(*args, **kwargs):\n        return function(*args, **kwargs)\n\n    return inner\n\n\n@named\ndef f(x, alpha=0.1):\n    return {F}.Input("x", [x]).Output("y").Attr("alpha", alpha){END}\n',
    "lambda": f'f = lambda x: {F}.Input("x", [x]).Output("y"){END}\n',
    "partial": f'import functools\n\n\ndef f(x, alpha):\n    return {F}.Input("x", [x]).Output("y").Attr("alpha", alpha){END}\n\n\nleaky = functools.partial(f, alpha=0.01)\n',
    "alias of the builder": 'from oneflow import user_op_builder as make\n\n\ndef f(x):\n    return make("n").Op("t_forward").Input("x", [x]).Output("y")' + END + "\n",
    "consistent builder": f'def f(x):\n    return flow.consistent_user_op_builder("n").Op("t_forward").Input("x", [x]).Output("y"){END}\n',
    "other flow functions": f'def f(x):\n    y = flow.math.relu(x) * 2.0 + 1\n    return flow.math.reduce_sum({F}.Input("x", [y]).Output("y"){END}, axis=[0])\n',
    "variables": f'def f(x):\n    w = flow.get_variable("of_a_trial", shape=x.shape, dtype=x.dtype, initializer=flow.ones_initializer())\n    return flow.user_op_builder("n").Op("t_pair").Input("x", [x]).Input("w", [w]).Output("y"){END}\n',
    "scope": f'def f(x):\n    with flow.scope.placement("cpu", "0:0"):\n        return {F}.Input("x", [x]).Output("y"){END}\n',
    "shape of a blob": f'def f(x):\n    n, c, h, w = x.shape\n    return {F}.Input("x", [flow.reshape(x, (n, c * h * w))]).Output("y"){END}\n',
    "refuses other shapes": f'def f(x):\n    if len(x.shape) != 3:\n        raise ValueError("three axes, please")\n    return {F}.Input("x", [x]).Output("y"){END}\n',
    "match": f'def f(x, mode="a"):\n    match mode:\n        case "a" | "b":\n            return {F}.Input("x", [x]).Output("y").Attr("mode", mode){END}\n        case _:\n            raise ValueError(mode)\n',
    "conditional return": f'def f(x, alpha=0.0):\n    if alpha == 0.0:\n        return x\n    return {F}.Input("x", [x]).Output("y").Attr("alpha", alpha){END}\n',
    "keyword-only": f'def f(x, *, alpha, name=None):\n    return {F}.Input("x", [x]).Output("y").Attr("alpha", alpha){END}\n',
    "positional-only": f'def f(x, w, /):\n    return flow.user_op_builder("n").Op("t_pair").Input("x", [x]).Input("w", [w]).Output("y"){END}\n',
    "keywords of the builder": f'def f(x):\n    return flow.user_op_builder(op_name="n").Op(op_type_name="t_forward").Input(input_name="x", input_blob_list=[x]).Output(output_name="y").Attr(attr_name="alpha", attr_value=0.1){END}\n',
    "built-in op by builder": f'def f(x):\n    y = flow.user_op_builder("r").Op("relu").Input("in", [x]).Output("out"){END}\n    return {F}.Input("x", [y]).Output("y"){END}\n',
    "a class": f'class Layer:\n    def __call__(self, x):\n        return {F}.Input("x", x).Output("y"){END}\n',
    "a job": f'@flow.global_function()\ndef job(x: flow.typing.Numpy.Placeholder((4,))) -> flow.typing.Numpy:\n    return {F}.Input("x", [x]).Output("y"){END}\n',
    "prints": f'def f(x):\n    print("calling f on", x)\n    return {F}.Input("x", [x]).Output("y"){END}\n',
    "nested function": f'def f(x):\n    def inner(value):\n        return {F}.Input("x", [value]).Output("y"){END}\n\n    return inner(inner(x))\n',
    "name by unique_str": f'def f(x, name=None):\n    return flow.user_op_builder(name or flow.util.unique_str("t_")).Op("t_forward").Input("x", [x]).Output("y"){END}\n',
    "nothing to do with ops": "def area(shape):\n    n = 1\n    for size in shape:\n        n *= size\n    return n\n",
    "empty": "",
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_function(name: str, found) -> None:
    """A function that may work is not accused, and what it raises on a stub is a note at the most."""
    items = found(HEAD + RIGHT[name])
    assert items == [], [(item.code, item.message) for item in items]


def test_the_builder_is_put_back(found) -> None:
    """After a trial ``flow.user_op_builder`` is OneFlow's again."""
    import opkit.oneflow as flow

    before = flow.user_op_builder
    found(HEAD + RIGHT["plain"])
    assert flow.user_op_builder is before
