"""How long opkit's shortest commands take beside a bare typer program, and a build beside importing numpy.

    python benchmarks/startup.py [REPEATS]

Aims: ``--help`` at most 1.2 times the bare program's, ``--version`` at most 1.3 times; both, and what a shell asks for
completion, at most 0.05 s more than ``python -c pass``; ``opkit run`` of a sample job at most 0.15 s more than
importing numpy, ``opkit build --spec-only`` of one op at most 0.2 s, ``opkit gradcheck`` of a cheap op (a PyLayer
without cases, an op directory with cases) at most 0.35 s. Processor time of a command with all its processes counts,
runs alternate, and the least of them is taken: a busy machine only adds to it.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

HELP, VERSION, NOTHING, RUN, BUILD, CHECK = 1.2, 1.3, 0.05, 0.15, 0.2, 0.35
#: What a shell sets when it asks how `opkit gradc` goes on.
COMPLETION = {"_OPKIT_COMPLETE": "complete_bash", "COMP_WORDS": "opkit gradc", "COMP_CWORD": "1"}
JOB = Path(__file__).resolve().parents[1] / "sample_ops" / "user_relu_job.py"

BARE = '''
import typer

app = typer.Typer()


def show(wanted: bool) -> None:
    if wanted:
        print("bare 1.0")
        raise typer.Exit


@app.callback()
def root(version: bool = typer.Option(False, "--version", callback=show, is_eager=True)) -> None:
    """A bare program."""


@app.command()
def hello(name: str, loud: bool = False) -> None:
    """Say hello."""
    print(name)


@app.command()
def bye(name: str) -> None:
    """Say bye."""
    print(name)


app()
'''

LAYER = """
import paddle
from paddle.autograd import PyLayer


class Tanh(PyLayer):
    @staticmethod
    def forward(ctx, x):
        y = paddle.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensor()
        return dy * (1 - paddle.square(y))
"""

CASES = """
def cases(rng):
    yield {"x": rng.normal(size=(3, 4))}
    yield {"x": rng.normal(size=5).astype("float32")}
"""


def seconds(command: list[str], environment: dict[str, str] | None = None) -> float:
    """Return the processor time of one run."""
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, **(environment or {})}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime


def main() -> int:
    """Measure, print one line per program and aim, and return 1 where an aim is missed."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    opkit = [sys.executable, "-m", "opkit"]
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare.py"
        bare.write_text(BARE)
        seconds([*opkit, "new", "probe", "--dir", folder])
        probe, layer = Path(folder) / "probe", Path(folder) / "layer.py"
        (probe / "probe_cases.py").write_text(CASES)
        layer.write_text(LAYER)
        programs = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "import numpy": [sys.executable, "-c", "import numpy"],
            "bare --help": [sys.executable, str(bare), "--help"],
            "bare --version": [sys.executable, str(bare), "--version"],
            "opkit --help": [*opkit, "--help"],
            "opkit --version": [*opkit, "--version"],
            "opkit completion": [str(Path(sys.executable).with_name("opkit"))],
            "opkit run": [*opkit, "run", str(JOB)],
            "opkit build --spec-only": [*opkit, "build", "--spec-only", str(probe)],
            "opkit gradcheck DIR": [*opkit, "gradcheck", str(probe)],
            "opkit gradcheck FILE::NAME": [*opkit, "gradcheck", f"{layer}::Tanh"],
        }
        best = dict.fromkeys(programs, float("inf"))
        for _ in range(repeats):
            for name, command in programs.items():
                asked = COMPLETION if name == "opkit completion" else None
                best[name] = min(best[name], seconds(command, asked))
    for name, value in best.items():
        print(f"{name:<28} {value * 1e3:7.1f} ms")
    aims = {
        "opkit --help / bare --help": (best["opkit --help"] / best["bare --help"], HELP),
        "opkit --version / bare --version": (best["opkit --version"] / best["bare --version"], VERSION),
        **{
            f"{name} beyond pass, s": (best[f"opkit {name}"] - best["python -c pass"], NOTHING)
            for name in ("--version", "--help", "completion")
        },
        "run beyond numpy, s": (best["opkit run"] - best["import numpy"], RUN),
        "build --spec-only beyond numpy, s": (best["opkit build --spec-only"] - best["import numpy"], BUILD),
        "gradcheck DIR beyond numpy, s": (best["opkit gradcheck DIR"] - best["import numpy"], CHECK),
        "gradcheck FILE::NAME beyond numpy, s": (best["opkit gradcheck FILE::NAME"] - best["import numpy"], CHECK),
    }
    for name, (value, aim) in aims.items():
        print(f"{name:<36} {value:.2f} (aim: at most {aim})")
    return int(any(value > aim for value, aim in aims.values()))


if __name__ == "__main__":
    sys.exit(main())
