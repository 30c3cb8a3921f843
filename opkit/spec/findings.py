"""Findings: the collector of a compilation's diagnostics, and the table of the compiler's codes.

Only the collector knows severities and subjects; where each finding is made is decided by its check.
"""

from __future__ import annotations

from collections.abc import Iterable

from opkit.diagnostics import Diagnostic, Note, Severity, Span, sort_diagnostics

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

#: Every code of the definition file compiler with its usual severity and its title (the first line of its page).
CODES: dict[str, tuple[Severity, str]] = {
    "SPEC001": (_E, "the definition file cannot be read"),
    "SPEC002": (_E, "the definition file is not text"),
    "SPEC003": (_E, "a literal or a comment does not end"),
    "SPEC004": (_E, "a character that C++ does not have"),
    "SPEC005": (_E, "a preprocessor directive is wrong"),
    "SPEC006": (_E, "a macro is used wrongly"),
    "SPEC007": (_E, "macros, types or templates expand without bound"),
    "SPEC008": (_W, "an included file was not found"),
    "SPEC010": (_E, "C++ that does not parse"),
    "SPEC011": (_E, "nested too deeply"),
    "SPEC012": (_E, "C++ that definitions cannot use"),
    "SPEC020": (_E, "an unknown name"),
    "SPEC021": (_E, "an unknown member"),
    "SPEC022": (_E, "no function fits the arguments"),
    "SPEC023": (_E, "a value of the wrong type"),
    "SPEC024": (_W, "a variable is read before it has a value"),
    "SPEC026": (_W, "a function may end without returning its value"),
    "SPEC027": (_E, "a const object is changed"),
    "SPEC030": (_E, "an unknown registration method"),
    "SPEC031": (_E, "an op or a gradient is registered twice"),
    "SPEC032": (_E, "an argument or attribute is declared twice"),
    "SPEC033": (_E, "no shape inference function"),
    "SPEC034": (_E, "an attribute type that OneFlow does not have"),
    "SPEC035": (_E, "a default that does not fit the attribute"),
    "SPEC036": (_E, "a registration needs a constant"),
    "SPEC038": (_W, "a setter is called twice"),
    "SPEC039": (_E, "a gradient without a function"),
    "SPEC040": (_W, "an argument name that is not declared"),
    "SPEC041": (_W, "an attribute that is not declared"),
    "SPEC042": (_W, "an attribute read as another type"),
    "SPEC043": (_W, "an output is left to its default"),
    "SPEC044": (_W, "a gradient ignores an output"),
    "SPEC045": (_W, "an input without a gradient"),
    "SPEC046": (_W, "an unused backward output"),
    "SPEC047": (_W, "a check that can never hold"),
    "SPEC048": (_W, "a gradient for an op that is not registered here"),
    "SPEC049": (_E, "a gradient uses an op type that is not registered"),
    "SPEC050": (_N, "opkit runs the Python kernel"),
    "SPEC051": (_E, "a backward op lacks an input"),
    "SPEC052": (_E, "a backward op that is never built"),
}

#: Warnings that are errors in a gradient registration, which cannot be built then.
ERRORS_IN_GRADIENTS = frozenset({"SPEC040", "SPEC041"})

#: After one of these a registration may be missing from the tree.
_GAPS = frozenset({"SPEC002", "SPEC003", "SPEC005", "SPEC007", "SPEC010", "SPEC011", "SPEC012"})


class Findings:
    """What a compilation found, in the order found; ``sorted()`` gives the order to show."""

    def __init__(self) -> None:
        self.items: list[Diagnostic] = []

    def add(
        self,
        code: str,
        message: str,
        span: Span | None,
        *notes: Note | None,
        help: str = "",
        subject: str = "",
        severity: Severity | None = None,
    ) -> None:
        """Add a finding with the usual severity of its code, unless another is given."""
        usual = CODES[code][0]
        kept = tuple(note for note in notes if note is not None)
        self.items.append(Diagnostic(code, severity or usual, message, span, kept, help, subject))

    def extend(self, items: Iterable[Diagnostic]) -> None:
        """Add findings made elsewhere."""
        self.items.extend(items)

    def sorted(self) -> tuple[Diagnostic, ...]:
        """Return all findings by position, repetitions removed."""
        return sort_diagnostics(self.items)

    @property
    def has_gaps(self) -> bool:
        """Whether parts of the text could not be read, so that their content is not known."""
        return any(item.code in _GAPS for item in self.items)

    @property
    def has_errors(self) -> bool:
        """Whether any finding is an error."""
        return any(item.is_error for item in self.items)
