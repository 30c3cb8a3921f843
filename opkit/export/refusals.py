"""Refusals: inputs and attributes near an op's cases that its definition refuses.

An exported file must refuse them too; nothing is exported here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from opkit.checker import Case
from opkit.errors import InferError
from opkit.export.model import ExportKernel
from opkit.export.wiring import describe

_MOST = 8
_MOST_CASES = 4

Refused = tuple[Mapping[str, Any], Mapping[str, Any], str]


def refused_near(kernel: ExportKernel, cases: Sequence[Case]) -> tuple[Refused, ...]:
    """Return what a definition refuses of the neighbours of some cases, one per way to be a neighbour."""
    found: dict[str, Refused] = {}
    for case in cases[:_MOST_CASES]:
        for label, inputs, attrs in _neighbours(kernel, case):
            if label not in found and len(found) < _MOST and _is_refused(kernel, inputs, attrs):
                found[label] = (inputs, attrs, label)
    return tuple(found.values())


def _neighbours(kernel: ExportKernel, case: Case) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    attrs = dict(case.attrs)
    for name, value in case.inputs.items():
        if not isinstance(value, np.ndarray):
            continue
        others = {"an axis more": value[..., None], "another dtype": value.astype("int8")}
        if value.ndim:
            others["an axis less"] = value[:0].sum(axis=0).astype(value.dtype)
            others["a longer first axis"] = np.concatenate([value, value[:1]]) if len(value) else value
            others["a longer last axis"] = np.concatenate([value, value[..., :1]], axis=-1) if value.size else value
        for what, other in others.items():
            yield f"{name} with {what}", {**case.inputs, name: other}, attrs
    for spec in kernel.attrs:
        if isinstance(attrs.get(spec.name), int) and not isinstance(attrs[spec.name], bool):
            for number in (-99, 0, 99):
                yield f"{spec.name}={number}", dict(case.inputs), {**attrs, spec.name: number}


def _is_refused(kernel: ExportKernel, inputs: Mapping[str, Any], attrs: Mapping[str, Any]) -> bool:
    descs = {name: items for name, value in inputs.items() if (items := describe(value))}
    try:
        kernel.compiled.infer(descs, kernel.compiled.check_attrs(dict(attrs)))
    except InferError:
        return True
    return False
