"""torch, as far as finding and serving its custom functions goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opkit.checker import CheckResult, OpReport, Options, Status
from opkit.verify.subjects.declared import declared_in
from opkit.verify.subjects.foreign.framework import Served
from opkit.verify.subjects.foreign.making import given, searched
from opkit.verify.subjects.foreign.subject import Subject
from opkit.verify.subjects.torch.function import function_subject, is_function
from opkit.verify.subjects.torch.library import is_library_op, library_subject

__all__ = ["Torch", "framework"]


class Torch:
    """See ``opkit.verify.subjects.foreign.framework.Framework``."""

    @property
    def kinds(self) -> str:
        """What its custom functions are called."""
        return "torch.autograd.Function or torch.library.custom_op"

    def knows(self, value: Any) -> bool:
        """Say whether a value is a custom function of the user's."""
        return is_function(value) or is_library_op(value)

    def named(self, value: Any, names: Mapping[str, Any], label: str, options: Options) -> Served:
        """Serve one custom function of a file."""
        subject = library_subject(value) if is_library_op(value) else function_subject(value)
        declared = declared_in(names, ["forward", subject.name], subject.name)
        cases = declared.cases
        if cases is None and options.shapes:
            shapes = dict(options.shapes)
            cases = lambda rng: [{name: rng.standard_normal(shape) for name, shape in shapes.items()} for _ in range(3)]  # noqa: E731
        if cases is not None:
            return Served((given(subject, cases, declared, label),))
        found = searched(subject, declared, label, options)
        return Served((found,)) if found is not None else Served(reports=(_no_cases(subject, label),))


def _no_cases(subject: Subject, label: str) -> OpReport:
    names = ", ".join(subject.parameters.names)
    message = (
        f"there are no cases for {subject.name}, and it raised on all arguments that were tried: define "
        f"cases_{subject.name}(rng) in the file, which yields dicts of {names}; or give --shape NAME=3,4; or check a "
        "script that calls it"
    )
    result = CheckResult("domain", Status.ERROR, "GC182", message, where=subject.forward_where)
    return OpReport(label, (result,))


framework = Torch()
