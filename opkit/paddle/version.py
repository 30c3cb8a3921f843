"""``paddle.version``: the version of Paddle whose behaviour opkit follows."""

from opkit.shim.missing import guard as _guard

__all__ = ["full_version", "major", "minor", "patch", "show"]

full_version = "2.6.2"
major, minor, patch = "2", "6", "2"


def show() -> str:
    """Return the version."""
    return full_version


__getattr__ = _guard(__name__, globals())
