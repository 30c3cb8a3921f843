"""The steps of a gradient as assignments: user kernels are called by name, built-in ops are expressions.

They read alike in every framework; where optional or variadic inputs or attributes decide, they stand in branches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from opkit.export.builtin_steps import BUILTIN_STEPS, Words, builtin_step
from opkit.export.model import BackwardStep, ExportError, ExportKernel, ExportOp, Wiring
from opkit.export.signature import names_of, safe_names
from opkit.export.text.branches import Body, merged


def saved_names(op: ExportOp) -> list[str]:
    """Return the inputs and outputs of forward that its gradient needs, as the file calls them, in order."""
    safe = names_of(op.forward)
    read = {blob.partition(":")[2].rpartition("_")[0] for blob in op.reads if blob[:1] != "d"}
    if len(op.wirings) > 1:
        read |= {arg.name for arg in op.forward.inputs if arg.is_optional or op.forward.is_list(arg.name)}
    return [safe[arg.name] for arg in (*op.forward.inputs, *op.forward.outputs) if arg.name in read]


def backward_lines(
    op: ExportOp, attrs: Mapping[str, str], words: Words, returned: Callable[[Mapping[str, str]], str]
) -> list[str]:
    """Return the statements that compute the gradients of an op and return them.

    Args:
        op: the op, with a gradient.
        attrs: {forward attribute: how it is written there}.
        words: the framework's.
        returned: the text of what is returned, of {input: text of its gradient}.

    Raises:
        ExportError: a built-in op has no form in exported files.
    """
    bodies: list[Body] = []
    for wiring in op.wirings:
        lines = _Blobs(op, wiring).lines(attrs, words, returned)
        bodies += [
            Body(tuple(lines), features, frozenset(), frozenset(features)) for features in _features(op, wiring, attrs)
        ]
    return merged(bodies, f"the gradient of {op.name}")


def _features(op: ExportOp, wiring: Wiring, attrs: Mapping[str, str]) -> list[dict[str, object]]:
    safe = names_of(op.forward)
    found = []
    for case in wiring.cases:
        features: dict[str, object] = {}
        for name, value in case.items():
            if name in attrs:
                features[attrs[name]] = value
            elif op.forward.is_list(name):
                features[f"len({safe[name]})"] = value
            else:
                features[f"{safe[name]} is None"] = not value
        found.append(features)
    return found


class _Blobs:
    """The variables of one wiring.

    Args:
        op: the op.
        wiring: how its gradient is wired.
    """

    def __init__(self, op: ExportOp, wiring: Wiring) -> None:
        self.op = op
        self.wiring = wiring
        safe = names_of(op.forward)
        self.texts: dict[str, str] = {}
        self.lists: dict[str, int] = {}
        self.used = {*safe.values(), *(f"grad_{name}" for name in safe.values())}
        for arg in (*op.forward.inputs, *op.forward.outputs):
            for index in range(_most(wiring, arg.name) if op.forward.is_list(arg.name) else 1):
                place = f"[{index}]" if op.forward.is_list(arg.name) else ""
                for prefix, name in (
                    ("in", safe[arg.name]),
                    ("out", safe[arg.name]),
                    ("dout", f"grad_{safe[arg.name]}"),
                ):
                    self.texts[f"{prefix}:{arg.name}_{index}"] = name + place

    def lines(self, attrs: Mapping[str, str], words: Words, returned: Callable[[Mapping[str, str]], str]) -> list[str]:
        """Return the assignments and the return."""
        found = [self._line(step, attrs, words) for step in self.wiring.steps]
        given: dict[str, str] = {}
        for arg in self.op.forward.inputs:
            places = sorted(index for name, index in self.wiring.bindings if name == arg.name)
            texts = [self.texts[self.wiring.bindings[arg.name, index]] for index in places]
            if self.op.forward.is_list(arg.name):
                given[arg.name] = self._whole(texts)
            elif texts:
                given[arg.name] = texts[0]
        return [*found, f"return {returned(given)}"]

    def _whole(self, texts: Sequence[str]) -> str:
        """Return a list of values: by its name where it is a whole list."""
        name = texts[0].partition("[")[0] if texts else ""
        is_whole = bool(texts) and list(texts) == [f"{name}[{index}]" for index in range(len(texts))]
        if is_whole and (self.lists.get(name, len(texts)) == len(texts)):
            return name
        return f"[{', '.join(texts)}]"

    def _new(self, blobs: Sequence[str], is_list: bool) -> str:
        """Return the variable of a step's output."""
        base = safe_names([blobs[0].rpartition("/")[2].rpartition("_")[0]]).popitem()[1]
        name, number = base, 1
        while name in self.used:
            name, number = f"{base}{number}", number + 1
        self.used.add(name)
        for index, blob in enumerate(blobs):
            self.texts[blob] = f"{name}[{index}]" if is_list else name
        if is_list:
            self.lists[name] = len(blobs)
        return name

    def _line(self, step: BackwardStep, attrs: Mapping[str, str], words: Words) -> str:
        values = {name: _replaced(text, attrs) for name, text in step.attrs.items()}
        given = {name: [self.texts[blob] for blob in blobs] for name, blobs in step.inputs if blobs}
        if step.kernel is not None:
            return self._call(step, step.kernel, given, values)
        if step.type not in BUILTIN_STEPS:
            raise ExportError(
                f"the gradient of {self.op.name!r} uses the built-in op {step.type!r}, which has no form in exported "
                f"files; there are {', '.join(sorted(BUILTIN_STEPS))}",
                where=self.op.forward.where,
            )
        target = self._new(step.outputs[0][1], False)
        return f"{target} = {builtin_step(step.type, words, given, values)}"

    def _call(
        self, step: BackwardStep, kernel: ExportKernel, given: Mapping[str, Sequence[str]], values: Mapping[str, str]
    ) -> str:
        args = []
        for arg in kernel.inputs:
            texts = given.get(arg.name, [])
            args.append(self._whole(texts) if kernel.is_list(arg.name) else texts[0] if texts else "None")
        args += [values[spec.name] if spec.name in values else repr(spec.default) for spec in kernel.attrs]
        targets = [self._new(blobs, kernel.is_list(name)) for name, blobs in step.outputs]
        return f"{', '.join(targets)} = _{step.type}({', '.join(args)})"


def _most(wiring: Wiring, name: str) -> int:
    return max((int(case[name]) for case in wiring.cases if name in case), default=1)


def _replaced(text: str, attrs: Mapping[str, str]) -> str:
    """Write forward's attributes in an expression as the place calls them."""
    if text[:1] in "'\"[(":
        return text
    return re.sub(r"[A-Za-z_]\w*", lambda found: attrs.get(found.group(), found.group()), text)
