"""From search: the checkable of a subject whose inputs are to be searched, by readings of its parameters.

The reading that counts is the first that forward takes and backward answers. Which cases there are of it is the
checker's business.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from itertools import chain, combinations, islice, product
from time import perf_counter
from typing import Any

import numpy as np

from opkit.checker import Arg, Attr, Case, Checkable, Options, Results, answer_of, constants_of, first_cases
from opkit.checker.collect import is_single_inside
from opkit.checker.model.budget import Spent
from opkit.checker.model.evaluate import frozen, is_float, leaves_of
from opkit.checker.model.formats import HALVES
from opkit.checker.model.raised import raised_at, words_of
from opkit.checker.model.session import cast_case
from opkit.checker.model.thresholds import FEW, MOST_SHAPES
from opkit.checker.model.trial import is_unbound
from opkit.checker.search.hill_climb import RANKED_SHAPES, Depth, depth_of, reached_by
from opkit.checker.search.pipeline import answered_cases
from opkit.checker.search.unserved import described
from opkit.record import mutable
from opkit.verify.isolation.announced_calls import Looks
from opkit.verify.subjects.annotated import dimensions_in, shaped, with_shapes
from opkit.verify.subjects.declared import Declared
from opkit.verify.subjects.from_cases import frame, silent_in
from opkit.verify.subjects.half_precision import given_in, in_formats
from opkit.verify.subjects.input_formats import Formats, formats_tried
from opkit.verify.subjects.neighbours import with_choices
from opkit.verify.subjects.readings import Reading, UntakenError, raising, readings
from opkit.verify.subjects.subject import Subject, SubjectRunner
from opkit.verify.subjects.taken import Taken

#: Seconds after which further readings of a signature are given up, cases of each that are looked at, and of the first
#: that forward takes where backward answers none of them.
_SECONDS, _LOOKED_AT, _MOST_LOOKED_AT = 12.0, 12, 100
#: Attempts after which a reading is given up at first, so that all readings are tried on the usual shapes.
_FEW_TRIALS = 600


def searched(subject: Subject, declared: Declared, label: str, options: Options) -> Checkable:
    """Make a checkable of a subject whose inputs are to be searched: with complex numbers where it takes no real ones.

    Args:
        subject: what to check.
        declared: exceptions that the file declares.
        label: what the report calls it.
        options: seed, and shapes given by hand.

    Raises:
        UntakenError: it took nothing that was tried.
    """
    begun, subject = perf_counter(), with_shapes(subject, options.shapes)
    try:
        made = _searched(subject, declared, label, options)
        return replace(made, spent=perf_counter() - begun)
    except UntakenError as error:
        unmeant = dimensions_in(subject.parameters.annotations).axes
        if unmeant and not options.shapes:
            said = f"forward takes none of the shapes annotated for {', '.join(unmeant)}; others were searched"
            known = subject.parameters
            rest = {name: value for name, value in known.annotations.items() if name not in unmeant}
            subject = replace(subject, parameters=replace(known, annotations=rest), remark=said)
            return searched(subject, declared, label, options)
        if not _wants_complex(subject, error):
            raise
        names = next(iter(readings(subject))).inputs
        for chosen in chain.from_iterable(combinations(names, count + 1) for count in range(len(names))):
            with suppress(UntakenError):
                return _searched(subject.complex_in(frozenset(chosen)), declared, label, options)
        raise


def _searched(subject: Subject, declared: Declared, label: str, options: Options) -> Checkable:
    search = _Search(subject, declared, label, options)
    search.load()
    first: Taken | None = None
    empty: Taken | None = None
    for trials, seconds in ((_FEW_TRIALS, _SECONDS / 2), (MOST_SHAPES, _SECONDS)):
        for reading, count in search.readings():
            search.trials = trials // count
            taken = search.taken(reading) if reading.inputs else None
            if first is None and taken is not None and not taken.is_answered and not taken.case.is_empty:
                search.looks = _MOST_LOOKED_AT  # before it counts for less than a reading with fewer arrays
                taken = search.taken(reading) or taken
                search.looks = _LOOKED_AT
            if taken is not None and taken.is_answered:
                return (search.wider(reading, taken) or taken).finished(search.announced, first)
            if taken is not None and not taken.case.is_empty:
                first = first or taken
            empty = empty or taken
            if search.spent() > seconds:
                break
        if first is not None or (
            empty is None and (_wants_complex(subject, search.first_error) or is_unbound(search.first_error))
        ):
            break
    first = first or empty
    if first is None:
        _, error, case = search.furthest or ((), None, Case({}))
        said = f"{raising(subject, error)} raised on all arguments that were tried"
        said += "" if error is None else f"; what came furthest, {described(case)}, gave {words_of(error)}"
        raise UntakenError(subject, said, raised_at(error, subject.forward_where))
    called = search.called(first)
    if called:
        said = f"backward calls {called}: a function is not searched"
        raise UntakenError(subject, said, subject.backward_where)
    return (search.answered(first) or first).finished(search.announced)


@mutable
class _Search:
    """Tries readings of one subject.

    Attributes:
        spent: the seconds that were.
        trials: attempts after which a reading is given up.
        looks: cases of a reading that are looked at.
        first_error: what forward raised first.
        furthest: how far it got where it got furthest, what it raised there, and the case.
        announced: the calls.
    """

    subject: Subject
    declared: Declared
    label: str
    options: Options
    spent: Spent = field(default_factory=Spent)
    trials: int = MOST_SHAPES
    looks: int = _LOOKED_AT
    first_error: Exception | None = None
    furthest: tuple[Depth, Exception, Case] | None = None
    announced: Looks = field(default_factory=Looks)
    _others: list[Reading] | None = None

    def readings(self) -> Iterator[tuple[Reading, int]]:
        """Yield the readings, and how many share the attempts: those with the most arrays, which differ in options.

        Then, alone, those with which forward gets furthest.
        """
        every = list(readings(self.subject))
        most = [one for one in every if (one.inputs, one.lists) == (every[0].inputs, every[0].lists)]
        yield from ((one, len(most)) for one in most)
        if is_unbound(self.first_error):
            return
        if self._others is None:
            self._others = sorted((one for one in every if one not in most), key=self._depth, reverse=True)
        yield from ((one, 1) for one in self._others)

    def load(self) -> None:
        """Call forward once: what a first call loads or compiles takes none of the time in which readings are tried."""
        for call in islice(self._calls(next(readings(self.subject))), 1):
            with suppress(Exception):  # user code
                call()
        self.spent = Spent()

    def _depth(self, reading: Reading) -> Depth:
        """Return how far forward gets with arrays of a few shapes, all alike."""
        where = self.subject.forward_where
        if where is None or self.spent() > _SECONDS:
            return ()
        return max((depth_of(call, where.file) for call in self._calls(reading)), default=())

    def _calls(self, reading: Reading) -> Iterator[Callable[[], Results]]:
        """Yield calls of forward with arrays of a few shapes, all alike; none where it takes no arrays."""
        runner = self.subject.make(frozenset(reading.inputs), frozenset())
        made = self.announced.over(self._made(runner, reading))
        rng = np.random.default_rng(0)
        for shape in RANKED_SHAPES if reading.inputs else ():
            arrays = {name: rng.uniform(0.5, 1.5, shape) for name in reading.inputs}
            given = {name: [array] * 2 if name in reading.lists else array for name, array in arrays.items()}
            yield np.errstate(all="ignore")(partial(made.forward, given, made.default_attrs))

    def wider(self, reading: Reading, taken: Taken) -> Taken | None:
        """Return a reading with arrays that may be left out besides, which no search gave; None where none is taken.

        Also with the numbers among the options that its framework differentiates, as arrays.
        """
        left_out = next(readings(self.subject)).optional.difference(reading.inputs)
        dtype = taken.case.floats[0].dtype
        numbers = {
            name: np.asarray(value, dtype)
            for name, value in reading.options.items()
            if name in self.subject.scalars and type(value) is float
        }
        for given in (numbers, {}) if numbers else ({},):
            names = left_out | given.keys()
            inputs = tuple(name for name in self.subject.parameters.names if name in {*names, *reading.inputs})
            options = {name: value for name, value in reading.options.items() if name not in names}
            known = {name: given.get(name, taken.case.inputs.get(name)) for name in inputs}
            wider = replace(reading, inputs=inputs, options=options, optional=reading.optional | left_out)
            found = self.taken(wider, replace(taken.case, inputs=known, attrs=options)) if names else None
            if found is not None and found.is_answered:
                return found
        return None

    def taken(self, reading: Reading, known: Case | None = None) -> Taken | None:
        """Return a reading that forward takes, None for one that it does not; on a known case, or on searched ones."""
        runner = self.subject.make(frozenset(reading.inputs), frozenset())
        made = self._made(runner, reading)
        cases, single = self._cases(made) if known is None else [known], replace(made, starts_in="float32")
        narrow = [] if cases or not self._names_dtypes() else self._cases(single)
        cases = cases or [cast_case(case, "float64") for case in narrow]
        if cases and self._is_single(made, cases[0], is_open=bool(narrow)):
            made, cases = single, narrow or self._cases(single) or cases
        formats: Formats = {}
        first, usual = self.first_error, made
        if not cases and (isinstance(first, AssertionError) or re.search("half|16", str(first), re.IGNORECASE)):
            for formats in (*islice(formats_tried({}, runner.inputs), len(HALVES)), {}):
                made = in_formats(usual, runner, formats)
                cases = self._cases(made) if formats else []
                if cases:
                    break
        cases = [self._numbered(made, case) for case in cases[:FEW]] + cases[FEW:]
        if not any(case.floats for case in cases):
            return None  # nothing to differentiate
        given = {name for case in cases for name, value in case.inputs.items() if value is not None}
        if missing := [name for name in reading.inputs if name in reading.optional - given]:
            cases = [self._with_arrays(made, cases, missing), *cases]
            given |= {name for name, value in cases[0].inputs.items() if value is not None}
        if not given.issuperset(reading.inputs):  # it was never taken: an option, not an array that may be left out
            return self.taken(self._without(reading, set(reading.inputs) - given), known)
        constants: frozenset[str] = frozenset()
        found: Taken | None = None
        unanswered, said = set(reading.optional), ""
        # A backward that answers only where no array has several elements says little.
        for case in sorted(cases, key=lambda case: max(case.sizes, default=0) < 2):
            floats = {leaf.name for leaf, array in leaves_of(case.inputs) if is_float(array)}
            silent = floats & silent_in(runner, self.announced, given_in(runner, formats, case))
            is_mute = silent == floats  # what torch does not look into, such as a list, never meets backward
            if silent and not is_mute and not constants:
                constants = frozenset(silent)
                runner = self.subject.make(frozenset(reading.inputs), constants)
                begins = made.starts_in
                made = replace(in_formats(self._made(runner, reading), runner, formats), starts_in=begins)
            with np.errstate(all="ignore"):
                answer = None if is_mute else answer_of(self.announced.over(made), case, compares=False)
                said = said or (answer.said if answer else "")
                if answer is not None and answer.standing.is_answered:
                    found = found or Taken(made, runner, case, constants, is_answered=True, formats=formats)
                    unanswered -= {name for name in unanswered if case.inputs.get(name) is not None}
            if found is not None and not unanswered:
                return found
        if found is not None:  # backward answers only where these are left out: they are options
            return self.taken(self._without(reading, unanswered), known)
        return Taken(made, runner, cases[0], constants, said=said, formats=formats)

    def answered(self, taken: Taken) -> Taken | None:
        """Return a reading on shapes that backward answers, where it answers none of the usual ones: None for none.

        What has no gradient there is a constant, which no call that raises tells.
        """
        args = taken.made.inputs
        reading = Reading(
            tuple(arg.name for arg in args),
            {attr.name: attr.default for attr in taken.made.attrs},
            frozenset(arg.name for arg in args if arg.is_optional),
            frozenset(arg.name for arg in args if arg.is_variadic),
        )
        made = self.announced.over(taken.made)
        with np.errstate(all="ignore"):
            cases = answered_cases(made, self.options, taken.case, _SECONDS - self.spent())
        found = (self.taken(reading, case) for case in cases[:1])
        return next((one for one in found if one is not None and one.is_answered), None)

    def _with_arrays(self, made: Checkable, cases: Sequence[Case], names: Sequence[str]) -> Case:
        """Return a case with arrays that were left out in all, of the sizes of others, as far as forward takes them."""
        case = max(cases, key=lambda one: len({*chain(*one.shapes)}))
        run, rng = self.announced.over(made).forward, np.random.default_rng(0)
        shapes = [np.shape(item) for item in (*run(case.inputs, case.attrs), *case.arrays)]
        sizes = dict.fromkeys(size for size in chain(*shapes) if size > 1)
        for name, shape in product(names, dict.fromkeys([*((size,) for size in sizes), (), *shapes])):
            array = frozen(rng.uniform(0.5, 1.5, shape).astype(case.floats[0].dtype))
            if case.inputs.get(name) is None:
                with suppress(Exception):  # user code
                    run({**case.inputs, name: array}, case.attrs)
                    case = replace(case, inputs={**case.inputs, name: array})
        return case

    def called(self, taken: Taken) -> str:
        """Return the parameter that backward calls of what forward alone takes, "" for none."""
        case, called = taken.case, list[str]()
        for name in (*case.inputs, *case.attrs):

            def stand_in(*args: object, name: str = name, **rest: object) -> None:
                called.append(name)
                raise TypeError(f"{name} is a stand-in for a function")

            arrays = {key: value for key, value in case.inputs.items() if key != name}
            attrs = {**case.attrs, name: stand_in}
            runner = self.subject.make(frozenset(arrays), taken.constants)
            with suppress(Exception):  # user code
                made = self._made(runner, Reading(tuple(arrays), attrs))
                answer_of(self.announced.over(made), replace(case, inputs=arrays, attrs=attrs), compares=False)
        return " and ".join(dict.fromkeys(called))

    def _without(self, reading: Reading, names: set[str]) -> Reading:
        rest = tuple(name for name in reading.inputs if name not in names)
        options = {**reading.options, **{name: self.subject.parameters.defaults.get(name) for name in names}}
        return replace(reading, inputs=rest, options=options, optional=reading.optional - names)

    def _cases(self, made: Checkable) -> list[Case]:
        made = self.announced.over(made)
        file = self.subject.forward_where.file if self.subject.forward_where else ""

        def forward(arrays: Any, attrs: Any) -> Results:
            try:
                return made.forward(arrays, attrs)
            except Exception as error:  # user code
                self.first_error = self.first_error or error
                reached = reached_by(error, file)
                if self.furthest is None or reached > self.furthest[0]:
                    self.furthest = reached, error, Case(arrays, attrs)
                raise

        with np.errstate(all="ignore"):
            heard = replace(made, forward=forward)
            return first_cases(heard, self.options, self.looks, _SECONDS - self.spent(), self.trials)

    def _numbered(self, made: Checkable, case: Case) -> Case:
        """Return a case with whole numbers for the inputs of which only these change what forward gives: labels."""
        rng = np.random.default_rng(0)
        run = self.announced.over(made).forward

        def given(name: str, array: np.ndarray) -> bytes:
            return b"".join(np.asarray(item).tobytes() for item in run({**case.inputs, name: array}, case.attrs))

        def differ(name: str, draws: Sequence[np.ndarray]) -> bool:
            first = given(name, draws[0])
            return any(given(name, array) != first for array in draws[1:])

        labels = set[str]()
        for name, array in list(case.inputs.items()):
            if not (isinstance(array, np.ndarray) and is_float(array) and array.size > 1 and np.ptp(array)):
                continue
            floats = [rng.uniform(array.min(), array.max(), array.shape).astype(array.dtype) for _ in range(FEW)]
            for most in range(FEW, 1, -1):
                places = [np.asarray(rng.integers(0, most, array.shape)) for _ in range(FEW)]
                with suppress(Exception), np.errstate(all="ignore"):  # user code
                    if differ(name, floats):
                        break
                    if differ(name, places):
                        case = replace(case, inputs={**case.inputs, name: frozen(places[0])})
                        labels.add(name)
                        break
        # Beside labels that were floats, others may have been taken as whole numbers.
        others = [(name, array) for name, array in case.inputs.items() if labels and name not in labels]
        for name, array in others:
            if isinstance(array, np.ndarray) and array.dtype.kind == "i":
                with suppress(Exception), np.errstate(all="ignore"):  # user code
                    wide = frozen(array + rng.uniform(-0.5, 0.5, array.shape))
                    given(name, wide)
                    case = replace(case, inputs={**case.inputs, name: wide})
        return case

    def _names_dtypes(self) -> bool:
        """Return whether what forward raised first may be about its inputs' dtype, so that float32 is tried."""
        error, words = self.first_error, ("dtype", "float", "double")
        return isinstance(error, AssertionError) or any(word in str(error).lower() for word in words)

    def _is_single(self, made: Checkable, case: Case, is_open: bool) -> bool:
        """Return whether forward is for float32: it refuses float64, makes float32 of it, or computes in float32.

        The first is open where no search saw it take the case.
        """
        try:
            with np.errstate(all="ignore"):
                made_of = {np.asarray(item).dtype.name for item in made.forward(case.inputs, case.attrs)}
                return ("float32" in made_of and "float64" not in made_of) or is_single_inside(made, case)
        except Exception:  # user code
            return is_open

    def _made(self, runner: SubjectRunner, reading: Reading) -> Checkable:
        subject = self.subject
        made = replace(
            frame(runner, self.declared, self.label),
            inputs=tuple(Arg(name, name in reading.optional, name in reading.lists) for name in reading.inputs),
            attrs=tuple(
                Attr(name, "any", value, is_required=name not in subject.parameters.defaults)
                for name, value in reading.options.items()
            ),
            constants=constants_of(subject.functions),
        )
        return with_choices(shaped(made, subject.parameters.annotations), subject.functions)


def _wants_complex(subject: Subject, error: Exception | None) -> bool:
    """Return whether what forward raised mentions complex numbers, which its inputs may then be."""
    return subject.complex_maps is not None and "complex" in str(error).lower()
