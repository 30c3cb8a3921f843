"""Triton kernels with references under Triton's interpreter, right ones and ones with a planted fault.

``python tests/campaigns/triton_kernels.py [NAME...]`` needs torch and triton. Each kernel of ``data/triton`` is checked as
``opkit gradcheck`` does it, twice: on float32, where half precision is compared besides, and as one that takes bfloat16
alone. Every right one has to pass, and each fault (a factor, a missing term, a wrong mask at the tail block) has to fail,
within a minute each. It prints a table, and exits 1 where that is not so.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

import opkit
from opkit.checker import OpReport

HERE = Path(__file__).with_name("data") / "triton"
#: Seconds that a check may take.
MOST = 60
#: What is planted, by the name of the fault: one in a hundred cannot be seen where results have eight bits.
PLANTED = {"right": "", "factor": "\nFACTOR = {factor}\n", "missing term": "\nTERM = 0.0\n", "tail": "\nTAIL = 1\n"}
FACTORS = {"float32": 1.01, "bfloat16": 1.1}
#: What makes a kernel one that takes bfloat16 alone.
NARROW = """
_wide = cases


def cases(rng):
    for case in _wide(rng):
        yield {
            key: item.bfloat16() if torch.is_tensor(item) and item.is_floating_point() else item
            for key, item in case.items()
        }
"""


def text_of(file: Path, dtype: str, planted: str) -> str:
    """Return a kernel's file with a fault, for one dtype."""
    text = file.read_text()
    if dtype == "bfloat16":
        only = r'\1        assert x.dtype == torch.bfloat16, "bfloat16 alone"\n'
        text = re.sub(r"(    def forward\(ctx, x.*\):\n)", only, text) + NARROW
    return text + PLANTED[planted].format(factor=FACTORS[dtype])


def is_expected(report: OpReport, planted: str) -> bool:
    """Say whether a verdict is the one that is asked for; a pass says that bfloat16 was compared."""
    if planted != "right":
        return report.status.value == "fail" and report.seconds < MOST
    said = " ".join(item.message for item in report.checks if item.code in ("GC107", "GC108"))
    return report.status.value == "pass" and report.seconds < MOST and said.count("in bfloat16") == 2


def main() -> int:
    """Print the table, and return 1 where a verdict is another one."""
    files = [file for file in sorted(HERE.glob("*.py")) if not sys.argv[1:] or file.stem in sys.argv[1:]]
    wrong = 0
    print("| kernel | dtype | " + " | ".join(PLANTED) + " |\n|---|---|" + "---|" * len(PLANTED))
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            for dtype in FACTORS:
                row = []
                for planted in PLANTED:
                    made = Path(folder, f"{file.stem}_{dtype}_{planted.replace(' ', '_')}.py")
                    made.write_text(text_of(file, dtype, planted))
                    report = opkit.gradcheck(f"{made}::Kernel", replay=False, timeout=2 * MOST).ops[0]
                    codes = sorted({item.code for item in report.checks if item.status.value in ("fail", "error")})
                    row.append(" ".join([report.status.value, *codes, f"{report.seconds:.0f} s"]))
                    if not is_expected(report, planted):
                        wrong += 1
                        said = [f"    {item.status.value} {item.code} {item.message[:300]}" for item in report.checks]
                        shown = [line for line in said if not line.startswith("    skip") and line[14:]]
                        print(file.stem, dtype, planted, *shown, sep="\n", file=sys.stderr, flush=True)
                print(f"| {file.stem} | {dtype} | " + " | ".join(row) + " |", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
