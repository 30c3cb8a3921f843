"""``--device``: functions of torch and JAX run there, with their inputs; what is not there is said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opkit.errors import UsageError
from opkit.verify import gradcheck
from opkit.verify.options import RunOptions
from opkit.verify.subjects.loaded import RAN_ON

ROOT = Path(__file__).resolve().parents[2]


def driven(program: str, **environment: str) -> Any:
    """Run a program in an interpreter of its own, and return the JSON that it prints last."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=ROOT,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_word_that_names_no_device_is_a_usage_error() -> None:
    """Before anything is loaded."""
    with pytest.raises(UsageError, match="'cuda:x' does not name a device"):
        RunOptions(device="cuda:x")


def test_an_op_of_numpy_says_that_a_device_has_no_part_in_it() -> None:
    """It is checked all the same."""
    report = gradcheck(
        forward=np.sin, backward=lambda x, g: g * np.cos(x), inputs=[np.ones(2)], device="cuda", select={"GC101"}
    )
    assert report.is_clean()
    assert any("the device 'cuda' has no part in this op" in note for note in report.ops[0].notes)


TORCH = """
import json, sys
from tests.verify import toy_device
import torch
import opkit

class There(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        assert x.device.type == g.device.type == "toy"
        return 2 * x * g

class Wrong(There):
    @staticmethod
    def backward(ctx, g):
        return 3 * ctx.saved_tensors[0] * g

class WritesInput(There):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        x.add_(1)
        return x * x

class WritesIncoming(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        return g.mul_(2)

class Dense(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x.as_strided(x.shape, (x.shape[-1], 1))

    @staticmethod
    def backward(ctx, g):
        return 2 * g

@torch.library.custom_op("tests_devices::doubled", mutates_args=())
def doubled(x: torch.Tensor) -> torch.Tensor:
    return 2 * x

@doubled.register_fake
def _(x):
    return torch.empty(x.shape, dtype=x.dtype)

doubled.register_autograd(lambda ctx, g: 2 * g)

x = torch.linspace(-1, 1, 6, dtype=torch.float64).reshape(2, 3)
found = {}
for function, codes in (
    (There, "GC101 GC122"), (Wrong, "GC101"), (WritesInput, "GC122"), (WritesIncoming, "GC123"), (Dense, "GC130"),
    (doubled, "GC206"),
):
    report = opkit.gradcheck(function, [x], device="toy", recorded_only=True, select=frozenset(codes.split()))
    (op,) = report.ops
    found[op.op.rpartition(":")[2]] = [op.status.value, [item.code for item in op.findings], list(op.notes)]
model = torch.nn.BatchNorm1d(3).double().eval()
report = opkit.gradcheck(model, [x], device="toy", recorded_only=True, select={"GC101"})
found["Module"] = [report.status.value]
report = opkit.gradcheck(There.apply, [x.to("toy")], recorded_only=True, select={"GC101"})
found["where the inputs are"] = [report.status.value, [], list(report.ops[0].notes)]
print(json.dumps(found))
"""


#: Tests on one run of the Functions.
ON_TORCH = pytest.mark.xdist_group("a device of torch")


@pytest.fixture(scope="module")
def torch_found() -> Any:
    """What checks of Functions find on a second device of torch."""
    pytest.importorskip("torch", reason="torch is not installed: its custom functions cannot be checked")
    return driven(TORCH)


@ON_TORCH
@pytest.mark.peer
def test_functions_of_torch_get_tensors_of_the_device(torch_found: Any) -> None:
    """Inputs, incoming gradients, a Module's parameters and buffers; and the report says where."""
    assert torch_found["There"][0] == "pass"
    assert f"{RAN_ON} 'toy'" in torch_found["There"][2]
    assert torch_found["Module"] == ["pass"]


@ON_TORCH
@pytest.mark.peer
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("Wrong", "GC101"),
        ("WritesInput", "GC122"),
        ("WritesIncoming", "GC123"),
        ("Dense", "GC130"),
        ("doubled", "GC206"),
    ],
)
def test_a_fault_is_found_on_a_device_of_torch(torch_found: Any, name: str, code: str) -> None:
    """Gradients, what is written to arrays that were copied there, layouts, and the fake kernel's device."""
    assert torch_found[name][0] == "fail"
    assert code in torch_found[name][1]


@ON_TORCH
@pytest.mark.peer
def test_without_a_device_a_function_runs_where_its_inputs_are(torch_found: Any) -> None:
    """A Function that takes no tensors of the CPU can be checked on examples."""
    status, _, notes = torch_found["where the inputs are"]
    assert status == "pass"
    assert f"{RAN_ON} 'toy:0'" in notes


JAX = """
import json, jax, jax.numpy as jnp, numpy as np
import opkit
from opkit.errors import UsageError

places = set()

@jax.custom_vjp
def looks(x):
    if not isinstance(x, jax.core.Tracer):
        places.update(map(str, x.devices()))
    return jnp.sin(x) if x.sum() < 100 else x

looks.defvjp(lambda x: (looks(x), x), lambda x, g: (g * jnp.cos(x),))

@jax.custom_vjp
def wrong(x):
    return jnp.sin(x)

wrong.defvjp(lambda x: (wrong(x), x), lambda x, g: (0.5 * g * jnp.cos(x),))

x = np.linspace(-1, 1, 3)
options = {"recorded_only": True, "select": {"GC101"}}
found = {
    function.__name__: opkit.gradcheck(function, [x], device="cpu:1", **options).ops[0].status.value
    for function in (looks, wrong)
}
for name in ("cuda", "cpu:7"):
    try:
        opkit.gradcheck(wrong, [x], device=name)
    except UsageError as error:
        found[name] = str(error)
print(json.dumps({**found, "places": sorted(places), "devices": [str(item) for item in jax.devices("cpu")]}))
"""


@pytest.mark.peer
def test_functions_of_jax_run_on_the_device() -> None:
    """Of two devices of the CPU, the second; a fault is found there, and a device that is missing is said."""
    pytest.importorskip("jax", reason="JAX is not installed: its custom functions cannot be checked")
    found = driven(JAX, XLA_FLAGS="--xla_force_host_platform_device_count=2", JAX_PLATFORMS="cpu")
    assert found["places"] == [found["devices"][1]]
    assert (found["looks"], found["wrong"]) == ("pass", "fail")
    assert "has no device 'cuda' here; it has cpu:0, cpu:1" in found["cuda"]
    assert "has no device 'cpu:7' here: of 'cpu' it has cpu:0, cpu:1" in found["cpu:7"]


@pytest.mark.peer
def test_a_device_that_torch_lacks_is_said() -> None:
    """Which one, why, and what there is; a wrong name brings the nearest."""
    torch = pytest.importorskip("torch", reason="torch is not installed: its custom functions cannot be checked")

    def double(x: Any) -> Any:
        return 2 * x

    if not torch.cuda.is_available():
        with pytest.raises(UsageError, match=r"cannot use the device 'cuda' here .*; it has cpu"):
            gradcheck(double, torch.ones(2), device="cuda")
    with pytest.raises(UsageError, match="torch has no device 'cudo'"):
        gradcheck(double, torch.ones(2), device="cudo")


THERE = """
import toy_device
import torch


class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return factor(x) * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * factor(x) * x * g


def factor(x):
    return 1.0


def cases(rng):
    for size in (2, 3):
        yield {"x": rng.standard_normal((size, 3))}
"""


@pytest.mark.peer
@pytest.mark.usefixtures("fresh_interpreters")
def test_a_device_is_compared_with_the_cpu(here: Path) -> None:
    """In an ordinary process: another function there fails, a few digits less are undecided; what has no kernel for the CPU is not compared."""
    pytest.importorskip("torch", reason="torch is not installed: its custom functions cannot be checked")
    (here / "toy_device.py").write_text((Path(__file__).parent / "toy_device.py").read_text())
    bodies = {
        "same": "return 1.0",
        "other": "return 1.0 if x.device.type == 'cpu' else 3.0",
        "coarse": "return 1.0 if x.device.type == 'cpu' else 1.001",
        "there": "assert x.device.type == 'toy', 'no kernel for the CPU'\n    return 1.0",
    }
    for name, body in bodies.items():
        (here / f"{name}.py").write_text(THERE.replace("return 1.0", body))
    report = gradcheck([str(here / f"{name}.py::Both") for name in bodies], device="toy", replay=False)
    found = dict(zip(bodies, report.ops))
    assert {name: op.status.value for name, op in found.items()} == {
        "same": "pass",
        "other": "fail",
        "coarse": "undecided",
        "there": "pass",
    }
    for name in ("other", "coarse"):
        (said,) = [item.message for item in found[name].checks if item.code == "GC199"]
        assert said.startswith("the device 'toy' beside the CPU: in an ordinary process")
    assert any("does not run on the CPU: AssertionError: no kernel" in note for note in found["there"].notes)
