"""Arguments of numpy's functions by name, so that dialects need not mind how the kernel passed them.

Signatures are numpy's.
"""

from __future__ import annotations

from typing import Any

from opkit.export.trace.graph import Node, UntraceableError
from opkit.tables import pairs, rows

#: numpy's ufuncs that every framework writes as an operator.
INFIX = pairs(
    """
    add +  subtract -  multiply *  divide /  floor_divide //  remainder %  power **  equal ==  not_equal !=
    less <  less_equal <=  greater >  greater_equal >=  bitwise_and &  bitwise_or |  bitwise_xor ^
    left_shift <<  right_shift >>  matmul @
    """
)
#: {names of functions: their parameters}.
_SIGNATURES = {
    name: signature
    for names, signature in rows(
        """
        sum,prod,add.reduce,maximum.reduce,minimum.reduce a axis dtype out keepdims initial where
        multiply.reduce,logaddexp.reduce a axis dtype out keepdims initial where
        max,amax,min,amin a axis out keepdims initial where
        mean a axis dtype out keepdims where
        var,std a axis dtype out ddof keepdims where mean correction
        any,all a axis out keepdims where
        count_nonzero a axis keepdims
        argmax,argmin a axis out keepdims
        cumsum,cumprod,add.accumulate,multiply.accumulate,maximum.accumulate a axis dtype out
        minimum.accumulate,logaddexp.accumulate a axis dtype out
        sort,argsort a axis kind order stable
        searchsorted a v side sorter
        reshape a shape order
        ravel a order
        transpose a axes
        matrix_transpose,flipud,fliplr,positive,conjugate a
        linalg.inv,linalg.det,linalg.slogdet,linalg.cholesky a
        swapaxes a axis1 axis2
        moveaxis a source destination
        expand_dims,squeeze,flip a axis
        broadcast_to a shape subok
        concatenate,concat,stack arrays axis out dtype casting
        vstack,hstack arrays
        split,array_split,take_along_axis a indices axis
        roll a shift axis
        repeat a repeats axis
        tile a reps
        pad a width mode constant_values
        diff a n axis prepend append
        where condition x y
        clip a min max out
        zeros_like,ones_like,empty_like a dtype order subok shape
        full_like a fill dtype order subok shape
        zeros,ones,empty shape dtype order
        full shape fill dtype order
        eye n m k dtype
        identity n dtype
        arange start stop step dtype
        linspace start stop num
        put_along_axis a indices values axis
        take a indices axis out mode
        astype,array,asarray a dtype
        copy a order subok
        dot,outer a b out
        inner,vdot,linalg.solve a b
        tensordot a b axes
        diagonal a offset axis1 axis2
        diag,tril,triu a k
        round a decimals out
        sliding_window_view a window axis
        nan_to_num a copy nan posinf neginf
        """,
        2,
    )
    for name in names.split(",")
}
#: Other names of parameters.
_ALIASES = pairs(
    """
    arr a  x a  ary a  array a  m a  object a  newshape shape  fill_value fill  N n  window_shape window
    indices_or_sections indices  pad_width width  a_min min  a_max max
    """
)
#: Arguments that change nothing for what is traced.
_IDLE = {"out", "copy", "subok", "casting", "order", "kind", "stable"}


def arguments(node: Node) -> dict[str, Any]:
    """Return a node's arguments by numpy's parameter names, those left out or None excepted.

    Raises:
        UntraceableError: the function is not known.
    """
    signature = _SIGNATURES.get(node.function)
    if signature is None:
        raise UntraceableError(f"calls np.{node.function}, which has no form in the target", node.line)
    names = signature.split()
    found = {key: value for key, value in node.kwargs.items() if value is not None}
    found |= {name: value for name, value in zip(names, node.args) if value is not None}
    for old, new in _ALIASES.items():
        if old in found and old not in names and new in names:
            found[new] = found.pop(old)
    unknown = set(found) - set(names) - {"a"}
    if unknown or ("where" in found and node.function != "where"):
        what = ", ".join(sorted(unknown or {"where"}))
        raise UntraceableError(f"calls np.{node.function} with {what}=, which has no form in the target", node.line)
    return {key: found[key] for key in names if key in found and key not in _IDLE}
