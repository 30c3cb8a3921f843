"""The prover for torch: values and gradients, then torch's own checkers.

Run as a module in a process of its own; torch is imported here and nowhere else in opkit's export.
"""

from __future__ import annotations

import functools
import json
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import torch

from opkit.export.provers.agreement import Proof, refusals, run_prover
from opkit.listed import each, listed


def prove(module: ModuleType, task: dict[str, Any], proof: Proof) -> str:
    """Fill a proof for one exported op and return torch's version."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    function = getattr(module, task["name"])
    cases = task["cases"]
    proof.compare(cases, functools.partial(outcome, function))
    proof.compare(cases[:2], lambda case: outcome(function, case, is_strided=True))
    proof.rows[-1] = ("strided", *proof.rows[-1][1:])
    if any(row[1] == "FAIL" for row in proof.rows):
        return str(torch.__version__)
    proof.check("refusals", lambda: refusals(task["refused"], lambda case: called(function, case)))
    sample = _sample(cases)
    handles = (f"{task['name']}_op", f"_{task['type']}_numpy", f"_{task['type']}")
    custom = next(getattr(module, handle) for handle in handles if hasattr(module, handle))
    values = [value for _, value in _tensors(sample).items()]
    attrs = [_encoded(kind, sample["complete"][name]) for name, kind in task["attrs"]]
    proof.check("opcheck", lambda: _opcheck(custom, values, attrs))
    _gradcheck(function, sample, task, proof)
    proof.check("compile aot_eager", lambda: _compiled(function, cases, "aot_eager"))
    proof.check("export", lambda: _exported(function, sample))
    if task["inductor"]:
        proof.check("compile inductor", lambda: _compiled(function, cases[:1], "inductor"))
    return str(torch.__version__)


def _tensors(case: dict[str, Any], is_strided: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in case["inputs"].items():
        made = functools.partial(_tensor, name in case["grads"], is_strided)
        found[name] = each(made, value)
    return found


def _tensor(has_grad: bool, is_strided: bool, value: np.ndarray) -> torch.Tensor:
    tensor = torch.from_numpy(np.array(value))
    if is_strided and tensor.ndim:
        tensor = torch.stack([tensor, tensor], dim=-1)[..., 0]
    return tensor.detach().requires_grad_(tensor.is_floating_point() and has_grad)


def _places(case: dict[str, Any], names: Any) -> list[tuple[str, int | None]]:
    """Return (input, place in its list) of each tensor of some inputs; the place is None of a single one."""
    found: list[tuple[str, int | None]] = []
    for name in names:
        value = case["inputs"][name]
        found += [(name, place) for place in range(len(value))] if isinstance(value, list) else [(name, None)]
    return found


def _at(values: Any, place: tuple[str, int | None]) -> Any:
    return values[place[0]] if place[1] is None else values[place[0]][place[1]]


def _put(values: dict[str, Any], places: Any, given: Any) -> dict[str, Any]:
    """Return the inputs with some tensors replaced."""
    found = {name: list(value) if isinstance(value, list) else value for name, value in values.items()}
    for (name, place), item in zip(places, given):
        if place is None:
            found[name] = item
        else:
            found[name][place] = item
    return found


def _sample(cases: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the first case in float64 with few elements, but not none."""

    def rank(case: dict[str, Any]) -> tuple[bool, bool, int]:
        arrays = [_at(case["inputs"], place) for place in _places(case, case["inputs"])]
        arrays = [value for value in arrays if value is not None]
        wide = all(value.dtype != np.float32 for value in arrays)
        size = sum(value.size for value in arrays)
        return not wide, size == 0, size

    return min(cases, key=rank)


def called(function: Any, case: dict[str, Any]) -> Any:
    """Call an exported function on a case's inputs."""
    return function(*_tensors({**case, "grads": {}}).values(), **_without_tag(case["attrs"]))


def _without_tag(attrs: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attrs.items() if name != "device_sub_tag"}


def outcome(function: Any, case: dict[str, Any], is_strided: bool = False) -> dict[str, np.ndarray]:
    """Return outputs and gradients of one case by name."""
    tensors = _tensors(case, is_strided)
    outputs = listed(function(*tensors.values(), **case["attrs"]))
    found = {f"output {index}": item.detach().numpy() for index, item in enumerate(outputs)}
    wanted = [place for place in _places(case, case["grads"]) if _at(tensors, place).requires_grad]
    pairs = [(out, torch.from_numpy(np.array(dout))) for out, dout in zip(outputs, case["douts"]) if out.requires_grad]
    if wanted and pairs:
        given = torch.autograd.grad(
            [out for out, _ in pairs],
            [_at(tensors, place) for place in wanted],
            [dout for _, dout in pairs],
            allow_unused=True,
        )
        for place, item in zip(wanted, given):
            name = f"gradient {place[0]}{'' if place[1] is None else f'[{place[1]}]'}"
            found[name] = np.zeros_like(_at(case["inputs"], place)) if item is None else item.detach().numpy()
    return found


def _encoded(kind: str, value: Any) -> Any:
    if kind in ("list_string", "list_shape", "list_data_type"):
        return json.dumps(value)
    return list(value) if isinstance(value, (list, tuple)) else value


def _opcheck(custom: Any, values: list[Any], attrs: list[Any]) -> str:
    torch.library.opcheck(custom, (*values, *attrs))
    return "schema, autograd registration, fake tensors, AOT dispatch"


def _gradcheck(function: Any, sample: dict[str, Any], task: dict[str, Any], proof: Proof) -> None:
    tensors = _tensors(sample)
    places = [place for place in _places(sample, tensors) if _at(tensors, place) is not None]
    floats = [place for place in places if _at(tensors, place).requires_grad]
    if task["exceptions"] or not floats:
        why = "the op declares exceptions: " + "; ".join(task["exceptions"]) if task["exceptions"] else "no gradient"
        proof.rows.append(("gradcheck", "skip", why))
        return
    if any(_at(tensors, place).dtype != torch.float64 for place in floats):
        proof.rows.append(("gradcheck", "skip", "the op takes no float64"))
        return

    def call(*given: Any) -> Any:
        outputs = listed(function(*_put(tensors, floats, given).values(), **sample["attrs"]))
        return tuple(item for item in outputs if item.is_floating_point())

    def run() -> str:
        torch.autograd.gradcheck(call, tuple(_at(tensors, place) for place in floats), rtol=1e-3, atol=1e-4)
        return f"inputs {', '.join(dict.fromkeys(name for name, _ in floats))}"

    proof.check("gradcheck", run)
    if proof.rows[-1][1] == "FAIL" and task["is_checked"]:
        # torch's differences step over kinks, poles and steep places that opkit's own checker resolves.
        proof.rows[-1] = ("gradcheck", "skip", "torch's step is too coarse here: " + proof.rows[-1][2][:120])


def _compiled(function: Any, cases: list[dict[str, Any]], backend: str) -> str:
    chosen = [case for case in cases if not _is_empty(case)][:2]
    for case in chosen:
        torch._dynamo.reset()
        compiled = torch.compile(function, backend=backend, fullgraph=True)
        inner = Proof()
        inner.compare([case], functools.partial(outcome, compiled))
        if inner.rows[0][1] == "FAIL":
            raise AssertionError(inner.rows[0][2])
    return f"fullgraph, {len(chosen)} cases"


def _is_empty(case: dict[str, Any]) -> bool:
    arrays = [_at(case["inputs"], place) for place in _places(case, case["inputs"])]
    return any(value is not None and value.size == 0 for value in arrays)


def _exported(function: Any, sample: dict[str, Any]) -> str:
    tensors = _tensors({**sample, "grads": {}})

    class Module(torch.nn.Module):  # type: ignore[misc,unused-ignore]
        def forward(self, *given: Any) -> Any:
            return function(*given, **sample["attrs"])

    program = torch.export.export(Module(), tuple(tensors.values()))
    found = listed(program.module()(*tensors.values()))
    expected = listed(function(*tensors.values(), **sample["attrs"]))
    for one, other in zip(found, expected):
        torch.testing.assert_close(one, other, equal_nan=True)
    return "torch.export"


if __name__ == "__main__":
    run_prover(prove)
