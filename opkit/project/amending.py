"""Amending: what a definition file lacks and the names of the kernel and API files tell, as a text to write.

Lines are added, and the op type of a gradient that is misspelt is mended: the body of a function that a person wrote
stays as it is. Nothing is written here.

CppText: the repetitive parts of a definition file, as a person would write them.

Which of them a file lacks is decided in ``amending``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from opkit.diagnostics import Diagnostic, SourceText
from opkit.errors import nearest
from opkit.project.attribute import ScaffoldAttr
from opkit.project.directory import OpDirectory
from opkit.project.op_names import OpNames, names_of
from opkit.record import mutable, record
from opkit.spec import CompiledOp, CompileResult, Registration, compile_spec, outline

_INDENT = "    "


def attr_line(attr: ScaffoldAttr) -> str:
    """Return the setter that declares an attribute."""
    return f'{_INDENT}.Attr<{attr.cpp_type}>("{attr.name}", {attr.cpp_default})'


def tag_line() -> str:
    """Return the setter that asks for the Python kernel."""
    return f'{_INDENT}.Attr<std::string>("device_sub_tag", "py")'


def tensor_desc_setter(shapes: Mapping[str, str]) -> str:
    """Return the setter of the shapes: {output: the input whose shape it has}."""
    return _setter("SetTensorDescInferFn", "Shape", shapes)


def data_type_setter(dtypes: Mapping[str, str]) -> str:
    """Return the setter of the dtypes: {output: the input whose dtype it has}."""
    return _setter("SetDataTypeInferFn", "Dtype", dtypes)


def _setter(name: str, what: str, sources: Mapping[str, str]) -> str:
    lines = [
        f'{_INDENT}  *ctx->{what}4ArgNameAndIndex("{output}", 0) = *ctx->{what}4ArgNameAndIndex("{source}", 0);'
        for output, source in sources.items()
    ]
    return "\n".join(
        (
            f"{_INDENT}.{name}([](user_op::InferContext* ctx) -> Maybe<void> {{",
            *lines,
            f"{_INDENT}  return Maybe<void>::Ok();",
            f"{_INDENT}}})",
        )
    )


def registration(op_type: str, inputs: Sequence[str], sources: Mapping[str, str], attrs: Sequence[ScaffoldAttr]) -> str:
    """Return the registration of an op; ``sources`` names its outputs with the input whose shape and dtype each has."""
    lines = [f'REGISTER_USER_OP("{op_type}")']
    lines += [f'{_INDENT}.Input("{name}")' for name in inputs]
    lines += [f'{_INDENT}.Output("{name}")' for name in sources]
    lines += [attr_line(attr) for attr in attrs]
    lines += [tag_line(), tensor_desc_setter(sources), data_type_setter(sources) + ";"]
    return "\n".join(lines) + "\n"


def gradient(
    forward: str, backward: str, binds: Mapping[str, str], grads: Mapping[str, str], attrs: Sequence[ScaffoldAttr]
) -> str:
    """Return a gradient registration.

    Args:
        forward: the forward op type.
        backward: the op type that computes the gradient.
        binds: {input of backward: the call on ``ctx->FwOp()`` that gives it}.
        grads: {output of backward: the forward input whose gradient it is}.
        attrs: what both ops declare.
    """
    lines = [
        f'REGISTER_USER_OP_GRAD("{forward}")',
        f"{_INDENT}.SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {{",
        '      const auto grad_op_name = ctx->FwOp().op_name() + "_grad";',
        "      ctx->DefineOp(grad_op_name, [&ctx](user_op::BackwardOpBuilder& builder) {",
        f'        return builder.OpTypeName("{backward}")',
        *(f'            .InputBind("{name}", ctx->FwOp().{source})' for name, source in binds.items()),
        *(f'            .Output("{name}")' for name in grads),
        *(
            f'            .Attr<{attr.cpp_type}>("{attr.name}", ctx->FwOp().attr<{attr.cpp_type}>("{attr.name}"))'
            for attr in attrs
        ),
        "            .Build();",
        "      });",
    ]
    for name, source in grads.items():
        lines += [
            f'      ctx->FwOp().InputGradBind(user_op::OpArg("{source}", 0),',
            "                                [&ctx, &grad_op_name]() -> const std::string& {",
            f'                                  return ctx->GetOp(grad_op_name).output("{name}", 0);',
            "                                });",
        ]
    return "\n".join((*lines, "    });")) + "\n"


def definition(registrations: Sequence[str]) -> str:
    """Return a whole definition file."""
    head = '#include "oneflow/core/framework/framework.h"\n\nnamespace oneflow {\n\nnamespace {\n'
    return "\n".join((head, *registrations, "}  // namespace\n", "}  // namespace oneflow\n"))


_TAG = "device_sub_tag"
#: What some editors put in front of a text.
_MARK = "\ufeff"
_DECLARES = ("Input", "OptionalInput", "InputWithMinimum", "Output", "OptionalOutput", "OutputWithMinimum", "Attr")


@record
class Amendment:
    """What would be written into a definition file.

    Args:
        directory: the op directory.
        before: the file's text, "" where there is none.
        after: the text to write.
        additions: what is added, a line each.
    """

    directory: OpDirectory
    before: str
    after: str
    additions: tuple[str, ...]

    def diff(self) -> str:
        """Return the difference as a unified diff."""
        path = str(self.directory.spec)
        before, after = (text.splitlines(keepends=True) for text in (self.before, self.after))
        lines = difflib.unified_diff(before, after, path if self.before else "/dev/null", path)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


@mutable
class _Draft:
    """The text so far: insertions by offset, and what each adds."""

    source: SourceText
    insertions: list[tuple[int, str]] = field(default_factory=list)
    additions: list[str] = field(default_factory=list)
    appended: list[str] = field(default_factory=list)

    def append(self, text: str, what: str) -> None:
        self.appended.append(text)
        self.additions.append(what)


def amendment_of(directory: OpDirectory) -> Amendment | None:
    """Return what an op directory's definition lacks; None where that is nothing, or is not known.

    Nothing is known of a file that does not parse.

    Args:
        directory: the directory.
    """
    text = _text(directory)
    if text is None:
        return None
    source = SourceText(text.removeprefix(_MARK), str(directory.spec))
    written = outline(source)
    names = names_of(directory)
    if written is None or not names:
        return None
    draft = _Draft(source)
    result = compile_spec(source, include_dirs=(directory.path,))
    misspelt = [item for item in result.diagnostics if item.code == "SPEC048" and item.is_error]
    if misspelt:
        draft.source = source = _renamed(source, misspelt, draft)
        written, result = outline(source) or (), compile_spec(source, include_dirs=(directory.path,))
    forms = {item.name: item for item in written if not item.is_gradient}
    for name, item in forms.items():
        if name in result.ops and (name == directory.name or name.startswith(f"{directory.name}_")):
            _complete(draft, item, result.ops[name], names.get(name))
    # Where registrations come from macros or other files, what seems to be missing may be made there.
    if set(forms) == set(result.ops) and not directory.cpp_kernels:
        _add_missing(draft, directory, names, result)
    return _finished(directory, text, draft, written)


def _renamed(source: SourceText, misspelt: Sequence[Diagnostic], draft: _Draft) -> SourceText:
    """Return the text with the gradients of misspelt op types under the names of the ops that lack one."""
    text = source.text
    for item in reversed(misspelt):
        if item.span is not None and item.span.source is source:
            text = f'{text[: item.span.start]}"{item.subject}"{text[item.span.end :]}'
            draft.additions.append(f"the name of the gradient of {item.subject!r}")
    return SourceText(text, source.path)


def _text(directory: OpDirectory) -> str | None:
    """Return the definition's text with its own line ends: "" where there is none, None where it is to stay."""
    if any(path.name != directory.spec.name for path in directory.specs):
        return None  # a file of another name may be meant
    if not directory.spec.exists():
        return ""
    try:
        return directory.spec.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _finished(directory: OpDirectory, text: str, draft: _Draft, written: Sequence[Registration]) -> Amendment | None:
    if not draft.additions:
        return None
    after = draft.source.text
    # From the end, and at one place the last first, so that offsets hold and the order is that of the insertions.
    last_first = list(reversed(draft.insertions))
    for offset, added in sorted(last_first, key=lambda item: -item[0]):
        after = after[:offset] + added + after[offset:]
    if draft.appended and not text.strip():
        after = definition(draft.appended)
    elif draft.appended:
        last = max((item.end for item in written), default=len(draft.source.text))
        end = draft.source.text.find("\n", last) + 1 or len(draft.source.text)
        end += sum(len(added) for _, added in draft.insertions)
        after = after[:end] + "\n" + "\n".join(draft.appended) + after[end:]
    if "\r\n" in text:
        after = after.replace("\r\n", "\n").replace("\n", "\r\n")
    mark = _MARK if text.startswith(_MARK) else ""
    return Amendment(directory, text, mark + after, tuple(draft.additions))


def _complete(draft: _Draft, item: Registration, op: CompiledOp, named: OpNames | None) -> None:
    """Add the setters that a registration lacks."""

    def add(offset: int, line: str, what: str) -> None:
        draft.insertions.append((offset, f"\n{line}"))
        draft.additions.append(f"{item.name}: {what}")

    setters = {setter.name for setter in item.setters}
    place = max((setter.end for setter in item.setters if setter.name in _DECLARES), default=item.head)
    if named is not None:
        unused = set(op.attrs).difference(named.attrs, named.untyped, (_TAG,))
        for attr in named.attrs.values():
            if attr.name not in op.attrs and not nearest(attr.name, [name for name in op.attrs if name in unused]):
                add(place, attr_line(attr), f"attribute {attr.name!r}")
        if _TAG not in op.attrs:
            add(place, tag_line(), f"attribute {_TAG!r}")
    if "tensor_desc" not in op.units and "SetTensorDescInferFn" not in setters and op.inputs and op.outputs:
        sources = _sources([arg.name for arg in op.inputs], [arg.name for arg in op.outputs])
        add(item.end, tensor_desc_setter(sources), f"shapes, {_said(sources)}")
        if not {"SetDataTypeInferFn", "SetInferDataTypeFn"} & setters:
            add(item.end, data_type_setter(sources), f"dtypes, {_said(sources)}")


def _sources(inputs: Sequence[str], outputs: Sequence[str]) -> dict[str, str]:
    """Return the input whose shape each output has: that of which it is the gradient by its name, else the first."""
    return {output: next((name for name in inputs if output in _gradient_names(name)), inputs[0]) for output in outputs}


def _said(sources: Mapping[str, str]) -> str:
    """Say what is assumed of the outputs: a kernel that reduces or transposes needs another text there."""
    return ", ".join(f"{output} as {source}" for output, source in sources.items())


def _gradient_names(name: str) -> tuple[str, ...]:
    return (f"d{name}", f"d_{name}", f"grad_{name}", f"{name}_grad", f"{name}_diff")


def _add_missing(draft: _Draft, directory: OpDirectory, names: Mapping[str, OpNames], result: CompileResult) -> None:
    """Add the registrations that a file lacks: forward ops, their backward op, and the gradient."""
    ops = {name: _Shape.of(op) for name, op in result.ops.items()}

    def add(name: str, shape: _Shape) -> None:
        ops[name] = shape
        sources = _sources(shape.inputs, shape.outputs)
        text = registration(name, shape.inputs, sources, shape.attrs)
        draft.append(text, f"op {name!r}, {_said(sources)}")

    for name, named in names.items():
        if name not in ops and not name.endswith("_backward") and named.inputs:
            add(name, _Shape(named.inputs, named.outputs or ("y",), tuple(named.attrs.values())))
    forward = directory.name if directory.name in ops else f"{directory.name}_forward"
    backward = f"{directory.name}_backward"
    if forward not in ops or forward in result.grads or (forward in result.ops and result.ops[forward].has_no_grad):
        return
    if backward not in ops and backward in names:
        made = _backward_shape(names[backward], ops[forward])
        if made is None:
            return
        add(backward, made)
    if backward in ops:
        _add_gradient(draft, forward, backward, ops)


@record
class _Shape:
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: tuple[ScaffoldAttr, ...]

    @staticmethod
    def of(op: CompiledOp) -> _Shape:
        attrs = (item for item in op.attrs.values() if item.name != _TAG)
        return _Shape(
            tuple(arg.name for arg in op.inputs),
            tuple(arg.name for arg in op.outputs),
            tuple(ScaffoldAttr(item.name, item.type, _CPP_TYPES.get(item.type, ""), item.default) for item in attrs),
        )


#: The C++ of the attribute types that plain values have; others are not passed on by what is written here.
_CPP_TYPES = {
    "float": "float",
    "double": "double",
    "bool": "bool",
    "string": "std::string",
    "int32": "int32_t",
    "int64": "int64_t",
    "list_int32": "std::vector<int32_t>",
    "list_int64": "std::vector<int64_t>",
    "list_float": "std::vector<float>",
    "list_string": "std::vector<std::string>",
}


def _backward_shape(named: OpNames, forward: _Shape) -> _Shape | None:
    """Return the parts of a backward op: its inputs as its kernel unpacks them, one gradient per returned value."""
    if not named.inputs or not 0 < named.returned <= len(forward.inputs):
        return None
    outputs = tuple(f"d{name}" for name in forward.inputs[: named.returned])
    known = {attr.name: attr for attr in forward.attrs}
    attrs = tuple(known.get(name, attr) for name, attr in named.attrs.items())
    return None if set(outputs) & set(named.inputs) else _Shape(named.inputs, outputs, attrs)


def _add_gradient(draft: _Draft, forward: str, backward: str, ops: Mapping[str, _Shape]) -> None:
    first, second = ops[forward], ops[backward]
    binds = {name: source for name in second.inputs for source in _bound(name, first)}
    grads = {output: name for output in second.outputs for name in first.inputs if output in _gradient_names(name)}
    if len(binds) < len(second.inputs) or len(grads) < len(second.outputs):
        return  # a name that says nothing: a person must write this one
    common = {attr.name for attr in first.attrs} & {attr.name for attr in second.attrs}
    attrs = [attr for attr in second.attrs if attr.name in common]
    if all(attr.cpp_type for attr in attrs):
        draft.append(gradient(forward, backward, binds, grads, attrs), f"the gradient of {forward!r}")


def _bound(name: str, forward: _Shape) -> Iterator[str]:
    """Yield the call that gives an input of a backward op, by its name; nothing where the name does not say it."""
    if name in forward.inputs:
        yield f'input("{name}", 0)'
    elif name in forward.outputs:
        yield f'output("{name}", 0)'
    else:
        found = [output for output in forward.outputs if name in _gradient_names(output)]
        if not found and len(forward.outputs) == 1 and name in ("dy", "dout", "grad", "grad_output", "g"):
            found = list(forward.outputs)
        yield from (f'output_grad("{output}", 0)' for output in found[:1])
