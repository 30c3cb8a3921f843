"""For tests of your own: assert that gradients are right, with the whole report as the message.

Checks and reports are made elsewhere; here they meet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opkit.checker import Report
from opkit.paths import StrPath
from opkit.reporters import text_report
from opkit.verify import outcome_of

__all__ = ["GradientError", "assert_gradients"]


class GradientError(AssertionError):
    """Gradients are wrong, or could not be decided under ``strict``; ``report`` says how."""

    def __init__(self, text: str, report: Report) -> None:
        super().__init__(text)
        self.report = report


def assert_gradients(
    target: StrPath | Callable[..., Any] | type | None = None,
    example: Any = None,
    *,
    inputs: Any = None,
    forward: Callable[..., Any] | None = None,
    backward: Callable[..., Any] | None = None,
    cases: Callable[..., Any] | None = None,
    strict: bool = False,
    **options: Any,
) -> Report:
    """Check gradients and raise unless they are right.

    Args:
        target: an op directory, a folder of them, ``FILE.py::Name``, ``FILE.py``, a PyLayer class; or, of torch, a
            Function, its ``apply``, a library op, a function of tensors or a Module.
        example: inputs without their keyword; or backward, where the target is a forward of numpy arrays.
        forward: in place of a target: any numpy function; see ``opkit.gradcheck``.
        backward: its gradient.
        inputs: the arrays to check on.
        cases: in place of inputs: ``cases(rng)`` yields them.
        strict: undecided counts as wrong.
        **options: see ``opkit.gradcheck``.

    Returns:
        the report, when all is right.

    Raises:
        GradientError: a check failed, an op does not build, or there was nothing to check; an AssertionError.
        UsageError: no such target or option.

    Example:
        >>> import numpy as np
        >>> x = np.linspace(-1, 1, 5)
        >>> _ = assert_gradients(forward=np.sin, backward=lambda x, dy: dy * np.cos(x), inputs=[x])
        >>> assert_gradients(forward=np.sin, backward=lambda x, dy: dy * np.sin(x), inputs=[x])
        Traceback (most recent call last):
        ...
        opkit.testing.GradientError: FAIL ...
    """
    __tracebackhide__ = True
    given = {"inputs": inputs, "forward": forward, "backward": backward, "cases": cases, "strict": strict}
    outcome = outcome_of(target, example, **given, **options)
    status = outcome.exit_status(strict)
    if status:
        text = text_report(outcome) if outcome.report.ops else f"nothing to check in {target!r}\n"
        raise GradientError(text.strip(), outcome.report)
    return outcome.report
