"""The page about speed shows the record that is kept beside the benchmark."""

from __future__ import annotations

from pathlib import Path

from benchmarks import record

ROOT = Path(__file__).resolve().parents[2]


def test_the_table_is_the_records() -> None:
    """Each line of the table is made from ``benchmarks/beside_torch.json``."""
    rows = record.read(ROOT / "benchmarks" / "beside_torch.json")
    assert rows
    assert "\n".join(record.table(rows)) in (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")


def test_a_ratio_that_lost_is_shown(tmp_path: Path) -> None:
    """What is written is read back; a ratio more than 15 % above the record's is named, and an aim that is missed."""
    before = {"tanh": record.Row(8.0, 10.0, 1.0), "sum": record.Row(5.0, 0.0, 1.2)}
    record.write(tmp_path / "made" / "record.json", before)
    assert record.read(tmp_path / "made" / "record.json") == before
    now = {"tanh": record.Row(10.5, 10.0, 1.0), "sum": record.Row(9.0, 10.0, 1.2)}
    assert record.summary(now, before) == [
        "1 of 2 aims are met; above: tanh 1.05",
        "lost: tanh takes 1.05 times the peer's time, 0.80 in the record",
    ]
    assert record.read(tmp_path / "absent.json") == {}
