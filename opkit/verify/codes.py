"""The codes of what can be found about an op from outside: it died, it hung, it left, it did not load.

What the checker itself finds has its codes in ``opkit.checker.model.codes``; the numbers are of one series.
"""

from __future__ import annotations

from opkit.checker import CheckCode
from opkit.checker.model.codes import OUT_OF_TIME

__all__ = ["CODES", "CRASH", "EXIT", "INTERNAL", "LOAD", "MEMORY", "SCRIPT", "TIMEOUT"]

CRASH = CheckCode("GC191", "crash", "the op's functions leave their process alive")
TIMEOUT = OUT_OF_TIME
EXIT = CheckCode("GC193", "exit", "the op's functions return instead of leaving the interpreter")
MEMORY = CheckCode("GC194", "memory", "the check stays within the memory limit")
LOAD = CheckCode("GC195", "load", "the op's files can be imported")
SCRIPT = CheckCode("GC196", "script", "the recorded script runs to its end")
INTERNAL = CheckCode("GC197", "internal", "opkit itself can finish the check")

#: The rows above, by code.
CODES: dict[str, CheckCode] = {row.code: row for row in (CRASH, TIMEOUT, EXIT, MEMORY, LOAD, SCRIPT, INTERNAL)}
