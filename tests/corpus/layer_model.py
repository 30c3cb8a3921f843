"""Rows of the corpus of PyLayers: right ones, single faults planted in them, and the files that hold them.

Holds no PyLayer itself, and knows nothing of opkit: another framework's interpreter can read the rows too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from textwrap import dedent, indent

__all__ = ["HEAD", "Fault", "Layer", "as_module", "as_script", "driver_of", "planted"]

#: The beginning of every generated file. ``leaf`` is a random Tensor that needs a gradient, ``const`` one that does not.
HEAD = '''import functools
import math

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle.autograd import PyLayer

RNG = np.random.default_rng(20)


def const(*shape, low=None, high=None, dtype=None):
    data = RNG.standard_normal(shape) if low is None else RNG.uniform(low, high, shape)
    return paddle.to_tensor(np.asarray(data, dtype or paddle.get_default_dtype()))


def leaf(*shape, **kwargs):
    made = const(*shape, **kwargs)
    made.stop_gradient = False
    return made


def given(values, dtype=None):
    made = paddle.to_tensor(np.asarray(values, dtype or paddle.get_default_dtype()))
    made.stop_gradient = False
    return made


def ints(values):
    return paddle.to_tensor(np.asarray(values, "int64"))


def total(result):
    parts = result if isinstance(result, (list, tuple)) else [result]
    return sum(part.sum() for part in parts if isinstance(part, paddle.Tensor) and not part.stop_gradient)
'''


@dataclass(frozen=True)
class Layer:
    """One PyLayer. ``NAME`` in any text stands for its name.

    Args:
        name: of the class.
        takes: forward's parameters after ctx.
        forward: its body.
        backward: its body.
        call: the arguments of one typical ``apply``; they may use the functions of HEAD.
        gets: backward's parameters after ctx.
        cases: body of ``cases_NAME(rng)``, "" without.
        prelude: module-level Python before the class.
        methods: further members of the class.
        declares: module-level Python after the class (SURROGATE_NAME, ALLOW_NAME ...).
        tags: what makes it worth having: "saves" (keeps something that forward computed), "option" (takes something
            that is not a Tensor), "guard" (a bound next to 0 or 1, or a power, decides what it does outside of its domain).
        named: whether ``FILE.py::NAME`` is asked for a verdict.
        fault: "" for a right one, else the class of its fault.
        why: what is wrong with it.
        witness: arguments of an ``apply`` on which the fault shows; the typical call where it is "".
        beyond: whether the typical call (and the cases) do not show the fault, so that a script is UNDECIDED.
    """

    name: str
    takes: str
    forward: str
    backward: str
    call: str = "leaf(3, 4)"
    gets: str = "dy"
    cases: str = ""
    prelude: str = ""
    methods: str = ""
    declares: str = ""
    tags: str = ""
    named: bool = True
    fault: str = ""
    why: str = ""
    witness: str = ""
    beyond: bool = False

    def text(self) -> str:
        """Return the source: prelude, class, cases and declarations."""
        parts = [_clean(self.prelude)] if self.prelude else []
        parts.append(
            f"class NAME(PyLayer):\n    @staticmethod\n    def forward(ctx, {self.takes}):\n{_body(self.forward, 2)}\n"
            f"    @staticmethod\n    def backward(ctx, {self.gets}):\n{_body(self.backward, 2)}"
            + (f"\n{_body(self.methods, 1)}" if self.methods else "")
        )
        if self.cases:
            parts.append(f"def cases_NAME(rng):\n{_body(self.cases, 1)}")
        if self.declares:
            parts.append(_clean(self.declares))
        return "\n\n".join(parts).replace("NAME", self.name)


@dataclass(frozen=True)
class Fault:
    """A fault planted in a right PyLayer: a text of its source that is replaced once.

    Args:
        of: name of the right one.
        name: of the faulty one.
        fault: its class.
        why: what is wrong, in a few words.
        old, new: the text and its replacement; ``old`` stands exactly once in prelude, forward, backward and methods.
        call, cases, prelude: in place of the right one's, where not None.
        witness, beyond: see Layer.
        named: False where ``FILE.py::NAME`` cannot know the arguments that show it.
    """

    of: str
    name: str
    fault: str
    why: str
    old: str
    new: str
    call: str | None = None
    cases: str | None = None
    prelude: str | None = None
    witness: str = ""
    beyond: bool = False
    named: bool = True


def planted(fault: Fault, right: Layer) -> Layer:
    """Return the faulty PyLayer.

    Raises:
        ValueError: the text to replace does not stand exactly once in the right one.
    """
    fields = ("prelude", "forward", "backward", "methods")
    texts = {field: dedent(getattr(right, field)) for field in fields}
    found = [field for field in fields for _ in range(texts[field].count(fault.old))]
    if len(found) != 1:
        raise ValueError(f"{fault.name}: {fault.old!r} stands {len(found)} times in {right.name}")
    texts[found[0]] = texts[found[0]].replace(fault.old, fault.new)
    made = replace(right, **texts, named=fault.named)
    for field in ("name", "fault", "why", "witness", "beyond"):
        made = replace(made, **{field: getattr(fault, field)})
    for field in ("call", "cases", "prelude"):
        if getattr(fault, field) is not None:
            made = replace(made, **{field: getattr(fault, field)})
    return made


def driver_of(layer: Layer) -> str:
    """Return the line that a person would write to try a PyLayer."""
    return f"total({layer.name}.apply({layer.call.replace('NAME', layer.name)})).backward()"


def as_script(layer: Layer) -> str:
    """Return a file with one PyLayer that it runs on its typical input."""
    return f'{HEAD}\n\n{layer.text()}\n\nif __name__ == "__main__":\n    {driver_of(layer)}\n'


def as_module(layers: Iterable[Layer], *, is_run: bool = True) -> str:
    """Return one file with many PyLayers; as a script it runs each, whatever becomes of the others.

    A file that runs none of them shows no shapes that they are meant for.
    """
    layers = list(layers)
    if not is_run:
        return f"{HEAD}\n\n" + "\n\n".join(layer.text() for layer in layers)
    runs = "".join(f"    lambda: {driver_of(layer)},\n" for layer in layers)
    texts = "\n\n".join(layer.text() for layer in layers)
    return (
        f"{HEAD}\n\n{texts}\n\nRUNS = (\n{runs})\n\nif __name__ == \"__main__\":\n    for run in RUNS:\n"
        "        RNG = np.random.default_rng(20)\n        try:\n            run()\n        except Exception as error:\n            print(type(error).__name__, error)\n"
    )


def _clean(text: str) -> str:
    return dedent(text).strip("\n") + "\n"


def _body(text: str, depth: int) -> str:
    return indent(_clean(text), "    " * depth)
