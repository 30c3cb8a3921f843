"""Records behave as frozen dataclasses with slots do, though their methods are not compiled one by one."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace

import pytest

from opkit.record import entity, mutable, mutable_entity, record


@record
class Place:
    """A record with every kind of field."""

    name: str
    size: int = 3
    tags: list[str] = field(default_factory=list)
    note: str = field(default="", repr=False, compare=False)
    area: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "area", self.size * self.size)


@record
class House(Place):
    """A record of a record."""

    rooms: int = 1


@record
class Named:
    """A record with a representation of its own."""

    name: str

    def __repr__(self) -> str:
        return f"<{self.name}>"


@mutable
class Count:
    """A record that is filled in."""

    name: str
    seen: list[int] = field(default_factory=list)


@mutable_entity
class Counter(Count):
    """One that is equal to itself alone."""


def twin() -> type:
    """Return the dataclass that the standard library makes of the same fields."""

    @dataclass(frozen=True, slots=True)
    class Place:
        name: str
        size: int = 3
        tags: list[str] = field(default_factory=list)
        note: str = field(default="", repr=False, compare=False)
        area: int = field(init=False, default=0)

    return Place


def test_fields_and_parameters_are_those_of_a_dataclass() -> None:
    """Names, order and defaults; a factory's result is not shared."""
    assert [item.name for item in fields(Place)] == [item.name for item in fields(twin())]
    assert list(inspect.signature(Place).parameters) == list(inspect.signature(twin()).parameters)
    assert Place.__match_args__ == twin().__match_args__
    one, other = Place("a"), Place("a")
    assert (one.size, one.tags, one.note, one.area) == (3, [], "", 9)
    assert one.tags is not other.tags
    assert not hasattr(one, "__dict__")


def test_equality_and_hash_leave_out_what_is_not_compared() -> None:
    """Objects of another class are not equal."""
    assert Place("a", note="x") == Place("a", note="y")
    assert Place("a") != Place("b")
    assert Place("a") != House("a")
    assert hash(Named("a")) == hash(Named("a"))
    with pytest.raises(TypeError, match="unhashable"):
        hash(Place("a"))


def test_nan_equals_itself_in_a_record_of_one_field() -> None:
    """As in a tuple, the same object is equal to itself."""
    nan = float("nan")
    assert Named(nan) == Named(nan)  # type: ignore[arg-type]


def test_representation() -> None:
    """The field that is not shown is left out; a class's own method stays."""
    assert repr(House("a", note="x")) == "House(name='a', size=3, tags=[], area=9, rooms=1)"
    assert repr(Named("a")) == "<a>"


def test_nothing_is_assigned_or_deleted() -> None:
    """Neither a field nor a new name."""
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'name'"):
        Place("a").name = "b"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'name'"):
        del Place("a").name  # type: ignore[misc]


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda item: pickle.loads(pickle.dumps(item)), replace])
def test_copies_are_equal(again) -> None:  # type: ignore[no-untyped-def]
    """Copied, pickled and replaced."""
    house = House("a", 4, ["x"], rooms=2)
    assert again(house) == house
    assert again(house).area == 16


def test_a_missing_argument_is_named() -> None:
    """With the class."""
    with pytest.raises(TypeError, match=r"Place.__init__\(\) missing 1 required positional argument: 'name'"):
        Place()  # type: ignore[call-arg]


@entity
class Held:
    """Equal to itself alone."""

    items: list[int]


def test_an_entity_is_equal_to_itself_alone() -> None:
    """It is frozen and has slots all the same."""
    one, other = Held([1]), Held([1])
    assert one == one
    assert one != other
    assert len({one, other, one}) == 2
    assert pickle.loads(pickle.dumps(one)).items == [1]
    with pytest.raises(FrozenInstanceError):
        one.items = []  # type: ignore[misc]


def test_mutable_records_change_and_are_compared_by_what_they_hold() -> None:
    """Their fields may be set and no others; they are equal by value, not hashed, copied and pickled as dataclasses."""
    count = Count("a")
    count.name, count.seen = "b", [1]
    assert count == Count("b", [1]) == pickle.loads(pickle.dumps(count)) == copy.deepcopy(count)
    assert count != Count("b")
    assert repr(count) == "Count(name='b', seen=[1])"
    with pytest.raises(TypeError, match="unhashable"):
        hash(count)
    with pytest.raises(AttributeError):
        count.other = 1  # type: ignore[attr-defined]
    assert replace(count, name="c").seen is count.seen


def test_mutable_entities_are_equal_to_themselves_alone() -> None:
    """What they hold does not matter, and they may be keys."""
    first, second = Counter("a"), Counter("a")
    assert first != second
    assert len({first, second}) == 2
