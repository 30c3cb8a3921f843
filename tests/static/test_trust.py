"""A saved program may be anybody's: what it names is not run, and every damaged field is one of opkit's own errors."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit import static
from opkit.errors import OpkitError, UsageError
from opkit.static.functions import Functions, SerialiseError
from opkit.static.program_file import program_of
from opkit.static.storage import StorageError, archive_of, arrays_of_archive, read_archive, write_archive
from tests.static.nets import X, fed, made, tanh

pytestmark = pytest.mark.bounded

#: Written in place of every field of a program.
OTHER: list[Any] = [
    None, True, -1, 0, 1, 10**30, 1.5, "", "x", "(x y)f4,i4", "\ud800", "float64", "relu", [], [0], [-1, -1], {}, {"tuple": [1]},
    {"array": 0}, {"float": "nan"}, {"slice": [1]}, {"a": 1}, [[[]]],
]  # fmt: skip


def saved(tmp_path: Path, function: Any = np.tanh) -> Path:
    """Save a model with a py_func of that function."""
    x = fed(shape=[None, 3], stops=True)
    hidden = paddle.static.nn.batch_norm(paddle.static.nn.fc(x, 4), is_test=True)
    hidden = paddle.concat([paddle.reshape(hidden, [-1, 2, 2]), paddle.ones([1, 2, 2])])[0:1]
    out = static.py_func(function, hidden, made("o", [-1, 2, 2]))
    executor = paddle.static.Executor()
    executor.run(paddle.static.default_startup_program())
    paddle.static.save_inference_model(str(tmp_path / "m"), [x], [out], executor)
    return tmp_path / "m"


def renamed(path: Path, before: str, after: str) -> None:
    """Replace a text of a saved program."""
    file = path.with_suffix(".pdmodel")
    entries = read_archive(file)
    text = bytes(entries["program.json"]).decode()
    assert before in text
    entries["program.json"] = np.frombuffer(text.replace(before, after).encode(), np.uint8)
    write_archive(file, entries)


def load(path: Path, **options: Any) -> Any:
    return paddle.static.load_inference_model(str(path), None, **options)


# ---- nothing is run --------------------------------------------------------------------------------------------------
def test_no_module_is_imported_because_a_file_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that can be imported is not, and the message says how to allow it."""
    (tmp_path / "booby_trap.py").write_text("import pathlib\npathlib.Path(__file__).with_name('ran').touch()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    renamed(saved(tmp_path), "numpy:tanh", "booby_trap:f")
    with pytest.raises(
        SerialiseError, match=r"'booby_trap:f', which this script has neither registered nor allowed"
    ) as caught:
        load(tmp_path / "m")
    assert "allow=['booby_trap']" in str(caught.value)
    assert "booby_trap" not in sys.modules
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "path",
    ["pickle:_loads", "os:system", "builtins:eval", "subprocess:Popen", "no_module:f", "numpy:load", "numpy:lib.format.open_memmap", "", ":", "a", "numpy:"],
)  # fmt: skip
def test_functions_that_nobody_allowed_are_refused(tmp_path: Path, path: str) -> None:
    """Neither a loaded module's function nor a class, a builtin or nonsense can be named."""
    renamed(saved(tmp_path), "numpy:tanh", path)
    with pytest.raises(SerialiseError, match="neither registered nor allowed") as caught:
        load(tmp_path / "m")
    assert path in str(caught.value)


def test_a_function_that_the_script_uses_in_a_py_func_may_be_named(tmp_path: Path) -> None:
    """What is registered is found, and is that function."""
    path = saved(tmp_path, tanh)
    program, feeds, fetches = load(path)
    found = paddle.static.Executor().run(program, feed={feeds[0]: X}, fetch_list=fetches)[0]
    assert np.abs(found).max() <= 1
    assert program.blocks[0].ops[-1].opdef.function is tanh


def test_an_allowed_module_gives_its_own_functions_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has imported from elsewhere, its classes and the modules below it stay out."""
    (tmp_path / "my_ops.py").write_text(
        "import os\nfrom os.path import join\nfrom pickle import _loads\nclass Both:\n    @staticmethod\n"
        "    def f(x):\n        return x\ndef f(x):\n    return x\nsystem = os.system\nalias = join\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    functions = Functions(["my_ops"])
    assert functions.find("my_ops:f")(3) == 3
    assert functions.find("my_ops:Both.f")(4) == 4
    for name in (
        "_loads",
        "join",
        "alias",
        "system",
        "os.system",
        "Both",
        "Both.__init__",
        "f.__globals__",
        "os",
        "g",
        "",
    ):
        with pytest.raises(SerialiseError, match="does not define"):
            functions.find(f"my_ops:{name}")
    with pytest.raises(SerialiseError, match="neither registered nor allowed"):
        functions.find("my_ops.sub:f")


def test_a_function_may_be_allowed_itself(tmp_path: Path) -> None:
    """``allow=[function]`` needs no module."""
    assert Functions([load]).find(f"{__name__}:load") is load
    with pytest.raises(SerialiseError):
        Functions([load]).find(f"{__name__}:saved")


@pytest.mark.parametrize("allow", ["my_ops", [3], 5, [sys]])
def test_allow_is_a_list_of_names_and_functions(allow: Any) -> None:
    """Anything else is a usage error, not everything allowed."""
    with pytest.raises(UsageError, match="allow"):
        Functions(allow)


# ---- damaged fields --------------------------------------------------------------------------------------------------
def places(item: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every field."""
    yield place
    pairs = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
    for key, part in pairs:
        yield from places(part, (*place, key))


def changed(item: Any, place: tuple[Any, ...], new: Any) -> Any:
    """Return a copy with something else at a place; without it where that is ``...``."""
    if not place:
        return new
    found = copy.deepcopy(item)
    at = found
    for key in place[:-1]:
        at = at[key]
    if new is ...:
        del at[place[-1]]
    else:
        at[place[-1]] = new
    return found


def is_refused(call: Callable[[], Any]) -> bool:
    """Say whether a call raises an error of opkit's; another error is raised."""
    try:
        call()
    except OpkitError:
        return True
    return False


@pytest.mark.parametrize("part", range(4))
def test_a_changed_field_is_one_of_opkits_errors_or_harmless(tmp_path: Path, part: int) -> None:
    """Every field in turn is left out or becomes something else: the program loads, or an error of opkit's says why."""
    entries = arrays_of_archive(saved(tmp_path).with_suffix(".pdmodel").read_bytes(), "m")
    data = json.loads(bytes(entries["program.json"]))
    chosen = [(place, new) for place in places(data) for new in (*OTHER, ...) if place or new is not ...]
    refused = 0
    for place, new in chosen[part * 13 :: 53]:
        entries["program.json"] = np.frombuffer(json.dumps(changed(data, place, new)).encode(), np.uint8)
        held = archive_of(entries)
        refused += is_refused(lambda held=held: program_of(held, "m", Functions(), ("feeds", "fetches")))
    assert refused > len(chosen) / 53 / 2


def test_a_message_names_the_field(tmp_path: Path) -> None:
    """Where the field is, what was expected and what was got."""
    renamed(saved(tmp_path), '"role": "forward"', '"role": "backwards"')
    with pytest.raises(StorageError, match=r"ops\[0\]\.role: there is no role 'backwards'.*did you mean 'backward'"):
        load(tmp_path / "m")


def test_results_that_an_op_does_not_give_are_refused(tmp_path: Path) -> None:
    """Each op's inference is asked: a program that could not have been built is not loaded."""
    path = saved(tmp_path)
    renamed(path, '"type": "concat"', '"type": "add_n"')
    with pytest.raises(OpkitError, match=r"ops\[\d+\]"):
        load(path)


@pytest.mark.parametrize(
    ("kind", "inputs", "message"),
    [
        (
            "normalization",
            lambda own: [own[0], own[0], *own[2:]],
            "the parameters must be vectors of the size of axis 1",
        ),
        ("py_func", lambda own: [], "numpy.tanh takes 1 inputs and gets 0"),
        ("py_func", lambda own: own * 2, "numpy.tanh takes 1 inputs and gets 2"),
    ],
)
def test_inputs_that_an_op_cannot_take_are_refused(tmp_path: Path, kind: str, inputs: Any, message: str) -> None:
    """A matrix for a vector; a ufunc without its input, or with an array that it would write to."""
    file = saved(tmp_path).with_suffix(".pdmodel")
    entries = read_archive(file)
    data = json.loads(bytes(entries["program.json"]))
    (op,) = [op for op in data["ops"] if op["type"] == kind]
    op["inputs"] = inputs(op["inputs"])
    write_archive(file, {**entries, "program.json": np.frombuffer(json.dumps(data).encode(), np.uint8)})
    with pytest.raises(OpkitError, match=message):
        load(tmp_path / "m")


@pytest.mark.parametrize(("part", "field"), [("variables", "value"), ("ops", "writes"), ("ops", "inputs"), ("ops", "outputs")])
def test_a_number_one_past_the_last_is_refused(tmp_path: Path, part: str, field: str) -> None:
    """Values of the program, and inputs of an op, are numbered from 0."""
    file = saved(tmp_path).with_suffix(".pdmodel")
    entries = read_archive(file)
    data = json.loads(bytes(entries["program.json"]))
    record = next(item for item in data[part] if item.get(field) is not None)
    past = len(record["inputs"]) if field == "writes" else len(data["values"])
    record[field] = past if field == "value" else [past, *record[field][1:]]
    write_archive(file, {**entries, "program.json": np.frombuffer(json.dumps(data).encode(), np.uint8)})
    with pytest.raises(StorageError, match=rf"{part}\[\d+\]\.{field}"):
        load(tmp_path / "m")


def test_values_are_written_before_they_are_read(tmp_path: Path) -> None:
    """Operations in another order are refused at load, where a run would meet nothing in the place of a value."""
    file = saved(tmp_path).with_suffix(".pdmodel")
    entries = read_archive(file)
    data = json.loads(bytes(entries["program.json"]))
    data["ops"][:2] = data["ops"][1::-1]
    write_archive(file, {**entries, "program.json": np.frombuffer(json.dumps(data).encode(), np.uint8)})
    with pytest.raises(OpkitError, match=r"ops\[1\]\.outputs: value '.*' is read before it is written"):
        load(tmp_path / "m")


def test_arrays_of_another_program_are_refused(tmp_path: Path) -> None:
    """Arrays go into the scope only where the program has such a variable; none is changed then."""
    path = saved(tmp_path)
    arrays = read_archive(path.with_suffix(".pdiparams"))
    write_archive(path.with_suffix(".pdiparams"), {**arrays, "planted": np.ones(3)})
    with pytest.raises(StorageError, match="'planted'"):
        load(path)
    assert static.global_scope().find_var("planted") is None
    write_archive(path.with_suffix(".pdiparams"), dict(list(arrays.items())[1:]))
    with pytest.raises(StorageError, match="lacks variable"):
        load(path)


def test_slices_survive(tmp_path: Path) -> None:
    """An index with slices is saved and loaded."""
    program, feeds, fetches = load(saved(tmp_path))
    found = paddle.static.Executor().run(program, feed={feeds[0]: X}, fetch_list=fetches)[0]
    assert found.shape == (1, 2, 2)
