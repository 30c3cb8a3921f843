"""The three journeys of docs/architecture.md run as they are written, and no call goes up the picture unmarked."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit.__main__ import main
from opkit.project.scaffolding import scaffold

if sys.version_info >= (3, 11):
    import tomllib
else:
    pytest.skip("frames know their qualified names from Python 3.11 on", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
TITLES = ("Definitions become an op", "A tensor through a PyLayer and back", "From py_func to Executor.run")


# ---- what is written -------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Stop:
    """One line of a journey: a function, and for a callback the protocol that it goes through."""

    function: str
    protocol: str | None


def stops(title: str) -> list[Stop]:
    """Return the lines of one journey."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    section = re.search(rf"^### {re.escape(title)}\n(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL)
    assert section, title
    found = re.findall(r"^(\d+)\. `([\w.]+)`((?:.|\n {2,})*)", section[1], re.MULTILINE)
    assert [int(number) for number, _, _ in found] == list(range(1, len(found) + 1))
    protocols = [re.search(r"callback\s+through\s+`([\w.]+)`", rest) for _, _, rest in found]
    return [Stop(name, match and match[1]) for (_, name, _), match in zip(found, protocols)]


def values(title: str) -> tuple[type, ...]:
    """Return the types of the values that carry one journey, the first one first."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    listed = re.search(rf"^### {re.escape(title)}\n(?:(?!^##).)*?^Values: (.*?)\.$", text, re.MULTILINE | re.DOTALL)
    assert listed, title
    pairs = [name.rpartition(".") for name in re.findall(r"`([\w.]+)`", listed[1])]
    return tuple(getattr(importlib.import_module(module), name) for module, _, name in pairs)


def rows() -> dict[str, int]:
    """Return the row of each top-level package, the lowest first, as import-linter holds it."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (picture,) = [item for item in config["tool"]["importlinter"]["contracts"] if item["id"] == "picture"]
    layers = reversed(picture["layers"])
    return {name.strip(): row for row, layer in enumerate(layers) for name in layer.split("|")}


# ---- what runs -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Call:
    """A call between two modules of opkit, or from outside (``caller`` is None then)."""

    caller: str | None
    module: str
    function: str


class Tracer:
    """Notes the calls between modules; a call that the user's own code makes comes from outside."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        module = _module(frame)
        if event != "call" or module is None:
            return
        back = frame.f_back
        while back is not None and _module(back) is None and back.f_code.co_filename != __file__:
            back = back.f_back
        caller = None if back is None else _module(back)
        if caller != module:
            name = re.sub(r"<locals>\.", "", frame.f_code.co_qualname)  # type: ignore[attr-defined]
            self.calls.append(Call(caller, module, f"{module}.{name}"))


class Lineage:
    """Notes the functions that are given a value of a journey and make a new one of a type that came before it."""

    def __init__(self, kinds: tuple[type, ...]) -> None:
        self.kinds = kinds
        self.back: set[str] = set()
        self.seen: dict[
            int, tuple[int, Any]
        ] = {}  # by id: as the how manieth, and the value, so that no id is used again
        self._given: dict[int, tuple[set[int], int]] = {}

    def __call__(self, frame: FrameType, event: str, result: Any) -> None:
        if _module(frame) is None:
            return
        if event == "call":
            found = self._carried([frame.f_locals[name] for name in _arguments(frame)])
            self._see(found)
            self._given[id(frame)] = {place for place, _ in found}, len(self.seen)
        elif event == "return":
            given, before = self._given.pop(id(frame), (set(), 0))
            found = self._carried([result])
            self._see(found)
            for place, value in found:
                if self.seen[id(value)][0] >= before and given and min(given) > place:
                    self.back.add(
                        f"{_module(frame)}.{frame.f_code.co_name}: {self._named(given)} -> {self._named({place})}"
                    )

    def _see(self, found: list[tuple[int, Any]]) -> None:
        for _, value in found:
            self.seen.setdefault(id(value), (len(self.seen), value))

    def _carried(self, items: list[Any]) -> list[tuple[int, Any]]:
        """Return the values of the journey among items and in lists, tuples and dicts among them."""
        flat = []
        for item in items:
            held = item.values() if isinstance(item, dict) else item if isinstance(item, (list, tuple)) else (item,)
            flat += list(held)[:100]
        return [(place, item) for item in flat for place, kind in enumerate(self.kinds) if isinstance(item, kind)]

    def _named(self, places: set[int]) -> str:
        return ", ".join(self.kinds[place].__name__ for place in sorted(places))


def _arguments(frame: FrameType) -> list[str]:
    code = frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return [name for name in code.co_varnames[:count] if name in frame.f_locals]


def _module(frame: FrameType) -> str | None:
    name = str(frame.f_globals.get("__name__", ""))
    return name if name.startswith("opkit.") else None


def traced(journey: Callable[[], None], tracer: Callable[[FrameType, str, Any], None]) -> None:
    """Make a journey under a tracer; one made before has loaded what it loads."""
    journey()
    sys.setprofile(tracer)
    try:
        journey()
    finally:
        sys.setprofile(None)


# ---- the journeys ----------------------------------------------------------------------------------------------------
def build(folder: Path) -> Callable[[], None]:
    """``opkit build`` of one op directory."""
    scaffold("my_relu", folder, "elementwise")

    def journey() -> None:
        with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as ended:  # noqa: PT012 - the patch ends with the run
            patch.setattr(sys, "argv", ["opkit", "build", str(folder / "my_relu")])
            main()
        assert ended.value.code == 0

    return journey


class Tanh(paddle.autograd.PyLayer):
    """A PyLayer made of ops."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = paddle.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        (y,) = ctx.saved_tensor()
        return dy * (1 - paddle.square(y))


def layer() -> None:
    """A Tensor through a PyLayer and back."""
    x = paddle.to_tensor(np.ones(3, np.float32), stop_gradient=False)
    paddle.sum(Tanh.apply(x)).backward()
    assert x.grad is not None


def graph() -> None:
    """A py_func in a program, its gradient, and a run."""
    paddle.enable_static()
    try:
        program = paddle.static.Program()
        with paddle.static.program_guard(program, paddle.static.Program()):
            x = paddle.static.data("x", [2, 3], "float32")
            x.stop_gradient = False
            y = program.global_block().create_var(name="y", shape=[2, 3], dtype="float32")
            paddle.static.py_func(np.tanh, x, y, lambda x, y, dy: dy * (1 - y * y))
            paddle.static.append_backward(paddle.mean(y))
            feed = {"x": np.ones((2, 3), np.float32)}
            paddle.static.Executor().run(program, feed, ["x@GRAD"])
    finally:
        paddle.disable_static()


@pytest.fixture(scope="module", params=TITLES)
def journey(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Callable[[], None]]:
    """Each journey's title, and what makes it."""
    paddle.disable_static()
    journeys = dict(zip(TITLES, (build(tmp_path_factory.mktemp("ops")), layer, graph)))
    return request.param, journeys[request.param]


@pytest.fixture(scope="module")
def made(journey: tuple[str, Callable[[], None]]) -> tuple[list[Stop], list[Call]]:
    """What is written of a journey, and the calls that it made."""
    title, make = journey
    tracer = Tracer()
    traced(make, tracer)
    return stops(title), tracer.calls


# ---- comparing -------------------------------------------------------------------------------------------------------
def test_the_functions_are_met_in_the_order_written(made: tuple[list[Stop], list[Call]]) -> None:
    """Each line's function is called across a module's border, after that of the line before."""
    written, calls = made
    position = 0
    for number, stop in enumerate(written, 1):
        met = [index for index in range(position, len(calls)) if calls[index].function == stop.function]
        assert met, f"line {number}: {stop.function} is not met after line {number - 1}"
        position = met[0] + 1


def test_a_journey_is_written_from_its_first_step(made: tuple[list[Stop], list[Call]]) -> None:
    """The first line is where the user's code first enters opkit, or the facade's first function of the journey."""
    written, calls = made
    assert calls[[call.function for call in calls].index(written[0].function)].caller is None


def test_calls_go_down_but_for_the_callbacks_written(made: tuple[list[Stop], list[Call]]) -> None:
    """Exactly the functions that are marked as callbacks are called from a lower row, or from beside."""
    written, calls = made
    row = rows()

    def is_up(call: Call) -> bool:
        if call.caller is None:
            return False
        above, below = call.caller.split(".")[1], call.module.split(".")[1]
        return above != below and row[above] <= row[below]

    assert {call.function for call in calls if is_up(call)} == {stop.function for stop in written if stop.protocol}


@pytest.mark.parametrize("title", TITLES)
def test_callbacks_name_a_protocol_of_a_lower_row(title: str) -> None:
    """What a callback goes through exists, and is declared below the function that is called."""
    row = rows()
    for stop in stops(title):
        if stop.protocol is None:
            continue
        owner, _, member = stop.protocol.rpartition(".")
        module, _, name = owner.rpartition(".")
        declared = getattr(importlib.import_module(module), name)
        assert member in {*vars(declared), *declared.__annotations__}, stop.protocol
        assert row[stop.protocol.split(".")[1]] < row[stop.function.split(".")[1]], stop


# ---- values ----------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def carried(journey: tuple[str, Callable[[], None]]) -> Lineage:
    """What became of the values of a journey."""
    title, make = journey
    lineage = Lineage(values(title))
    traced(make, lineage)
    return lineage


def test_no_value_is_converted_back(carried: Lineage) -> None:
    """What has become a value of a later type is not made one of an earlier type again."""
    assert carried.back == set()


def test_every_type_of_a_journey_is_met(carried: Lineage) -> None:
    """A type that no function takes or returns would hold nothing."""
    met = [value for _, value in carried.seen.values()]
    assert all(any(isinstance(value, kind) for value in met) for kind in carried.kinds)


CONVERSIONS = """
def there(array): return make(array)
def back(tensor): return tensor._data + 1
def kept(tensor): return tensor._data
def both(tensor, array): return array + tensor._data
def inside(tensors): return {"a": back(tensors[0])}["a"]
"""


@pytest.mark.parametrize(
    ("function", "found"),
    [("there", 0), ("back", 1), ("kept", 1), ("both", 0), ("inside", 2)],
)
def test_a_conversion_back_is_found(function: str, found: int) -> None:
    """A new array of a Tensor alone is one, in a list too; a Tensor of an array and a computation with both are none."""
    space: dict[str, Any] = {"__name__": "opkit.imagined", "make": paddle.to_tensor}
    exec(CONVERSIONS, space)
    array = np.ones(2, np.float32)
    tensor = paddle.to_tensor(np.zeros(2, np.float32))
    arguments = {"there": (array,), "both": (tensor, array), "inside": ([tensor],)}.get(function, (tensor,))
    lineage = Lineage(values(TITLES[1]))
    traced(lambda: space[function](*arguments), lineage)
    assert len(lineage.back) == found
