"""The codes of findings about an op directory as a whole, and the making of such findings.

What is looked for stands with the check.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from opkit.diagnostics import Diagnostic, Note, Severity, SourceText, Span

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

#: Every code with its severity and its title (the first line of its page).
CODES: dict[str, tuple[Severity, str]] = {
    "PROJ001": (_E, "a file of the op directory is missing"),
    "PROJ002": (_E, "a definition file is not named after its folder"),
    "PROJ003": (_E, "an op type has no kernel function"),
    "PROJ004": (_E, "the kernel file does not load"),
    "PROJ005": (_E, "a kernel's parameters are wrong"),
    "PROJ006": (_E, "an op type that does not begin with the op's name"),
    "PROJ007": (_E, "the API file uses an op type that is not defined"),
    "PROJ008": (_E, "the API file uses an argument that is not declared"),
    "PROJ009": (_E, "the API file uses an attribute that is not declared"),
    "PROJ010": (_W, "an op type does not ask for the Python kernel"),
    "PROJ011": (_N, "C++ kernels do not run"),
    "PROJ012": (_E, "an op type is defined twice"),
    "PROJ013": (_E, "the API file does not parse"),
    "PROJ014": (_E, "the API file leaves out an argument"),
    "PROJ015": (_E, "the cases file does not load"),
    "PROJ016": (_E, "the API file does not load"),
    "PROJ017": (_E, "a backward op without a gradient registration"),
    "PROJ018": (_W, "a backward op that the gradient does not use"),
    "PROJ019": (_E, "a builder of the API file is used wrongly"),
    "PROJ020": (_E, "a function of the API file does not return its result"),
    "PROJ021": (_E, "the API file gives an input something other than a list"),
    "PROJ022": (_E, "the API file gives an attribute a value of the wrong type"),
    "PROJ023": (_N, "a function of the API file could not be tried"),
    "PROJ024": (_W, "the API file could not be tried"),
    "PROJ025": (_E, "a kernel reads an attribute that is not declared"),
    "PROJ026": (_E, "a kernel unpacks the wrong number of arguments"),
    "PROJ027": (_E, "a kernel returns no value"),
    "PROJ028": (_E, "a gradient does not pass on an attribute"),
    "PROJ029": (_W, "a kernel may read an attribute that is not declared"),
    "PROJ030": (_E, "a C++ kernel does not compile"),
    "PROJ031": (_W, "the compiler warns of a C++ kernel"),
    "PROJ032": (_E, "C++ kernels cannot be built"),
    "PROJ033": (_W, "a C++ kernel serves no op type"),
    "PROJ034": (_N, "a cases file is not named after its folder"),
}


def finding(
    code: str, message: str, span: Span | None = None, *notes: Note, help: str = "", subject: str = ""
) -> Diagnostic:
    """Return a finding with the severity of its code."""
    return Diagnostic(code, CODES[code][0], message, span, notes, help, subject)


def fatal(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the errors that are about no op type alone: nothing can be used then."""
    return [item for item in diagnostics if item.is_error and not item.subject]


def source_of(path: Path) -> SourceText:
    """Return the text of a Python file as it is now; characters that it cannot hold are replaced."""
    return SourceText(path.read_bytes().decode("utf-8-sig", errors="replace"), str(path))
