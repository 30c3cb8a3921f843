"""The definition claims a signature that does not hold, to show what `opkit sbp` says: its item is expected to fail."""

import pytest


def pytest_collection_modifyitems(items):
    """Expect the sbp item of this folder to fail; where it passes, that is a failure."""
    for item in items:
        if item.name == "sbp" and item.path.name == "row_softmax_cpp_def.cpp":
            item.add_marker(pytest.mark.xfail(reason="the claim on the last axis is false on purpose", strict=True))
