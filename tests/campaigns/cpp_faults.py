"""C++ kernels with faults of every kind, checked in one run, plain and with sanitizers; a campaign, not part of the tests.

``python -m tests.campaigns.cpp_faults``: each kernel does one thing that it must not. Exits with 1 where one of them is
not found under its code, or where the ops beside it are not judged. The last figures are in docs/cpp-kernels.md.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import opkit
from opkit.checker import Report
from opkit.project import scaffold

__all__ = ["main"]

#: {op: (codes of which one is found, statement at the end of forward, where n is its count of elements)}
FAULTS = {
    "right": ((), ""),
    "past_its_output": (("GC222",), "y[n] = 1;"),
    "before_its_output": (("GC222",), "y[-1] = 1;"),
    "far_outside": (("GC191",), "for (int64_t i = 0; i < 100000000; ++i) { y[i] = 1; }"),
    "null": (("GC191",), "volatile int* p = nullptr; if (n > 3) { *p = 1; }"),
    "hangs": (("GC192",), "if (n > 3) { volatile int64_t k = 1; while (k) {} }"),
    "exits": (("GC193",), "if (n > 3) { std::exit(0); }"),
    "exits_at_once": (("GC193",), "if (n > 3) { _exit(3); }"),
    "aborts": (("GC191",), "if (n > 3) { std::abort(); }"),
    "throws": (("GC144",), 'if (n > 3) { throw std::runtime_error("no more than three"); }'),
    "throws_in_a_destructor": (("GC191",), "if (n > 3) { struct D { ~D() { throw 1; } } d; }"),
    "forks": ((), "static bool has = false; if (n > 3 && !has) { has = true; fork(); }"),  # the copy ends by itself, and nothing is lost
    "frees_its_input": (("GC191",), "if (n > 3) { std::free(const_cast<T*>(x)); }"),
    "writes_its_input": (("GC222",), "const_cast<T*>(x)[0] = 7;"),
    "gives_nan": (("GC144",), "if (n > 1) { y[n - 1] = std::numeric_limits<T>::quiet_NaN(); }"),
    "remembers": (("GC221", "GC121", "GC130"), "static int calls = 0; if (++calls > 5 && n) { y[0] += 1; }"),
    "fails_a_check": (("GC144",), 'CHECK_LE(n, 3) << "too many";'),
    "asks_for_no_argument": (("GC144",), 'ctx->Tensor4ArgNameAndIndex("z", 0)->dptr<T>();'),
    "asks_for_another_dtype": (("GC144",), 'ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<int32_t>();'),
    "takes_all_memory": (("GC194", "GC144"), "if (n > 3) { std::vector<char> all(size_t(1) << 60); }"),
}  # fmt: skip
#: {op: (word of the message, statement)}: what sanitizers alone find, or find better.
SANITIZED = {
    "right": ("", ""),
    "reads_past_its_input": ("heap-buffer-overflow, READ", "if (x[n] == T(0.123)) { y[0] = 0; }"),
    "past_its_output": ("heap-buffer-overflow, WRITE", "y[n] = 1;"),
    "uses_what_is_freed": ("heap-use-after-free", "T* kept = new T[4]; delete[] kept; y[0] += kept[n % 4] * 0;"),
    "overflows": ("signed integer overflow", "int32_t big = 2147483647; big += int32_t(n); y[0] += big * T(0);"),
}  # fmt: skip


def main() -> int:
    """Check all of them; return the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        write(Path(folder), {name: text for name, (_, text) in FAULTS.items()})
        report = opkit.gradcheck(folder, kernel="cpp", effort=0.05, timeout=10, replay=False)
        wrong = sum(not judged(report, name, codes) for name, (codes, _) in FAULTS.items())
        print(f"{len(FAULTS)} kernels in {time.perf_counter() - begun:.0f} s, {wrong} not found")
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        write(Path(folder), {name: text for name, (_, text) in SANITIZED.items()})
        report = opkit.gradcheck(folder, kernel="cpp", sanitize=True, effort=0.05, replay=False)
        for name, (word, _) in SANITIZED.items():
            said = words(report, name)
            place = f"{name}_cpp_kernel.cpp:"
            is_found = word in said and (not word or place in said) and (bool(word) or not said)
            print(f"sanitized {name:22} {'found' if is_found else 'NOT FOUND'}: {said[:150]}")
            wrong += not is_found
        print(f"{len(SANITIZED)} sanitized kernels in {time.perf_counter() - begun:.0f} s, {wrong} not found")
    return int(wrong > 0)


def write(folder: Path, faults: dict[str, str]) -> None:
    """Write an op for each statement, which stands at the end of its forward kernel."""
    for name, statement in faults.items():
        scaffold(name, folder, cpp=True)
        path = folder / name / f"{name}_cpp_kernel.cpp"
        text = path.read_text()
        end = text.index("  // Arrays without elements")
        at = text.rindex("  }\n", 0, end)
        text = f"{text[:at]}    const int64_t n = shape.elem_cnt();\n    {statement}\n{text[at:]}"
        path.write_text("#include <unistd.h>\n" + text)


def judged(report: Report, name: str, codes: tuple[str, ...]) -> bool:
    """Say whether one of the codes was found about an op, and nothing about one without a fault."""
    (op,) = [item for item in report.ops if item.op.startswith(f"{name}_forward")]
    found = sorted({item.code for item in op.checks if item.status.value in ("fail", "error")})
    is_good = bool(set(codes) & set(found)) if codes else not found
    print(f"{name:24} {op.status.value:10} {', '.join(found):24} {'' if is_good else 'NOT FOUND'}", flush=True)
    return is_good


def words(report: Report, name: str) -> str:
    """Return what was found about an op, with the place."""
    (op,) = [item for item in report.ops if item.op.startswith(f"{name}_forward")]
    found = [item for item in op.checks if item.status.value in ("fail", "error")]
    return "; ".join(f"{item.message} at {item.where}" for item in found)


if __name__ == "__main__":
    sys.exit(main())
