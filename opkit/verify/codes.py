"""The codes of what can be found about an op from outside: it died, it hung, it left, it did not load.

What the checker itself finds has its codes in ``opkit.checker.model.codes``; the numbers form one series.
"""

from __future__ import annotations

from opkit.checker.model.codes import INTERNAL as INTERNAL
from opkit.checker.model.codes import ORDINARY, OUT_OF_TIME, codes_in

TIMEOUT = OUT_OF_TIME
_FOUND = codes_in(
    """
    # --- how an op ends
    GC191 crash              the op's functions leave their process alive
    GC193 exit               the op's functions return instead of leaving the interpreter
    GC194 memory             the check stays within the memory limit
    GC195 load               the op's files can be imported
    GC196 script             the recorded script runs to its end
    # --- what only torch's custom functions are asked
    GC201 undefined_gradient an incoming gradient that is not defined counts as zero
    GC202 needs_gradient     a gradient does not depend on which other inputs need one
    GC203 kept_tensor        what forward keeps of inputs and results is guarded against later changes
    GC204 accumulated        gradients accumulated and reset leave the inputs as they are
    GC205 forward_mode       the forward-mode derivative agrees with the gradient
    GC206 fake_kernel        the fake kernel gives the real kernel's shapes, dtypes, strides and devices
    GC207 half_precision     results in half precision agree with float32 within its rounding
    # --- what only JAX's are
    GC211 jit                results and gradients are the same under jit
    GC212 vmap               gradients are the same under vmap
    GC213 remembered         backward belongs to its own forward: nothing is kept between calls
    GC214 rule_value         a rule returns the function's own results
    # --- what only C++ kernels are asked
    GC221 kernels_agree      the C++ kernel gives what the Python kernel gives
    GC222 bounds             the C++ kernel writes its outputs, wholly, and nothing else
    GC223 in_place           an output that the C++ kernel may write over an input stays the same
    """
)
CRASH, EXIT, MEMORY, LOAD, SCRIPT, *_OTHERS = _FOUND.values()
UNDEFINED, NEEDS, KEPT, ACCUMULATED, FORWARD_MODE, FAKE, HALF, *_OTHERS = _OTHERS
COMPILED, BATCHED, REMEMBERED, RULE_VALUE, TWINS, BOUNDS, IN_PLACE = _OTHERS

#: The rows above, by code.
CODES = {**_FOUND, **{row.code: row for row in (TIMEOUT, INTERNAL, ORDINARY)}}
