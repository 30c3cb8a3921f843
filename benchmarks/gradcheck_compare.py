"""Gradient checkers compared on the corpora of this repository, each kind of op beside its own framework's checkers.

directories: ops with numpy kernels; torch's gradcheck, HIPS's and JAX's check_grads get their float64 functions.
torch: ``torch.autograd.Function`` and library ops; ``torch.autograd.gradcheck`` (slow, fast, tight) and ``opcheck``.
jax: ``custom_vjp`` and ``custom_jvp``; ``jax.test_util.check_grads``.

The others get float64 arguments with the values of the first three ordinary cases that opkit's search or the cases
functions give, and default settings; opkit runs as `opkit gradcheck` does. Seconds are of the processor. A framework
that is not installed is named and left out.

Run: python benchmarks/gradcheck_compare.py [directories|torch|jax ...] [--op NAME ...] [--markdown FILE]
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

#: The module that compares each kind, and the framework that it cannot do without.
KINDS = {
    "directories": ("benchmarks.compared.directories", ""),
    "torch": ("benchmarks.compared.torch_functions", "torch"),
    "jax": ("benchmarks.compared.jax_functions", "jax"),
}


def main() -> int:
    """Print a table for each kind; 1 where an op has the wrong verdict by opkit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; all by default")
    parser.add_argument("--op", action="append", default=[], help="these ops alone")
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    given = parser.parse_args()
    unknown = sorted(set(given.kinds) - set(KINDS))
    if unknown:
        parser.error(f"unknown kind {unknown[0]!r}; there are {', '.join(KINDS)}")
    texts, status = [], 0
    for kind in given.kinds or KINDS:
        module, framework = KINDS[kind]
        if framework and not find_spec(framework):
            print(f"{framework} is not installed: {kind} is left out", file=sys.stderr)
            continue
        table = import_module(module).compared(frozenset(given.op))
        print(table.markdown(), end="\n\n", flush=True)
        texts.append(table.markdown())
        for op in table.missed():
            status = 1
            print(f"{kind} {op}: the wrong verdict by opkit", file=sys.stderr)
        for op, checkers in table.only_by_others().items():
            print(f"{kind} {op}: found by {', '.join(checkers)}, not by opkit", file=sys.stderr)
    if given.markdown:
        given.markdown.write_text("\n\n".join(texts) + "\n", encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
