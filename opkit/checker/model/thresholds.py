"""Thresholds: every number with which the checker decides: bounds, factors, counts, sizes, limits of time and sampling.

One table, each entry with its reason and source; what is tried (shapes, values, attributes) stands in tables of the
search.

The last word of a reason is its source. Derived: it follows from the formula or the dtype named. Tuned: no formula
gives it;
with it no correct op of the corpus is accused and no fault lost, and the true errors of the functions of
``benchmarks/gradcheck_coverage.py`` stay within their bounds: change it with these at hand. Cost: it bounds the time
of a check.
docs/gradcheck-method.md describes the method. The module is long because it is one table.
"""

from __future__ import annotations

# ---- what a user may set (the defaults of Options) -------------------------------------------------------------------
#: Relative error that a float64 PASS promises to have seen: a hundred floors. Tuned.
PROMISE = 1e-7
#: Entries of a Jacobian up to which each is compared, and random directions for each input of larger ones. Cost.
FULL_LIMIT, PROBES = 40_000, 4
#: Cases drawn from a cases file, and seconds after which cases are left out (times an effort above 1). Cost.
MOST_CASES, SECONDS = 64, 20.0

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
#: Where both sides have values at some step, a one-sided bound must be so much better to be preferred. Tuned.
BETTER_SIDE = 0.1
#: Extrapolated rungs that a value with two neighbours needs, and those needed to distinguish two slopes on one ladder.
#: Derived.
LEAST_RUNGS, TWO_SLOPE_RUNGS = 3, 6
#: A second ladder's rungs beyond the first's, and its steps as a share of them (the golden ratio: no step recurs).
#: Tuned.
MORE_RUNGS, SECOND_LADDER = 5, 0.6180339887

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
#: A bend, a growing slope or a leap must exceed the rounding this many times to be one. Tuned.
CORNER_NOISE = 100.0
#: Rungs that show that it does not shrink. Derived: two comparisons and their neighbours.
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
#: Elements of an input that get ladders of their own in one case. Cost.
MOST_JUDGED = 48
#: Elements that an input must have for moving rows at once to gain anything, and structures of rows tried. Cost.
LEAST_ROWS_SIZE, MOST_STRUCTURES = 3, 4
#: Powers of -2 by which rows of an incoming gradient are scaled: float32 holds the largest, times a gradient. Derived.
MOST_POWERS = 32

# ---- the verdict on an entry -----------------------------------------------------------------------------------------
#: Share of an entry below which a difference is rounding of the analytic gradient (float64, float32). Tuned.
FLOOR, FLOOR_SINGLE = 1e-9, 2e-5
#: Size of values beyond which inputs that nothing declares are extremes (rule 5). Derived: the rule's own number.
EXTREME_SIZE = 1e3
#: Relative difference that one rounding to float32 on the way explains. Derived: four units in its last place.
SINGLE_ROUNDING = 2.0**-22
#: Share of an array's size by which all values are moved to see whether a gradient is wrong at exact values alone.
#: Derived: far above the resolution of float64, far below any bound that a kernel branches at.
BESIDE = 2.0**-40
#: Changes of equal sizes that are tried to see whether they have to be equal, and the size they become: one that no
#: usual shape has. Cost.
MOST_GENERALISED, OWN_SIZE = 24, 11
#: Bits of an integer that a report shows in digits. Derived: Python writes at most 4300 digits, and the time that takes
#: grows with the square of the length.
MOST_BITS = 14_000
#: What the incoming gradients of a first look lie between: none is lost beside the others; and a seed. Tuned.
LOOK_WEIGHTS, LOOK_SEED = (0.5, 1.5), 77
#: Assignments of shapes after which one reading of a signature without cases is given up. Cost.
FEW_SHAPES = 1500
#: Shapes that forward takes with plain floats, among which one is looked for in which every input has several elements.
#: Without infer alone. Cost.
FIRST_PLAIN = 12
#: Shapes that forward refused after which it is asked how far it gets. Cost.
BEFORE_CLIMB = 60
#: Errors that mention whole numbers after which plain floats are tried in no further shapes. Cost.
TELLING_ERRORS = 3
#: Attempts, and seconds, after which such a reading is given up too. Cost.
FIRST_TRIALS, FIRST_SECONDS = 5000, 4.0
#: Seconds after which no further case is looked at for a reading of parameters if calls take long. Cost.
SLOW_FIRST = 0.5
#: Domains after which others are not tried where forward raises the same in each: it is not about the values. Tuned.
TELLING_DOMAINS = 1
#: Changes of the interpreter that a message names. Cost.
MOST_NAMED = 5
#: Cases that an ordinary process is asked about. Cost.
CONFIRMED_CASES = 3
#: Seeds what stands in for numpy's global random numbers during a call; kernels hardly seed with it. Tuned.
DRAWN_SEED = 2_718_281_828
#: Neighbours of recorded shapes that are tried, and findings beyond a recording that are shown. Cost.
MOST_NEIGHBOURS, MOST_BEYOND = 14, 4
#: Rows count as shares where they sum to 1 within this; values of an input that say something of their kind. Tuned.
ROW_SUM, TELLING_VALUES = 1e-5, 4
#: Ulps of the largest element by which a matrix that was seen may differ from its transpose and count as symmetric.
#: Derived.
MIRROR_ULPS = 16
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
#: Columns, cases and points that are looked at a second time: this many cannot all be accidents. Cost.
SECOND_LOOKS = 24
#: Elements of all inputs with which ties are broken in other orders, and how often. Cost.
MOST_TIED, TIE_ORDERS = 400, 60
#: Outputs whose gradient is asked for again at a moved point; more of them off by a little are not lost digits. Cost.
MOST_MOVED = 8
#: A point is moved this many times by a few ulps to see what its last digits do; a gradient is unsteady where it moves
#: by this share (1/10) of the deviation. Tuned.
NUDGES, UNSTEADY = 3, 10.0
#: The incoming gradient's entry that probes one output; no power of -1, so that dy**2 and |dy| show. Derived.
WEIGHT = -1.25

# ---- scales that ladders pass over -----------------------------------------------------------------------------------
#: Rows, and entries of each, that are looked at again. Cost.
MOST_LOOKED_AT = 16
#: Rungs of a ladder down to the least step of float64. Derived: 4**-22 is the last above LEAST_STEP resolutions.
WHOLE_LADDER = 23
#: Its first rungs, and the first at which only rounding and unresolved oscillations change a value. Tuned.
COARSE_LOOKS, FINE_LOOKS = 3, 17
#: A value oscillates where the finest steps change it by more than this many ulps. Tuned.
OSCILLATION_ULPS = 1e3

# ---- tips of cones ---------------------------------------------------------------------------------------------------
#: Seed of the direction that is added to an element's own. Tuned.
TIP_SEED = 13
#: How many shares of it are tried, each a quarter of the one before; the first that changes the bend by less than
#: itself counts. Tuned.
TIP_SHARES = 4
#: Twice the share changes a sum of absolute values twice, a norm of power p 2**p times: above the power 1.26 it is a
#: tip; the least change, as a share of the bend, that is no rounding. Tuned.
TIP_CURVES, TIP_LEAST = 2.4, 1e-4
#: Sizes of axes along which a norm is an absolute value, and a deviation a distance. Derived.
TIP_SIZES = (1, 2)

# ---- what excuses a failure ------------------------------------------------------------------------------------------
#: Points whose guards are looked for, guards that one op may have, and moves that show a step. Cost.
LOOKS = 4
#: Ordinary values, at one of which backward has to be right for a guard to be looked for between. Tuned.
ORDINARY = (0.5, -0.5, 2.0, -2.0)
#: The largest ordinary size: a bound beyond it keeps exponentials from overflow. Tuned.
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
#: Directions for the one large case. Cost.
EXTRA_PROBES = 2

# ---- comparing gradients case by case --------------------------------------------------------------------------------
#: Runs of the kernels that comparisons may take at effort 1, once the first this many cases are compared. Cost.
RUN_BUDGET, SURE_CASES = 120_000, 12
#: Runs that a comparison takes beside two an element and one an entry. Tuned.
RUNS_A_CASE = 60
#: Elements and entries up to which a case counts as small. Cost.
SMALL_CASE = 260
#: Failing cases after which no more are compared. Cost.
ENOUGH_FAILING = 6
#: Seconds of a call from which on the cases are cut to the time, calls timed anew to be sure, and calls that all
#: checks of one case take. Cost.
SLOW_CALL, CALLS_TIMED, CALLS_A_CASE = 0.004, 3, 200
#: Calls that a check of one case takes, those of a probe along a direction with few steps, and of an excuse. Cost.
CALLS_A_CHECK, CALLS_A_PROBE, CALLS_AN_EXCUSE = 40, 17, 14
#: Calls for each element of an input that a whole Jacobian takes at most, ladders aside, and those of two ladders of
#: its own. Derived: two steps, and all rungs, on both sides.
PLAIN_CALLS, CALLS_A_LADDER = 4, 2 * (2 * STEPS + MORE_RUNGS)
#: Share of the time that the search for cases may take, once some are found, where calls take long. Cost.
SEARCH_SHARE = 0.1
#: Share of the clock's limit after which no further case is searched for. Cost.
CLOCK_SEARCH = 0.5
#: Seconds of a forward and a backward from which on a case with many elements is not differentiated. Cost.
SLOW_GRADIENT = 0.05
#: Times a declared TOLERANCE by which the promise is widened. Derived: the tolerance and its own floor on both sides.
PROMISE_TOLERANCE = 4.0
#: Errors of this many entries are kept for a report's plot. Cost.
MOST_PLOTTED = 1_000_000
#: A bound on an input's values is said to part wrong elements from right ones where chance does so less often. Tuned.
BY_CHANCE = 0.025

# ---- equality of two computations of the same ------------------------------------------------------------------------
#: Ulps of the largest entry by which repeated results may differ: BLAS may add in another order. Tuned.
REPEAT_ULPS = 8.0
#: The same for what adds whole sums in another order: other layouts, gradients of other modes, another way to the same
#: gradient, shards; of 1e5 terms of both signs they differ by less. Tuned.
SUM_ULPS = 4096.0
#: Times that a call is repeated. Tuned: a state of period 2 or 3 shows.
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
#: Times the spread of results for inputs rounded otherwise that float32 may be off by. Tuned.
SINGLE_SPREAD = 100.0
#: The least share of an ulp that an input moves that is rounded otherwise. Tuned.
LEAST_NUDGE = 0.3
#: Results above are those that float32 cannot hold with some room. Derived: its largest is 3.4e38.
OVERFLOW = 1e30
#: What float32 results count as at least: a share of the largest gradient, of usual results, of the largest argument.
#: Tuned.
GRADIENT_LEAST, RESULT_LEAST, ARGUMENT_LEAST = 0.1, 0.04, 0.02
#: Noise of a float64 result, at most, that some lower precision inside explains. Tuned.
NOISE_MOST = 3e-2
#: Values of a result whose noise is measured. Cost.
NOISE_VALUES = 256

# ---- a reference in the function's format (docs/gradcheck-reference.md derives the factors) --------------------------
#: Cases that are compared with a reference, and inputs near each: the errors of one element at them are a sample. Cost.
REFERENCE_CASES, REFERENCE_NEAR = 8, 8
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
#: Elements of an input of a reference without a gradient of its own, of which each is measured. Cost.
MEASURED_ELEMENTS = 160

#: Shares by which inputs are moved within float32's resolution, and beyond it, to see whether it is all that counts.
#: Derived: far below 2**-24 and far above 2**-52, and far above both.
FINER, COARSER = 2.0**-30, 2.0**-10
#: Lines through a case of an op in half precision, and how far they reach to each side, as shares of the scale. Cost.
LINES, LINE_STEPS = 8, (0.25, 0.5)
#: Shares of a line's length that slopes at five points of it count for. Derived: Simpson's rule on both halves.
LINE_SHARES = (1 / 12, 4 / 12, 2 / 12, 4 / 12, 1 / 12)
#: The share of a gradient in half precision that an error must be below to go unseen. Source: what such ops promise.
#: Tuned.
NARROW_PROMISE = 0.1

# ---- the scan of elementwise ops -------------------------------------------------------------------------------------
#: Points that show whether an op is elementwise at all. Cost.
SCAN_FEW = 48
#: Processor seconds for all points beyond which there is no scan, which takes some thirty such runs. Cost.
SLOW_SCAN = 0.02
#: Inputs that are scanned. Cost.
SCAN_INPUTS = 3
#: Floor of a deviation, of the natural size. Tuned; looser than the verdict's, since others judge.
SCAN_NATURAL = 1e-12

# ---- how many cases a check takes ------------------------------------------------------------------------------------
#: Cases of most variety for each check, so that a check stays under a tenth of a second on ordinary ops. Cost.
CONTRACT_CASES, SINGLE_CASES, HISTORY_CASES, LAYOUT_CASES, LINEARITY_CASES = 4, 14, 10, 7, 16
#: The same: float32 (with saturated and steep values beside), the noise of float64 results (and those judged). Cost.
PRECISION_CASES, SATURATED_CASES, STEEP_CASES, NOISE_CASES, NOISY_CASES = 10, 3, 4, 8, 6
#: The same: purity of forward and backward, modes, registrations. Cost.
PURITY_CASES, BACKWARD_PURITY_CASES, MODE_CASES, REGISTRATION_CASES = 5, 6, 6, 40
#: The same: checks that a subject brings along. Cost.
OWN_CASES = 4
#: Ulps of the largest entry by which two ways to the same may differ, one of them computed in a coarse dtype, and the
#: share of entries that must be so near. Tuned.
COARSE_ULPS, MOSTLY = 16.0, 0.5
#: Results below this share of what they were computed from come of cancellation in a coarse dtype. Tuned.
CANCELLED = 0.1
#: Regimes in which rounding alone may make results worthless; not used where exactness is asked for. Tuned.
EXTREME = frozenset({"huge", "1e5", "tiny", "offset", "far", "saturated", "steep", "wide"})

#: Axes and elements that a shape given by hand may have: numpy's limit, and what 64 bits can address in any dtype.
#: Source: numpy 2, NPY_MAXDIMS. Derived.
MOST_GIVEN_AXES, MOST_GIVEN_ELEMENTS = 64, 1 << 58

# ---- the search for cases --------------------------------------------------------------------------------------------
#: Assignments of shapes looked at; where there are four inputs and more; before it is asked how far infer's checks
#: get; and where every mixture of float dtypes is tried. Cost.
MOST_SHAPES, MOST_SHAPES_OF_MANY, PATIENCE, MIXED_PATIENCE = 6000, 4000, 1500, 200
#: Cases of other shapes, of ops with one input and with several, at effort 1, and the effort down to which fewer of
#: them are searched; below it a share of all cases is kept. Cost.
SHAPE_CASES, SHAPE_CASES_OF_MANY, LEAST_EFFORT = 30, 24, 0.2
#: What the seeds of a search's rounds differ by: no seed that is likely to be given by hand. Tuned.
ROUND_SEED = 1_000_003
#: Cases of equal shapes for all inputs after which others come first; tries before a known kind of shapes is passed
#: over. Cost.
MOST_ALIKE, KINDS_REPEAT = 11, 30
#: Shapes of the first input that the others have to follow, once some were found by climbing. Cost.
FOLLOWED = 9
#: Largest size taken over from the numbers in kernels and definitions, by rank; how many of them; how many of those
#: that are named where forward raises; how often all inputs are gone through. Cost.
LARGEST_HINT, CLIMB_HINTS, CLIMB_NAMED, CLIMB_PASSES = {1: 1024, 2: 64, 3: 32, 4: 16}, 4, 2, 3
#: Shapes made from one case by changing a size: this many per size, and elements that they may have. Cost.
GROWN, MOST_GROWN = 4, 300
#: Sizes of the one large case, with few sizes to change and with many, and the elements that it may have. Cost.
LONG, MIDDLE, LEAST_LARGE, MOST_LARGE = 67, 17, 500, 20_000
#: Settings that mix attributes, and values of one that take part. Cost.
MOST_MIXED, MOST_VALUES = 14, 6
#: How deep functions that kernels call are read for constants, and the longest string among these. Cost.
CONSTANTS_DEPTH, LONGEST_STRING = 6, 24
#: No values are placed around constants outside this interval. Tuned.
LEAST_ANCHOR, MOST_ANCHOR = 1e-4, 1e4
#: Elements of a case that may carry a sweep, and further cases of known ranks that do. Cost.
MOST_CARRIED, MOST_CARRIERS = 260, 12
#: Errors of tried cases that are kept for the report, and those of a rule broken, like a missing return, after which
#: nothing more is tried where nothing was accepted. Cost.
MOST_ERRORS, MOST_BROKEN = 50, 8
#: Numbers of kernels and definitions that are taken for sizes, and how many. Cost.
LEAST_HINT, MOST_HINT, MOST_HINTS = 4, 64, 6
#: Sizes around them that shapes are made of. Cost.
LEAST_NEAR, MOST_NEAR = 3, 80
#: Inputs of ops whose inputs are tried in different domains and dtypes, and the domains of these. Cost.
MIXED_INPUTS, MIXED_DOMAINS = 3, 5
#: First shapes of ops with more than two inputs; shapes related to the first that each further input gets, by the
#: number of inputs, and where there are more: their product is what is tried. Cost.
FIRST_SHAPES, RELATIONS, RELATIONS_OF_MANY = 17, {1: 60, 2: 60, 3: 22, 4: 9, 5: 6}, 4
#: Combinations of ranks from which cases are grown. Cost.
MOST_RANKS = 3
#: Shapes for a label's other value, for a number's first values (so many), and for later ones and mixtures. Cost.
LABEL_CASES, VALUE_CASES, FIRST_VALUES, FLOAT_CASES = 8, 5, 4, 2
#: A default below this keeps a divisor from 0, and other sizes do not depend on such an attribute. Tuned.
SMALL_OPTION = 1e-2
#: Draws of values of another domain, of which forward has to take each, and the cases of that kind in all. Cost.
WIDER_DRAWS, WIDER_CASES = 3, 12
#: Elements of the longer case that carries the sweep of regimes: above, and at most. Cost.
LONG_CARRIER = (12, 48)
#: Cases that are emptied, inputs whose values alone change regime, constants that values are put around. Cost.
EMPTIED_CASES, REGIME_INPUTS, MOST_ANCHORS = 3, 4, 12

# ---- proofs of sharding claims ---------------------------------------------------------------------------------------
#: Numbers of devices of a proof: two and four make equal shards where three makes unequal ones. Tuned.
PROOF_DEVICES = (2, 3, 4)
#: Ways in which partial sums of one case are drawn. Tuned.
PROOF_DRAWS = 2
#: How often what the last digits of inputs do counts. Tuned.
PROOF_NOISE = 64.0
#: The most that this may count for, in square roots of the resolution: a jump at a tie is not rounding. Tuned.
PROOF_NOISE_CAP = 16.0
#: Cases of a proof: as they were found, grown ones for each combination of ranks and attributes, of whole numbers;
#: combinations; elements of a case. Cost.
PROOF_FOUND, PROOF_GROWN, PROOF_WHOLE, PROOF_GROUPS, PROOF_ELEMENTS = 18, 2, 3, 40, 20_000
#: Factors by which floats of grown cases differ from those that were found. Tuned.
PROOF_FACTORS = (0.75, 1.0)
#: Whole numbers of a case whose floats are rounded: so many times the float. Tuned.
PROOF_WHOLE_SCALE = 3.0
#: Magnitudes of incoming gradients, of either sign: none so small that it hides what it is multiplied with. Tuned.
PROOF_DOUTS = (0.3, 1.5)
#: Cuts that hold of one signature, on which the gradient is run too. Cost.
PROOF_KEPT = 8
#: Ways to cut the inputs that are tried without being claimed, and cases of a combination of ranks for each. Cost.
PROOF_CANDIDATES, PROOF_TRIED = 200, 10
#: Cuts on which an unclaimed signature must hold to be worth a line, and cases that show which inputs are read. Tuned.
PROOF_LEAST, PROOF_READ = 6, 3
#: Floats of a case are below this power of the largest: products of three of them are finite. Derived.
PROOF_MODERATE = 0.3
#: Cases with more elements, where there are no smaller ones. Cost.
PROOF_LARGER = 3
#: Cases that are cut however long it takes. Cost.
PROOF_CASES = 5
#: Share of the time set for an op that goes to claims of forward, and to those of its gradient. Cost.
PROOF_SHARE, PROOF_SHARE_BACKWARD = 0.5, 0.75

# Every entry is offered: a list of them here would be a second table.
__all__ = sorted(name for name in dict(globals()) if name.isupper())
