"""Facts about the exported files that the documentation shows: they are what opkit writes today."""

from pathlib import Path

import pytest

from opkit.export import export

ROOT = Path(__file__).parents[2]


def code_of(text: str) -> str:
    """Return a file without its docstring, which holds what was proved with which release."""
    return text.split('"""', 2)[2]


@pytest.mark.parametrize(("name", "to"), [("swish", "torch"), ("user_sigmoid", "torch"), ("row_norm", "jax")])
def test_documented_file_is_what_is_written(name: str, to: str) -> None:
    """The code of the file in the documentation is that of a new export."""
    made = export(ROOT / "sample_ops" / name, to=to, form="native", check=False)
    assert code_of((ROOT / "docs" / "exported" / f"{name}_{to}.py").read_text()) == code_of(made.text)
