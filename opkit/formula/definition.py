"""From the shapes of a formula to the C++ of its definition: what it checks, infers and may be split along."""

from __future__ import annotations

from collections.abc import Iterable

from opkit.formula.graph import Axes, Count, Expand, Formula, LogSumExp, MatMul, Reduce, Softmax, Swap
from opkit.formula.shapes import Less, Product, Root, Scalar, Shapes, Swapped, Term, describe

_INDENT = "      "
_WORDS = {"mean": "mean", "var": "variance", "max": "largest", "min": "smallest"}
CPP_WORDS = frozenset(
    """
    and asm auto axis bool break case catch char class const continue ctx default delete do double else enum
    explicit export extern false float for friend goto i if inline int long mutable namespace new not
    operator or private protected public register return short signed sizeof static struct switch template
    this throw true try typedef typeid typename union unsigned using virtual void volatile while xor
    """.split()  # noqa: SIM905 - words are easier to read than a list of strings
)


class Inference:
    """The lines of a shape inference function.

    Args:
        shapes: the shapes of the formula.
        known: {argument: its term} of the arguments whose shapes are given.
    """

    def __init__(self, shapes: Shapes, known: dict[str, Term]) -> None:
        self.shapes = shapes
        self.known = known
        self.lines: list[str] = []
        self.variables: dict[Term, str] = {}
        self.taken: set[str] = set(known)
        self.axis: set[str] = set()

    def variable(self, term: Term) -> str:
        """Return the C++ variable that holds the shape, written down where it is not yet."""
        if term in self.variables:
            return self.variables[term]
        for name, own in self.known.items():
            if own == term:
                return self._let(
                    term, name, f'const Shape& {{}} = *ctx->Shape4ArgNameAndIndex("{name}", 0);', exact=True
                )
        match term:
            case Less(of, axes, True):
                return self._kept(term, self.variable(of), axes)
            case Less(of, axes, False):
                return self._dropped(term, self.variable(of), axes)
            case Swapped(of):
                x = self.variable(of)
                name = self._let(term, "swapped", f"Shape {{}} = {x};")
                self.put(f"{name}.Set({x}.NumAxes() - 1, {x}.At({x}.NumAxes() - 2));")
                self.put(f"{name}.Set({x}.NumAxes() - 2, {x}.At({x}.NumAxes() - 1));")
                return name
            case Product(left, right):
                a, b = self.variable(left), self.variable(right)
                name = self._let(term, "product", f"Shape {{}} = {a};")
                self.put(f"{name}.Set({a}.NumAxes() - 1, {b}.At({b}.NumAxes() - 1));")
                return name
            case Scalar():
                return self._let(term, "scalar", "const Shape {}({{1}});")
        raise AssertionError(f"no argument gives {describe(term)}")

    def _let(self, term: Term, hint: str, line: str, exact: bool = False) -> str:
        name, number = f"{hint}_" if hint in CPP_WORDS else hint, 2
        while name in self.taken and not exact:
            name, number = f"{hint}{number}", number + 1
        self.taken.add(name)
        self.variables[term] = name
        self.put(line.format(name))
        return name

    def put(self, line: str) -> None:
        """Add a line."""
        self.lines.append(_INDENT + line)

    def axes_of(self, x: str, axes: Axes) -> list[str]:
        """Return the C++ of each axis, counted from the front."""
        if isinstance(axes, str):
            if axes not in self.axis:
                self.axis.add(axes)
                self.put(f'int64_t {axes}_index = ctx->Attr<int32_t>("{axes}");')
                self.put(f"if ({axes}_index < 0) {{ {axes}_index += {x}.NumAxes(); }}")
                self.put(f"CHECK_OR_RETURN({axes}_index >= 0 && {axes}_index < {x}.NumAxes())")
                self.put(f'    << "{axes} must name one of the axes";')
            return [f"{axes}_index"]
        return [str(axis) if axis >= 0 else f"{x}.NumAxes() - {-axis}" for axis in axes or ()]

    def _kept(self, term: Term, x: str, axes: Axes) -> str:
        wanted = self.axes_of(x, axes)
        name = self._let(term, "reduced", f"Shape {{}} = {x};")
        if axes is None:
            self.put(f"FOR_RANGE(int64_t, i, 0, {x}.NumAxes()) {{ {name}.Set(i, 1); }}")
        for axis in wanted:
            self.put(f"{name}.Set({axis}, 1);")
        return name

    def _dropped(self, term: Term, x: str, axes: Axes) -> str:
        wanted = self.axes_of(x, axes)
        number = len([name for name in self.taken if name.startswith("rest")])
        dims = f"rest{number + 1 if number else ''}"
        self.taken.add(dims)
        self.put(f"DimVector {dims};")
        self.put(f"FOR_RANGE(int64_t, i, 0, {x}.NumAxes()) {{")
        self.put(f"  if ({' && '.join(f'i != {axis}' for axis in wanted)}) {{ {dims}.push_back({x}.At(i)); }}")
        self.put("}")
        return self._let(term, "reduced", f"const Shape {{}}({dims});")


def infer_forward(formula: Formula, shapes: Shapes) -> list[str]:
    """Return the lines of the forward op's shape inference."""
    terms = {name: shapes.resolve(Root(name)) for name in formula.inputs}
    inference = Inference(shapes, {name: term for name, term in terms.items() if term == Root(name)})
    ranks = _ranks(formula, shapes)
    for name, rank in sorted(ranks.items(), key=lambda item: formula.inputs.index(item[0])):
        x = inference.variable(Root(name))
        inference.put(
            f'CHECK_GE_OR_RETURN({x}.NumAxes(), {rank}) << "{name} must have at least {_number(rank, "axis", "axes")}";'
        )
    for operation in formula.steps.values():
        if isinstance(operation, MatMul):
            _matrices(inference, shapes.of(operation.left), shapes.of(operation.right))
        elif isinstance(operation, Reduce | Softmax | LogSumExp):
            _not_empty(inference, operation, shapes)
    for name, term in terms.items():
        if term != Root(name):
            inference.put(f'CHECK_EQ_OR_RETURN(*ctx->Shape4ArgNameAndIndex("{name}", 0), {inference.variable(term)})')
            inference.put(f'    << "{name} must have {describe(term)}";')
    for name, term in shapes.outputs.items():
        inference.put(f'*ctx->Shape4ArgNameAndIndex("{name}", 0) = {inference.variable(term)};')
    return inference.lines


def infer_backward(formula: Formula, backward: Formula, shapes: Shapes, sources: dict[str, str]) -> list[str]:
    """Return the lines of the backward op's shape inference; ``sources`` names the argument that gives each shape."""
    terms = {name: _term(name, shapes) for name in backward.inputs}
    first: dict[Term, str] = {}
    inference = Inference(shapes, {})
    for name, term in terms.items():
        if term in first:
            x = inference.variable(term)
            inference.put(f'CHECK_EQ_OR_RETURN(*ctx->Shape4ArgNameAndIndex("{name}", 0), {x});')
        else:
            first[term] = name
            inference.known[name] = term
            inference.taken.add(name)
    for output, source in sources.items():
        inference.put(f'*ctx->Shape4ArgNameAndIndex("{output}", 0) = {inference.variable(terms[source])};')
    return inference.lines


def _term(name: str, shapes: Shapes) -> Term:
    return shapes.resolve(shapes.given(name))


def _number(count: int, one: str, many: str) -> str:
    return f"{('no', 'one', 'two', 'three', 'four')[count] if count < 5 else count} {one if count == 1 else many}"


def _ranks(formula: Formula, shapes: Shapes) -> dict[str, int]:
    """{input whose shape is free: the least number of axes}."""
    ranks: dict[str, int] = {}

    def need(term: Term, rank: int) -> None:
        match term:
            case Root(name):
                ranks[name] = max(ranks.get(name, 0), rank)
            case Less(of, axes, keepdims):
                need(of, max(rank + (0 if keepdims else _count(axes)), _reach(axes)))
            case Swapped(of):
                need(of, max(rank, 2))
            case Product(left, right):
                need(left, max(rank, 2))
                need(right, max(rank, 2))

    for operation in formula.steps.values():
        match operation:
            case Reduce() | LogSumExp() if not (operation.axes is None and not operation.keepdims):
                need(
                    Less(shapes.of(operation.operand), operation.axes, operation.keepdims),
                    0 if operation.keepdims else 1,
                )
            case Softmax():
                need(shapes.of(operation.operand), _reach(operation.axes))
            case MatMul():
                need(Product(shapes.of(operation.left), shapes.of(operation.right)), 2)
            case Swap():
                need(shapes.of(operation.operand), 2)
    if Scalar() in shapes.outputs.values():  # of shape (1,), and so is its gradient: an input has as many axes at least
        for name in formula.inputs:
            need(shapes.resolve(Root(name)), 1)
    return {name: rank for name, rank in ranks.items() if rank}


def _count(axes: Axes) -> int:
    return len(axes) if isinstance(axes, tuple) else 1


def _reach(axes: Axes) -> int:
    if isinstance(axes, tuple):
        return max(-axis if axis < 0 else axis + 1 for axis in axes)
    return 1 if axes is not None else 0


def _matrices(inference: Inference, left: Term, right: Term) -> None:
    a, b = inference.variable(left), inference.variable(right)
    inference.put(
        f'CHECK_EQ_OR_RETURN({b}.NumAxes(), {a}.NumAxes()) << "a product takes matrices in stacks of one shape";'
    )
    inference.put(f"CHECK_EQ_OR_RETURN({b}.At({b}.NumAxes() - 2), {a}.At({a}.NumAxes() - 1))")
    inference.put('    << "a product takes as many rows on the right as there are columns on the left";')
    inference.put(f"FOR_RANGE(int64_t, i, 0, {a}.NumAxes() - 2) {{ CHECK_EQ_OR_RETURN({b}.At(i), {a}.At(i)); }}")


def _not_empty(inference: Inference, operation: Reduce | Softmax | LogSumExp, shapes: Shapes) -> None:
    if isinstance(operation, Reduce) and operation.kind == "sum":
        return
    x = inference.variable(shapes.of(operation.operand))
    what = f"{_WORDS[operation.kind]} of no elements" if isinstance(operation, Reduce) else "sum of no exponentials"
    parts = [f"{x}.At({axis})" for axis in inference.axes_of(x, operation.axes)] or [f"{x}.elem_cnt()"]
    for part in parts:
        check = f"CHECK_GT_OR_RETURN({part}, 0)"
        if not any(check in line for line in inference.lines):
            inference.put(f'{check} << "the {what} does not exist";')


def sbp(formula: Formula, shapes: Shapes, arguments: Iterable[str], first: str) -> list[str]:
    """Return the lines of a signature function: which leading axes every argument may be split along."""
    arguments = list(arguments)
    trailing = _trailing(formula, shapes)
    lines: list[str] = []
    if trailing is None:
        lines.append(_INDENT + "// Every device needs the whole of each array.")
        lines += _builder([f'.Broadcast(user_op::OpArg("{name}", 0))' for name in arguments], _INDENT)
        return lines
    whole = "Every axis may be split: each element is computed on its own."
    lines.append(
        _INDENT + f"// {whole if not trailing else 'The axes before those that the formula reduces may be split.'}"
    )
    lines.append(
        _INDENT + f'const int64_t axes = ctx->LogicalTensorDesc4InputArgNameAndIndex("{first}", 0).shape().NumAxes();'
    )
    lines.append(_INDENT + f"FOR_RANGE(int64_t, i, 0, axes{f' - {trailing}' if trailing else ''}) {{")
    lines += _builder([f'.Split(user_op::OpArg("{name}", 0), i)' for name in arguments], _INDENT + "  ")
    lines.append(_INDENT + "}")
    return lines


def _builder(parts: list[str], indent: str) -> list[str]:
    return [f"{indent}ctx->NewBuilder()", *(f"{indent}    {part}" for part in parts), f"{indent}    .Build();"]


def _trailing(formula: Formula, shapes: Shapes) -> int | None:
    """How many last axes the formula mixes; None where it is not a number of last ones."""
    trailing = 0
    for operation in formula.steps.values():
        match operation:
            case Count() | Expand():
                continue
            case MatMul() | Swap():
                trailing = max(trailing, 2)
            case Reduce() | Softmax() | LogSumExp():
                axes = operation.axes
                if not isinstance(axes, tuple) or any(axis >= 0 for axis in axes):
                    return None
                trailing = max(trailing, -min(axes))
    return trailing
