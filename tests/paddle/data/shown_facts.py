"""What the scripts print their facts with: one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact."""

import warnings

import numpy as np
import paddle

R = np.random.RandomState


def show(label, fact):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            print("#@", label, "->", fact(), flush=True)
        except BaseException as error:
            print("#@", label, "!!", ",".join(kind.__name__ for kind in type(error).__mro__), flush=True)


def t(shape, seed=0, lo=None, hi=None, sg=False, dtype="float64"):
    a = R(seed).randn(*shape) if lo is None else R(seed).uniform(lo, hi, shape)
    x = paddle.to_tensor(np.asarray(a).astype(dtype))
    x.stop_gradient = sg
    return x


def I(values, dtype="int64"):
    return paddle.to_tensor(np.array(values, dtype))


def rnd(a):
    a = np.asarray(a)
    return np.round(a.astype("float64"), 6).tolist() if a.dtype.kind == "f" else a.tolist()


def plain(o):
    return (o.shape, str(o.dtype), rnd(o.numpy()))


def run(f, *xs):
    """Return outputs and gradients of the inputs, with fixed cotangents."""
    out = f(*xs)
    outs = out if isinstance(out, (list, tuple)) else [out]
    w = None
    for i, o in enumerate(outs):
        if o.stop_gradient:
            continue
        s = (o * paddle.to_tensor(R(9 + i).randn(*o.shape) if len(o.shape) else np.float64(1.3)).astype(o.dtype)).sum()
        w = s if w is None else w + s
    if w is not None:
        w.backward()
    return [plain(o) for o in outs], [
        None if x.grad is None else rnd(x.grad.numpy()) for x in xs if isinstance(x, paddle.Tensor)
    ]
