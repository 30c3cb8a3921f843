"""Slips that cost a newcomer minutes: each is reported once, in words, with the next step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit.cli.target_names import target_begun
from opkit.errors import ShapeError
from opkit.project import build, discover, scaffold
from opkit.verify.subjects.declared import declared_in
from tests.cli.test_commands import opkit

FILE = '''
import torch
from paddle.autograd import PyLayer
class Cube(PyLayer): pass
class Curve(torch.autograd.Function): pass
class Other: pass
@torch.library.custom_op("a::cut", mutates_args=())
def cut(x): return x
def helper(x): return x
'''


def test_a_misspelt_setter_is_one_finding(tmp_path: Path) -> None:
    """What it declares counts as declared: nothing else is reported as missing."""
    scaffold("my_op", tmp_path)
    spec = tmp_path / "my_op" / "my_op_cpp_def.cpp"
    spec.write_text(spec.read_text().replace('.Output("y")', '.Outptu("y")', 1))
    (finding,) = build(discover([tmp_path])).diagnostics
    assert (finding.code, finding.help) == ("SPEC030", "did you mean 'Output'?")


@pytest.mark.parametrize(
    ("name", "value", "near"),
    [
        ("ALOW", {"GC105": "why"}, "ALLOW"),
        ("ALOW", ["GC105"], "ALLOW"),
        ("TOLERENCE_Cube", {"x": 1e-3}, "TOLERANCE_Cube"),
        ("TOLERANCE_Cub", {"x": 1e-3}, "TOLERANCE_Cube"),
        ("SECOND_ODER", True, "SECOND_ORDER"),
        ("SUROGATE_RMSNorm", {"forward": len}, "SURROGATE_RMSNorm"),
        ("ALOW_rms_norm", {"GC105": "why"}, "ALLOW_rms_norm"),
    ],
)
def test_a_misspelt_declaration_is_refused(name: str, value: object, near: str) -> None:
    """It would be ignored; the right name is offered."""
    (mistake,) = declared_in({name: value}, ["forward"], "Cube").mistakes
    assert (mistake.message, mistake.help) == (f"nothing reads {name}", f"did you mean {near!r}?")


def test_a_declaration_of_another_function_is_its_own() -> None:
    """However near its name is."""
    names = {"TOLERANCE_Cubes": {"x": 1e-3}, "Cube": int, "Cubes": float}
    assert not declared_in(names, ["forward"], "Cube").mistakes


def test_the_report_of_an_op_directory_offers_the_right_name(tmp_path: Path) -> None:
    """Beside its line in the cases file."""
    scaffold("t", tmp_path)
    (tmp_path / "t" / "t_cases.py").write_text('import numpy\n\nALOW = {"GC105": "why"}\n')
    done = opkit(tmp_path, "gradcheck", "t")
    assert "nothing reads ALOW" in done.stdout
    assert "--> t/t_cases.py:3\n" in done.stdout
    assert "did you mean 'ALLOW'?" in done.stdout


@pytest.mark.parametrize(("name", "value"), [("ALLOWED_SHAPES", [1]), ("ALLOW", {"GC105": "why"}), ("TOL", {}), ("ALLOWS", 3), ("SURROGATE_A", {"forward": len})])
def test_other_names_are_left_alone(name: str, value: object) -> None:
    """Constants of a file's own are no declarations."""
    assert not declared_in({name: value}, ["forward"]).mistakes


def test_a_surrogate_of_other_parameters_is_refused_at_its_line(tmp_path: Path) -> None:
    """Not as a forward that refuses all that is tried."""
    head = "from paddle.autograd import PyLayer\nimport paddle\n\n\nclass Round(PyLayer):\n    @staticmethod\n"
    body = "    def forward(ctx, x, scale=1.0):\n        return paddle.round(x * scale)\n\n    @staticmethod\n"
    (tmp_path / "a.py").write_text(
        head + body + '    def backward(ctx, dy):\n        return dy\n\n\nSURROGATE_Round = {"forward": lambda x: x}\n'
    )
    done = opkit(tmp_path, "gradcheck", "a.py::Round")
    assert "SURROGATE's function takes (x), forward takes (x, scale)" in done.stdout
    assert "--> a.py:15" in done.stdout


CUBE = """
import numpy as np
import paddle
from paddle.autograd import PyLayer


class Cube(PyLayer):
    @staticmethod
    def forward(ctx, x, scale=1.0):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x * x * x * scale

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        return dy * 3 * x * x * ctx.scale
"""
RUN = """
a = paddle.ones([3])
a.stop_gradient = False
Cube.apply(a).sum().backward()
"""
PY_FUNC = """
import numpy as np
import paddle
paddle.enable_static()
def f(x): return x * x
def df(x, y, dy): return 2 * x * dy
x = paddle.static.data("x", [3], "float32")
x.stop_gradient = False
y = paddle.static.default_main_program().current_block().create_var(name="y", shape=[3], dtype="float32")
paddle.static.py_func(f, [x], y, backward_func=df)
paddle.static.gradients([y], [x])
paddle.static.Executor().run(feed={"x": np.ones(3, "float32")}, fetch_list=[y])
"""


@pytest.mark.parametrize(
    ("target", "text", "name", "returned"),
    [
        *((target, text, name, '{"x": rng.normal(size=3)}') for target, text, name in (
            ("a.py::Cube", CUBE, "cases"), ("a.py", CUBE + RUN, "cases"), ("a.py", PY_FUNC, "cases_f"), ("t", "", "cases"))),
        ("a.py::Cube", CUBE, "cases", "None"),
    ],
)
def test_a_cases_function_that_returns_one_case_is_refused_at_its_line(target: str, text: str, name: str, returned: str, tmp_path: Path) -> None:
    """The keys of a dict are no cases; the report says what to write."""
    file = tmp_path / "a.py"
    if not text:
        scaffold("t", tmp_path)
        file = tmp_path / "t" / "t_cases.py"
    file.write_text(f"{text}\n\ndef {name}(rng):\n    return {returned}\n")
    done = opkit(tmp_path, "gradcheck", target)
    line = file.read_text().splitlines().index(f"def {name}(rng):") + 1
    assert "ERROR GC183 cases" in done.stdout
    assert "write `yield {...}`, once for each case" in done.stdout
    assert f"--> {file.relative_to(tmp_path)}:{line}" in done.stdout
    assert done.returncode == 3


def test_a_function_without_backward_is_not_told_of_cases(tmp_path: Path) -> None:
    """It has no gradient to check: that is said, with what to write, and no case could help."""
    file = tmp_path / "a.py"
    file.write_text(CUBE[: CUBE.index("    @staticmethod\n    def backward")])
    done = opkit(tmp_path, "gradcheck", "a.py::Cube")
    assert "ERROR GC181 backward_raises\n    Cube has no backward: there is no gradient to check" in done.stdout
    assert "define backward(ctx, *incoming gradients) as a static method" in done.stdout
    assert "cases" not in done.stdout
    assert done.returncode == 3


def test_a_case_of_an_op_directory_that_is_no_dict_is_said_so(tmp_path: Path) -> None:
    """It is not an error of loading; what raises is shown at its line."""
    scaffold("t", tmp_path)
    (tmp_path / "t" / "t_cases.py").write_text("def cases(rng):\n    yield rng.standrd_normal(3)\n")
    assert "--> t/t_cases.py:2" in opkit(tmp_path, "gradcheck", "t").stdout
    (tmp_path / "t" / "t_cases.py").write_text("def cases(rng):\n    yield rng.normal(size=3)\n")
    done = opkit(tmp_path, "gradcheck", "t")
    assert "ERROR GC183 cases" in done.stdout
    assert "case 0 is a ndarray; a case is a dict" in done.stdout


@pytest.mark.parametrize(
    ("case", "said", "meant"),
    [
        ('{"scale": 2.0}', "case 0 has no value for 'x', for which Cube has no default", ""),
        ('{"input": rng.normal(size=3)}', "case 0 of Cube names 'input'; it takes x, scale", "did you mean 'x'?"),
        ('{"x": rng.normal(size=3), "scal": 2.0}', "case 0 of Cube names 'scal'; it takes x, scale", "did you mean 'scale'?"),
    ],
)
def test_a_case_of_other_names_is_refused_at_the_cases(case: str, said: str, meant: str, tmp_path: Path) -> None:
    """Not as a forward that raises; a name that is near, or else the one that is missing, is offered."""
    (tmp_path / "a.py").write_text(f"{CUBE}\n\ndef cases(rng):\n    yield {case}\n")
    done = opkit(tmp_path, "gradcheck", "a.py::Cube")
    assert "ERROR GC183 cases" in done.stdout
    assert said in " ".join(done.stdout.split())
    assert meant in done.stdout
    assert f"--> a.py:{(CUBE + chr(10) * 2).count(chr(10)) + 1}" in done.stdout
    assert done.returncode == 3


def test_all_that_is_wrong_with_cases_is_told_at_once(tmp_path: Path) -> None:
    """Beside a strange name: what is no dict, a word for an array, and a missing name, but for one that is offered."""
    cases = ["{'x': 'hello'}", "[1, 2]", "{'x': rng.normal(size=3)}", "{'y': 1}", "{'scal': 1}"]
    body = "".join(f"    yield {case}\n" for case in cases)
    (tmp_path / "a.py").write_text(f"{CUBE}\n\ndef cases(rng):\n{body}")
    said = " ".join(opkit(tmp_path, "gradcheck", "a.py::Cube").stdout.split())
    assert "case 0 gives 'x' words, 'hello', where other cases give an array" in said
    assert "case 1 is a list; a case is a dict of Cube's arguments by name" in said
    assert "case 3 of Cube names 'y'" in said
    assert "case 4 has no value for 'x'" in said
    assert "case 3 has no value" not in said
    scaffold("t", tmp_path, "binary")
    (tmp_path / "t" / "t_cases.py").write_text("def cases(rng):\n    yield {'a': None, 'bb': 1}\n    yield {'a': 1.0, 'b': 2.0}\n")
    said = " ".join(opkit(tmp_path, "gradcheck", "t").stdout.split())
    assert "case 0 names 'bb'" in said
    assert "case 0 has no value for the input 'a'" in said
    assert "no value for the input 'b'" not in said


def test_a_case_that_the_definition_refuses_points_at_the_cases(tmp_path: Path) -> None:
    """The kernel has no part in it; another name offers the input that has no value."""
    scaffold("t", tmp_path)
    file = tmp_path / "t" / "t_cases.py"
    file.write_text("def cases(rng):\n    yield {'x': rng.integers(3, size=3)}\n")
    done = opkit(tmp_path, "gradcheck", "t")
    assert "the infer function refuses case 0 of the cases file" in " ".join(done.stdout.split())
    assert "--> t/t_cases.py:1" in done.stdout
    file.write_text("def cases(rng):\n    yield {'input': rng.normal(size=3)}\n")
    said = " ".join(opkit(tmp_path, "gradcheck", "t").stdout.split())  # which is wrapped to the terminal's width
    assert "did you mean 'x'?" in said


def test_shapes_of_the_command_line_that_forward_refuses_are_an_error(tmp_path: Path) -> None:
    """No others are tried; what forward raised there is told."""
    (tmp_path / "a.py").write_text(CUBE.replace("x * x * x", "x.reshape([4])"))
    done = opkit(tmp_path, "gradcheck", "a.py::Cube", "--shape", "x=3")
    said = " ".join(done.stdout.split())
    assert "GC182" in said
    assert "what came furthest, x of shape [3]" in said
    assert (done.returncode, "cases file" in said) == (1, False)


GATHER = """
import numpy as np, paddle

class Gather(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x, at):
        ctx.save_for_backward(x, at)
        return paddle.to_tensor(x.numpy()[np.arange(len(x)), at.numpy()])

    @staticmethod
    def backward(ctx, dy):
        return dy, None
"""


def test_values_that_forward_takes_of_shapes_given_are_found(tmp_path: Path) -> None:
    """Whole numbers, truth values and positive ones, as the search finds them of any shapes."""
    given = {"at": ("at=3", "int64"), "mask": ("mask=3,4", "bool"), "width": ("width=3,4", "float64")}
    mask = "if mask.numpy().dtype != bool:\n            raise TypeError('no mask')\n        "
    texts = {"at": GATHER, "mask": GATHER.replace("x, at", "x, mask").replace("ctx.save", f"{mask}ctx.save")}
    texts["mask"] = texts["mask"].replace("x.numpy()[np.arange(len(x)), at.numpy()]", "x.numpy() * mask.numpy()")
    positive = "if (width.numpy() <= 0).any():\n            raise ValueError('positive')\n        "
    texts["width"] = texts["mask"].replace(mask, positive).replace("mask", "width")
    for name, (shape, dtype) in given.items():
        (tmp_path / "a.py").write_text(texts[name])
        done = opkit(tmp_path, "gradcheck", "a.py::Gather", "--shape", "x=3,4", "--shape", shape, "--format", "json")
        (op,) = json.loads(done.stdout)["ops"]
        shown = [item["case"][name] for item in op["checks"] if item["status"] == "fail" and item["code"] != "GC180" and item["case"]]
        assert {item["dtype"] for item in shown} == {dtype}, done.stdout
        assert {tuple(item["shape"]) for item in shown} == {tuple(map(int, shape.partition("=")[2].split(",")))}


def test_an_input_of_which_no_shape_is_given_is_searched(tmp_path: Path) -> None:
    """Beside those that are given."""
    (tmp_path / "a.py").write_text(GATHER)
    done = opkit(tmp_path, "gradcheck", "a.py::Gather", "--shape", "x=3,4", "--format", "json")
    (op,) = json.loads(done.stdout)["ops"]
    cases = [item["case"] for item in op["checks"] if item["status"] == "fail"]
    assert {(*case["x"]["shape"], case["at"]["dtype"]) for case in cases} == {(3, 4, "int64")}


def test_of_shapes_given_by_hand_the_refusal_of_these_is_told(tmp_path: Path) -> None:
    """Dtypes are inferred first, by lines that come later in the file."""
    scaffold("t", tmp_path, "binary")
    said = " ".join(opkit(tmp_path, "gradcheck", "t", "--shape", "a=2", "--shape", "b=3").stdout.split())
    assert "the infer function accepts no inputs of the shapes given" in said
    assert "a and b must have the same shape" in said
    assert "cases file" not in said


@pytest.mark.parametrize(("words", "meant"), [(("explain", "undecidd"), "'undecided'"), (("explain", "beyonnd"), "'beyond the inputs seen'"), (("new", "t", "--from", "x * beta", "--attr", "bta:float"), "'beta'")])
def test_the_name_that_was_meant_is_offered_as_it_is_written(words: tuple[str, ...], meant: str, tmp_path: Path) -> None:
    """A word of reports, and what a formula reads."""
    assert f"did you mean {meant}?" in opkit(tmp_path, *words).stderr


LONG = "a_name_that_is_so_long_that_six_letters_are_nothing"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("def case(rng):", "did you mean 'cases'?"),
        ("def cases_cube(rng):", "did you mean 'cases_Cube'?"),
        ("def Cases_Cube(rng):", "did you mean 'cases_Cube'?"),
        ("def case(rng, n):", ""),
        ("def cases_Cube2(rng):", ""),
        ("def a_name_that_is_so_long_that_six_letters_are_nothings(rng):", ""),
        ("def cases(rng):\n    yield from case(rng)\ndef case(rng):", ""),
    ],
)
def test_cases_of_a_misspelt_name_are_refused_at_their_line(written: str, said: str, tmp_path: Path) -> None:
    """What nothing reads; a helper, and the cases of another function, are left alone."""
    above = f"{CUBE}\nclass Cube2(Cube):\n    pass\n\nclass {LONG}(Cube):\n    pass\n\n"
    text = f"{above}{written}\n    yield {{'x': rng.normal(size=3)}}\n"
    (tmp_path / "a.py").write_text(text)
    done = opkit(tmp_path, "gradcheck", f"a.py::{LONG}" if "long" in written else "a.py::Cube", "--effort", "0.05")
    assert ("nothing reads" in done.stdout) is bool(said)
    assert said in done.stdout
    assert done.returncode == (3 if said else 0)
    assert not said or f"--> a.py:{above.count(chr(10)) + 1}" in done.stdout


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("def cases_Cuboid(rng):\n    yield {'x': rng.normal(size=3)}", "did you mean 'Cuboids'?"),
        ("TOLERANCE_Cuboid = {'x': 1e-3}", "did you mean 'Cuboids'?"),
        ("REFERENCE_Sphere = len", "(it has Cube, Cuboids)"),
        ("TOLERANCE_CUBOID = 1e-3", ""),
        ("def cases_small(rng):\n    yield {'x': rng.normal(size=3)}\ndef cases_Cuboids(rng):\n    yield from cases_small(rng)", ""),
        ("def cases_Cuboids(rng):\n    yield {'x': rng.normal(size=3)}", ""),
    ],
)
def test_what_is_declared_for_a_function_that_is_not_there_is_told(written: str, said: str, tmp_path: Path) -> None:
    """Its check would be left out without a word; a helper of the file's own is none, nor is a constant."""
    (tmp_path / "made.py").write_text(f"{CUBE}\nclass Cuboids(Cube):\n    pass\n")
    head = "from made import Cube, Cuboids\ndef cases_Cube(rng):\n    yield {'x': rng.normal(size=2)}\n"
    (tmp_path / "a.py").write_text(head + written)
    done = opkit(tmp_path, "gradcheck", "a.py", "--effort", "0.05")
    assert (done.returncode, "nothing reads" in done.stdout) == ((3, True) if said else (0, False))
    assert said in " ".join(done.stdout.split())
    assert not said or "--> a.py:4\n" in done.stdout


def test_all_cases_that_no_function_takes_are_told_each_at_its_line(tmp_path: Path) -> None:
    """And where plain functions are checked, which no target names."""
    text = "def cases_{}(rng):\n    yield {{'x': 1.0}}\n"
    (tmp_path / "plain.py").write_text(text.format("first") + text.format("second"))
    done = opkit(tmp_path, "gradcheck", "plain.py")
    assert done.returncode == 3
    assert [line for line in (1, 3) if f"--> plain.py:{line}\n" in done.stdout] == [1, 3]
    assert "opkit.gradcheck(forward=f, backward=g, cases=...)" in " ".join(done.stdout.split())


def test_misspelt_cases_of_an_op_directory_are_refused(tmp_path: Path) -> None:
    """They would be searched for."""
    scaffold("t", tmp_path)
    (tmp_path / "t" / "t_cases.py").write_text("\ndef case(rng):\n    yield {'x': rng.normal(size=3)}\n")
    done = opkit(tmp_path, "gradcheck", "t")
    assert "did you mean 'cases'?" in done.stdout
    assert "--> t/t_cases.py:2" in done.stdout


def test_allow_of_a_code_that_does_not_exist_is_refused() -> None:
    """It would be ignored; the nearest code is offered."""
    (mistake,) = declared_in({"ALLOW": {"GC1O1": "why"}}, ["forward"]).mistakes
    assert mistake.message == "ALLOW accepts 'GC1O1', which is no code"
    assert "did you mean 'GC" in mistake.help


@pytest.mark.parametrize(
    ("declaration", "said", "help"),
    [
        ('INPLACE = ("input",)', "INPLACE names 'input', no input", "known names: x, scale"),
        ('INPLACE = ("scael",)', "INPLACE names 'scael', no input", "did you mean 'scale'?"),
        ('NONDIFFERENTIABLE_OUTPUTS = ("x",)', "NONDIFFERENTIABLE_OUTPUTS names 'x', no result", "known names: y, y0, y1"),
        ('NONDIFFERENTIABLE_OUTPUTS_Cube = ("y1", "mask")', "NONDIFFERENTIABLE_OUTPUTS names 'mask', no result", "known names: y, y0, y1"),
    ],
)
def test_a_declaration_names_what_the_function_has(declaration: str, said: str, help: str, tmp_path: Path) -> None:
    """Another name would be ignored; the known ones are offered."""
    (tmp_path / "a.py").write_text(f"{declaration}\n{CUBE}")
    done = opkit(tmp_path, "gradcheck", "a.py::Cube", "--format", "json")
    assert done.returncode == 3
    ((check,),) = (op["checks"] for op in json.loads(done.stdout)["ops"])
    assert (check["message"], check["where"]["line"], check["hint"]) == (said, 1, help)


@pytest.mark.parametrize(("name", "item"), [("INPLACE", "scale"), ("NONDIFFERENTIABLE_OUTPUTS", "y7"), ("INPLACE", "other")])
def test_a_declaration_may_name_what_another_function_of_the_file_has(name: str, item: str) -> None:
    """Of several results, each has a number."""
    names = {name: (item,), "other": lambda other: other}
    assert not declared_in(names, ["forward"], "Cube", ["x", "scale"], ["y"]).mistakes


def test_a_kernel_of_an_op_directory_may_overwrite_nothing() -> None:
    """Such a declaration would have no effect there."""
    (mistake,) = declared_in({"INPLACE": ("x",)}, ["forward"], takes=["x"], overwrites=False).mistakes
    assert mistake.message == "INPLACE: a kernel of an op directory must not write to its arguments"


def test_a_declaration_of_an_op_directory_names_what_its_ops_have(tmp_path: Path) -> None:
    """Inputs have no part in a name of outputs; the line is the declaration's."""
    scaffold("t", tmp_path)
    (tmp_path / "t" / "t_cases.py").write_text('import numpy\nNONDIFFERENTIABLE_OUTPUTS = ("x",)\n')
    done = opkit(tmp_path, "gradcheck", "t")
    assert done.returncode == 3
    assert "NONDIFFERENTIABLE_OUTPUTS names 'x', no result" in done.stdout
    assert "--> t/t_cases.py:2\n" in done.stdout
    assert "known names: y" in done.stdout


MISTAKES = """
def cases(rng):
    yield {"input": rng.normal(size=3)}
    yield {"x": rng.normal(size=3), "scal": 2.0}
    yield {"input": rng.normal(size=3)}
ALLOW = {"GC1001": "why", "GC105": ""}
TOLERANCE = {"z": 0.1, "x": 3}
SURROGATE = {"forwrd": len}
SECOND_ODER = True
"""


@pytest.mark.parametrize("is_directory", [False, True])
def test_all_mistakes_of_a_cases_file_are_told_at_once(is_directory: bool, tmp_path: Path) -> None:
    """Each once, at its line, in the order of the lines."""
    file, target = tmp_path / "a.py", "a.py::Cube"
    above = "" if is_directory else CUBE
    if is_directory:
        scaffold("t", tmp_path)
        file, target = tmp_path / "t" / "t_cases.py", "t"
    file.write_text(above + MISTAKES)
    done = opkit(tmp_path, "gradcheck", target, "--format", "json")
    assert done.returncode == 3
    (op,) = json.loads(done.stdout)["ops"]
    start = above.count("\n")
    found = [(item["code"], item["where"]["line"] - start, item["message"]) for item in op["checks"]]
    said = ["'input'", "'scal'", "ALLOW accepts 'GC1001'", "ALLOW['GC105']", "TOLERANCE names 'z'", "TOLERANCE['x']", "SURROGATE", "SECOND_ODER"]
    assert [(code, line) for code, line, _ in found] == [("GC183", line) for line in (2, 2, 6, 6, 7, 7, 8, 9)]
    assert all(word in message for word, (_, _, message) in zip(said, found)), found


def test_what_the_cases_function_raises_is_told_with_other_mistakes(tmp_path: Path) -> None:
    """Neither waits for the other to be mended."""
    (tmp_path / "a.py").write_text(f"{CUBE}\n\ndef cases(rng):\n    raise OSError\n\n\nALLOW = {{'GC1001': 'why'}}\n")
    done = opkit(tmp_path, "gradcheck", "a.py::Cube")
    assert "the cases function raised OSError" in done.stdout
    assert "ALLOW accepts 'GC1001'" in done.stdout


def test_a_ragged_list_is_no_array(tmp_path: Path) -> None:
    """It is the case that is mistaken; the cases function raised nothing."""
    scaffold("t", tmp_path)
    (tmp_path / "t" / "t_cases.py").write_text("def cases(rng):\n    yield {'x': [[1.0], [1.0, 2.0]]}\n")
    said = " ".join(opkit(tmp_path, "gradcheck", "t").stdout.split())
    assert "case 0 gives the input 'x' what is no array: ValueError" in said


@pytest.mark.parametrize(
    ("case", "said", "hint"),
    [
        ("{'x': [1, 2, 3]}", "case 0 of the cases file, where x is a list: TypeError", "where an array is meant, give np.array([1, 2, 3])"),
        ("{'x': rng.normal(size=3), 'scale': 'two'}", "case 0 of the cases file, where scale is 'two', by default 1.0: DtypeError", ""),
    ],
)
def test_an_option_in_the_place_of_an_array_is_named(case: str, said: str, hint: str, tmp_path: Path) -> None:
    """Where forward raised: what a newcomer reads first names the key of the case."""
    (tmp_path / "a.py").write_text(f"{CUBE}\n\ndef cases(rng):\n    yield {case}\n")
    done = opkit(tmp_path, "gradcheck", "a.py::Cube")
    assert done.returncode == 1
    assert said in " ".join(done.stdout.split())
    assert hint in done.stdout


def test_a_list_that_is_meant_is_not_named(tmp_path: Path) -> None:
    """Nor is one where forward raised for another reason."""
    text = CUBE.replace("scale=1.0", "axes").replace("* scale", "* axes[0]").replace("ctx.scale = scale", "ctx.scale = axes[0]")
    cases = "\n\ndef cases(rng):\n    yield {'x': rng.normal(size=3), 'axes': [1, 2]}\n"
    (tmp_path / "a.py").write_text(text + cases)
    assert "1 op: 1 pass" in opkit(tmp_path, "gradcheck", "a.py::Cube", "--effort", "0.05").stdout
    (tmp_path / "a.py").write_text(text.replace("axes[0]\n", "axes[3]\n") + cases)
    done = opkit(tmp_path, "gradcheck", "a.py::Cube")
    assert "case 0 of the cases file: IndexError" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("declared", "is_mistaken"),
    [
        ("TOLERANCE = {'z': 0.1}", True),
        ("TOLERANCE_Cube = {'gate': 0.1}", True),
        ("TOLERANCE = {'gate': 0.1}", False),
        ("TOLERANCE = {'y': 0.1, 'y0': 0.1, 'scale': 0.1}", False),
    ],
)
def test_a_tolerance_of_an_unknown_name_is_refused(declared: str, is_mistaken: bool, tmp_path: Path) -> None:
    """As a misspelt code is; what another function of the file takes is not one."""
    other = CUBE.replace("Cube", "Gated").replace("scale", "gate")
    (tmp_path / "a.py").write_text(f"{CUBE}{other}\n\n{declared}\n")
    done = opkit(tmp_path, "gradcheck", "a.py::Cube", "--effort", "0.05")
    assert done.returncode == (3 if is_mistaken else 0)
    assert ("ERROR GC183" in done.stdout) is is_mistaken


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a file of a PyLayer and an op directory with cases."""
    folder = tmp_path_factory.mktemp("targets")
    (folder / "a.py").write_text(CUBE)
    scaffold("t", folder)
    (folder / "t" / "t_cases.py").write_text("def cases(rng):\n    yield {'x': rng.normal(size=3)}\n")
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ["nofile.py"],
        ["no.module::Cube"],
        ["a.py::Cub"],
        ["a.py::Cube", "--shape", "z=3"],
        ["a.py::Cube", "--reference", "a.py:nothing"],
        ["t::t_foward"],
        ["t", "--shape", "z=3"],
        ["a.py::Cube", "--select", "GC999"],
    ],
)
def test_what_is_named_and_not_there_has_one_exit_status(words: list[str], targets: Path) -> None:
    """A file, a function, an op type, an input, a reference, a code: 2, as of any usage error."""
    assert opkit(targets, "gradcheck", *words).returncode == 2


def test_a_report_that_cannot_be_written_is_refused_before_the_checks(tmp_path: Path) -> None:
    """Its status would hide the verdict's."""
    (tmp_path / "a.py").write_text(CUBE)
    done = opkit(tmp_path, "gradcheck", "a.py::Cube", "--report", "html=nowhere/a.html")
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize(
    ("value", "status", "said"),
    [
        ("rng.normal(size=3).astype('float16')", 1, "x must be float32 or float64"),
        ("'abc'", 3, "case 0 gives the input 'x' words, 'abc', not numbers"),
    ],
)
def test_a_case_that_a_definition_does_not_take_is_refused(value: str, status: int, said: str, tmp_path: Path) -> None:
    """At its line: half precision is not tried in another format, and words are no array."""
    scaffold("t", tmp_path)
    (tmp_path / "t" / "t_cases.py").write_text(f"\ndef cases(rng):\n    yield {{'x': {value}}}\n")
    done = opkit(tmp_path, "gradcheck", "t")
    assert (done.returncode, said in " ".join(done.stdout.split())) == (status, True)
    assert "--> t/t_cases.py:2" in done.stdout


PY_FUNCS = """
import numpy as np
import paddle
paddle.enable_static()
def double(x):
    return 2 * x
def double_back(x, y, dy):
    return 2 * dy
def triple(x):
    return 3 * x
def main():
    x = paddle.static.data("x", [3])
    x.stop_gradient = False
    y = paddle.static.default_main_program().current_block().create_var(name="y", shape=[3], dtype="float32")
    paddle.static.py_func(func=double, x=x, out=y, backward_func=double_back)
    z = paddle.static.default_main_program().current_block().create_var(name="z", shape=[3], dtype="float32")
    paddle.static.py_func(triple, x, z, backward_func=lambda x, y, dy: 4 * dy)
    paddle.static.gradients([y, z], [x])
    paddle.static.Executor().run(feed={"x": np.ones(3, "float32")}, fetch_list=[y, z])
if __name__ == "__main__":
    main()
"""


def test_a_py_func_is_checked_by_its_name(tmp_path: Path) -> None:
    """The script runs, and what it gives to other py_funcs is left out."""
    (tmp_path / "job.py").write_text(PY_FUNCS)
    right, wrong = (opkit(tmp_path, "gradcheck", f"job.py::{name}") for name in ("double", "triple"))
    assert (right.returncode, wrong.returncode) == (0, 1)
    assert "1 op: 1 pass" in right.stdout
    (tmp_path / "job.py").write_text(PY_FUNCS.replace("    main()", "    pass"))
    gone = opkit(tmp_path, "gradcheck", "job.py::double")
    assert gone.returncode == 2
    assert "not where it ran" in " ".join(gone.stdout.split())


def test_where_a_py_func_is_not_checked_that_is_said(tmp_path: Path) -> None:
    """A check file leads to none, and a folder's scripts are not run."""
    (tmp_path / "job.py").write_text(PY_FUNCS)
    (tmp_path / "check_it.py").write_text("from job import double\ndef cases(rng):\n    yield {'x': rng.normal(size=3)}\n")
    done = opkit(tmp_path, "gradcheck", "check_it.py")
    assert (done.returncode, "a py_func stand in the script" in " ".join(done.stdout.split())) == (3, True)
    assert "--> check_it.py:2" in done.stdout
    assert "left out: job.py" in opkit(tmp_path, "gradcheck").stderr


def test_what_makes_no_claims_says_why_it_is_skipped(tmp_path: Path) -> None:
    """A function has no definition."""
    (tmp_path / "a.py").write_text(CUBE)
    assert "there is no definition that could claim" in opkit(tmp_path, "sbp", "a.py::Cube").stdout


def test_shapes_that_do_not_fit_are_said_once() -> None:
    """What numpy said inside is not printed above opkit's own message."""
    with pytest.raises(ShapeError, match="inner sizes") as caught:
        paddle.ones([2, 3]) @ paddle.ones([2, 3])
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("args", "incomplete", "offered"),
    [
        ([], "ops.py::C", ["ops.py::Cube", "ops.py::Curve"]),
        ([], "ops.py::cu", ["ops.py::cut"]),
        (["ops.py", "::"], "Cur", ["Curve"]),
        (["ops.py"], "::", ["Cube", "Curve", "cut"]),
        ([], "o", ["ops.py", "ops/"]),
        ([], "none.py::", []),
    ],
)
def test_names_are_completed_after_the_colons(args: list[str], incomplete: str, offered: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one word, and in the three that bash makes of it; files are read, not run."""
    (tmp_path / "ops.py").write_text(FILE + "raise SystemExit\n")
    (tmp_path / "ops").mkdir()
    monkeypatch.chdir(tmp_path)
    assert sorted(target_begun(args, incomplete)) == sorted(offered)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
@pytest.mark.parametrize(("module", "word"), [("typing", "--version"), ("opkit.deferred", "-V"), ("opkit.signals", "-V"), ("datetime", "gradcheck")])
def test_ctrl_c_while_opkit_loads_is_quiet(tmp_path: Path, module: str, word: str) -> None:
    """The signal comes with an import: the first that opkit needs, some of its own, and one in numpy, which would make an ImportError of it."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == os.environ['STOP_AT']:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    (tmp_path / "opkit").write_text("from opkit.__main__ import main\nmain()\n")  # as the console script
    paths = os.pathsep.join([str(tmp_path), str(Path(__file__).resolve().parents[2])])
    for words in (["-m", "opkit"], ["-mopkit"], ["opkit"]):
        done = subprocess.run(
            [sys.executable, *words, word],
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths, "STOP_AT": module}, capture_output=True, text=True,
        )
        assert (done.returncode, done.stdout, done.stderr) == (130, "", ""), words


def test_numbers_of_a_report_are_not_read_one_by_one(tmp_path: Path) -> None:
    """Ten thousand findings of an op are shown in a moment: the first ones, and how many more."""
    from opkit.checker import CheckResult, OpReport, Report, Status

    checks = tuple(CheckResult("jacobian", Status.FAIL, "GC101", f"element {n}", "x", "y", expected=1.0, actual=np.float64(n)) for n in range(10_000))
    text = str(Report("1", 0, (OpReport("op", checks),)))
    assert "element 299" in text
    assert "element 300" not in text
    assert "9700 further findings: GC101 9700 times" in text


def test_what_an_op_found_is_printed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each print takes rich its time: ten thousand findings of as many ops took 18 seconds."""
    from rich.console import Console

    from opkit.checker import CheckResult, OpReport, Report, Status

    prints = []
    before = Console.print
    monkeypatch.setattr(Console, "print", lambda self, *items, **options: (prints.append(1), before(self, *items, **options))[1])
    checks = tuple(CheckResult("jacobian", Status.FAIL, "GC101", f"element {n}", "x", "y", expected=1.0, actual=2.0) for n in range(5))
    text = str(Report("1", 0, tuple(OpReport(f"op{n}", checks) for n in range(20))))
    assert text.count("element 4") == 20
    assert len(prints) <= 21


def test_a_shape_of_no_input_is_not_a_case(tmp_path: Path) -> None:
    """``--shape z=3`` of a function that takes x: the words are about the shape, since there are no cases."""
    (tmp_path / "a.py").write_text(CUBE.partition("def cases")[0])
    done = opkit(tmp_path, "gradcheck", "a.py::Cube", "--shape", "z=3")
    assert "a shape is given for 'z'; it takes x, scale" in done.stdout
    assert done.returncode == 2


def test_where_all_is_skipped_no_other_target_is_asked_for(tmp_path: Path) -> None:
    """There was an op; its report says why it was skipped."""
    (tmp_path / "a.py").write_text(CUBE.partition("def cases")[0] + "\n\ndef cases(rng):\n    yield {'x': np.arange(3)}\n")
    done = opkit(tmp_path, "gradcheck", "a.py::Cube")
    assert (done.returncode, "nothing was checked: every op was skipped" in done.stderr) == (5, True), done.stdout
    assert "opkit new" not in done.stderr


def test_a_name_that_a_module_has(tmp_path: Path) -> None:
    """A folder of that name is written with a warning; a file, which would hide the module, is refused."""
    folder, file = (opkit(tmp_path, "new", "pytest", *words) for words in ((), ("--kind", "pylayer")))
    assert folder.returncode == 0
    assert "note: there is a module 'pytest': `import pytest` means that one, not the op" in folder.stderr
    assert file.returncode == 2
    assert "a file pytest.py would hide the module 'pytest'" in file.stderr


def test_a_missing_return_is_shown_at_the_def(tmp_path: Path) -> None:
    """Beneath its decorators."""
    text = CUBE.partition("def cases")[0].replace("return x * x * x * scale", "x * x")
    (tmp_path / "a.py").write_text(text)
    done = opkit(tmp_path, "gradcheck", "a.py::Cube")
    assert f"--> a.py:{text[: text.index('def forward')].count(chr(10)) + 1}\n" in done.stdout
    assert "hint a return may be missing" in done.stdout


def test_a_folder_is_refused_as_a_report_before_the_check(tmp_path: Path) -> None:
    """Nothing is checked for a report that cannot be written."""
    (tmp_path / "a.py").write_text(CUBE)
    done = opkit(tmp_path, "gradcheck", "a.py::Cube", "--report", f"html={tmp_path}")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"cannot write {str(tmp_path)!r}: it is a folder" in done.stderr


def test_an_array_that_cases_may_leave_out_is_none_in_some(tmp_path: Path) -> None:
    """None under its name is no mistake, though what is None is no array."""
    (tmp_path / "a.py").write_text(
        "from paddle.autograd import PyLayer\n\n\nclass Affine(PyLayer):\n    @staticmethod\n    def forward(ctx, x, b=None):\n"
        "        ctx.has_bias = b is not None\n        return 2 * x if b is None else 2 * x + b\n\n    @staticmethod\n"
        "    def backward(ctx, dy):\n        return (2 * dy, dy) if ctx.has_bias else 2 * dy\n\n\ndef cases(rng):\n"
        '    yield {"x": rng.normal(size=3), "b": rng.normal(size=3)}\n    yield {"x": rng.normal(size=3), "b": None}\n'
    )
    done = opkit(tmp_path, "gradcheck", "a.py::Affine")
    assert "neither an input nor" not in done.stdout
    assert done.returncode == 0, done.stdout
