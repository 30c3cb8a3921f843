"""Drawings as one self-contained HTML page: pictures, and every op as a row of a table.

No script, font or picture comes from elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import opkit
from opkit.cli.drawing import Drawing
from opkit.cli.folding import MOST_BOXES, folded
from opkit.cli.svg import svg

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="opkit {version}">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --ink: #1c1e21; --soft: #5d646d; --paper: #ffffff; --rule: #dfe2e6;
  --custom: #0b68cb; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #eceef0; --soft: #a0a8b0; --paper: #15171a; --rule: #33383e;
  --custom: #6fb3ff; }} }}
* {{ box-sizing: border-box; }}
body {{ margin: 0 auto; max-width: 100rem; padding: 1.5rem 1rem 4rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }}
h1 {{ font-size: 1.5rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }}
h2 {{ font-size: 1.1rem; margin: 2rem 0 .5rem; overflow-wrap: anywhere; }}
.soft {{ color: var(--soft); margin: .25rem 0; }}
.scroll {{ overflow-x: auto; border: 1px solid var(--rule); border-radius: 8px; margin: .5rem 0; }}
.scroll svg {{ display: block; margin: 0 auto; max-width: 100%; height: auto; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ text-align: left; vertical-align: top; padding: .3rem .75rem; border-bottom: 1px solid var(--rule); }}
th {{ color: var(--soft); font-size: .85rem; }}
td {{ font: 12.5px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }}
td.custom {{ color: var(--custom); font-weight: 600; }}
details {{ margin: .6rem 0; }} summary {{ cursor: pointer; color: var(--soft); }}
dl {{ display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: .4rem 0; color: var(--soft); font-size: .9rem; }}
dl div {{ display: flex; gap: .4rem; align-items: center; }} dd {{ margin: 0; }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p class="soft">opkit {version}: <code>{command}</code></p>
{parts}
</main>
</body>
</html>
"""
#: A wider picture is not made narrower than this in CSS pixels, nor than this part of its width: it can still be read.
_NARROWEST, _SMALLEST = 640, 0.7
_LEGEND = """<dl><div><dt>blue</dt><dd>custom op</dd></div><div><dt>green</dt><dd>given</dd></div>
<div><dt>yellow</dt><dd>held from run to run</dd></div><div><dt>violet</dt><dd>result</dd></div>
<div><dt>dashed</dt><dd>gradient</dd></div></dl>"""


def graph_page(drawings: Sequence[Drawing], command: str) -> str:
    """Return the page.

    Args:
        drawings: one section each.
        command: how the page was made.
    """
    parts = [_LEGEND, *(_section(drawing, 2 * number) for number, drawing in enumerate(drawings))]
    title = drawings[0].title if len(drawings) == 1 else f"{len(drawings)} graphs"
    return _PAGE.format(version=opkit.__version__, title=escape(title), command=escape(command), parts="\n".join(parts))


def _picture(drawing: Drawing, number: int) -> str:
    """Return a drawing that shrinks with the page as long as it can be read, and is scrolled below that."""
    text = svg(drawing, number=number)
    width = int(text.partition('width="')[2].partition('"')[0])
    box = _scrolled(f"picture {number} of {drawing.title}")
    return f'{box}<div style="min-width: {min(width, max(_NARROWEST, round(_SMALLEST * width)))}px">{text}</div></div>'


def _scrolled(label: str) -> str:
    """Return the start of what is scrolled where the page is too narrow for it, by keys too."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">'


def _section(drawing: Drawing, number: int) -> str:
    ops = list(drawing.ops.values())
    parts = [f"<section><h2>{escape(drawing.title)}</h2>"]
    whole = _picture(drawing, number)
    if len(ops) > MOST_BOXES:
        small = folded(drawing)
        parts.append(f'<p class="soft">{len(ops)} ops, folded by name scope and line to {len(small.ops)}</p>')
        parts.append(_picture(small, number + 1))
        whole = f"<details><summary>all {len(ops)} ops as a picture</summary>{whole}</details>"
    parts.append(whole)
    rows = "\n".join(
        f"<tr><td>{index}</td><td>{box.band}</td><td{' class=custom' if box.is_custom else ''}>{escape(box.text)}</td>"
        f"<td>{'<br>'.join(map(escape, box.lines))}</td><td>{escape(box.place)}</td></tr>"
        for index, box in enumerate(ops)
    )
    parts.append(
        f"<details><summary>the ops as a table</summary>{_scrolled(f'ops of {drawing.title}')}<table>"
        "<thead><tr><th>#</th><th>band</th><th>op</th><th>results and attributes</th><th>line</th></tr></thead>"
        f"<tbody>\n{rows}\n</tbody></table></div></details></section>"
    )
    return "\n".join(parts)
