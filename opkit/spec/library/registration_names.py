"""Registration names: the macros and setters of op and gradient registrations, in all versions of OneFlow.

What was read of a registration is in ``registry.chains``.
"""

from __future__ import annotations

from typing import Any

from opkit.spec.library.types import ATTR_TYPES

OP_MACROS = {
    "REGISTER_USER_OP": (False, False),
    "REGISTER_CPU_ONLY_USER_OP": (True, False),
    "REGISTER_NO_GRAD_USER_OP": (False, True),
    "REGISTER_NO_GRAD_CPU_ONLY_USER_OP": (True, True),
}


GRAD_MACROS = frozenset({"REGISTER_USER_OP_GRAD"})


KERNEL_MACROS = frozenset({"REGISTER_USER_KERNEL", "REGISTER_USER_KERNEL_UNIFIED_NCCL_COMM_INIT"})


#: Setters of all versions: slots that they fill, and the function type that they take.
SETTERS: dict[str, tuple[tuple[str, ...], str]] = {
    "SetTensorDescInferFn": (("tensor_desc", "physical"), "TensorDescInferFn"),
    "SetLogicalTensorDescInferFn": (("tensor_desc",), "TensorDescInferFn"),
    "SetPhysicalTensorDescInferFn": (("physical",), "TensorDescInferFn"),
    "SetDataTypeInferFn": (("data_type",), "DataTypeInferFn"),
    "SetInferDataTypeFn": (("data_type",), "DataTypeInferFn"),
    "SetGetSbpFn": (("sbp",), "GetSbpFn"),
    "SetCheckAttrFn": (("check_attr",), "CheckAttrFn"),
    "SetInputArgModifyFn": (("input_modify",), "InputArgModifyFn"),
}


#: Setters of functions that are never run here: where an op runs, and how OneFlow chooses among its signatures.
IGNORED_SETTERS = frozenset(
    {
        "SetBatchAxisInferFn",
        "SetDeviceInferFn",
        "SetDumpNdSbpSignatureForOpConfFn",
        "SetInferOutputBlobTimeShapeFn",
        "SetInferSbpSignatureFn",
        "SetNdSbpInferFn",
        "SetOutputArgModifyFn",
        "SetOutputBlobTimeShapeInferFn",
        "SetParallelDistributionInferFn",
        "SetSbpSignatureInferFn",
        "SupportNonContiguous",
    }
)


ARGUMENTS: dict[str, tuple[str, bool, bool]] = {
    "Input": ("in", False, False),
    "OptionalInput": ("in", True, False),
    "InputWithMinimum": ("in", False, True),
    "OptionalInputWithMinimum": ("in", True, True),
    "Output": ("out", False, False),
    "OptionalOutput": ("out", True, False),
    "OutputWithMinimum": ("out", False, True),
    "OptionalOutputWithMinimum": ("out", True, True),
}


FLAGS = frozenset({"SupportCpuOnly", "SetOutputBufferNum", "NoGrad", "Finish"})


GRAD_SETTERS = {
    "SetGenBackwardOpConfFn": ("GenBackwardOpConfFn", False),
    "SetBackwardOpConfGenFn": ("BackwardOpConfGenFn", True),
}


ZEROS: dict[str, Any] = {
    "int32": 0,
    "int64": 0,
    "bool": False,
    "float": 0.0,
    "double": 0.0,
    "string": "",
    "shape": (),
    "data_type": "invalid",
    "list_int32": [],
    "list_int64": [],
    "list_float": [],
    "list_data_type": [],
    "list_shape": [],
    "list_string": [],
}


ATTR_ENUM = {"kAt" + "".join(part.title() for part in name.split("_")): name for name in ATTR_TYPES}


QUIET_MACROS = frozenset(
    {
        "NOTE",
        "TODO",
        "OF_DISALLOW_COPY_AND_MOVE",
        "COMMAND",
        "static_assert",
        "REGISTER_USER_OP_SAME_OUTPUT_BLOB_REGST_NUM",
    }
)
