"""Tracing one kernel on one example.

The kernel's module gets traced numpy for the time of the run; variables give the nodes their names.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

import numpy as np

from opkit.export.trace.array import TracedArray, TracedList, unwrap
from opkit.export.trace.builtin import TracedNumpy, traced_globals
from opkit.export.trace.graph import Node, Trace, UntraceableError
from opkit.export.trace.loops import TracedRange
from opkit.export.trace.lowering import LOWERED
from opkit.export.trace.masks import Selected
from opkit.export.trace.recorder import Terms, TraceRecorder, recording
from opkit.export.trace.symbols import Symbol, symbol_of
from opkit.listed import listed
from opkit.project.kernel import UserKernel


def trace_kernel(
    kernel: UserKernel, names: Sequence[str], args: Sequence[Any], attrs: Mapping[str, Any], *, rolls: bool = True
) -> Trace:
    """Run a kernel on recording arrays.

    Args:
        kernel: the user's kernel.
        names: what its arguments are called.
        args: the example's arrays, None where an optional one is left out.
        attrs: the example's attributes.
        rolls: loops over attributes stay loops; else their values are taken for granted.

    Raises:
        UntraceableError: it does what a graph cannot hold; the error has the kernel's line.
    """
    inputs = tuple(None if item is None else Node("input", (name,), item, name=name) for name, item in zip(names, args))
    given = tuple(
        None
        if node is None
        else TracedList(node)
        if isinstance(node.value, list)
        else TracedArray(node, is_argument=True)
        for node in inputs
    )
    symbols = {name: symbol_of("attr", name, value) for name, value in attrs.items() if name != "device_sub_tag"}
    module = sys.modules[kernel.function.__module__].__dict__ if kernel.function.__module__ in sys.modules else {}
    space = getattr(kernel.function, "__globals__", module)
    traced = traced_globals(space)
    saved = {key: space[key] for key in traced if key in space}
    terms = Terms(TracedArray, unwrap, Symbol, lambda size: TracedRange(size, is_loop=True), TracedNumpy(np), LOWERED)
    recorder = TraceRecorder(kernel.where.file, terms, rolls=rolls)
    before = sys.getprofile()
    with recording(recorder):
        space.update(traced)
        sys.setprofile(_namer(kernel.where.file))
        try:
            result = kernel.call(given, symbols)
        except UntraceableError as error:
            error.line = error.line or _line(error, recorder)
            raise
        except Exception as error:
            raise UntraceableError(
                f"raises {type(error).__name__} when traced: {error}", _line(error, recorder)
            ) from error
        finally:
            sys.setprofile(before)
            for key in traced:
                del space[key]
            space.update(saved)
        if recorder.failure is not None:
            raise recorder.failure
        items = listed(result)
        results = []
        for item in items:
            node = unwrap(item.all() if isinstance(item, Selected) else item)
            if isinstance(node, (np.ndarray, np.generic)):
                node = Node("constant", (np.asarray(node),), np.asarray(node))
            if not isinstance(node, Node):
                raise UntraceableError("returns what is not an array")
            results.append(recorder.settled(node) if not recorder.is_short else node)
    is_rank_read = any(node.is_rank_read for node in recorder.nodes)
    return Trace(inputs, tuple(results), recorder.guards, is_rank_read, recorder.is_short)


def _line(error: BaseException, recorder: TraceRecorder) -> int:
    found, frame = 0, error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == recorder.file:
            found = frame.tb_lineno
        frame = frame.tb_next
    return found


def _namer(file: str) -> Any:
    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and frame.f_code.co_filename == file:
            for name, value in frame.f_locals.items():
                if isinstance(value, Symbol) and value.scalar.kind == "round":
                    value.scalar.args[0].name = name
                if isinstance(value, TracedArray) and not value.node.name:
                    value.node.name = name

    return profile
