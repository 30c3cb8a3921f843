"""Gradient contexts: what the gradient functions of a definition see, in the old interface and the new.

The result is the list of backward ops and the binding of input gradients; nothing is run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opkit.spec.runtime.arithmetic import METER
from opkit.spec.runtime.contexts import Arg, Conf
from opkit.spec.runtime.faults import FatalError
from opkit.spec.runtime.objects import Blob, Desc, forward_blob

#: Blobs of one argument.
MOST_BLOBS = 10_000

Complete = Callable[["OpBuilder"], None]


class OpBuilder:
    """A UserOpConfWrapperBuilder: collects one backward op; ``build`` gives its Conf.

    Its inputs are what the definition gives: blobs, or strings that its code put together.
    """

    __slots__ = ("attrs", "complete", "inputs", "name", "outputs", "type")

    def __init__(self, name: str, complete: Complete | None = None) -> None:
        self.name = name
        self.type = ""
        self.inputs: dict[str, list[str]] = {}
        self.outputs: dict[str, list[Blob]] = {}
        self.attrs: dict[str, tuple[str, Any]] = {}
        self.complete = complete

    def op(self, type_name: str) -> OpBuilder:
        """Set the op type."""
        self.type = type_name
        return self

    def input(self, arg: str, blob: str) -> OpBuilder:
        """Append a blob to an input."""
        self.inputs.setdefault(arg, []).append(blob)
        return self

    def output(self, arg: str, count: int = 1) -> OpBuilder:
        """Declare an output with that many blobs."""
        if not 0 <= count <= MOST_BLOBS:
            raise FatalError(f"output {arg!r} of {self.type!r} with {count:,} blobs; at most {MOST_BLOBS:,}")
        METER.move(16 * count)
        self.outputs[arg] = [Blob("made", arg, index, self.name) for index in range(count)]
        return self

    def attr(self, name: str, kind: str, value: Any) -> OpBuilder:
        """Set an attribute of a given attribute type; the first value stays, as in OneFlow."""
        self.attrs.setdefault(name, (kind, value))
        return self

    def build(self) -> Conf:
        """Return the op as built so far."""
        if self.complete is not None:
            self.complete(self)
        attrs = {f"{name}:{kind}": value for name, (kind, value) in self.attrs.items()}
        METER.move(sum(map(len, self.inputs.values())) + sum(map(len, self.outputs.values())))
        # A builder that goes on after Build() does not change the op that was built.
        inputs = {arg: list(blobs) for arg, blobs in self.inputs.items()}
        return Conf(self.name, self.type, inputs, dict(self.outputs), attrs)


class FwOp:
    """A UserOpWrapper: the forward op whose gradient is built."""

    __slots__ = ("added", "attrs", "bindings", "conf", "descs", "differs", "seen_grads", "wanted")

    def __init__(self, conf: Conf, descs: dict[Arg, Desc], wanted: frozenset[Arg], differs: frozenset[Arg]) -> None:
        self.conf = conf
        self.attrs = conf.attrs
        self.descs = descs
        self.wanted = wanted
        self.differs = differs
        self.bindings: dict[Arg, str] = {}
        self.added: list[Conf] = []
        self.seen_grads: set[Arg] = set()

    def _check(self, names: Mapping[str, Sequence[str]], kind: str, name: str, index: int) -> None:
        if not 0 <= index < len(names.get(name, ())):
            raise FatalError(f"op {self.conf.op_type!r} has no {kind} {name!r} at index {index}")

    def needs(self, name: str, index: int) -> bool:
        """Return whether an input needs a gradient."""
        self._check(self.conf.inputs, "input", name, index)
        return (name, index) in self.wanted

    def has_grad(self, name: str, index: int) -> bool:
        """Return whether a gradient arrives at an output."""
        self._check(self.conf.outputs, "output", name, index)
        return (name, index) in self.differs

    def grad(self, name: str, index: int) -> Blob:
        """Return the blob with the gradient of an output."""
        if not self.has_grad(name, index):
            raise FatalError(f"no gradient arrives at output {name!r} with index {index}")
        self.seen_grads.add((name, index))
        return forward_blob("dout", name, index)

    def bind(self, blob: str, name: str, index: int) -> None:
        """Bind a blob as the gradient of an input that needs one."""
        if not self.needs(name, index):
            raise FatalError(
                f"input {name!r} with index {index} needs no gradient; ask NeedGenGradTensor4OpInput first"
            )
        self.bindings[name, index] = blob

    def bind_with(self, arg: Arg, blob: Callable[[], str]) -> None:
        """Bind what a function returns, if the input needs a gradient."""
        if self.needs(*arg):
            self.bindings[arg] = blob()

    def desc(self, name: str, index: int) -> Desc:
        """Return the description of an input or output."""
        found = self.descs.get((name, index))
        if found is None:
            raise FatalError(f"op {self.conf.op_type!r} has no argument {name!r} with index {index}")
        return found

    def add(self, conf: Conf) -> None:
        """Add a finished backward op, as AddOp does."""
        METER.move(16 + sum(map(len, conf.inputs.values())) + sum(map(len, conf.outputs.values())))
        self.added.append(conf)


class GradContext:
    """A BackwardOpConfContext: ops are defined by name and built when first asked for."""

    __slots__ = ("building", "built", "complete", "defined", "fw")

    def __init__(self, fw: FwOp, complete: Complete | None) -> None:
        self.fw = fw
        self.complete = complete
        self.defined: dict[str, Callable[[OpBuilder], Conf]] = {}
        self.built: dict[str, Conf] = {}
        self.building: set[str] = set()

    def define(self, name: str, function: Callable[[OpBuilder], Conf]) -> None:
        """Register the function that builds an op."""
        if name in self.defined:
            raise FatalError(f"backward op {name!r} is defined twice")
        self.defined[name] = function

    def get(self, name: str) -> Conf:
        """Return a defined op, building it on first use."""
        if name not in self.built:
            if name not in self.defined:
                raise FatalError(f"backward op {name!r} was never defined")
            if name in self.building:
                raise FatalError(f"backward op {name!r} needs itself")
            self.building.add(name)
            self.built[name] = self.defined[name](OpBuilder(name, self.complete))
            self.building.discard(name)
            self.fw.added.append(self.built[name])
        return self.built[name]
