"""The typer app: which commands there are."""

from __future__ import annotations

import typer

__all__ = ["app", "main"]

app = typer.Typer(name="opkit", no_args_is_help=True, add_completion=False)


@app.callback()
def root() -> None:
    """Scaffold an op, build it, verify its gradient, run it in a job."""


def main() -> None:
    """Run the command line."""
    app()
