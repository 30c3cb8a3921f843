"""The prover for torch: values and gradients, then torch's own checkers.

Run as a module in a process of its own; torch is imported here and nowhere else in opkit's export.
"""

from __future__ import annotations

import functools
import shutil
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import torch

from opkit.export.provers.agreement import Proof, run_prover

__all__ = ["outcome", "prove"]


def prove(module: ModuleType, task: dict[str, Any], proof: Proof) -> str:
    """Fill a proof for one exported op and return torch's version."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    function = getattr(module, task["name"])
    cases = task["cases"]
    proof.compare(cases, lambda case: _run(function, case, _tensors(case)))
    proof.compare(cases[:2], lambda case: _run(function, case, _tensors(case, is_strided=True)))
    proof.rows[-1] = ("strided", *proof.rows[-1][1:])
    if any(row[1] == "FAIL" for row in proof.rows):
        return str(torch.__version__)
    sample = _sample(cases)
    custom = getattr(module, f"{task['name']}_op", None) or getattr(module, f"_{task['type']}", None)
    values = [value for _, value in _tensors(sample).items()]
    attrs = [_encoded(kind, sample["complete"][name]) for name, kind in task["attrs"]]
    proof.check("opcheck", lambda: _opcheck(custom, values, attrs))
    _gradcheck(function, sample, task, proof)
    proof.check("compile aot_eager", lambda: _compiled(function, cases, "aot_eager"))
    if shutil.which("g++") and task["inductor"]:
        proof.check("compile inductor", lambda: _compiled(function, cases[:1], "inductor"))
    proof.check("export", lambda: _exported(function, sample))
    return str(torch.__version__)


def _tensors(case: dict[str, Any], is_strided: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in case["inputs"].items():
        if value is None:
            found[name] = None
            continue
        tensor = torch.from_numpy(np.array(value))
        if is_strided and tensor.ndim:
            tensor = torch.stack([tensor, tensor], dim=-1)[..., 0]
        needs = tensor.is_floating_point() and name in case["grads"]
        found[name] = tensor.detach().requires_grad_(needs)
    return found


def _sample(cases: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the first case in float64 with few elements, but not none."""

    def rank(case: dict[str, Any]) -> tuple[bool, bool, int]:
        arrays = [value for value in case["inputs"].values() if value is not None]
        wide = all(value.dtype != np.float32 for value in arrays)
        size = sum(value.size for value in arrays)
        return not wide, size == 0, size

    return min(cases, key=rank)


def outcome(function: Any, case: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return outputs and gradients of one case by name."""
    return _run(function, case, _tensors(case))


def _flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _run(function: Any, case: dict[str, Any], tensors: dict[str, Any]) -> dict[str, np.ndarray]:
    outputs = _flat(function(*tensors.values(), **case["attrs"]))
    found = {f"output {index}": item.detach().numpy() for index, item in enumerate(outputs)}
    wanted = [name for name in case["grads"] if tensors[name].requires_grad]
    pairs = [(out, torch.from_numpy(np.array(dout))) for out, dout in zip(outputs, case["douts"]) if out.requires_grad]
    if wanted and pairs:
        given = torch.autograd.grad(
            [out for out, _ in pairs],
            [tensors[name] for name in wanted],
            [dout for _, dout in pairs],
            allow_unused=True,
        )
        for name, item in zip(wanted, given):
            found[f"gradient {name}"] = np.zeros_like(case["inputs"][name]) if item is None else item.detach().numpy()
    return found


def _encoded(kind: str, value: Any) -> Any:
    return list(value) if isinstance(value, (list, tuple)) else value


def _opcheck(custom: Any, values: list[Any], attrs: list[Any]) -> str:
    torch.library.opcheck(custom, (*values, *attrs))
    return "schema, autograd registration, fake tensors, AOT dispatch"


def _gradcheck(function: Any, sample: dict[str, Any], task: dict[str, Any], proof: Proof) -> None:
    tensors = _tensors(sample)
    floats = [name for name, item in tensors.items() if item is not None and item.requires_grad]
    if task["exceptions"] or not floats:
        why = "the op declares exceptions: " + "; ".join(task["exceptions"]) if task["exceptions"] else "no gradient"
        proof.rows.append(("gradcheck", "skip", why))
        return
    if any(tensors[name].dtype != torch.float64 for name in floats):
        proof.rows.append(("gradcheck", "skip", "the op takes no float64"))
        return

    def call(*given: Any) -> Any:
        outputs = _flat(function(*{**tensors, **dict(zip(floats, given))}.values(), **sample["attrs"]))
        return tuple(item for item in outputs if item.is_floating_point())

    def run() -> str:
        torch.autograd.gradcheck(call, tuple(tensors[name] for name in floats), rtol=1e-3, atol=1e-4)
        return f"inputs {', '.join(floats)}"

    proof.check("gradcheck", run)
    if proof.rows[-1][1] == "FAIL" and task["is_checked"]:
        # torch's differences step over kinks, poles and steep places that opkit's own checker resolves.
        proof.rows[-1] = ("gradcheck", "skip", "torch's step is too coarse here: " + proof.rows[-1][2][:120])


def _compiled(function: Any, cases: list[dict[str, Any]], backend: str) -> str:
    chosen = [case for case in cases if all(v is None or v.size for v in case["inputs"].values())][:2]
    for case in chosen:
        torch._dynamo.reset()
        compiled = torch.compile(function, backend=backend, fullgraph=True)
        inner = Proof()
        inner.compare([case], functools.partial(_compared, compiled))
        if inner.rows[0][1] == "FAIL":
            raise AssertionError(inner.rows[0][2])
    return f"fullgraph, {len(chosen)} cases"


def _compared(function: Any, case: dict[str, Any]) -> dict[str, np.ndarray]:
    return _run(function, case, _tensors(case))


def _exported(function: Any, sample: dict[str, Any]) -> str:
    tensors = {name: None if item is None else item.detach() for name, item in _tensors(sample).items()}

    class Module(torch.nn.Module):  # type: ignore[misc,unused-ignore]
        def forward(self, *given: Any) -> Any:
            return function(*given, **sample["attrs"])

    program = torch.export.export(Module(), tuple(tensors.values()))
    found = _flat(program.module()(*tensors.values()))
    expected = _flat(function(*tensors.values(), **sample["attrs"]))
    for one, other in zip(found, expected):
        torch.testing.assert_close(one, other, equal_nan=True)
    return "torch.export"


if __name__ == "__main__":
    run_prover(prove)
