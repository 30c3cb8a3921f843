"""``python -m opkit`` and the console script ``opkit``."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    from opkit.cli import main as run

    run()


if __name__ == "__main__":
    main()
