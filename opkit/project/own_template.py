"""Templates of a team's own: a folder of them as the files of an op, and what such templates may read.

What opkit's own templates hold is their kind's business.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from pathlib import Path

import jinja2

from opkit.errors import UsageError, unknown
from opkit.project.framework_op import framework_context
from opkit.project.kind import kind_of
from opkit.project.rendering import environment_of
from opkit.project.scaffolding import check_name, context_of, parsed_attrs, write_new


def scaffold_template(
    name: str,
    folder: Path,
    template: Path,
    attrs: Sequence[str] = (),
    *,
    kind: str = "elementwise",
    grad: bool = True,
    force: bool = False,
) -> list[Path]:
    """Write a new op from a folder of the user's own templates.

    Args:
        name: the op's name, an identifier; it stands for ``NAME`` in the paths of the templates.
        folder: where to put it; created if it does not exist.
        template: see ``render_template``.
        attrs: attributes as ``NAME:TYPE=DEFAULT``.
        kind: whose inputs, formula and gradients the templates read.
        grad: what the templates read as ``grad``.
        force: replace files that exist.

    Returns:
        the files written, in order.

    Raises:
        UsageError: the folder holds no files, a template has a mistake, or something would be overwritten.
    """
    texts = render_template(name, template, attrs, kind=kind, grad=grad)
    is_directory = all(place.startswith(f"{name}/") for place in texts)
    check_name(name, has_spec=is_directory)
    return write_new(name, folder, texts, is_directory=is_directory, force=force)


def render_template(
    name: str, template: Path, attrs: Sequence[str] = (), *, kind: str = "elementwise", grad: bool = True
) -> dict[str, str]:
    """Return the files of an op from a folder of templates: {path relative to the target folder: text}.

    Args:
        name: the op's.
        template: holds the files, those ending in ``.jinja`` rendered with what opkit's own templates read, which they
            may extend (``{% extends "op/py_kernel.py.jinja" %}``), the others copied. Names that begin with a dot are
            left out.
        attrs: attributes as ``NAME:TYPE=DEFAULT``.
        kind: whose inputs, formula and gradients the templates read.
        grad: what the templates read as ``grad``.

    Raises:
        UsageError: the folder holds no files, a template has a mistake (its file and line are said), or two make one
            file.
    """
    chosen = kind_of(kind)
    parsed = parsed_attrs(attrs, chosen)
    context = framework_context(name, chosen, parsed) if chosen.library else context_of(name, chosen, parsed, grad=grad)
    environment = environment_of(template)
    texts: dict[str, str] = {}
    for path in sorted(path for path in template.rglob("*") if path.is_file() and not path.name.startswith(".")):
        place = path.relative_to(template).as_posix()
        made = place.removesuffix(".jinja").replace("NAME", name)
        if made in texts:
            raise UsageError(f"the template {path} makes {made}, as another one does", help="rename one of them")
        try:
            text = path.read_text("utf-8")
            texts[made] = environment.get_template(place).render(context) if place.endswith(".jinja") else text
        except UnicodeDecodeError as error:
            raise UsageError(f"the template {path} is not UTF-8 text") from error
        except jinja2.TemplateNotFound as error:
            known = environment.list_templates()
            raise unknown(f"the template {path}: there is no template", error.name, known).error(UsageError) from error
        except Exception as error:  # an expression may raise anything
            help = f"templates may read {', '.join(sorted(context))}"
            raise UsageError(f"the template {_line(error, path, template)}: {error}", help=help) from error
    if not texts:
        raise UsageError(f"--template {str(template)!r}: there are no files", help="name a folder of templates")
    return texts


def _line(error: Exception, path: Path, template: Path) -> str:
    """Return the file and line of a mistake: the last line of the team's templates that it passed through."""
    if isinstance(error, jinja2.TemplateSyntaxError):
        return f"{error.filename or path}:{error.lineno}"
    frames = [item for item in traceback.extract_tb(error.__traceback__) if template in Path(item.filename).parents]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else str(path)
