"""How quickly specs compile and infer: opkit alone, and one `g++ -O0` compile beside it where g++ exists.

    python benchmarks/spec_speed.py [FOLDER] [--include DIR]... [--cxx-include DIR]...

Without a folder the built-in user_relu and a 40-op spec are measured. With one (OneFlow's oneflow/user/ops), every
file is compiled in one process, the median file is named, and g++ is timed on that file when it can compile it
(--cxx-include gives it OneFlow's headers). Times are the best of several runs.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from opkit import TensorDesc
from opkit.diagnostics import SourceText
from opkit.spec import compile_spec

RELU = """
#include "oneflow/core/framework/framework.h"
namespace oneflow {
REGISTER_USER_OP("user_relu_forward")
    .Attr<std::string>("device_sub_tag", "py")
    .Input("in")
    .Output("out")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->Shape4ArgNameAndIndex("out", 0) = *ctx->Shape4ArgNameAndIndex("in", 0);
      *ctx->Dtype4ArgNameAndIndex("out", 0) = *ctx->Dtype4ArgNameAndIndex("in", 0);
      return Maybe<void>::Ok();
    });
}  // namespace oneflow
"""
#: What g++ is timed on where OneFlow's headers are not given: the C++ that any such file pulls in at the least.
HEADERS = ("functional", "map", "memory", "sstream", "string", "vector")
BARE = "".join(f"#include <{name}>\n" for name in HEADERS) + "int main() { return 0; }\n"


def best(call: Callable[[], object], number: int, repeat: int = 7) -> float:
    """Return the best mean time of a call, in seconds."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(number):
            call()
        times.append((time.perf_counter() - start) / number)
    return min(times)


def gxx_seconds(file: Path, includes: list[Path]) -> float | None:
    """Return the time of one `g++ -O0 -c`, None where g++ is missing or refuses the file."""
    if shutil.which("g++") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        command = ["g++", "-std=c++14", "-O0", "-w", "-c", str(file), "-o", f"{folder}/a.o"]
        command += [f"-I{include}" for include in includes]
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, check=False, timeout=300)
        return time.perf_counter() - start if done.returncode == 0 else None


def small() -> None:
    """Measure user_relu: compiling it, and one infer call."""
    seconds = best(lambda: compile_spec(SourceText(RELU, "user_relu_cpp_def.cpp")), 20)
    print(f"compile user_relu        {seconds * 1e3:8.2f} ms")
    op = compile_spec(SourceText(RELU, "user_relu_cpp_def.cpp")).ops["user_relu_forward"]
    inputs = {"in": [TensorDesc((5,), "float32")]}
    start = time.perf_counter()
    op.infer(inputs)
    print(f"first infer of user_relu {(time.perf_counter() - start) * 1e3:8.2f} ms")
    print(f"infer user_relu          {best(lambda: op.infer(inputs), 2000) * 1e6:8.2f} us")
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare.cpp"
        bare.write_text(BARE)
        taken = gxx_seconds(bare, [])
        if taken is not None:
            print(f"g++ -O0, six std headers {taken * 1e3:8.2f} ms: {taken / seconds:.0f} times user_relu in opkit")


def folder_times(folder: Path, includes: list[Path], cxx_includes: list[Path]) -> None:
    """Measure a folder of specs: all in one process, and the median file against g++."""
    files = sorted(folder.glob("*.cpp"))
    times: dict[Path, float] = {}
    start = time.perf_counter()
    for file in files:
        begun = time.perf_counter()
        compile_spec(file, include_dirs=includes)
        times[file] = time.perf_counter() - begun
    print(f"{len(files)} files in one process  {time.perf_counter() - start:8.2f} s")
    for file in files:
        times[file] = min(times[file], best(lambda file=file: compile_spec(file, include_dirs=includes), 1, 2))
    median = sorted(files, key=times.__getitem__)[len(files) // 2]
    print(f"median file              {statistics.median(times.values()) * 1e3:8.2f} ms ({median.name})")
    slowest = max(files, key=times.__getitem__)
    print(f"slowest file             {times[slowest] * 1e3:8.2f} ms ({slowest.name})")
    taken = gxx_seconds(median, cxx_includes)
    if taken is None:
        print("g++ -O0 of the median    not measured: no g++, or it does not compile the file")
    else:
        print(f"g++ -O0 of the median    {taken * 1e3:8.2f} ms: {taken / times[median]:.0f} times opkit")


def main() -> int:
    """Run the measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--include", type=Path, action="append", default=[])
    parser.add_argument("--cxx-include", type=Path, action="append", default=[])
    options = parser.parse_args()
    small()
    if options.folder is not None:
        folder_times(options.folder, options.include, options.cxx_include)
    return 0


if __name__ == "__main__":
    sys.exit(main())
