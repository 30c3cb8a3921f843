"""FunctionTrial: one function of an API file called with stubs, in several ways, and what all complete calls show.

Trying an API file: loaded, its functions called with stubs, and what holds for every call handed out as facts.

This runs a user's code in this process; ``child`` sees to it that it is one that may hang or die.
"""

from __future__ import annotations

import ast
import functools
import gc
import inspect
import itertools
import os
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from types import FrameType, ModuleType
from typing import Any

from opkit import static
from opkit.forked import end_if_forked
from opkit.ir import TensorDesc, Value
from opkit.oneflow.job import Job
from opkit.oneflow.job_config import FunctionConfig
from opkit.oneflow.session import session
from opkit.ops import BUILTIN
from opkit.ops.core.types import Function
from opkit.project.api_fact import ApiFact
from opkit.project.api_remark import Remark
from opkit.project.directory import OpDirectory
from opkit.project.findings import fatal
from opkit.project.module import load_module
from opkit.record import mutable
from opkit.shim import frameworks
from opkit.spec import compile_spec
from opkit.verify.trial.recorder import BuilderRecorder, Desk, Misplaced, TrialStop, Unclear, Use
from opkit.verify.trial.stubs import (
    MADE_UP,
    CallPlan,
    StubGuess,
    StubKind,
    Uses,
    first_plans,
    plausible,
    read_functions,
    varied,
)

_MOST_CALLS = 24


@mutable
class _Call:
    """The outcome of one call."""

    plan: CallPlan
    noted: list[ApiFact]
    error: BaseException | None = None
    is_unclear: bool = False
    learned: CallPlan | None = None

    @property
    def is_clean(self) -> bool:
        return not self.noted and self.error is None and not self.is_unclear


@mutable
class FunctionTrial:
    """One function and the calls of it.

    Args:
        name: under which the file has it.
        function: the function itself.
        uses: what it may be about.
        file: the API file.
        skipped: op types whose definitions have errors.
        desk: where its builders are asked for.
        is_helper: whether another function of the file calls it, so that what it leaves open is that one's to finish.
    """

    name: str
    function: Function
    uses: Uses
    file: str
    skipped: set[str]
    desk: Desk
    is_helper: bool = False
    _shapes: dict[str, TensorDesc] = field(default_factory=dict)

    def facts(self) -> list[ApiFact]:
        """Call it in several ways; what every complete call shows is a fact."""
        try:
            plans = list(first_plans(self.function, self.uses))
        except (TypeError, ValueError):
            return []
        for op in self.uses.named:
            for name, desc in plausible(op).items():
                self._shapes.setdefault(name, desc)
        calls = self._calls(plans)
        if any(call.is_clean for call in calls):
            return []
        complete = [facts for call in calls if call.plan.is_full and (facts := self._certain(call))]
        if complete:
            shared = set.intersection(*({fact.remark for fact in facts} for facts in complete))
            return [fact for fact in complete[0] if fact.remark in shared]
        error = next((call.error for call in calls if call.error is not None), None)
        if error is None or self.is_helper or any(call.noted for call in calls):
            return []
        said = (str(error).splitlines() or [""])[0][:200]
        message = f"{self.name}() could not be tried: on stub blobs it raised {type(error).__name__}: {said}"
        return [ApiFact(Remark("PROJ023", message), line_of(error, self.file))]

    def _calls(self, plans: list[CallPlan]) -> list[_Call]:
        calls: list[_Call] = []
        waiting = list(plans)
        while waiting and len(calls) < _MOST_CALLS:
            plan = waiting.pop(0)
            if plan in (call.plan for call in calls):
                continue
            call = self._call(plan)
            calls.append(call)
            if call.is_clean or (call.noted and call.learned is None and plan.is_full and len(calls) > 1):
                break
            if call.learned is not None:
                waiting.insert(0, call.learned)
            elif not call.noted and not waiting:
                waiting = list(varied(plans[0], self.uses))
        return calls

    def _call(self, plan: CallPlan) -> _Call:
        job = Job(session(), _nothing, "train", FunctionConfig())
        tracer = job._tracer = static.JobTracer("trial", session().scope)
        recorder = self.desk.recorder = BuilderRecorder(self.file, self.uses.ops, self.skipped, tracer)
        call = _Call(plan, recorder.noted)
        stubs: dict[str, Any] = {}
        process = os.getpid()
        with session().building(job), tracer.tracing():
            try:
                args, kwargs = self._arguments(plan, recorder, stubs)
                returned = self.function(*args, **kwargs)
                if not self.is_helper:
                    self._look_back(recorder, returned)
            except TrialStop:
                pass
            except Unclear:
                call.is_unclear = True
            except (Exception, SystemExit, KeyboardInterrupt) as error:
                call.error = error
        end_if_forked(process)
        call.learned = self._learn(plan, recorder, stubs)
        if call.learned is not None:
            call.noted = []
        return call

    def _arguments(
        self, plan: CallPlan, recorder: BuilderRecorder, stubs: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        parameters = inspect.signature(self.function).parameters
        for name, guess in plan.guesses.items():
            if guess.kind is StubKind.DEFAULT:
                continue
            value = stubs[name] = self._stub(name, guess, plan, recorder)
            if parameters[name].kind is inspect.Parameter.POSITIONAL_ONLY:
                args.append(value)
            else:
                kwargs[name] = value
        if plan.extra:
            # Blobs for *args come after every positional argument.
            args = [kwargs.pop(name) if name in kwargs else stubs[name] for name in _positional(parameters, stubs)]
            args += [recorder.blob(f"extra_{index}", self._desc("", plan)) for index in range(plan.extra)]
        return args, kwargs

    def _stub(self, name: str, guess: StubGuess, plan: CallPlan, recorder: BuilderRecorder) -> Any:
        if guess.kind is StubKind.VALUE:
            return list(guess.value) if isinstance(guess.value, list) else guess.value
        desc = self._desc(self.uses.input_of(name) or name, plan)
        if guess.kind is StubKind.BLOB:
            return recorder.blob(name, desc)
        return [recorder.blob(f"{name}_{index}", desc) for index in range(2)]

    def _desc(self, name: str, plan: CallPlan) -> TensorDesc:
        if plan.rank:
            return TensorDesc((4,) * plan.rank, "float32")
        known = self._shapes.get(name) or next(iter(self._shapes.values()), None)
        return known or TensorDesc((4, 4), "float32")

    def _learn(self, plan: CallPlan, recorder: BuilderRecorder, stubs: Mapping[str, Any]) -> CallPlan | None:
        """Return a better plan where a stub was used as something else than it was given as."""
        for misplaced in recorder.misplaced:
            name = next((name for name, stub in stubs.items() if stub is misplaced.value), None)
            better = None if name is None else self._better(name, misplaced)
            if name is not None and better is not None:
                return plan.having(name, better)
        return None

    def _better(self, name: str, misplaced: Misplaced) -> StubGuess | None:
        op = self.uses.ops.get(misplaced.op_type)
        if misplaced.use is Use.ATTR:
            spec = op.attrs.get(misplaced.target) if op is not None else None
            return StubGuess(StubKind.VALUE, spec.default) if spec is not None else None
        if misplaced.use is Use.COUNT:
            return StubGuess(StubKind.VALUE, 1)
        if misplaced.use is Use.ITEM:
            return StubGuess(StubKind.BLOB)
        declared = [arg for arg in (op.inputs if op is not None else ()) if arg.name == misplaced.target]
        takes_several = any(arg.is_variadic or arg.count > 1 for arg in declared)
        return StubGuess(StubKind.BLOBS) if takes_several or self.uses.is_list(name) else None

    def _certain(self, call: _Call) -> list[ApiFact]:
        """Return what was noted and does not come from a value that was made up."""
        real = (fact for fact in call.noted if MADE_UP not in fact.remark.message)
        return [fact for fact in real if not fact.attr or self._is_own(fact.attr, call.plan)]

    def _is_own(self, attr: str, plan: CallPlan) -> bool:
        """Whether the value of an attribute is the function's own: no made-up argument goes into it."""
        if not plan.invented and not plan.extra:
            return True
        reading = self.uses.reading
        if reading is None or attr not in reading.values:
            return False
        given = {name for name, guess in plan.guesses.items() if guess.kind is StubKind.DEFAULT}
        return reading.values[attr] <= given

    def _look_back(self, recorder: BuilderRecorder, returned: Any) -> None:
        """Note builders that were never built, and results that nobody gets."""
        for builder in recorder.builders:
            if builder.type in recorder.ops and not builder.is_built:
                message = f"{self.name}() sets up a builder of op type {builder.type!r} and never calls Build()"
                help = "end the chain in .Build().InferAndTryRun().SoleOutputBlob()"
                recorder.note(Remark("PROJ019", message, help, builder.type), "Op", builder.line)
        if returned is not None or not recorder.made:
            return
        last = recorder.made[-1]
        reading = self.uses.reading
        is_dropped = last.is_asked or not last.is_run
        has_no_return = reading is not None and not reading.returns_a_value
        if last.counts and is_dropped and has_no_return and _is_lost(recorder):
            message = f"{self.name}() builds op type {last.op.name!r} and returns nothing: its result is lost"
            remark = Remark("PROJ020", message, "return what the function computes", last.op.name)
            recorder.note(remark, self.name, reading.line if reading is not None else 1)


def _nothing() -> None:
    """Stand in for a job's function."""


def _positional(parameters: Mapping[str, inspect.Parameter], stubs: Mapping[str, Any]) -> list[str]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    leading = itertools.takewhile(lambda name: parameters[name].kind in kinds and name in stubs, parameters)
    return list(leading)


def _is_lost(recorder: BuilderRecorder) -> bool:
    """Whether only the graph knows the blobs that no op reads: no list, object or closure of the user's holds one."""
    block = recorder.tracer.program.blocks[0]
    outputs = [blobs for made in recorder.made for blobs in made.blobs.values()]
    read = {id(value.variable) for operation in block.ops for value in operation.inputs if value is not None}
    sources = {id(item) for item in recorder.tracer.inputs} - {id(blob) for blobs in outputs for blob in blobs}
    ends = [item for item in block.vars.values() if id(item) not in read | sources]
    known = {id(holder) for holder in (block.vars, recorder.tracer.inputs, ends, *outputs)}
    # What was frozen (the shim freezes what is imported) is not among what the collector looks through.
    gc.unfreeze()
    gc.collect()
    holders = [owner for item in ends for owner in gc.get_referrers(item)]
    return all(id(owner) in known or isinstance(owner, (Value, FrameType)) for owner in holders)


def line_of(error: BaseException, file: str) -> int:
    """Return the last line of a file that an error passed through."""
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == file]
    return lines[-1] if lines else 1


def try_api_file(directory: OpDirectory, begin: Callable[[str, int], None]) -> Iterator[ApiFact]:
    """Call the functions of an API file with stubs; give what is wrong with them.

    Args:
        directory: whose API file it is; it exists.
        begin: called with the name and line of what of the file runs next, "" for its top level; not before.
    """
    file = os.path.abspath(directory.api)
    text = directory.api.read_bytes().decode("utf-8-sig", errors="replace")
    try:
        readings = read_functions(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return
    result = compile_spec(directory.spec, include_dirs=(directory.path,), known_ops=tuple(BUILTIN))
    ops = {name: op for name, op in result.ops.items() if not op.has_errors}
    skipped = {item.subject for item in result.diagnostics if item.is_error} - set(ops)
    if fatal(result.diagnostics):
        return
    desk = Desk(BuilderRecorder(file, ops, skipped, static.JobTracer("import", session().scope)))
    with frameworks(), desk.installed():
        begin("", 1)
        try:
            module = load_module(directory.api)
        except (TrialStop, Unclear):
            return
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            message = f"the API file does not load: {type(error).__name__}: {error}"
            yield ApiFact(Remark("PROJ016", message), line_of(error, file))
            return
        called = {name for reading in readings.values() for name in reading.calls}
        for name, function in _functions(module, file):
            reading = readings.get(getattr(inspect.unwrap(function), "__name__", name))
            begin(name, reading.line if reading is not None else 1)
            uses = Uses(reading, ops)
            yield from FunctionTrial(name, function, uses, file, skipped, desk, is_helper=name in called).facts()


def _functions(module: ModuleType, file: str) -> Iterator[tuple[str, Function]]:
    """Give the public functions that the file itself defines, each once."""
    seen: set[int] = set()
    for name, value in list(vars(module).items()):
        if name.startswith("_") or id(value) in seen:
            continue
        seen.add(id(value))
        function = value.func if isinstance(value, functools.partial) else value
        code = getattr(inspect.unwrap(function) if callable(function) else None, "__code__", None)
        is_deferred = inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function)
        if code is not None and code.co_filename == file and not hasattr(value, "job") and not is_deferred:
            yield name, value
