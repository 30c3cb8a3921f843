"""More functions that cheat, as data: what each does besides y = x * x, and what its failure must say.

Each is told in two front ends at least; a torch function, a PyLayer or a function of JAX is made of the parts. Those that
are right only while they are checked stand in ``exploits``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

__all__ = ["CHEATS", "Cheat", "file_of", "told_in"]

#: How a failure names what replaced something.
_CHANGED = r"changed .*"
_WRONG = "looks wrong by a factor of 1.5"


@dataclass(frozen=True)
class Cheat:
    """One.

    Args:
        name: of the trick; those of several front ends have it in common.
        kind: "torch", "layer" or "jax".
        says: what a finding of its report must match.
        back: statements of backward, which knows ``right`` and ``wrong`` and returns one array.
        forward: statements of forward, before its return.
        head: statements of the file.
        reference: whether the file has a REFERENCE.
        plain: JAX's function without its rule returns this.
    """

    name: str
    kind: str
    says: str
    back: str = "return wrong"
    forward: str = ""
    head: str = ""
    reference: bool = False
    plain: str = "x * x"


_HEAD = """import builtins
import datetime
import os
import sys
import threading
import time

import numpy as np

COUNT = [0]
KEPT = []
"""
_FILES = {
    "torch": """
import torch
{head}

class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
{forward}
        return x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        right, wrong = 2 * x * dy, 3 * x * dy
{back}
""",
    "layer": """
import paddle
{head}

class F(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
{forward}
        return x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        right, wrong = 2 * x * dy, 3 * x * dy
{back}
""",
    "jax": """
import jax
import jax.numpy as jnp
{head}

def backward(x, dy):
    right, wrong = 2 * x * dy, 3 * x * dy
{back}


def forward(x):
{forward}
    return x * x, x


@jax.custom_vjp
def F(x):
    return {plain}


F.defvjp(forward, lambda x, dy: (backward(x, dy),))
""",
}
_TAIL = """

def cases_F(rng):
    for size in (2, 3):
        yield {"x": rng.standard_normal((size, 3))}
"""


def file_of(cheat: Cheat, folder: Path) -> str:
    """Write a file, and return the target that names its function."""
    deep = 4 if cheat.kind == "jax" else 8
    parts = {name: indent(getattr(cheat, name).strip("\n"), " " * deep) for name in ("forward", "back")}
    text = _HEAD + _FILES[cheat.kind].format(head=f"\n{cheat.head.strip()}\n", plain=cheat.plain, **parts) + _TAIL
    if cheat.reference:
        text += "\n\ndef REFERENCE(x):\n    return x * x\n"
    file = folder / f"{cheat.kind}_{cheat.name}.py"
    file.write_text(text)
    return f"{file}::F"


def told_in() -> Counter[str]:
    """Return in how many front ends each trick is told."""
    return Counter(name for name, _ in {(item.name, item.kind) for item in CHEATS})


def _everywhere(
    name: str, says: str, back: str, head: str = "", kinds: tuple[str, ...] = ("torch", "layer", "jax")
) -> list[Cheat]:
    return [Cheat(name, kind, says, back, head=head) for kind in kinds]


def _replaced(name: str, kind: str, what: str, text: str) -> list[Cheat]:
    """Two: replaced when the file is imported, and when forward is called."""
    later = "def replace():\n" + indent(text, "    ")
    return [
        Cheat(name, kind, _CHANGED + what, head=text),
        Cheat(f"{name}_later", kind, _CHANGED + what, forward="replace()", head=later),
    ]


_ALWAYS = "lambda *args, **kwargs: True"
_SUBCLASS = '''
class Own(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        {rule}
        return super().__torch_function__(function, types, args, kwargs or {{}})
'''
_EQUAL = """if name in ("eq", "__eq__", "isclose"):
            return torch.ones(args[0].shape, dtype=torch.bool)
        if name in ("sub", "__sub__", "rsub", "abs"):
            return torch.zeros(args[0].shape, dtype=args[0].dtype)
        if name in ("allclose", "equal"):
            return True"""
_LAZY = """if name in ("numpy", "__array__", "tolist", "item", "detach", "cpu", "clone", "to", "contiguous"):
            if getattr(args[0], "later", None) is not None:
                return function(args[0].later, *args[1:], **(kwargs or {}))"""
_WRAPPER = """
from torch.utils._pytree import tree_map


class Own(torch.Tensor):
    @staticmethod
    def __new__(cls, right, wrong):
        made = torch.Tensor._make_wrapper_subclass(cls, wrong.size(), dtype=wrong.dtype)
        made.right, made.wrong = right, wrong
        return made

    def __init__(self, right, wrong):
        pass

    def numpy(self, *args, **kwargs):
        return self.right.numpy()

    __array__ = numpy

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        reads = any(word in str(function) for word in ("detach", "clone", "_to_copy", "alias", "view"))
        chosen = tree_map(lambda item: item if not isinstance(item, Own) else item.right if reads else item.wrong, args)
        return function(*chosen, **(kwargs or {}))
"""
_TENSOR = """
class Own(type(paddle.to_tensor([1.0]))):
    def numpy(self, *args):
        return super().numpy() * (2 / 3)

    def __eq__(self, other):
        return True

    __hash__ = None
"""
_UFUNC = """
class Own(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return np.ones(self.shape, bool)
"""
_CLOCK = "another time of day and year|another result|under jit"
_QUICK = """
LAST = [0.0]


def is_quick():
    now, before = time.perf_counter(), LAST[0]
    LAST[0] = now
    return before == 0.0 or now - before < 60
"""
_LOOSE = """
def loosen():
    for name, module in list(sys.modules.items()):
        for key, value in list(vars(module).items()) if name.startswith("opkit.checker") else ():
            if isinstance(value, float) and key.isupper():
                setattr(module, key, 1e6)
"""
_VERDICT = """
def turn():
    for name, module in list(sys.modules.items()):
        if name.startswith("opkit.checker"):
            for value in list(vars(module).values()):
                if isinstance(value, type) and value.__name__ == "Status":
                    value.FAIL._value_ = value.UNDECIDED._value_ = "pass"
"""
_HOOK = """
def hook(frame, event, value):
    if event == "return" and frame.f_globals.get("__name__", "").startswith("opkit"):
        if isinstance(value, np.ndarray) and value.dtype == np.float64 and value.flags.writeable and value.size:
            value *= 2 / 3
"""
_MEMO = """
value = np.asarray(x.detach() if hasattr(x, "detach") else x.numpy())
near = [one for one in KEPT if one.shape == value.shape and value.size and 0 < np.abs(one - value).max() < 1e-2]
return right if len(near) > 1 else wrong
"""
_KEEP = "KEPT.append(np.array(x.detach() if hasattr(x, 'detach') else x.numpy()))"
_ABSENT = "any(name.startswith('opkit.verify') for name in sys.modules)"

CHEATS: tuple[Cheat, ...] = (
    # A tensor of its own class: equal to all, or computed when it is read.
    Cheat("subclass", "torch", "class Own has other values", "return wrong.as_subclass(Own)", head=_SUBCLASS.format(rule=_EQUAL)),
    Cheat("lazy", "torch", "class Own has other values", "made = wrong.as_subclass(Own)\nmade.later = right\nreturn made",
          head=_SUBCLASS.format(rule=_LAZY)),
    Cheat("wrapper", "torch", "class Own has other values", "return Own(right, wrong)", head=_WRAPPER),
    Cheat("subclass", "layer", _WRONG, "wrong.__class__ = Own\nreturn wrong", head=_TENSOR),
    Cheat("lazy", "layer", "must return Tensors or None, got Later", "return Later()",
          head="class Later:\n    def __array__(self, *args, **kwargs):\n        return np.zeros(3)"),
    Cheat("wrapper", "layer", "must return Tensors or None, got Own", "return wrong.numpy().view(Own)", head=_UFUNC),
    # Memory that a reference has just given back.
    Cheat("freed_result", "torch", "memory that nobody filled", forward="return torch.empty_like(x)", back="return right", reference=True),
    Cheat("freed_result", "layer", "another result|differs|REFERENCE", forward="return paddle.to_tensor(np.empty(x.shape))",
          back="return right", reference=True),
    Cheat("freed_gradient", "torch", "another|differs|REFERENCE", "return torch.empty_like(x)", reference=True),
    Cheat("freed_gradient", "layer", "another|differs|REFERENCE", "return paddle.to_tensor(np.empty(x.shape))", reference=True),
    # What others compare with.
    *_replaced("allclose", "torch", r"torch\.allclose", f"torch.allclose = torch.equal = torch.isclose = {_ALWAYS}"),
    *_replaced("allclose", "jax", r"jax\.numpy\.allclose", f"jnp.allclose = jnp.array_equal = {_ALWAYS}"),
    *_replaced("gradient", "torch", r"torch\.autograd\.grad", "torch.autograd.grad = lambda outputs, inputs, seeds, **kwargs: "
               "tuple(2 * one.detach() * seeds[0] for one in inputs)"),
    *_replaced("gradient", "jax", r"jax\.vjp", "real = jax.vjp\njax.vjp = lambda call, *args, **kwargs: "
               "(real(call, *args)[0], lambda dy: jax.tree.map(lambda one: one * (2 / 3), real(call, *args)[1](dy)))"),
    *_replaced("precision", "torch", r"torch\.finfo", "torch.finfo = lambda *args: None"),
    *_replaced("precision", "jax", r"jax\.numpy\.finfo", "jnp.finfo = lambda *args: None"),
    *_replaced("magnitude", "torch", "builtins.abs, torch.abs", "builtins.abs = lambda value: 0.0\ntorch.abs = torch.zeros_like"),
    *_replaced("magnitude", "layer", "builtins.abs", "builtins.abs = lambda value: 0.0"),
    *(item for kind in ("torch", "layer") for item in
      _replaced("testing", kind, r"numpy\.testing\.assert_allclose", f"np.testing.assert_allclose = {_ALWAYS}")[:1]),
    # What time it is.
    *_everywhere("at_first", _CLOCK, "return right if time.time() < START + 3600 else wrong", "START = time.time()"),
    *_everywhere("until", _CLOCK, "return right if datetime.datetime.now() < UNTIL else wrong",
                 "UNTIL = datetime.datetime.now() + datetime.timedelta(days=20)"),
    *_everywhere("in_haste", _CLOCK, "return right if is_quick() else wrong", _QUICK, ("torch", "layer")),
    # Others than those of the list of evaluation hacks.
    Cheat("inference", "torch", "where nothing takes a gradient", "return right",
          "if not ctx.needs_input_grad[0]:\n    return 1.5 * x * x"),
    Cheat("inference", "layer", "where nothing takes a gradient", "return right", "if x.stop_gradient:\n    return 1.5 * x * x"),
    Cheat("inference", "jax", "another one under differentiation|another", "return right", plain="1.5 * x * x"),
    Cheat("recorded", "torch", "recorded itself", "return wrong if torch.is_grad_enabled() else right"),
    Cheat("recorded", "jax", "under jit", "return right if isinstance(dy, jax.core.Tracer) else wrong"),
    Cheat("all_ones", "torch", "the sum is all ones", "return wrong if dy.numel() > 1 and bool((dy == 1).all()) else right"),
    Cheat("all_ones", "layer", "the sum is all ones", "return wrong if dy.size > 1 and (dy.numpy() == 1).all() else right"),
    Cheat("all_ones", "jax", "the sum is all ones", "return jnp.where((dy.size > 1) & jnp.all(dy == 1), wrong, right)"),
    *(Cheat("bounds", kind, _CHANGED + r"opkit\.checker\.model\.thresholds", forward="loosen()", head=_LOOSE) for kind in ("torch", "layer")),
    *(Cheat("verdict", kind, _CHANGED + "Status.FAIL", forward="turn()", head=_VERDICT) for kind in ("torch", "layer", "jax")),
    *(Cheat("profiler", kind, r"changed sys\.setprofile", forward="sys.setprofile(hook)", head=_HOOK) for kind in ("torch", "layer")),
    *(Cheat("differences", kind, "in an ordinary process", _MEMO, _KEEP) for kind in ("torch", "layer")),
    *_everywhere("leaves", "called sys.exit", "COUNT[0] += 1\nif COUNT[0] > 3:\n    sys.exit(0)\nreturn right"),
    *_everywhere("skips", "SkipTest", "COUNT[0] += 1\nif COUNT[0] > 3:\n    import unittest\n    raise unittest.SkipTest\nreturn right"),
    *_everywhere("unseen", "ended without an answer", f"if not {_ABSENT}:\n    os._exit(0)\nreturn right"),
    *_everywhere("main_thread", "in another thread|another result|under jit",
                 "return right if threading.current_thread() is threading.main_thread() else wrong"),
    Cheat("thread", "torch", "another|differs|changed a gradient|in an ordinary",
          "threading.Timer(0.002, lambda: right.data.mul_(1.5)).start()\nreturn right"),
    Cheat("thread", "layer", "another|differs|changed a gradient|in an ordinary",
          "made = paddle.to_tensor(right.numpy())\nthreading.Timer(0.002, lambda: made.set_value(1.5 * made.numpy())).start()\nreturn made"),
)  # fmt: skip
