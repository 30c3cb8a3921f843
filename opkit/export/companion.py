"""The test file beside an exported one: a few cases with the values that numpy's kernels gave.

It needs the framework, numpy and pytest, and the exported file beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opkit.export.model import Example, ExportOp
from opkit.export.signature import literal, names_of
from opkit.listed import present

_MOST_CASES = 4
_MOST_ELEMENTS = 64
_CALLS = {
    "torch": (
        "import numpy as np\nimport pytest\nimport torch\n",
        "torch.from_numpy(item)",
        "item.detach().numpy()",
        "",
    ),
    "jax": (
        "import jax\nimport numpy as np\nimport pytest\n",
        "jax.numpy.asarray(item)",
        "np.asarray(item)",
        '\njax.config.update("jax_enable_x64", True)\n',
    ),
}


def write_test(ops: Sequence[ExportOp], to: str, name: str) -> str:
    """Return the text of ``test_NAME_torch.py`` or ``test_NAME_jax.py``."""
    head, given, taken, setup = _CALLS[to]
    cases = ""
    for op in ops:
        small = [item for item in op.examples if _size(item) <= _MOST_ELEMENTS][:_MOST_CASES] or list(op.examples[:1])
        cases += "".join(_case(op, item) for item in small)
    names = ", ".join(sorted(op.name for op in ops))
    return (
        f'"""Values of the exported ops ({names}), as their numpy kernels gave them."""\n\n{head}'
        f"from {name}_{to} import {names}\n{setup}\n\n"
        f"def made(item):\n"
        f'    """Return an input as the framework has it: an array, a list of arrays, or None."""\n'
        f"    if item is None or isinstance(item, list):\n"
        f"        return None if item is None else [made(one) for one in item]\n"
        f"    return {given}\n\n\n"
        f"#: (function, inputs, attributes, outputs).\nCASES = [\n{cases}]\n\n\n"
        '@pytest.mark.parametrize(("function", "inputs", "attrs", "outputs"), CASES)\n'
        f"def test_values(function, inputs, attrs, outputs):\n"
        f'    """Outputs are those of the numpy kernel."""\n'
        f"    found = function(*[made(item) for item in inputs], **attrs)\n"
        "    for item, expected in zip(found if isinstance(found, tuple) else (found,), outputs):\n"
        f"        np.testing.assert_allclose({taken}, expected, rtol=1e-4, atol=1e-5)\n"
    )


def _size(example: Example) -> int:
    given = (item for value in example.inputs.values() for item in present(value))
    return sum(item.size for item in (*example.outputs, *given))


def _case(op: ExportOp, example: Example) -> str:
    safe = names_of(op.forward)
    inputs = ", ".join(_array(item) for item in example.inputs.values())
    attrs = ", ".join(
        f'"{safe[name]}": {literal(value)}' for name, value in example.attrs.items() if name != "device_sub_tag"
    )
    outputs = ", ".join(_array(item) for item in example.outputs)
    return f"    (\n        {op.name},\n        [{inputs}],\n        {{{attrs}}},\n        [{outputs}],\n    ),\n"


def _array(value: Any) -> str:
    if value is None or isinstance(value, list):
        return "None" if value is None else f"[{', '.join(_array(item) for item in value)}]"
    text = repr(np.asarray(value).tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
    if value.size == 0:
        return f'np.zeros({value.shape!r}, "{value.dtype.name}")'
    return f'np.array({text}, "{value.dtype.name}")'
