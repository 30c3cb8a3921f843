"""Subject: a custom function of any framework, as far as making a checkable of it needs to know it.

Data and borders only; how a framework is run is its own runner's business.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from opkit.checker import Arrays, Attrs, Backward, Case, Checkable, Forward, Results
from opkit.checker.model.checkable import NONE_IS_ZERO, WIDENING
from opkit.checker.model.evaluate import InputLeaf
from opkit.checker.model.own import OwnCheck
from opkit.checker.model.reference import InFormat
from opkit.checker.model.types import Ran
from opkit.errors import Location, UsageError, did_you_mean, unknown
from opkit.listed import each, listed
from opkit.ops.core.types import Function
from opkit.record import record
from opkit.verify.options import NamedError
from opkit.verify.subjects.input_formats import Formats
from opkit.verify.subjects.parameters import Parameters
from opkit.verify.subjects.references import NumpyReference

#: Gives complex numbers for an input's real ones, and the real and imaginary parts of what a function gives.
ComplexMaps = tuple[Function, Function]


def is_complex(value: Any) -> bool:
    """Return whether a value is an array of complex numbers."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "c"


def _pairs(array: Any) -> Any:
    return np.stack([array.real, array.imag], -1) if is_complex(array) else array


def _joined(value: Any) -> Any:
    """Return complex numbers of pairs, in the framework that the pairs are of."""
    return each(lambda pairs: pairs[..., 0] + 1j * pairs[..., 1], value)


@record
class Signature:
    """What a function takes.

    Args:
        parameters: all of them.
        inputs: those that take arrays.
        constants: those of the inputs that take no gradient.
        leaves: those of them that a run gave as leaves; others come out of an op, as they do within a model.
    """

    parameters: Parameters
    inputs: frozenset[str]
    constants: frozenset[str] = frozenset()
    leaves: frozenset[str] = frozenset()


class SubjectRunner(ABC):
    """Runs a custom function on numpy arrays.

    Args:
        call: takes the arguments by position; keyword-only ones by name.
        signature: of the function.

    Attributes:
        subject: that it is of, where it was made for one.
        overwrites: the inputs that it overwrites on purpose, which it gets as copies.
        complex_inputs: the inputs that the function gets as complex numbers.
        draws: whether forward was seen to draw the framework's random numbers.
        unsaid: the options that no case and no call states: at their defaults they are left out.
        formats: {input: the format in which the function gets float32 arrays}, which a framework's own runner keeps
            to; None of one that hands on arrays as they are.
        result: what its results are called, with a number where there are several.
        gives_none: None from backward for an input is an answer: it is a constant there.
        backward: of a function without a context, the gradient as a function of its own.
        gradient_op: the class (``GradientOp``) whose objects are the gradient as a function, None where second order
            is not offered.
    """

    subject: Subject
    formats: Formats | None = None
    result = "y"
    gives_none = False
    draws = False
    backward: Backward | None = None
    gradient_op: Callable[[Checkable, Any], Any] | None = None

    def __init__(self, call: Function, signature: Signature) -> None:
        self.call, self.signature = call, signature
        self.parameters, self.inputs, self.constants = signature.parameters, signature.inputs, signature.constants
        self.overwrites: frozenset[str] = frozenset()
        self.complex_inputs: frozenset[str] = frozenset()
        self.unsaid: frozenset[str] = frozenset()

    @abstractmethod
    def like(self, function: Function, signature: Signature) -> SubjectRunner:
        """Return a runner of another function, which takes its inputs as this one does."""

    @abstractmethod
    def forward(self, arrays: Arrays, attrs: Attrs) -> Results:
        """Run it; see ``opkit.checker.Forward``."""

    @abstractmethod
    def vjp(self, arrays: Arrays, attrs: Attrs) -> Ran:
        """Run it and return the way back; what it keeps serves any number of calls."""

    def reference(self, function: Function) -> InFormat:
        """Return a declared function, which takes the same arguments or some of them by name, in any format."""
        return NumpyReference.of(function, self.parameters)

    @abstractmethod
    def silent_inputs(self, arrays: Arrays, attrs: Attrs) -> frozenset[str]:
        """Return the float inputs for which backward gives nothing at all, where it runs."""

    def fixed_outputs(self, arrays: Arrays, attrs: Attrs) -> list[bool]:
        """Say of each output whether it takes no part in differentiation: none, whatever its dtype; note ``draws``."""
        return [False] * len(self.forward(arrays, attrs))

    def redraws(self, arrays: Arrays, attrs: Attrs) -> bool:
        """Return whether backward draws the framework's random numbers itself."""
        return False

    @property
    def in_format(self) -> InFormat | None:
        """The function itself in another format; None where it computes in its arrays' dtype."""
        return None

    def called(self, values: Mapping[str, Any]) -> Any:
        """Call the function with arguments by name."""
        if self.unsaid:
            is_default = self.parameters.is_default
            values = {key: item for key, item in values.items() if key not in self.unsaid or not is_default(key, item)}
        args, rest = self.parameters.filled(values)
        return self.call(*args, **rest)

    def surrogate(self, function: Function) -> Forward:
        """Return a declared function, which takes the same arguments, as a forward."""
        return self.like(function, self.signature).forward

    def parts(self, name: str) -> tuple[str, ...]:
        """Return what the arrays of an input are called, where it is a tree of them."""
        return ()

    def culprit(self, arrays: Arrays, attrs: Attrs) -> str:
        """Return which operation of the framework itself depends on how arrays lie, "" for none."""
        return ""

    def own_checks(self) -> Sequence[OwnCheck]:
        """Return the checks that only this framework's custom functions need."""
        return ()

    def second(self, first: Checkable, case: Case) -> Checkable | None:
        """Return the gradient as an op of its own, None where it is not offered.

        Args:
            first: what it runs.
            case: that this takes.
        """
        made: Checkable | None = self.gradient_op(first, self).checkable(case) if self.gradient_op else None
        return made


@record
class Subject:
    """A custom function of another framework.

    Args:
        name: as its file calls it.
        parameters: what it takes, context left out.
        runs: makes a runner of it for a signature that reads its parameters.
        plain: a value of the framework (an array of its own, a list of them) as numpy arrays; all else as it is.
        takes_gradient: whether a value is marked as one that takes a gradient; None for what cannot say.
        functions: the user's functions, for the constants in their code.
        context: the one of them that keeps what backward needs after forward ran, None where forward does.
        inputs: the parameters that take arrays where that is declared, None where it is to be found out.
        optional: those of them that may be left out.
        lists: those of them that take a list of arrays.
        scalars: the parameters for which a Python float is an array without axes, and takes a gradient.
        usual: usual values of the other parameters, where that is declared.
        static: the parameters that are declared to take no arrays.
        forward_where: file and line of forward.
        backward_where: file and line of backward.
        remark: what a reader of its reports should know, "" for nothing.
        offers_second: whether second order is looked at though nothing asks for it.
        settings: what its framework is set to in this process.
        held: of options, the inputs, and their indices in a list, that an object among them holds too.
        widening: what makes float64 of float32 in its framework.
        promotes: whether its framework mixes float32 and float64 in silence.
        uses_misfits: whether its framework uses a gradient of another shape than its input in silence.
        complex_maps: what makes complex numbers of real ones, None where the framework's functions get real ones alone.
        complex_inputs: the inputs that it gets as complex numbers.
        if_zero: what a gradient of zeros alone suggests.
        learn: is shown each call by name, for what it says of the arguments beyond arrays.
    """

    name: str
    parameters: Parameters
    runs: Callable[[Signature], SubjectRunner]
    plain: Callable[[Any], Any]
    takes_gradient: Callable[[Any], bool | None] = field(default=lambda value: None)
    functions: tuple[Any, ...] = ()
    context: Function | None = None
    inputs: tuple[str, ...] | None = None
    optional: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()
    scalars: frozenset[str] = frozenset()
    usual: Mapping[str, Any] = field(default_factory=dict)
    static: frozenset[str] = frozenset()
    forward_where: Location | None = None
    backward_where: Location | None = None
    remark: str = ""
    offers_second: bool = False
    settings: Callable[[], Mapping[str, Any]] = np.geterr
    held: Callable[[Attrs], Collection[InputLeaf]] = field(default=lambda attrs: ())
    widening: str = WIDENING
    promotes: bool = False
    uses_misfits: bool = False
    complex_maps: ComplexMaps | None = None
    complex_inputs: frozenset[str] = frozenset()
    if_zero: str = NONE_IS_ZERO
    learn: Callable[[Mapping[str, Any]], object] = field(default=lambda call: None)

    def make(
        self, inputs: frozenset[str], constants: frozenset[str], leaves: frozenset[str] = frozenset()
    ) -> SubjectRunner:
        """Return its runner, with the inputs that take a gradient and those of them that do not told apart."""
        runner = self.runs(Signature(self.parameters, inputs, constants, leaves))
        runner.subject, runner.complex_inputs = self, self.complex_inputs & inputs
        return runner

    def named(self, case: Any, where: Location | None = None, said: str = "") -> dict[str, Any]:
        """Return a case's arguments by name.

        Args:
            case: by name or in order.
            where: of the function that gave it.
            said: what it does with a name, where it is not a case.

        Raises:
            UsageError: it names what is no parameter.
        """
        if not isinstance(case, Mapping):
            return self.parameters.bind(listed(case), {})
        for error in self._strange_in(case, where, said or f"a case of {self.name} names").values():
            raise error
        return dict(case)

    def mistakes_in(self, cases: Sequence[Any], where: Location | None) -> Iterable[UsageError]:
        """Return what is wrong with cases: what is none, names that are no parameters or are missing, words for arrays.

        What several cases have in common is one mistake; a missing name that is offered for another is told with that.
        """
        found: dict[str, UsageError] = {}
        by_name = [case for case in cases if isinstance(case, Mapping)]
        arrays = {name for case in by_name for name, item in self.plainly(case).items() if isinstance(item, np.ndarray)}
        for number, case in enumerate(cases):
            if not isinstance(case, (Mapping, tuple)):
                said = f"case {number} is a {type(case).__name__}; a case is a dict of {self.name}'s arguments by name"
                found.setdefault("", UsageError(said, where=where))
                continue
            call = case if isinstance(case, Mapping) else self.named(case)
            strange = self._strange_in(call, where, f"case {number} of {self.name} names")
            found = {**found, **strange, **found}
            offered = {error.help for error in strange.values()}
            for name in self.missing_in(call):
                if did_you_mean([name]) not in offered:
                    said = f"case {number} has no value for {name!r}, for which {self.name} has no default"
                    found.setdefault(name, UsageError(said, where=where))
            for name, value in call.items():
                if isinstance(value, str) and name in arrays.difference(self.parameters.defaults):
                    said = f"case {number} gives {name!r} words, {value!r}, where other cases give an array"
                    found.setdefault(f"words for {name}", UsageError(said, where=where))
        return found.values()

    def _strange_in(self, case: Mapping[str, Any], where: Location | None, said: str) -> dict[str, UsageError]:
        """Return an error for each name in a case that is no parameter, by name."""
        names, meant = self.parameters.names, did_you_mean(self.missing_in(case)[:1])
        tail, kind = f"; it takes {', '.join(names) or 'nothing'}", UsageError if where else NamedError
        return {
            name: unknown(said, name, names, tail=tail, otherwise=meant).error(kind, where)
            for name in (() if self.parameters.takes_any else case)
            if name not in names
        }

    def plainly(self, call: Mapping[str, Any]) -> dict[str, Any]:
        """Return a call's arguments with numpy arrays for those of the framework."""
        is_option = {name: name in self.static and not hasattr(value, "dtype") for name, value in call.items()}
        return {name: value if is_option[name] else self.plain(value) for name, value in call.items()}

    def missing_in(self, call: Mapping[str, Any]) -> list[str]:
        """Return the parameters that have neither a value nor a default."""
        needed = (*self.parameters.positional, *self.parameters.named)
        known = {*call, *self.parameters.defaults, *self.optional}
        return [name for name in needed if name not in known]

    def paired(self, names: frozenset[str]) -> Subject:
        """Return it with pairs of numbers in the place of complex ones for some inputs, as its cases give them."""
        assert self.complex_maps is not None

        def plain(value: Any) -> Any:
            found = self.plain(value)
            return each(_pairs, found) if isinstance(found, (list, np.ndarray)) else found

        said = f"{' and '.join(sorted(names))} complex as given: (real, imaginary) in the places of the last axis"
        maps = _joined, self.complex_maps[1]
        return replace(self.saying(said), complex_inputs=names, complex_maps=maps, plain=plain)

    def complex_in(self, names: frozenset[str]) -> Subject:
        """Return it with complex numbers for some inputs."""
        named = " and ".join(sorted(names))
        said = f"{named} complex: (x + i x**2 / hypot(x, 1)) e**(i t) for every x, with t of its place"
        return replace(self.saying(said), complex_inputs=names)

    def saying(self, *said: str) -> Subject:
        """Return it with more that a reader of its reports should know."""
        return replace(self, remark="; ".join(filter(None, (self.remark, *said))))
