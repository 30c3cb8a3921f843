"""The corpus of op directories under opkit, torch's gradcheck (slow, fast, tight), HIPS's and JAX's check_grads.

Each correct op and each op with one planted fault is loaded anew for every checker. The others get a float64 function
of the op's float inputs to one vector of its float results, with the op's own gradient as its derivative.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.compared.table import Table
from opkit.checker import Checkable, Options, Status, check
from opkit.checker.collect import collect
from opkit.checker.model.evaluate import Evaluator
from opkit.checker.model.session import cast_case
from opkit.checker.model.trial import Trial
from opkit.project.directory import op_directory_of
from opkit.project.loading import assemble
from opkit.shim import frameworks
from tests.corpus.loading import checkables_of
from tests.corpus.model import CLASSES, Mutant, Op, write
from tests.corpus.mutants import MUTANTS
from tests.corpus.ops import OPS

#: A peer says whether it accuses the vector function at one input.
Peer = Callable[["Vector"], bool]


class Vector:
    """An op at one case, as a function of its float inputs to one vector."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.arguments = [np.array(evaluator.array(leaf)) for leaf in evaluator.leaves]
        self.size = sum(evaluator.sizes)

    def forward(self, *arrays: np.ndarray) -> np.ndarray:
        """Return the results as one vector."""
        return np.array(self.evaluator.vector(self.evaluator.forward(self._inputs(arrays))), copy=True)

    def backward(self, arrays: tuple[np.ndarray, ...], weights: np.ndarray) -> list[np.ndarray]:
        """Return the gradients of <weights, forward(arrays)>."""
        found = self.evaluator.gradients(self.evaluator.douts_from(np.asarray(weights)), inputs=self._inputs(arrays))
        return [np.asarray(found[leaf]) for leaf in self.evaluator.leaves]

    def _inputs(self, arrays: tuple[np.ndarray, ...]) -> dict[str, object]:
        inputs: dict[str, object] = dict(self.evaluator.inputs)
        for leaf, array in zip(self.evaluator.leaves, arrays):
            inputs = self.evaluator.replaced(leaf, np.asarray(array), inputs)
        return inputs


def _torch(**options: object) -> Peer:
    import torch

    torch.set_num_threads(1)

    def accuses(vector: Vector) -> bool:
        class Run(torch.autograd.Function):
            @staticmethod
            def forward(ctx, *tensors):
                ctx.save_for_backward(*tensors)
                return torch.from_numpy(vector.forward(*[item.detach().numpy() for item in tensors]))

            @staticmethod
            @torch.autograd.function.once_differentiable
            def backward(ctx, weights):
                arrays = tuple(item.detach().numpy() for item in ctx.saved_tensors)
                gradients = vector.backward(arrays, weights.numpy())
                return tuple(torch.from_numpy(np.ascontiguousarray(item)) for item in gradients)

        tensors = [torch.from_numpy(item.copy()).requires_grad_() for item in vector.arguments]
        return not torch.autograd.gradcheck(Run.apply, tensors, **options)

    return accuses


def _hips() -> Peer:
    from autograd.extend import defvjp, primitive
    from autograd.test_util import check_grads

    def accuses(vector: Vector) -> bool:
        @primitive
        def run(*arrays):
            return vector.forward(*arrays)

        makers = [
            (lambda place: lambda _, *arrays: lambda g: vector.backward(arrays, g)[place])(index)
            for index in range(len(vector.arguments))
        ]
        defvjp(run, *makers)
        check_grads(run, modes=["rev"], order=1)(*[item.copy() for item in vector.arguments])
        return False

    return accuses


def _jax() -> Peer:
    import jax
    from jax.test_util import check_grads

    jax.config.update("jax_enable_x64", True)

    def accuses(vector: Vector) -> bool:
        shape = jax.ShapeDtypeStruct((vector.size,), np.float64)
        shapes = tuple(jax.ShapeDtypeStruct(item.shape, np.float64) for item in vector.arguments)

        @jax.custom_vjp
        def run(*arrays):
            return jax.pure_callback(lambda *a: vector.forward(*map(np.asarray, a)), shape, *arrays)

        def back(arrays, weights):
            function = lambda w, *a: tuple(vector.backward(tuple(map(np.asarray, a)), np.asarray(w)))  # noqa: E731
            return jax.pure_callback(function, shapes, weights, *arrays)

        run.defvjp(lambda *arrays: (run(*arrays), arrays), back)
        check_grads(run, tuple(item.copy() for item in vector.arguments), order=1, modes=["rev"])
        return False

    return accuses


def peers() -> dict[str, Peer]:
    """Return the peers that are installed."""
    found: dict[str, Peer] = {}
    if importlib.util.find_spec("torch"):
        found["torch slow"] = _torch()
        found["torch fast"] = _torch(fast_mode=True)
        found["torch tight"] = _torch(eps=1e-6, atol=1e-9, rtol=1e-6)
    if importlib.util.find_spec("autograd"):
        found["autograd check_grads"] = _hips()
    if importlib.util.find_spec("jax"):
        found["jax check_grads"] = _jax()
    for name in ("torch", "autograd", "jax"):
        if not importlib.util.find_spec(name):
            print(f"{name} is not installed: left out", file=sys.stderr)
    return found


def load(op: Op, mutant: Mutant | None, folder: Path) -> Checkable | None:
    """Write and load one op anew; None where the directory does not build."""
    directory = write(op, folder, mutant)
    with frameworks():
        loaded = assemble(op_directory_of(directory))
        cases = loaded.cases()
    made = checkables_of(loaded, cases)
    errors = [item for item in loaded.diagnostics if item.is_error]
    return made[0] if made and not errors else None


def vectors(checkable: Checkable) -> list[Vector]:
    """Return the first three non-empty cases in float64."""
    found: list[Vector] = []
    for case in collect(checkable, Options(), Trial(checkable)).cases:
        if case.is_empty:
            continue
        evaluator = Evaluator(checkable, cast_case(case, "float64")).prepare()
        if evaluator.leaves and evaluator.sizes:
            found.append(Vector(evaluator))
        if len(found) == 3:
            break
    return found


def accused_by_peer(peer: Peer, checkable: Checkable | None) -> bool:
    """Say whether a peer accuses the op: it reports a mismatch, or anything raises."""
    if checkable is None:
        return True
    try:
        return any(peer(vector) for vector in vectors(checkable))
    except Exception:  # a peer accuses by raising
        return True


def accused_by_opkit(checkable: Checkable | None) -> bool:
    """Say whether opkit accuses the op."""
    return checkable is None or check(checkable, Options()).status in (Status.FAIL, Status.ERROR)


def compared(only: frozenset[str] = frozenset()) -> Table:
    """Return every op of the corpus and every planted fault, or those of some ops, under every checker."""
    table = Table("directories")
    planted = sorted(MUTANTS, key=lambda mutant: CLASSES.index(mutant.fault))
    rows = [(OPS[mutant.op], mutant, mutant.fault) for mutant in planted]
    rows += [(op, None, "tricky correct ops" if op.tricky else "correct ops") for op in OPS.values()]
    checkers: dict[str, Callable[[Checkable | None], bool]] = {"opkit": accused_by_opkit}
    for name, peer in peers().items():
        checkers[name] = partial(accused_by_peer, peer)
    with tempfile.TemporaryDirectory() as folder:
        for name, accuses in checkers.items():
            for number, (op, mutant, group) in enumerate(rows):
                if only and op.name not in only:
                    continue
                place = Path(folder) / name.replace(" ", "_") / str(number)
                with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stderr(io.StringIO()):
                    warnings.simplefilter("ignore")
                    checkable = load(op, mutant, place)
                    with table.timed(f"{op.name} {number}", group, mutant is not None, name) as verdict:
                        verdict.append(accuses(checkable))
            print(f"directories: {name} is done", file=sys.stderr)
    return table
