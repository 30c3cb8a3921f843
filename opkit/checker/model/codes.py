"""The registry of check codes: one row per thing that gradcheck can say.

Rows only: the checks themselves live in their own modules, the explanations in diagnostics/pages.
"""

from __future__ import annotations

from opkit.record import record
from opkit.tables import rows

#: What checks ask, by code, those of other packages too.
TITLES: dict[str, str] = {}


@record
class CheckCode:
    """A check's stable code, its name in reports, and what it asks, in one line."""

    code: str
    name: str
    title: str

    def __post_init__(self) -> None:
        TITLES[self.code] = self.title

    @property
    def is_of_backward(self) -> bool:
        """Whether a report of it shows backward's place, and not forward's."""
        return self.code in _DERIVATIVES or "backward" in self.title or "gradient" in self.title


#: What says that backward is wrong, without a word of it in its title.
_DERIVATIVES = frozenset({"GC101", "GC102", "GC103", "GC104", "GC105", "GC106", "GC113", "GC152"})


def codes_in(text: str) -> dict[str, CheckCode]:
    """Return the checks of a table, by code: a code, a name and a title a line; what begins with # is a heading."""
    made = (CheckCode(*row) for row in rows(text, 3) if row[0] != "#")
    return {row.code: row for row in made}


#: Every code of the checker, by code. A code is never given to another check.
CODES = codes_in(
    """
    # --- the gradient against numeric differences
    GC101 jacobian           every entry of the Jacobian agrees with numeric differences
    GC102 directions         random directional derivatives agree with numeric differences
    GC103 kink           at a kink the gradient lies between the one-sided slopes
    GC104 jump           at a jump or on a staircase the gradient is finite and one of the slopes, or 0
    GC105 nonfinite          the gradient is finite wherever the derivative is
    GC106 ties           the gradient at ties is right along the directions that keep the ties
    # --- against a reference that is declared
    GC107 reference          forward's results agree with the reference's, as far as rounding lets them
    GC108 reference_gradient     gradients agree with the reference's, as far as rounding lets them
    GC109 reference_itself       the reference's own derivative is that of its values
    # --- the gradient as a function of the incoming gradient
    GC110 additive           backward is additive in dy
    GC111 homogeneous        backward is homogeneous in dy, also for negative, tiny and huge factors
    GC112 zero           a zero dy gives a zero gradient
    GC113 partial        a zero dy for some outputs does not change what the others contribute
    # --- purity
    GC120 repeatable         forward gives the same result for the same arguments
    GC121 backward_repeatable    backward gives the same result for the same arguments
    GC122 writes         forward does not write to its arguments
    GC123 backward_writes    backward does not write to its arguments
    GC124 reused_buffer      an array that was returned earlier is never written to again
    GC125 call_order         results do not depend on which calls came before or between
    # --- memory layout
    GC130 layout         forward does not depend on its arguments' strides or writability
    GC131 backward_layout    backward does not depend on its arguments' strides or writability
    # --- contract
    GC140 shape          forward's results have the shapes that infer promises
    GC141 dtype          forward's results have the dtypes that infer promises
    GC142 gradient_shape     a gradient has its input's shape
    GC143 gradient_dtype     a gradient has its input's dtype
    GC144 results        a kernel returns one array per declared output
    GC145 missing_gradient       every float input that needs one gets a gradient
    GC146 unused_gradient    every backward output is bound to an input
    GC147 unread_output_gradient the gradient of every float output is read
    GC148 backward_contract      backward kernels return what their own infer functions promise
    # --- precision
    GC150 float32        float32 results agree with float64 within float32's rounding
    GC151 low_precision      a float64 result is computed in float64
    GC152 cancellation       no result loses its digits to cancellation
    # --- edges
    GC160 empty          empty arrays are handled
    GC161 scalar         0-d arrays are handled
    # --- other ways to run the op
    GC170 parity         dynamic and static mode give the same results and gradients
    GC171 second_order       the gradient of the gradient agrees with numeric differences
    # --- the run itself
    GC180 forward_raises     forward runs on its domain
    GC181 backward_raises    backward runs wherever forward does
    GC182 domain         there are cases to check
    GC183 cases          the cases file is well formed
    GC190 power          these settings catch the standard mutants of this backward
    GC198 interpreter        the op's functions leave Python and numpy as they are
    # --- what definitions claim about devices
    SBP201 claim          on several devices a claimed signature gives what one device gives
    SBP202 shards         the shards of the results have the sizes of a balanced split
    SBP203 shards_taken       the op takes the shards that a claimed signature makes
    SBP204 entries        a signature has an entry for each argument, and for nothing else
    SBP205 axis           a signature splits axes that are there
    SBP206 gradient_follows       the gradient on several devices is that on one
    SBP207 listing        the definition's function lists its signatures
    SBP208 untried        every claimed signature can be tried
    SBP209 cases_to_cut       there are cases to cut
    SBP210 unclaimed          every signature that holds is claimed
    SBP211 claims         the definition claims signatures
    SBP220 stateless          the kernel keeps no state between calls
    """
)

#: Of the run: found by the checker where its time ends before the derivatives are decided, by the runner elsewhere.
OUT_OF_TIME = CheckCode("GC192", "timeout", "the op's functions return within the time limit")

#: Of a pass: found by whoever the engine asks for a confirmation.
ORDINARY = CheckCode("GC199", "ordinary", "an ordinary run gives the same results, and gradients that fit them")


#: Of the run: what the checker itself could not do.
INTERNAL = CheckCode("GC197", "internal", "opkit itself can finish the check")


def code_of(name: str) -> str:
    """Return the code of a check's name.

    Raises:
        KeyError: no check has that name.
    """
    for row in CODES.values():
        if row.name == name:
            return row.code
    raise KeyError(name)
