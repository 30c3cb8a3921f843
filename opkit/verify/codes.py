"""The codes of what can be found about an op from outside: it died, it hung, it left, it did not load.

What the checker itself finds has its codes in ``opkit.checker.model.codes``; the numbers form one series.
"""

from __future__ import annotations

from opkit.checker import CheckCode
from opkit.checker.model.codes import INTERNAL as INTERNAL
from opkit.checker.model.codes import NAMED as NAMED
from opkit.checker.model.codes import ORDINARY as ORDINARY
from opkit.checker.model.codes import OUT_OF_TIME

CRASH = CheckCode("GC191", "crash", "the op's functions leave their process alive")
TIMEOUT = OUT_OF_TIME
EXIT = CheckCode("GC193", "exit", "the op's functions return instead of leaving the interpreter")
MEMORY = CheckCode("GC194", "memory", "the check stays within the memory limit")
LOAD = CheckCode("GC195", "load", "the op's files can be imported")
SCRIPT = CheckCode("GC196", "script", "the recorded script runs to its end")


# What only custom functions of other frameworks are asked.
UNDEFINED = CheckCode("GC201", "undefined_gradient", "an incoming gradient that is not defined counts as zero")
NEEDS = CheckCode("GC202", "needs_gradient", "a gradient does not depend on which other inputs need one")
KEPT = CheckCode("GC203", "kept_tensor", "what forward keeps of inputs and results is guarded against later changes")
ACCUMULATED = CheckCode("GC204", "accumulated", "gradients accumulated and reset leave the inputs as they are")
FORWARD_MODE = CheckCode("GC205", "forward_mode", "the forward-mode derivative agrees with the gradient")
FAKE = CheckCode("GC206", "fake_kernel", "the fake kernel gives the real kernel's shapes, dtypes, strides and devices")
HALF = CheckCode("GC207", "half_precision", "results in half precision agree with float32 within its rounding")
UNFILLED = CheckCode("GC208", "unfilled", "results and gradients hold no memory that nobody filled")

COMPILED = CheckCode("GC211", "jit", "results and gradients are the same under jit")
BATCHED = CheckCode("GC212", "vmap", "gradients are the same under vmap")
REMEMBERED = CheckCode("GC213", "remembered", "backward belongs to its own forward: nothing is kept between calls")
RULE_VALUE = CheckCode("GC214", "rule_value", "a rule returns the function's own results")

# What only C++ kernels are asked.
TWINS = CheckCode("GC221", "kernels_agree", "the C++ kernel gives what the Python kernel gives")
BOUNDS = CheckCode("GC222", "bounds", "the C++ kernel writes its outputs, wholly, and nothing else")
IN_PLACE = CheckCode("GC223", "in_place", "an output that the C++ kernel may write over an input stays the same")

#: The rows above, by code.
CODES: dict[str, CheckCode] = {row.code: row for row in list(globals().values()) if isinstance(row, CheckCode)}
