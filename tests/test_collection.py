"""The garbage collector while modules are imported."""

import gc

from opkit.collection import uncollected


def test_collector_rests_and_works_again() -> None:
    """Within the block it is off; afterwards it is what it was, also after an error."""
    assert gc.isenabled()
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
