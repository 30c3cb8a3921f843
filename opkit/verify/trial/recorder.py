"""BuilderRecorder: what stands in for ``flow.user_op_builder`` in a trial, and notes what a function does with it.

It compares with the definitions; which facts hold for every call is judged in ``calls``.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from enum import Enum
from typing import Any

import opkit.oneflow as flow
from opkit import static
from opkit.errors import InferError, MissingNameError, OpkitError, unknown
from opkit.ir import TensorDesc, Variable
from opkit.oneflow import user_op
from opkit.oneflow.user_op import UserOp, UserOpConfBuilder
from opkit.ops import BUILTIN
from opkit.project.api_fact import ApiFact
from opkit.project.api_remark import Remark, left_out, undeclared, unknown_op
from opkit.record import mutable, mutable_entity, record
from opkit.spec import ArgSpec, CompiledOp

_CHAIN = "the chain ends in .Build().InferAndTryRun().SoleOutputBlob()"
#: Methods of OneFlow's builder that opkit's lacks.
_FOREIGN = ("CheckAndComplete", "InputSize")


class TrialStop(BaseException):
    """Ends a call at a mistake that was noted; no ``except Exception`` of a user's catches it."""


class Unclear(BaseException):
    """Ends a call where what went wrong may be the stub's fault."""


class Use(Enum):
    """How a value was used that was given as something else."""

    INPUT = "as an input's list of blobs"
    ITEM = "as one blob of an input"
    COUNT = "as the number of an output"
    ATTR = "as an attribute's value, or within it"


@record
class Misplaced:
    """A value that was used otherwise than it was given.

    Args:
        value: the value itself.
        use: how it was used.
        target: the input, output or attribute.
        op_type: whose, "" where that is not known yet.
    """

    value: Any
    use: Use
    target: str
    op_type: str


@mutable_entity
class BuilderRecorder:
    """The builders of one call of a function.

    Args:
        file: the API file.
        ops: the definitions that compiled.
        skipped: op types whose definitions have errors.
        tracer: makes blobs.
        noted: what was found.
        misplaced: values that were used otherwise than they were given.
        builders: the builders that were asked for.
        made: the ops that were built.
    """

    file: str
    ops: Mapping[str, CompiledOp]
    skipped: Collection[str]
    tracer: static.JobTracer
    noted: list[ApiFact] = field(default_factory=list)
    misplaced: list[Misplaced] = field(default_factory=list)
    builders: list[RecordingBuilder] = field(default_factory=list)
    made: list[RecordedOp] = field(default_factory=list)

    def builder(self, op_name: str) -> Any:
        """Stand in for ``flow.user_op_builder``."""
        made = RecordingBuilder(self, op_name, self.line())
        self.builders.append(made)
        return made

    def line(self) -> int:
        """Return the line of the API file that is running."""
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename != self.file:
            frame = frame.f_back
        return frame.f_lineno if frame.f_code.co_filename == self.file else 1

    def note(self, remark: Remark, text: str = "", line: int = 0, attr: str = "") -> None:
        """Note a fact at the running line, or at another."""
        self.noted.append(ApiFact(remark, line or self.line(), text, attr))

    def wrong_use(self, message: str, op: str, text: str, help: str = _CHAIN) -> TrialStop:
        """Note that a builder is used wrongly; the result is to be raised."""
        self.note(Remark("PROJ019", message, help, op if op in self.ops else ""), text)
        return TrialStop()

    def blob(self, name: str, desc: TensorDesc) -> Variable:
        """Return a blob without data."""
        return self.tracer.placeholder(name, desc)


@mutable
class Desk:
    """Where builders are asked for: hands them on to the recorder of the call that runs.

    Args:
        recorder: of the running call.
    """

    recorder: BuilderRecorder

    def builder(self, op_name: str) -> Any:
        """Stand in for ``flow.user_op_builder``, under whatever name a file has imported it."""
        return self.recorder.builder(op_name)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Put it in the place of OneFlow's builder within a ``with`` block."""
        before = [
            (vars(module), name, vars(module)[name])
            for module in (flow, user_op)
            for name in ("user_op_builder", "consistent_user_op_builder")
            if name in vars(module)
        ]
        for scope, name, _ in before:
            scope[name] = self.builder
        try:
            yield
        finally:
            for scope, name, value in before:
                scope[name] = value


class RecordingBuilder:
    """Has the interface of UserOpConfBuilder, and notes mistakes instead of raising at the first."""

    def __init__(self, recorder: BuilderRecorder, name: str, line: int) -> None:
        self._recorder = recorder
        self._name = name
        self.line = line
        self.type = ""
        self._foreign: UserOpConfBuilder | None = None
        self._inputs: dict[str, tuple[Sequence[Any], int]] = {}
        self._outputs: dict[str, tuple[int, int]] = {}
        self._attrs: dict[str, tuple[Any, int]] = {}
        self.is_built = False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in _FOREIGN:
            raise Unclear(f"opkit's builder has no {name}")
        if hasattr(UserOp, name):
            raise self._recorder.wrong_use(
                f"{name}() is called on a builder of op type {self.type!r} before Build()", self.type, name
            )
        known = [item for item in vars(UserOpConfBuilder) if not item.startswith("_")]
        said = unknown("a builder of ops has no", name, known, otherwise=_CHAIN)
        raise self._recorder.wrong_use(said.message, self.type, name, said.help)

    def Op(self, op_type_name: str) -> RecordingBuilder:
        """Note the op type."""
        recorder = self._recorder
        if not isinstance(op_type_name, str):
            raise Unclear("an op type that is not a string")
        if op_type_name in recorder.skipped:
            raise Unclear("an op type whose definition has errors")
        if op_type_name not in recorder.ops:
            if op_type_name not in BUILTIN:
                recorder.note(unknown_op(op_type_name, recorder.ops), op_type_name)
                raise TrialStop
            self._foreign = UserOpConfBuilder(self._name).Op(op_type_name)
        self.type = op_type_name
        return self

    def OpName(self, op_name: str) -> RecordingBuilder:
        """Take another name."""
        self._name = op_name
        return self

    def Input(self, input_name: str, input_blob_list: Sequence[Any]) -> RecordingBuilder:
        """Note an input's blobs."""
        if not isinstance(input_name, str):
            raise Unclear("the name of an input is not a string")
        if not isinstance(input_blob_list, (tuple, list)):
            self._misplaced(input_blob_list, Use.INPUT, input_name)
            given = "a blob" if isinstance(input_blob_list, Variable) else f"a {type(input_blob_list).__name__}"
            message = f"Input({input_name!r}, ...) takes a list of blobs, got {given}"
            subject = self.type if self.type in self._recorder.ops else ""
            self._recorder.note(Remark("PROJ021", message, f"write Input({input_name!r}, [blob])", subject), "Input")
            raise TrialStop
        for item in input_blob_list:
            if isinstance(item, (tuple, list)):
                self._misplaced(item, Use.ITEM, input_name)
                raise Unclear("a list within a list")
        self._inputs[input_name] = (input_blob_list, self._recorder.line())
        return self

    def Output(self, output_name: str, num: int = 1) -> RecordingBuilder:
        """Note an output."""
        if not isinstance(output_name, str):
            raise Unclear("the name of an output is not a string")
        if isinstance(num, Variable):
            self._misplaced(num, Use.COUNT, output_name)
            raise Unclear("a blob as the number of outputs")
        if isinstance(num, bool) or not isinstance(num, int) or num < 1:
            message = f"Output({output_name!r}, {num!r}): the number is a positive int"
            raise self._recorder.wrong_use(message, self.type, "Output", f'write Output("{output_name}", 1)')
        self._outputs[output_name] = (num, self._recorder.line())
        return self

    def Attr(self, attr_name: str, attr_value: Any, attr_type_name: str | None = None) -> RecordingBuilder:
        """Note an attribute."""
        if not isinstance(attr_name, str):
            raise Unclear("the name of an attribute is not a string")
        if not self.type:
            message = f"Attr({attr_name!r}, ...) is called before Op(op_type_name)"
            raise self._recorder.wrong_use(message, "", "Attr", "call .Op(...) first")
        self._attrs[attr_name] = (attr_value, self._recorder.line())
        return self

    def Build(self) -> Any:
        """Compare everything with the definition, and go on with blobs that are plausible."""
        recorder = self._recorder
        if not self.type:
            message = "Build() is called on a builder without an op type"
            raise recorder.wrong_use(message, "", "Build", "call .Op(...) first")
        self.is_built = True
        if self._foreign is not None:
            return self._built_in(self._foreign)
        op = recorder.ops[self.type]
        before = len(recorder.noted)
        self._compare(op, "input", op.inputs, {name: (len(item), line) for name, (item, line) in self._inputs.items()})
        self._compare(op, "output", op.outputs, self._outputs)
        self._compare_attrs(op)
        made = RecordedOp(recorder, op, self._name, {name: count for name, (count, _) in self._outputs.items()})
        made.give(self._inferred(op) if len(recorder.noted) == before else {})
        recorder.made.append(made)
        return made

    def _misplaced(self, value: Any, use: Use, target: str) -> None:
        self._recorder.misplaced.append(Misplaced(value, use, target, self.type))

    def _built_in(self, builder: UserOpConfBuilder) -> Any:
        """Build an op that opkit has itself."""
        try:
            for name, (blobs, _) in self._inputs.items():
                builder.Input(name, blobs)
            for name, (count, _) in self._outputs.items():
                builder.Output(name, count)
            for name, (value, _) in self._attrs.items():
                builder.Attr(name, value)
            return builder.Build()
        except OpkitError as error:
            raise Unclear(str(error)) from error

    def _compare(
        self, op: CompiledOp, word: str, declared: Sequence[ArgSpec], given: Mapping[str, tuple[int, int]]
    ) -> None:
        recorder = self._recorder
        names = [arg.name for arg in declared]
        unknown = [name for name in given if name not in names]
        for name in unknown:
            recorder.note(undeclared(op, word, name), name, given[name][1])
        missing = [arg.name for arg in declared if not arg.is_optional and arg.name not in given]
        if missing and not unknown:
            recorder.note(left_out(op, word, missing), "Op", self.line)

    def _compare_attrs(self, op: CompiledOp) -> None:
        recorder = self._recorder
        for name, (value, line) in self._attrs.items():
            if name not in op.attrs:
                recorder.note(undeclared(op, "attribute", name), name, line)
                continue
            blob = _blob_in(value)
            if blob is not None:
                self._misplaced(blob, Use.ATTR, name)
                raise Unclear("a blob as an attribute")
            try:
                op.check_attrs({name: value})
            except InferError as error:
                if isinstance(error.__cause__, TypeError):
                    help = "change the value, often a parameter's default, or the declared type"
                    recorder.note(Remark("PROJ022", error.message, help, op.name), name, line, attr=name)

    def _inferred(self, op: CompiledOp) -> dict[str, list[TensorDesc]]:
        """Return the outputs that the definition infers; nothing where it refuses the stubs' shapes."""
        inputs = {}
        for name, (blobs, _) in self._inputs.items():
            descs = [_desc(blob) for blob in blobs]
            if None in descs:
                return {}
            inputs[name] = [desc for desc in descs if desc is not None]
        counts = {name: count for name, (count, _) in self._outputs.items()}
        try:
            return op.infer(inputs, {name: value for name, (value, _) in self._attrs.items()}, outputs=counts)
        except Exception:
            # The shapes of stubs are made up: what the definition says of them proves nothing about the function.
            return {}


def _desc(blob: Any) -> TensorDesc | None:
    shape, dtype = getattr(blob, "shape", None), getattr(blob, "dtype", None)
    if shape is None or dtype is None:
        return None
    try:
        return blob.value.desc if isinstance(blob, Variable) else TensorDesc(tuple(shape), str(dtype))
    except (OpkitError, TypeError, ValueError):
        return None


def _blob_in(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return next((item for item in value if isinstance(item, Variable)), None)
    return value if isinstance(value, Variable) else None


class RecordedOp:
    """Has the interface of UserOp; its outputs have no data."""

    def __init__(self, recorder: BuilderRecorder, op: CompiledOp, name: str, outputs: Mapping[str, int]) -> None:
        self.op_name = name
        self._recorder = recorder
        self.op = op
        self.counts = outputs
        self.blobs: dict[str, list[Variable]] = {}
        self.is_run = False
        self.is_asked = False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        known = [item for item in vars(RecordedOp) if not item.startswith("_")]
        raise unknown("an op has no", name, known).error(MissingNameError)

    def give(self, descs: Mapping[str, Sequence[TensorDesc]]) -> None:
        """Make the outputs, as described, or as (4, 4) where nothing is known."""
        for name, count in self.counts.items():
            known = descs.get(name) or [TensorDesc((4, 4), "float32")] * count
            self.blobs[name] = [self._recorder.blob(f"{self.op_name}_{name}", desc) for desc in known]

    def InferAndTryRun(self) -> RecordedOp:
        """Note that the op was run."""
        self.is_run = True
        return self

    def RemoteBlobList(self) -> tuple[Any, ...]:
        """Return all outputs."""
        return tuple(blob for blobs in self.RemoteBlobDict().values() for blob in blobs)

    def RemoteBlobDict(self) -> dict[str, list[Any]]:
        """Return all outputs by name."""
        if not self.is_run:
            message = f"op type {self.op.name!r} is asked for its outputs before InferAndTryRun()"
            raise self._recorder.wrong_use(message, self.op.name, "Blob")
        self.is_asked = True
        return {name: list(blobs) for name, blobs in self.blobs.items()}

    def SoleOutputBlob(self) -> Any:
        """Return the one output."""
        blobs = self.RemoteBlobList()
        if len(blobs) != 1:
            raise self._recorder.wrong_use(
                f"SoleOutputBlob() is asked of op type {self.op.name!r}, which has {len(blobs)} outputs here",
                self.op.name,
                "SoleOutputBlob",
                "use RemoteBlobList(), which returns them in the order of the Output() calls",
            )
        return blobs[0]
