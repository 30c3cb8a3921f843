"""The oracle of the functions in ``plain/`` and ``broad/``: central differences in float64, with the framework itself, without opkit.

    python differences.py torch|jax|pylayer [NAME...]

Prints each whose index entry it does not confirm: a right one agrees within 1e-5 on all inputs of its domain, a faulty
one is off by more than 1e-3, or gives a gradient of another shape, on some.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
STEP, CLOSE, OFF, ENTRIES = 1e-5, 1e-5, 1e-3, 150


class Const:
    """An array that takes no gradient."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array


def words(rng: np.random.Generator) -> dict[str, Any]:
    """Return what the index says inputs with."""
    return {
        "np": np,
        "n": lambda *s: rng.standard_normal(s),
        "p": lambda *s: rng.uniform(0.5, 2.0, s),
        "u": lambda low, high, *s: rng.uniform(low, high, s),
        "i": lambda limit, *s: rng.integers(0, limit, s),
        "srt": lambda limit, *s: np.sort(rng.integers(0, limit, s)),
        "m": lambda share, *s: rng.random(s) < share,
        "unit": lambda *s: (lambda a: a / np.linalg.norm(a, axis=-1, keepdims=True))(rng.standard_normal(s)),
        "spd": lambda *s: (lambda a: a @ a.swapaxes(-1, -2) + s[-1] * np.eye(s[-1]))(rng.standard_normal(s if s[1:] else s * 2)),
        "sq": lambda *s: rng.standard_normal(s) + 3 * np.eye(s[-1]),
        "chol": lambda k: np.tril(rng.standard_normal((k, k)) * 0.5, -1) + np.diag(rng.uniform(0.7, 1.6, k)),
        "z": lambda *s: rng.standard_normal(s) + 1j * rng.standard_normal(s),
        "smx": lambda *s: rng.dirichlet(np.ones(s[-1]) * 2, s[:-1]),
        "perm": rng.permutation,
        "inc": lambda *s: np.cumsum(rng.uniform(0.2, 1.0, s), -1),
        "c": Const,
        "arr": np.array,
    }


def is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "fc"


class Framework:
    """Calls a function on arrays: values, and gradients of a weighted sum of all float results."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.module = __import__({"pylayer": "paddle"}.get(name, name))
        if name == "jax":
            self.module.config.update("jax_enable_x64", True)

    def given(self, value: Any, takes_gradient: bool = False) -> Any:
        value = value.array if isinstance(value, Const) else value
        if not isinstance(value, np.ndarray):
            return value
        if self.name == "jax":
            return self.module.numpy.asarray(value)
        if self.name == "pylayer":
            return self.module.to_tensor(value, stop_gradient=not takes_gradient)
        return self.module.tensor(value).requires_grad_(takes_gradient)

    def floats(self, results: Any) -> list[Any]:
        every = results if isinstance(results, (tuple, list)) else [results]
        parts = [part for item in every for part in ([item.real, item.imag] if "complex" in str(item.dtype) else [item])]
        return [item for item in parts if "float" in str(item.dtype)]

    def values(self, function: Any, args: list[Any]) -> list[np.ndarray]:
        found = self.floats(function(*map(self.given, args)))
        return [np.asarray(item.detach()) if self.name == "torch" else np.asarray(item) for item in found]

    def total(self, function: Any, args: list[Any], weights: list[np.ndarray]) -> Any:
        """Return the weighted sum of all float results, as a function of the float arguments."""
        places = [index for index, value in enumerate(args) if is_float(value)]
        given = [self.given(value) for value in args]

        def total(*floats: Any) -> Any:
            whole = [floats[places.index(k)] if k in places else value for k, value in enumerate(given)]
            return sum((item * self.given(w)).sum() for item, w in zip(self.floats(function(*whole)), weights))

        return self.module.jit(total) if self.name == "jax" else total

    def gradients(self, function: Any, args: list[Any], weights: list[np.ndarray]) -> list[np.ndarray]:
        floats = [self.given(value, takes_gradient=True) for value in args if is_float(value)]
        total = self.total(function, args, weights)
        if self.name == "jax":
            # JAX gives the conjugate of the slopes along the real and the imaginary axis.
            return [np.asarray(item).conj() for item in self.module.grad(total, tuple(range(len(floats))))(*floats)]
        total(*floats).backward()
        found = [item.grad for item in floats]
        return [np.zeros(item.shape) if one is None else one.numpy() for item, one in zip(floats, found)]


def worst(framework: Framework, function: Any, args: list[Any], rng: np.random.Generator) -> float:
    """Return the largest relative error of a gradient; infinity for one of another shape."""
    values = framework.values(function, args)
    weights = [rng.standard_normal(item.shape) for item in values]
    found = framework.gradients(function, args, weights)

    total = framework.total(function, args, weights)
    floats = [value for value in args if is_float(value)]
    errors = [0.0]
    for index, (array, gradient) in enumerate(zip(floats, found)):
        if gradient.shape != array.shape:
            return float("inf")
        chosen = rng.permutation(array.size)[:ENTRIES]
        slopes: list[complex] = []
        for entry in chosen:
            slope = 0.0
            for way in (1, 1j) if array.dtype.kind == "c" else (1,):
                ends = []
                for sign in (1, -1):
                    moved = array.copy()
                    moved.reshape(-1)[entry] += sign * way * STEP
                    ends.append(float(total(*map(framework.given, [*floats[:index], moved, *floats[index + 1 :]]))))
                slope += way * (ends[0] - ends[1]) / (2 * STEP)
            slopes.append(slope)
        got = gradient.reshape(-1)[chosen]
        scale = max(np.linalg.norm(slopes), np.linalg.norm(got), 1e-3)
        error = float(np.linalg.norm(got - np.array(slopes)) / scale)
        errors.append(error if np.isfinite(error) else float("inf"))
    return max(errors)


def main() -> None:
    name, *wanted = sys.argv[1:]
    framework = Framework(name)
    count = 0
    for row in json.loads((HERE / name / "index.json").read_text(encoding="utf-8")):
        if not row["file"].startswith(("plain/", "broad/")) or row["kind"] == "surrogate" or (wanted and row["name"] not in wanted):
            continue
        spec = importlib.util.spec_from_file_location(f"m{count}", HERE / name / row["file"])
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        function = getattr(module, row["name"])
        errors = []
        for number, said in enumerate(row["domain"].split("; ")):
            rng = np.random.default_rng(zlib.crc32(f"{row['file']}{number}".encode()))
            args = [np.asarray(one) if isinstance(one, np.floating) else one for one in eval(said, words(rng))]
            errors.append(worst(framework, getattr(function, "apply", function), args, rng))
        is_confirmed = max(errors) < CLOSE if row["kind"] == "right" else max(errors) > OFF
        count += 1
        if not is_confirmed:
            print(f"{row['file']}: {row['kind']}, but errors of {errors}")
    print(f"{name}: {count} functions looked at")


main()
