"""The kernel language: what a C++ kernel can ask and do gives what it says, and every failure names the user's line."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from opkit.errors import KernelError
from opkit.native import CppLibrary, Signature, Tensor
from tests.native.conftest import DATA

SOURCE = DATA / "language_cpp_kernel.cpp"


def signature(op: str, inputs: dict[str, Any], outputs: dict[str, Any], **attrs: tuple[str, Any]) -> Signature:
    """Return the signature of an op for arrays; a list of arrays is a variadic input."""

    def tensors(given: dict[str, Any]) -> tuple[Tensor, ...]:
        rows = [(name, value if isinstance(value, list) else [value]) for name, value in given.items()]
        return tuple(
            Tensor(name, index, item.shape, item.dtype.name) for name, items in rows for index, item in enumerate(items)
        )

    return Signature(op, tensors(inputs), tensors(outputs), (*inputs, *outputs), attrs)


def run(library: CppLibrary, op: str, inputs: dict[str, Any], outputs: dict[str, Any], **attrs: tuple[str, Any]) -> Any:
    """Run a kernel; return its first output."""
    flat = [part for item in inputs.values() for part in (item if isinstance(item, list) else [item])]
    library.prepare(signature(op, inputs, outputs, **attrs)).run((*flat, *outputs.values()))
    return next(iter(outputs.values()))


def test_attributes_of_every_type(language: CppLibrary) -> None:
    """Attr<T> gives each of the 14 types."""
    given = {
        "i32": ("int32", -1),
        "i64": ("int64", 1 << 20),
        "b": ("bool", True),
        "f": ("float", 0.5),
        "d": ("double", 0.25),
        "s": ("string", "a:b 3:c"),
        "shape": ("shape", (2, 3)),
        "dtype": ("data_type", "float64"),
        "li32": ("list_int32", [1, 2]),
        "li64": ("list_int64", []),
        "lf": ("list_float", [0.5]),
        "ls": ("list_string", ["", "xy"]),
        "ldtype": ("list_data_type", ["float32", "int8"]),
        "lshape": ("list_shape", [(), (1, 2)]),
    }
    result = run(language, "attrs", {}, {"out": np.zeros((), "float64")}, **given)
    assert result == -1 + (1 << 20) + 1 + 0.5 + 0.25 + 7 + 6 + 100 + 3 + 0.5 + (2 + 4) + 2 + 2


def test_temporary_buffer_and_proposal(language: CppLibrary) -> None:
    """The buffer has the size asked for; a proposal names an output and an input by position."""
    x = np.arange(5, dtype="float32")
    assert run(language, "buffer", {"in": x}, {"out": np.zeros_like(x)}).tolist() == [4, 3, 2, 1, 0]
    plan = language.prepare(signature("buffer", {"in": x}, {"out": x}))
    assert plan.in_place == ((0, 0),)
    plan.run((x, x))
    assert x.tolist() == [4, 3, 2, 1, 0]


def test_state_lives_as_long_as_the_plan(language: CppLibrary) -> None:
    """A state is made once for a plan; calls from several threads come one after another."""
    out = np.zeros((), "int64")
    plan = language.prepare(signature("state", {}, {"out": out}, start=("int64", 5)))
    found: list[int] = []

    def work() -> None:
        mine = np.zeros((), "int64")
        for _ in range(50):
            plan.run((mine,))
            found.append(int(mine))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(5, 205))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int32", "int64", "float16"])
def test_registrations_by_dtype(language: CppLibrary, dtype: str) -> None:
    """Registrations that macros make for each dtype serve that dtype; a variadic input has its count."""
    items = [np.array([1.5, 2, 3.25]).astype(dtype) * k for k in (1, 2, 3)]
    count = np.zeros((), "int32")
    result = run(language, "sum", {"in": items}, {"out": np.zeros(3, dtype), "count": count})
    np.testing.assert_array_equal(result, items[0] + items[1] + items[2])
    assert count == 3


def test_float16_rounds_as_numpy_does(language: CppLibrary) -> None:
    """Every half goes to float and back, and sums round to the nearest half, ties to even."""
    x = np.arange(1 << 16, dtype="uint16").view("float16")
    y = np.roll(x, 12345)
    result = run(language, "sum", {"in": [x, y]}, {"out": np.zeros_like(x), "count": np.zeros((), "int32")})
    with np.errstate(all="ignore"):
        expected = (x.astype("float32") + y.astype("float32")).astype("float16")
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 3, 4), (0, 3)])
def test_switch_and_indices(language: CppLibrary, shape: tuple[int, ...]) -> None:
    """A switch picks the instance of a template; offsets and indices are each other's inverse."""
    x = np.random.default_rng(0).normal(size=shape).astype("float32")
    np.testing.assert_array_equal(run(language, "transpose", {"in": x}, {"out": np.zeros(shape[::-1], "float32")}), x.T)


def test_broadcast_and_reduce(language: CppLibrary) -> None:
    """The ndarray helpers broadcast and reduce as numpy does."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 4, 5)).astype("float32"), rng.normal(size=(4, 1)).astype("float32")
    result = run(language, "ndarray", {"a": a, "b": b}, {"out": np.zeros((3, 1, 5), "float32")})
    np.testing.assert_allclose(result, (a * b).sum(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("check", "check failed: in->shape().At(0) < 2 (3 and 2): rows"),
        ("just", "refused"),
        ("dtype", "dptr asks for double, tensor 'in' is float"),
        ("argument", "op 'fail' has no argument 'x'; it has in, out"),
        ("attribute", "no attribute 'alpha'; the op has how"),
        ("type", "attribute 'how' is declared as string"),
        ("axis", "axis 5 of shape (3)"),
        ("unimplemented", "not implemented"),
        ("fatal", "fatal: over"),
    ],
)
def test_failures_have_the_users_line(language: CppLibrary, how: str, text: str) -> None:
    """A failed check, a wrong dtype or name, is an error with the file and line of the kernel."""
    line = next(n for n, row in enumerate(SOURCE.read_text().splitlines(), 1) if f'how == "{how}"' in row)
    with pytest.raises(KernelError) as caught:
        run(language, "fail", {"in": np.zeros(3, "float32")}, {"out": np.zeros(3, "float32")}, how=("string", how))
    assert text in caught.value.message
    assert caught.value.where is not None
    assert (caught.value.where.file, caught.value.where.line) == (str(SOURCE), line)


@pytest.mark.parametrize(("how", "text"), [("throw", "std::out_of_range: beyond"), ("number", "not a std::exception")])
def test_exceptions_become_errors(language: CppLibrary, how: str, text: str) -> None:
    """Whatever a kernel throws is an error that says what."""
    with pytest.raises(KernelError, match=text):
        run(language, "fail", {"in": np.zeros(3, "float32")}, {"out": np.zeros(3, "float32")}, how=("string", how))


def test_conditions(language: CppLibrary) -> None:
    """Tags, attributes and dtypes choose, joined by and, or, not; an op that asks for Python may be served as "cpp"."""
    x = np.zeros(1, "float64")

    def chosen(k: int, dtype: str = "float64", tag: str = "py") -> int:
        out = np.zeros((), "int32")
        made = signature("choice", {"in": x.astype(dtype)}, {"out": out}, k=("int64", k))
        plan = language.prepare(Signature(made.op, made.inputs, made.outputs, made.declared, made.attrs, sub_tag=tag))
        plan.run((x.astype(dtype), out))
        return int(out)

    assert (chosen(4), chosen(2), chosen(1, tag="gpu")) == (1, 2, 2)
    with pytest.raises(KernelError) as caught:
        chosen(3)
    assert "lacks" in caught.value.message
    assert "attribute k > 3 (it is 3)" in caught.value.message
    assert "(attribute k == 1 (it is 3) or attribute k == 2 (it is 3))" in caught.value.message
    with pytest.raises(KernelError, match="two registrations match"):
        run(language, "twice", {"in": x}, {"out": np.zeros((), "int32")})
    with pytest.raises(KernelError, match="no C\\+\\+ kernel is registered for op 'nothing'"):
        run(language, "nothing", {"in": x}, {"out": x})


def test_no_address_from_the_layout_of_python(language: CppLibrary) -> None:
    """Where arrays cannot be read by their layout, a kernel gets their addresses and computes the same."""
    x, out = np.arange(3, dtype="float32"), np.zeros(3, "float32")
    plan = language.prepare(signature("buffer", {"in": x}, {"out": out}))
    plan._call = plan._by_address
    plan.run((x, out))
    assert out.tolist() == [2, 1, 0]
