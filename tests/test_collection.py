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


def test_what_was_made_meanwhile_is_old() -> None:
    """No round goes over it when the block ends, and nothing stays frozen."""
    before = gc.get_stats()
    with uncollected():
        made = [[] for _ in range(10_000)]
    made.append([])
    assert [item["collections"] for item in gc.get_stats()] == [item["collections"] for item in before]
    assert any(item is made[0] for item in gc.get_objects(generation=2))
    assert gc.get_freeze_count() == 0
