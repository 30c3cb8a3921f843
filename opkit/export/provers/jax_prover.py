"""The prover for JAX: values and gradients, then jit, vmap, grad and JAX's own check of gradients.

Run as a module in a process of its own; jax is imported here and nowhere else in opkit's export.
"""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from opkit.export.provers.agreement import Proof, refusals, run_prover
from opkit.listed import listed


def prove(module: ModuleType, task: dict[str, Any], proof: Proof) -> str:
    """Fill a proof for one exported op and return JAX's version."""
    warnings.simplefilter("ignore")
    function = getattr(module, task["name"])
    cases = task["cases"]
    proof.compare(cases, lambda case: outcome(function, case))
    if proof.rows[-1][1] == "FAIL":
        return str(jax.__version__)
    full = [case for case in cases if all(item.size for item in _leaves(case))] or cases
    sample = min(full, key=lambda case: (_is_narrow(case), sum(item.size for item in _leaves(case))))
    proof.check("refusals", lambda: refusals(task["refused"], lambda case: called(function, case)))
    proof.check("jit", lambda: _jit(function, full[:2]))
    proof.check("vmap", lambda: _vmap(function, sample))
    if not sample["grads"]:
        proof.rows.append(("check_grads", "skip", "no gradient"))
    elif task["exceptions"]:
        proof.rows.append(("check_grads", "skip", "the op declares exceptions: " + "; ".join(task["exceptions"])))
    elif _is_narrow(sample):
        proof.rows.append(("check_grads", "skip", "the op takes no float64"))
    else:
        proof.check("check_grads", lambda: _check_grads(function, sample))
        if proof.rows[-1][1] == "FAIL" and task["is_checked"]:
            note = "JAX's step is too coarse here: " + proof.rows[-1][2][:120]
            proof.rows[-1] = ("check_grads", "skip", note)
    return str(jax.__version__)


def _is_narrow(case: dict[str, Any]) -> bool:
    return any(item.dtype == np.float32 for item in _leaves(case))


def _leaves(case: dict[str, Any]) -> list[np.ndarray]:
    return list(jax.tree.leaves(case["inputs"]))


def _made(value: Any) -> Any:
    """Return an input as JAX has it: an array, a list of arrays, or None."""
    return jax.tree.map(jnp.asarray, value)


def called(function: Any, case: dict[str, Any]) -> Any:
    """Call an exported function on a case's inputs."""
    attrs = {name: value for name, value in case["attrs"].items() if name != "device_sub_tag"}
    return function(*[_made(value) for value in case["inputs"].values()], **attrs)


def _of_floats(function: Any, case: dict[str, Any]) -> tuple[Any, list[str]]:
    """Return the op as a function of the inputs that have a gradient, giving a tuple."""
    arrays = {name: _made(value) for name, value in case["inputs"].items()}
    names = list(case["grads"])

    def call(*given: Any) -> Any:
        return tuple(listed(function(*{**arrays, **dict(zip(names, given))}.values(), **case["attrs"])))

    return call, names


def outcome(function: Any, case: dict[str, Any], wrap: Any = lambda item: item) -> dict[str, np.ndarray]:
    """Return outputs and gradients of one case by name; ``wrap`` is applied to the whole computation."""
    call, names = _of_floats(function, case)
    given = [_made(case["inputs"][name]) for name in names]
    if not names:
        outputs = wrap(call)()
        return {f"output {index}": np.asarray(item) for index, item in enumerate(outputs)}

    def both(*values: Any) -> Any:
        outputs, pullback = jax.vjp(call, *values)
        cotangents = tuple(
            jnp.asarray(dout) if dout.dtype.kind == "f" else np.zeros(dout.shape, jax.dtypes.float0)
            for dout in case["douts"]
        )
        return outputs, pullback(cotangents)

    outputs, grads = wrap(both)(*given)
    found = {f"output {index}": np.asarray(item) for index, item in enumerate(outputs)}
    for name, item in zip(names, grads):
        if isinstance(item, (list, tuple)):
            found |= {f"gradient {name}[{place}]": np.asarray(one) for place, one in enumerate(item)}
        else:
            found[f"gradient {name}"] = np.asarray(item)
    return found


def _jit(function: Any, cases: list[dict[str, Any]]) -> str:
    inner = Proof()
    inner.compare(cases, lambda case: outcome(function, case, jax.jit))
    if inner.rows[0][1] == "FAIL":
        raise AssertionError(inner.rows[0][2])
    return f"{len(cases)} cases"


def _vmap(function: Any, case: dict[str, Any]) -> str:
    arrays = [_made(value) for value in case["inputs"].values() if value is not None]
    names = [name for name, value in case["inputs"].items() if value is not None]

    def call(*given: Any) -> Any:
        values = {**case["inputs"], **dict(zip(names, given))}
        return tuple(listed(function(*values.values(), **case["attrs"])))

    single = call(*arrays)
    mapped = jax.vmap(call)(*[jax.tree.map(lambda item: jnp.stack([item, item]), value) for value in arrays])
    for one, two in zip(single, mapped):
        np.testing.assert_allclose(np.asarray(two[1]), np.asarray(one), rtol=1e-6, atol=1e-7)
    return "a new first axis"


def _check_grads(function: Any, case: dict[str, Any]) -> str:
    from jax.test_util import check_grads

    call, names = _of_floats(function, case)

    def floats(*given: Any) -> Any:
        return tuple(item for item in call(*given) if jnp.issubdtype(item.dtype, jnp.floating))

    check_grads(floats, [_made(case["inputs"][name]) for name in names], order=1, modes=["rev"], rtol=1e-3, atol=1e-4)
    return f"reverse mode, inputs {', '.join(names)}"


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    run_prover(prove)
