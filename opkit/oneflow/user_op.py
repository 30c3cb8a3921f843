"""``flow.user_op_builder``: apply an op type by name, in a job, in eager mode, or on plain arrays (v0.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.eager import wrap
from opkit.errors import MissingNameError, UsageError, unknown
from opkit.oneflow.missing_gradient import refusing_backward
from opkit.oneflow.session import session
from opkit.ops import BoundOp, OpType, apply


class UserOp:
    """An op that is bound to its arguments; it runs, or joins the job's graph, when ``InferAndTryRun`` is called."""

    def __init__(self, name: str, op_type: OpType, bound: BoundOp, order: Sequence[str]) -> None:
        self.op_name = name
        self._order = order
        self._op_type = op_type
        self._bound = bound
        self._outputs: tuple[Any, ...] | None = None

    def InferAndTryRun(self) -> UserOp:
        """Infer shapes and dtypes, and run the op where the mode runs at once."""
        opdef = self._bound.opdef
        if session().job is not None:
            opdef = refusing_backward(opdef, self._op_type)
        result = apply(opdef, self._bound.inputs, self._bound.attrs)
        self._outputs = result if isinstance(result, tuple) else (result,)
        return self

    def RemoteBlobList(self) -> tuple[Any, ...]:
        """Return all outputs, in the order of the builder's ``Output`` calls."""
        return tuple(blob for blobs in self.RemoteBlobDict().values() for blob in blobs)

    def RemoteBlobDict(self) -> dict[str, list[Any]]:
        """Return all outputs by name, each a list, in the order of the builder's ``Output`` calls."""
        if self._outputs is None:
            raise UsageError(
                f"op {self.op_name!r}: call InferAndTryRun() before reading its outputs",
                help="the chain ends in .Build().InferAndTryRun().SoleOutputBlob()",
            )
        found: dict[str, list[Any]] = {name: [] for name in self._order}
        for (name, _), blob in zip(self._bound.output_names, self._outputs):
            found[name].append(blob)
        return found

    def SoleOutputBlob(self) -> Any:
        """Return the one output.

        Raises:
            UsageError: the op has several.
        """
        blobs = self.RemoteBlobList()
        if len(blobs) != 1:
            names = ", ".join(f"{name}_{index}" for name, index in self._bound.output_names)
            raise UsageError(
                f"SoleOutputBlob(): op {self._op_type.name!r} has {len(blobs)} outputs ({names})",
                help="use RemoteBlobList(), which returns them in the order of the Output() calls",
            )
        return blobs[0]


class UserOpConfBuilder:
    """Collects an op's type, inputs, outputs and attributes, and checks them against its definition.

    Args:
        op_name: the op's own name in its job.
    """

    def __init__(self, op_name: str) -> None:
        self._name = str(op_name)
        self._op_type: OpType | None = None
        self._inputs: dict[str, list[Any]] = {}
        self._outputs: dict[str, int] = {}
        self._attrs: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if hasattr(UserOp, name):
            raise MissingNameError(
                f"op {self._name!r}: call Build() before {name}()",
                help="the chain ends in .Build().InferAndTryRun().SoleOutputBlob()",
            )
        known = [item for item in vars(UserOpConfBuilder) if not item.startswith("_")]
        raise unknown(f"op {self._name!r}: a builder of ops has no", name, known).error(MissingNameError)

    def Op(self, op_type_name: str) -> UserOpConfBuilder:
        """Choose the op type by its registered name.

        Raises:
            UsageError: no op of that name is registered; the nearest are named.
        """
        found = session().registry.find(op_type_name)
        if found is None:
            otherwise = "load its directory first: flow.experimental.custom_op_module(name, path)...build_load()"
            raise unknown(
                f"op {self._name!r}: no op type",
                op_type_name,
                session().registry,
                tail=" is registered",
                otherwise=otherwise,
                limit=3,
            ).error(UsageError)
        self._op_type = found
        return self

    def OpName(self, op_name: str) -> UserOpConfBuilder:
        """Rename the op."""
        self._name = op_name
        return self

    def Input(self, input_name: str, input_blob_list: Sequence[Any]) -> UserOpConfBuilder:
        """Give an input its blobs: a list, since an input may take several."""
        if not isinstance(input_blob_list, (tuple, list)):
            raise UsageError(
                f"op {self._name!r}: Input({input_name!r}, ...) takes a list of blobs, got "
                f"{type(input_blob_list).__name__}",
                help=f"write Input({input_name!r}, [blob])",
            )
        self._inputs[input_name] = [as_value(blob) for blob in input_blob_list]
        return self

    def Output(self, output_name: str, num: int = 1) -> UserOpConfBuilder:
        """Ask for an output, ``num`` blobs of it."""
        if isinstance(num, bool) or not isinstance(num, int) or num < 1:
            raise UsageError(f"op {self._name!r}: Output({output_name!r}, {num!r}): the number is a positive int")
        self._outputs[output_name] = num
        return self

    def Attr(self, attr_name: str, attr_value: Any, attr_type_name: str | None = None) -> UserOpConfBuilder:
        """Set an attribute; ``Op`` must come first. ``attr_type_name`` is accepted for old scripts and not used."""
        if self._op_type is None:
            raise UsageError(f"op {self._name!r}: call Op(op_type_name) before Attr({attr_name!r}, ...)")
        self._attrs[attr_name] = attr_value
        return self

    def Build(self) -> UserOp:
        """Check everything against the op's definition.

        Raises:
            UsageError: no op type was chosen, or an argument or attribute is missing, unknown or of a wrong kind.
        """
        if self._op_type is None:
            raise UsageError(f"op {self._name!r}: call Op(op_type_name) before Build()")
        bound = self._op_type.bind(self._inputs, self._attrs, self._outputs)
        given = {name for name, _ in bound.output_names}
        for name in self._outputs:
            if name not in given:
                said = unknown(f"op {self._op_type.name!r} has no output", name, sorted(given), has="it has")
                raise said.error(UsageError)
        missing = sorted(given - set(self._outputs))
        if missing:
            raise UsageError(
                f"op {self._op_type.name!r}: output {missing[0]!r} was not requested",
                help=f"add .Output({missing[0]!r}) to the builder",
            )
        return UserOp(self._name, self._op_type, bound, list(self._outputs))


def user_op_builder(op_name: str) -> UserOpConfBuilder:
    """Return a builder of one op.

    Args:
        op_name: the op's own name; unique names come from ``flow.util.unique_str``.
    """
    return UserOpConfBuilder(op_name)


def as_value(blob: Any) -> Any:
    """Return a blob as the current mode's value; a numpy array or number becomes a Tensor."""
    if isinstance(blob, (ndarray, np.generic, int, float)) and not isinstance(blob, bool):
        return wrap(np.asarray(blob))
    return blob


def call(op_type: str, *blobs: Any, **attrs: Any) -> Any:
    """Apply a built-in op under OneFlow's names.

    Args:
        op_type: op type name.
        blobs: the inputs in the op's order; a list where an input takes several, None for one that is left out.
        attrs: attributes that differ from their defaults.

    Returns:
        the output, or a tuple of outputs.
    """
    found: Any = session().registry.get(op_type)  # an OpDef: the ops that are called here have no variants
    given = {
        arg.name: [as_value(item) for item in (blob if arg.is_variadic else [blob])]
        for arg, blob in zip(found.inputs, blobs)
        if blob is not None
    }
    bound = found.bind(given, attrs)
    return apply(bound.opdef, bound.inputs, bound.attrs)
