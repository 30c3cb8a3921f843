"""Rows of the corpus of py_funcs: pairs of functions for ``paddle.static.py_func``, and the scripts that run them.

Holds no pair itself, and knows nothing of opkit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from textwrap import dedent, indent

__all__ = ["FuncFault", "Pair", "as_script", "planted_pair"]

_HEAD = '''import numpy as np
import paddle


def run(forward, backward, arrays, constants, results, skipped):
    """Build a program with one py_func, and run it with the gradients of the mean of its outputs."""
    main = paddle.static.Program()
    with paddle.static.program_guard(main, paddle.static.Program()):
        ins = []
        for number, array in enumerate(arrays):
            made = paddle.static.data(f"x{number}", list(array.shape), array.dtype.name)
            made.stop_gradient = array.dtype.kind != "f" or number in constants
            ins.append(made)
        outs = [
            main.current_block().create_var(name=f"y{number}", shape=list(shape), dtype=dtype)
            for number, (shape, dtype) in enumerate(results)
        ]
        skip = [(ins + outs)[number] for number in skipped]
        paddle.static.py_func(forward, ins, outs, backward_func=backward, skip_vars_in_backward_input=skip or None)
        loss = paddle.mean(outs[0])
        for out in outs[1:]:
            loss = loss + paddle.mean(out)
        grads = paddle.static.gradients([loss], [item for item in ins if not item.stop_gradient])
    exe = paddle.static.Executor(paddle.CPUPlace())
    feed = {item.name: array for item, array in zip(ins, arrays)}
    exe.run(main, feed=feed, fetch_list=[loss, *grads])
'''


@dataclass(frozen=True)
class Pair:
    """One py_func. ``NAME`` in any text stands for its name.

    Args:
        name: of the forward function; ``NAME_grad`` is its gradient.
        takes, forward: forward's parameters and body.
        gets, backward: the gradient's.
        arrays: Python for the list of input arrays, from the generator ``rng``.
        constants: numbers of float inputs that take no gradient.
        results: (shape, dtype) of each output.
        skipped: numbers of inputs and outputs that the gradient does not get.
        prelude: module-level Python.
        fault, why: class of the fault and what is wrong, "" for a right one.
        witness: ``arrays`` on which the fault shows, "" where it is the run's own.
        beyond: whether what the run sees does not show the fault.
    """

    name: str
    takes: str
    forward: str
    gets: str
    backward: str
    arrays: str = "[rng.normal(size=(3, 4))]"
    constants: tuple[int, ...] = ()
    results: tuple[tuple[tuple[int, ...], str], ...] = (((3, 4), "float64"),)
    skipped: tuple[int, ...] = ()
    prelude: str = ""
    fault: str = ""
    why: str = ""
    witness: str = ""
    beyond: bool = False

    def text(self) -> str:
        """Return the source of the two functions."""
        body = f"{dedent(self.prelude).strip()}\n\n\n" if self.prelude else ""
        for name, takes, code in (("NAME", self.takes, self.forward), ("NAME_grad", self.gets, self.backward)):
            body += f"def {name}({takes}):\n{indent(dedent(code).strip(chr(10)), '    ')}\n\n\n"
        return body.replace("NAME", self.name)

    def call(self) -> str:
        """Return the line that runs it."""
        parts = f"{self.arrays}, {self.constants!r}, {self.results!r}, {self.skipped!r}"
        return f"run({self.name}, {self.name}_grad, {parts})"


@dataclass(frozen=True)
class FuncFault:
    """A fault planted in a right pair: a text of its two functions that is replaced once.

    Args:
        of, name: the right pair, and what the faulty one is called.
        fault, why: its class, and what is wrong.
        old, new: the text and its replacement.
        change: other fields of Pair that differ.
    """

    of: str
    name: str
    fault: str
    why: str
    old: str
    new: str
    change: dict[str, object] = field(default_factory=dict)


def planted_pair(fault: FuncFault, right: Pair) -> Pair:
    """Return the faulty pair.

    Raises:
        ValueError: the text to replace does not stand exactly once in the right one.
    """
    texts = {name: dedent(getattr(right, name)) for name in ("forward", "backward")}
    found = [name for name in texts for _ in range(texts[name].count(fault.old))]
    if len(found) != 1:
        raise ValueError(f"{fault.name}: {fault.old!r} stands {len(found)} times in {right.name}")
    texts[found[0]] = texts[found[0]].replace(fault.old, fault.new)
    return replace(right, **{**texts, **fault.change, "name": fault.name, "fault": fault.fault, "why": fault.why})


def as_script(pairs: Iterable[Pair]) -> str:
    """Return a script that runs each pair in a program of its own, whatever becomes of the others."""
    pairs = list(pairs)
    texts = "".join(pair.text() for pair in pairs)
    runs = "".join(f"    lambda rng: {pair.call()},\n" for pair in pairs)
    return (
        f'{_HEAD}\n\n{texts}RUNS = (\n{runs})\n\nif __name__ == "__main__":\n    paddle.enable_static()\n'
        "    for one in RUNS:\n        try:\n            one(np.random.default_rng(3))\n"
        "        except Exception as error:\n            print(type(error).__name__, error)\n"
    )
