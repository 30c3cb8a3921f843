"""The registry of check codes: one row per thing that gradcheck can say.

Rows only: the checks themselves live in their own modules, the explanations in diagnostics/pages.
"""

from __future__ import annotations

from opkit.record import record

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


#: Every code of the checker, by code. A code is never given to another check.
CODES: dict[str, CheckCode] = {
    row.code: row
    for row in (
        # --- the gradient against numeric differences
        CheckCode("GC101", "jacobian", "every entry of the Jacobian agrees with numeric differences"),
        CheckCode("GC102", "directions", "random directional derivatives agree with numeric differences"),
        CheckCode("GC103", "kink", "at a kink the gradient lies between the one-sided slopes"),
        CheckCode("GC104", "jump", "at a jump or on a staircase the gradient is finite and one of the slopes, or 0"),
        CheckCode("GC105", "nonfinite", "the gradient is finite wherever the derivative is"),
        CheckCode("GC106", "ties", "the gradient at ties is right along the directions that keep the ties"),
        # --- against a reference that is declared
        CheckCode("GC107", "reference", "forward's results agree with the reference's, as far as rounding lets them"),
        CheckCode("GC108", "reference_gradient", "gradients agree with the reference's, as far as rounding lets them"),
        CheckCode("GC109", "reference_itself", "the reference's own derivative is that of its values"),
        # --- the gradient as a function of the incoming gradient
        CheckCode("GC110", "additive", "backward is additive in dy"),
        CheckCode("GC111", "homogeneous", "backward is homogeneous in dy, also for negative, tiny and huge factors"),
        CheckCode("GC112", "zero", "a zero dy gives a zero gradient"),
        CheckCode("GC113", "partial", "a zero dy for some outputs does not change what the others contribute"),
        # --- purity
        CheckCode("GC120", "repeatable", "forward gives the same result for the same arguments"),
        CheckCode("GC121", "backward_repeatable", "backward gives the same result for the same arguments"),
        CheckCode("GC122", "writes", "forward does not write to its arguments"),
        CheckCode("GC123", "backward_writes", "backward does not write to its arguments"),
        CheckCode("GC124", "reused_buffer", "an array that was returned earlier is never written to again"),
        CheckCode("GC125", "call_order", "results do not depend on which calls came before or between"),
        # --- memory layout
        CheckCode("GC130", "layout", "forward does not depend on its arguments' strides or writability"),
        CheckCode("GC131", "backward_layout", "backward does not depend on its arguments' strides or writability"),
        # --- contract
        CheckCode("GC140", "shape", "forward's results have the shapes that infer promises"),
        CheckCode("GC141", "dtype", "forward's results have the dtypes that infer promises"),
        CheckCode("GC142", "gradient_shape", "a gradient has its input's shape"),
        CheckCode("GC143", "gradient_dtype", "a gradient has its input's dtype"),
        CheckCode("GC144", "results", "a kernel returns one array per declared output"),
        CheckCode("GC145", "missing_gradient", "every float input that needs one gets a gradient"),
        CheckCode("GC146", "unused_gradient", "every backward output is bound to an input"),
        CheckCode("GC147", "unread_output_gradient", "the gradient of every float output is read"),
        CheckCode("GC148", "backward_contract", "backward kernels return what their own infer functions promise"),
        # --- precision
        CheckCode("GC150", "float32", "float32 results agree with float64 within float32's rounding"),
        CheckCode("GC151", "low_precision", "a float64 result is computed in float64"),
        CheckCode("GC152", "cancellation", "no result loses its digits to cancellation"),
        # --- edges
        CheckCode("GC160", "empty", "empty arrays are handled"),
        CheckCode("GC161", "scalar", "0-d arrays are handled"),
        # --- other ways to run the op
        CheckCode("GC170", "parity", "dynamic and static mode give the same results and gradients"),
        CheckCode("GC171", "second_order", "the gradient of the gradient agrees with numeric differences"),
        # --- the run itself
        CheckCode("GC180", "forward_raises", "forward runs on its domain"),
        CheckCode("GC181", "backward_raises", "backward runs wherever forward does"),
        CheckCode("GC182", "domain", "there are cases to check"),
        CheckCode("GC183", "cases", "the cases file is well formed"),
        CheckCode("GC190", "power", "these settings catch the standard mutants of this backward"),
        CheckCode("GC198", "interpreter", "the op's functions leave Python and numpy as they are"),
        # --- what definitions claim about devices
        CheckCode("SBP201", "claim", "on several devices a claimed signature gives what one device gives"),
        CheckCode("SBP202", "shards", "the shards of the results have the sizes of a balanced split"),
        CheckCode("SBP203", "shards_taken", "the op takes the shards that a claimed signature makes"),
        CheckCode("SBP204", "entries", "a signature has an entry for each argument, and for nothing else"),
        CheckCode("SBP205", "axis", "a signature splits axes that are there"),
        CheckCode("SBP206", "gradient_follows", "the gradient on several devices is that on one"),
        CheckCode("SBP207", "listing", "the definition's function lists its signatures"),
        CheckCode("SBP208", "untried", "every claimed signature can be tried"),
        CheckCode("SBP209", "cases_to_cut", "there are cases to cut"),
        CheckCode("SBP210", "unclaimed", "every signature that holds is claimed"),
        CheckCode("SBP211", "claims", "the definition claims signatures"),
        CheckCode("SBP220", "stateless", "the kernel keeps no state between calls"),
    )
}


#: Of the run: found by the checker where its time ends before the derivatives are decided, by the runner elsewhere.
OUT_OF_TIME = CheckCode("GC192", "timeout", "the op's functions return within the time limit")

#: Of a pass: found by whoever the engine asks for a confirmation.
ORDINARY = CheckCode("GC199", "ordinary", "an ordinary run gives the same results, and gradients that fit them")


#: Of a run: what it was asked for by a name.
NAMED = CheckCode("GC200", "named", "what the command line names is there")

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
