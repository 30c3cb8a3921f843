"""Thresholds: every number with which the checker decides: bounds, factors, counts, sizes, limits of time and sampling.

One table, each entry with its reason and source; what is tried (shapes, values, attributes) stands in tables of the
search.

The last word of a reason is its source. Derived: it follows from the formula or the dtype named. Tuned: no formula
gives it; with it no correct op of the corpus is accused and no fault lost, and the true errors of the functions of
``benchmarks/gradcheck_coverage.py`` stay within their bounds; ``python -m tests.campaigns.thresholds`` prints what half
of it and twice as much would change. Cost: it bounds the time of a check.
docs/gradcheck-method.md describes the method. The module is long because it is one table.
"""

from __future__ import annotations

# ---- what a user may set (the defaults of Options) -------------------------------------------------------------------
#: Relative error that a float64 PASS promises to have seen. Derived: a hundred times FLOOR.
PROMISE = 1e-7
#: Entries of a Jacobian up to which each is compared, and random directions for each input of larger ones. Cost.
FULL_LIMIT, PROBES = 40_000, 4
#: Cases drawn from a cases file, and seconds after which cases are left out (times an effort above 1). Cost.
MOST_CASES, SECONDS = 64, 20.0

# ---- how many --------------------------------------------------------------------------------------------------------
#: How many of something are looked at: few where each takes a check of its own, some and many where each takes calls
#: (cases of a check, places, moves, values of an option), plenty where each takes an attempt alone. Cost.
FEW, SOME, MANY, PLENTY = 4, 8, 16, 64
#: Elements up to which an array is small: each of them is moved, or measured. Cost.
SMALL_ARRAY = 256
#: Seeds what is drawn beside the cases: no seed that is likely to be given by hand. Decides nothing. Derived.
SEED = 1_000_003

# ---- ladders of steps ------------------------------------------------------------------------------------------------
#: Ratio between neighbouring steps; a power of two, so that h itself is exact. Derived.
RATIO = 4.0
#: Rungs of a full ladder: they end at 4e-9 of the scale, far enough below the best step of central differences in
#: float64 (the cube root of its resolution, 6e-6) to show the noise of the values. Derived.
STEPS = 14
#: Rungs of it where calls take long: eight calls, as few as a value with two neighbours needs; and the last. Derived.
SLOW_STEPS, SLOW_LAST = 4, 6
#: The last of the two that are tried first: at 1e-3 of the scale, the fourth root of the resolution. Derived.
USUAL_LAST = 5
#: The first step, as a share of the magnitude: no simple fraction, so that no period divides all steps. Tuned.
FIRST_STEP = 0.2836
#: Steps below this many resolutions of the input (times FIRST_STEP: 16 ulps) are rounding alone. Derived.
LEAST_STEP = 64.0
#: Resolutions of float64 and of float32. Derived.
RESOLUTION, SINGLE_RESOLUTION = 2.0**-52, 2.0**-23
#: How much extrapolated central differences amplify the noise of a value over h: (1 + 1/15 + ...). Derived.
CENTRAL_NOISE = 1.2
#: The same for one-sided slopes, extrapolated twice. Derived.
ONE_SIDED_NOISE = 4.0
#: Extrapolated rungs that a value with two neighbours needs, and those needed to distinguish two slopes on one ladder.
#: Derived.
LEAST_RUNGS, TWO_SLOPE_RUNGS = 3, 6
#: The golden ratio: a second ladder's steps are this share of the first's, so that no step recurs. Derived.
GOLDEN = 0.6180339887

# ---- what values look like around a point ----------------------------------------------------------------------------
#: What is this share of something is small beside it: a step two rungs away, whose neighbours share no value. Derived.
SMALL = RATIO**-2
#: Below this share of the scale steps may be lost in float16 or float32 within. Derived: the best step of central
#: differences in float32, the cube root of its resolution.
COARSE = SINGLE_RESOLUTION ** (1 / 3)
#: Steps show a slope where its error and its bend are at most this share of it, and another one as far from the first.
#: Derived: an error shrinks by as much from rung to rung at least.
SMOOTH = 1 / RATIO
#: Two slopes conflict where they differ by more than this many of their bounds; three bounds are a failure too, and a
#: claimed slope three times the numeric one is looked for on finer scales. Tuned.
BOUNDS = 3.0
#: Slopes, and bounds on them, that differ by less than this share are one. Tuned.
SLIGHT = 0.01
#: A part of less than this share of the whole says nothing of it, as a wrong entry or as a place beside another. Tuned.
LITTLE = 1e-3
#: What is below this share is rounding, guards and patterns taken together. Tuned.
NEGLIGIBLE = 1e-6
#: Values lie on a grid of at most this many ulps of what they are made of: two roundings on each side. Derived.
GRID_ULPS = 4.0
#: Rounding that was measured counts this many times: for a bend, a growing slope or a leap to be one, and for float32
#: results beside those of inputs that are rounded otherwise. Tuned.
NOISE_TIMES = 100.0
#: Rungs that show that it does not shrink, and rungs of a second ladder beyond the first's. Derived: two comparisons
#: and their neighbours.
CORNER_RUNGS = 5
#: A singular slope grows by this factor from rung to rung (a root grows by 2, a logarithm slowly), four rungs long.
#: Tuned.
GROWTH = 1.15

# ---- columns and quick agreement -------------------------------------------------------------------------------------
#: An element is stepped by its own magnitude, but at least by this share of the array's typical one. Tuned.
LEAST_SCALE = 0.05
#: Random directions: signs times magnitudes in this interval, so that nothing is invisible and no swap cancels.
#: Derived.
MAGNITUDES = (0.5, 1.5)
#: The same for moving all elements at once when rows are asked whether they are independent. Tuned.
MOVES = (0.4, 1.0)
#: Steps above this share of the scale need two patterns of moves to prove rows independent. Tuned.
WIDE_STEP = 0.2
#: Rows are proven independent on steps this many times the largest that will be used. Derived: above 1.
ROW_MARGIN = 1.2
#: The step that is tried first, as a share of the scale. Derived: near the fourth root of the resolution, which suits
#: extrapolation.
USUAL_STEP = RATIO**-5
#: Resolutions above this are not float64's. Derived: between float64's 2e-16 and float32's 1e-7.
IS_SINGLE = 1e-10
#: Elements that an input must have for moving rows at once to gain anything. Derived: more than a call for each side.
LEAST_ROWS_SIZE = 3
#: Powers of -2 by which rows of an incoming gradient are scaled: float32 holds the largest, times a gradient. Derived.
MOST_POWERS = 32

# ---- the verdict on an entry -----------------------------------------------------------------------------------------
#: Share of an entry below which a difference is rounding of the analytic gradient (float64, float32). Tuned.
FLOOR, FLOOR_SINGLE = 1e-9, 2e-5
#: Size of values beyond which inputs that nothing declares are extremes (rule 5). Derived: the rule's own number.
EXTREME_SIZE = 1e3
#: Relative difference that one rounding to float32 on the way explains. Derived: four units in its last place.
SINGLE_ROUNDING = 2.0**-22
#: The same of float16, for a word in a message. Derived: four units in its last place.
HALF_ROUNDING = 2.0**-9
#: Share of an array's size by which all values are moved to see whether a gradient is wrong at exact values alone.
#: Derived: far above the resolution of float64; the distance within which a guard ends (rule 6).
BESIDE = 2.0**-40, 2.0**-10
#: What equal sizes become, one after the other, to see whether they have to be equal: a size that no usual shape has.
#: Derived.
OWN_SIZE = 11
#: Bits of an integer that a report shows in digits. Derived: Python writes at most 4300 digits, and the time that takes
#: grows with the square of the length.
MOST_BITS = 14_000
#: Seconds after which a reading of a signature without cases is given up, and those after which, if calls take long,
#: no further case is looked at for it. Cost.
FIRST_SECONDS, SLOW_FIRST = 4.0, 0.5
#: Rows count as shares where they sum to 1 within this. Derived: float32's rounding of a row of 100 shares.
ROW_SUM = 1e-5
#: Share of the largest entry below which nothing is accused (float64, float32). Tuned.
ABSOLUTE, ABSOLUTE_SINGLE = 1e-13, 2e-6
#: Ulps of the terms that a value may be the small difference of, such as results over arguments. Tuned.
CANCELLED_ULPS = 64.0
#: Differences below this are products of subnormal numbers. Derived.
UNDERFLOW = 1e-30
#: Keeps divisors and logarithms from 0, far below every value that matters. Derived.
NONZERO = 1e-300
#: Share of a kink's slopes by which the claimed one may leave their interval. Tuned.
CORNER = 1e-5
#: A bound wider than this share of the value decides nothing. Tuned.
VAGUE = 0.03
#: A gradient is unsteady where it moves by 1/10 of the deviation when its point moves by a few ulps. Tuned.
UNSTEADY = 10.0
#: The incoming gradient's entry that probes one output; no power of -1, so that dy**2 and |dy| show. Derived.
WEIGHT = -1.25

# ---- scales that ladders pass over -----------------------------------------------------------------------------------
#: Rungs of a ladder down to the least step of float64. Derived: 4**-22 is the last above LEAST_STEP resolutions.
WHOLE_LADDER = 23
#: A value oscillates where the finest steps change it by more than this many ulps. Tuned.
OSCILLATION_ULPS = 1e3

# ---- tips of cones ---------------------------------------------------------------------------------------------------
#: Twice the share changes a sum of absolute values twice, a norm of power p 2**p times: above the power 1.26 it is a
#: tip; the least change, as a share of the bend, that is no rounding. Tuned.
TIP_CURVES, TIP_LEAST = 2.4, 1e-4

# ---- what excuses a failure ------------------------------------------------------------------------------------------
#: Ordinary values, at one of which backward has to be right for a guard to be looked for between. Tuned.
ORDINARY = (0.5, -0.5, 2.0, -2.0)
#: The largest ordinary size. Derived: the number of rule 3.
ORDINARY_MOST = 8.0
#: The distance from 0, 1 and -1 within which a bound is a guard: labels are smoothed, and slopes leak, by more.
#: Derived: the number of rule 6.
EDGE_NEAR = 1e-3
#: Steps, as shares of an element, by which a slope is measured beside an edge: one of them is finer than the edge is
#: near, and coarser than the rounding. Tuned.
EDGE_STEPS = (2.0**-10, 2.0**-17, 2.0**-24)
#: A slope this many times the ordinary one shows a cliff: the arccosine has 224 times it at 1 - 1e-5. Tuned.
STEEP = 100.0

# ---- random directions -----------------------------------------------------------------------------------------------

# ---- comparing gradients case by case --------------------------------------------------------------------------------
#: Runs of the kernels that comparisons may take at effort 1, once some cases are compared. Cost.
RUN_BUDGET = 120_000
#: Seconds of a call from which on the cases are cut to the time, and calls that all checks of one case take. Cost.
SLOW_CALL, CALLS_A_CASE = 0.004, 200
#: Calls that a check of one case takes. Cost.
CALLS_A_CHECK = 40
#: Calls for each element of an input that a whole Jacobian takes at most, ladders aside, and those of two ladders of
#: its own. Derived: two steps, and all rungs, on both sides.
PLAIN_CALLS, CALLS_A_LADDER = 4, 2 * (2 * STEPS + CORNER_RUNGS)
#: Share of the time that the search for cases may take, once some are found, where calls take long. Cost.
SEARCH_SHARE = 0.1
#: Share of the clock's limit after which no further case is searched for. Cost.
CLOCK_SEARCH = 0.5
#: Seconds of a forward and a backward from which on a case with many elements is not differentiated; and of a forward
#: from which on no second order is looked for that nothing asks for. Cost.
SLOW_GRADIENT = 0.05
#: Times a declared TOLERANCE by which the promise is widened. Derived: the tolerance and its own floor on both sides.
PROMISE_TOLERANCE = 4.0
#: A bound on an input's values is said to part wrong elements from right ones where chance does so less often. Tuned.
BY_CHANCE = 0.025

# ---- equality of two computations of the same ------------------------------------------------------------------------
#: Ulps of the largest entry by which repeated results may differ: BLAS may add in another order. Tuned.
REPEAT_ULPS = 8.0
#: The same for what adds whole sums in another order: other layouts, gradients of other modes, another way to the same
#: gradient, shards; of 1e5 terms of both signs they differ by less. Tuned.
SUM_ULPS = 4096.0
#: Times that a call is repeated. Derived: a state of period 2 or 3 shows twice or more.
REPEATS = 6
#: Elements from which on arrays are not used where a case is run many times. Cost.
MOST_ELEMENTS = 2_000_000

# ---- linearity -------------------------------------------------------------------------------------------------------
#: Factors of the incoming gradient: a sign, an odd one, and two beyond what a clip lets through. Tuned.
FACTORS = (-1.0, 3.0, 2.0**-40, 2.0**40)
#: Share of the natural size that gradients count as at least. Tuned.
LINEAR_LEAST = 1e-5
#: Ulps by which a gradient may be off from a linear function of the incoming one; float64 to the floor. Tuned.
LINEAR_ULPS = 2000.0
#: How many roundings of terms that cancel two sums and one product have. Derived.
SUM_ROUNDINGS, PRODUCT_ROUNDINGS = 6.0, 3.0
#: Smallest normal numbers that a scaled gradient may be off by. Tuned.
LINEAR_TINY = 1e3

# ---- float32 and lower precisions ------------------------------------------------------------------------------------
#: Roundings that a float32 result may have gone through. Tuned.
SINGLE_ROUNDINGS = 400.0
#: Results above are those that float32 cannot hold with some room. Derived: its largest is 3.4e38.
OVERFLOW = 1e30
#: What float32 results count as at least: a share of the largest gradient, of usual results, of the largest argument.
#: Tuned.
GRADIENT_LEAST, RESULT_LEAST, ARGUMENT_LEAST = 0.1, 0.04, 0.02
#: Noise of a float64 result, at most, that some lower precision inside explains. Tuned.
NOISE_MOST = 3e-2

# ---- a reference in the function's format (docs/gradcheck-reference.md derives the factors) --------------------------
#: Incoming gradients there. Derived: numbers of every format, none of them small beside the others.
REFERENCE_DOUTS = (-1.5, -1.25, -1.0, -0.75, -0.5, 0.5, 0.75, 1.0, 1.25, 1.5)
#: Times the root mean square of the reference's own errors that an element may be off by. Derived: among 1e5 normal
#: errors the largest is 4.4 times their root mean square; the rest is for errors that are not normal.
REFERENCE_TIMES = 6.0
#: Units in the last place of the largest element that it may be off by beside. Derived: eight roundings, each by half.
REFERENCE_ULPS = 4.0
#: Units in float32's last place, where the function computes in float32 at least, that fast exponentials are off by.
#: Source: CUDA's programming guide, __expf: 2 + 1.2 |x|, for |x| up to 25. Derived.
FAST_ULPS = 32.0
#: Units by which all elements may be off alike. Derived: two constants that are rounded, each by half of one.
BIAS_ULPS = 1.0
#: Standard deviations of a mean of errors. Derived: rarer than once in 1e4 means.
SPREADS = 4.0
#: Times the reference's errors, and units beside, that the function's may be on the whole. Derived: its roundings may
#: be nine times as many; the roundings of thirty steps, each by 0.29 units, make 1.6.
GREW_TIMES, GREW_ULPS = 3.0, 1.5
#: Units that errors may be on the whole which are the same at all inputs. Derived: two constants that are rounded make
#: 0.41; kernels that compute in their own dtype throughout were seen to make 0.57.
RECURS_ULPS = 0.75
#: Share of a difference that a factor may leave unexplained. Tuned.
FACTOR_FITS = 0.25
#: Times the smallest number of a format that counts as 0. Derived: as many roundings as REFERENCE_ULPS stands for.
SUBNORMALS = 8.0

#: Shares by which inputs are moved within float32's resolution, and beyond it, to see whether it is all that counts.
#: Derived: far below 2**-24 and far above 2**-52, and 64 times 2**-24: staircases have longer steps.
FINER, COARSER = 2.0**-30, 2.0**-18
#: How far lines through a case of an op in half precision reach to each side, as shares of the scale. Cost.
LINE_STEPS = (0.25, 0.5)
#: Shares of a line's length that slopes at five points of it count for. Derived: Simpson's rule on both halves.
LINE_SHARES = (1 / 12, 4 / 12, 2 / 12, 4 / 12, 1 / 12)
#: The share of a gradient in half precision that an error must be below to go unseen. Source: what such ops promise.
#: Tuned.
NARROW_PROMISE = 0.1

# ---- the scan of elementwise ops -------------------------------------------------------------------------------------
#: Processor seconds for all points beyond which there is no scan, which takes some thirty such runs. Cost.
SLOW_SCAN = 0.02
#: Points of a scan that are settled at a time: what is computed on the way stays in the processor's cache. Cost.
BLOCK = 512
#: Floor of a deviation, of the natural size. Tuned; looser than the verdict's, since others judge.
SCAN_NATURAL = 1e-12

# ---- how many cases a check takes ------------------------------------------------------------------------------------
#: Ulps of the largest entry by which most entries may differ of two ways to the same, one of them computed in a coarse
#: dtype; and those by which a matrix may differ from its transpose and be symmetric. Tuned.
COARSE_ULPS = 16.0
#: Results below this share of what they were computed from come of cancellation in a coarse dtype. Tuned.
CANCELLED = 0.1
#: Regimes in which rounding alone may make results worthless; not used where exactness is asked for. Tuned.
EXTREME = frozenset({"huge", "1e5", "tiny", "offset", "far", "saturated", "steep", "wide"})

#: Axes and elements that a shape given by hand may have: numpy's limit, and what 64 bits can address in any dtype.
#: Source: numpy 2, NPY_MAXDIMS. Derived.
MOST_GIVEN_AXES, MOST_GIVEN_ELEMENTS = 64, 1 << 58

# ---- the search for cases --------------------------------------------------------------------------------------------
#: Assignments of shapes looked at; before it is asked how far infer's checks get; and where every mixture of float
#: dtypes is tried. Cost.
MOST_SHAPES, PATIENCE, MIXED_PATIENCE = 6000, 1500, 200
#: Cases of other shapes, of ops with one input and with several, at effort 1, and the effort down to which fewer of
#: them are searched; below it a share of all cases is kept. Cost.
SHAPE_CASES, SHAPE_CASES_OF_MANY, LEAST_EFFORT = 30, 24, 0.2
#: Largest size taken over from the numbers in kernels and definitions, by rank. Cost.
LARGEST_HINT = {1: 1024, 2: 64, 3: 32, 4: 16}
#: Sizes of the one large case, with few sizes to change and with many, and the elements that it may have. Cost.
LONG, MIDDLE, LEAST_LARGE, MOST_LARGE = 67, 17, 500, 20_000
#: The longest of these sizes, more than a byte counts, and those beside it, about as many elements as without it. Cost.
LONGEST, BESIDE_LONGEST = 290, (MIDDLE, 3)
#: The longest string of a kernel that is tried as the value of an option. Cost.
LONGEST_STRING = 24
#: No values are placed around constants outside this interval. Tuned.
LEAST_ANCHOR, MOST_ANCHOR = 1e-4, 1e4
#: Inputs of ops whose inputs are tried in different domains and dtypes, and the domains of these. Cost.
MIXED_INPUTS, MIXED_DOMAINS = 3, 5
#: Shapes related to the first that each further input gets, by the number of inputs (few, where there are more): their
#: product is what is tried. Cost.
RELATIONS = {1: 60, 2: 60, 3: 22, 4: 9, 5: 6}
#: A default below this keeps a divisor from 0, and other sizes do not depend on such an attribute. Tuned.
SMALL_OPTION = 1e-2
#: Elements of the longer case that carries the sweep of regimes: above, and at most. Cost.
LONG_CARRIER = (12, 48)

# ---- proofs of sharding claims ---------------------------------------------------------------------------------------
#: Numbers of devices of a proof. Derived: two and four make equal shards where three makes unequal ones.
PROOF_DEVICES = (2, 3, 4)
#: How often what the last digits of inputs do counts. Tuned.
PROOF_NOISE = 64.0
#: The most that this may count for, in square roots of the resolution: a jump at a tie is not rounding. Tuned.
PROOF_NOISE_CAP = 16.0
#: Whole numbers of a case whose floats are rounded: so many times the float. Tuned.
PROOF_WHOLE_SCALE = 3.0
#: Ways to cut the inputs that are tried without being claimed. Cost.
PROOF_CANDIDATES = 200
#: Floats of a case are below this power of the largest: products of three of them are finite. Derived.
PROOF_MODERATE = 0.3
#: Share of the time set for an op that goes to claims of forward, and to those of its gradient. Cost.
PROOF_SHARE, PROOF_SHARE_BACKWARD = 0.5, 0.75

# Every entry is offered: a list of them here would be a second table.
__all__ = sorted(name for name in dict(globals()) if name.isupper())
