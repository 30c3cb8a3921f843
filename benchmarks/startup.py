"""How long `opkit --help` takes beside the help page of a bare typer program.

    python benchmarks/startup.py [REPEATS]

The aim is at most 1.2 times bare typer. Runs alternate, and the smallest times count: a busy machine only adds noise.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

AIM = 1.2

BARE = '''
import typer

app = typer.Typer()


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


def seconds(command: list[str]) -> float:
    """Return the wall time of one run."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> int:
    """Measure, print one line per program, and return 1 where the aim is missed."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare.py"
        bare.write_text(BARE)
        programs = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "bare typer --help": [sys.executable, str(bare), "--help"],
            "opkit --help": [sys.executable, "-m", "opkit", "--help"],
            "opkit --version": [sys.executable, "-m", "opkit", "--version"],
        }
        best = dict.fromkeys(programs, float("inf"))
        for _ in range(repeats):
            for name, command in programs.items():
                best[name] = min(best[name], seconds(command))
    for name, value in best.items():
        print(f"{name:<18} {value * 1e3:7.1f} ms")
    ratio = best["opkit --help"] / best["bare typer --help"]
    print(f"opkit --help / bare typer --help: {ratio:.2f} (aim: at most {AIM})")
    return int(ratio > AIM)


if __name__ == "__main__":
    sys.exit(main())
