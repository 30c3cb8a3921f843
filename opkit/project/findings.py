"""The codes of findings about an op directory as a whole, and the making of such findings.

What is looked for stands with the check.
"""

from __future__ import annotations

from pathlib import Path

from opkit.diagnostics import Diagnostic, Note, Severity, SourceText, Span
from opkit.tables import rows

_SEVERITIES = {"E": Severity.ERROR, "W": Severity.WARNING, "N": Severity.NOTE}

#: Every code with its severity and its title (the first line of its page).
CODES: dict[str, tuple[Severity, str]] = {
    code: (_SEVERITIES[letter], title)
    for code, letter, title in rows(
        """
        PROJ001 E a file of the op directory is missing
        PROJ002 E a definition file is not named after its folder
        PROJ003 E an op type has no kernel function
        PROJ004 E the kernel file does not load
        PROJ005 E a kernel's parameters are wrong
        PROJ006 E an op type that does not begin with the op's name
        PROJ007 E the API file uses an op type that is not defined
        PROJ008 E the API file uses an argument that is not declared
        PROJ009 E the API file uses an attribute that is not declared
        PROJ010 W an op type does not ask for the Python kernel
        PROJ011 N C++ kernels do not run
        PROJ012 E an op type is defined twice
        PROJ013 E the API file does not parse
        PROJ014 E the API file leaves out an argument
        PROJ015 E the cases file does not load
        PROJ016 E the API file does not load
        PROJ017 E a backward op without a gradient registration
        PROJ018 W a backward op that the gradient does not use
        PROJ019 E a builder of the API file is used wrongly
        PROJ020 E a function of the API file does not return its result
        PROJ021 E the API file gives an input something other than a list
        PROJ022 E the API file gives an attribute a value of the wrong type
        PROJ023 N a function of the API file could not be tried
        PROJ024 W the API file could not be tried
        PROJ025 E a kernel reads an attribute that is not declared
        PROJ026 E a kernel unpacks the wrong number of arguments
        PROJ027 E a kernel returns no value
        PROJ028 E a gradient does not pass on an attribute
        PROJ029 W a kernel may read an attribute that is not declared
        PROJ030 E a C++ kernel does not compile
        PROJ031 W the compiler warns of a C++ kernel
        PROJ032 E C++ kernels cannot be built
        PROJ033 W a C++ kernel serves no op type
        """,
        3,
    )
}


def finding(
    code: str, message: str, span: Span | None = None, *notes: Note, help: str = "", subject: str = ""
) -> Diagnostic:
    """Return a finding with the severity of its code."""
    return Diagnostic(code, CODES[code][0], message, span, notes, help, subject)


def source_of(path: Path) -> SourceText:
    """Return the text of a Python file as it is now; characters that it cannot hold are replaced."""
    return SourceText(path.read_bytes().decode("utf-8-sig", errors="replace"), str(path))
