"""Tensors: views, in-place changes, conversions, printing.

Runs under Paddle 2.6.2 and under opkit; prints one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact.
"""

import paddle, numpy as np
from paddle.autograd import PyLayer
from shown_facts import show

# views
for nm, f in dict(
    reshape=lambda t: t.reshape([2, 3]),
    T=lambda t: t.reshape([3, 2]).T,
    tr=lambda t: t.reshape([2, 3]).transpose([1, 0]),
    sl=lambda t: t[1:3],
    sl0=lambda t: t[0],
    unsq=lambda t: t.unsqueeze(0),
    detach=lambda t: t.detach(),
    flatten=lambda t: t.reshape([2, 3]).flatten(),
    sq=lambda t: t.unsqueeze(0).squeeze(0),
    split=lambda t: paddle.split(t, 2)[0],
    cast=lambda t: t.astype(t.dtype),
    exp=lambda t: t.expand([2, 6]),
).items():
    t = paddle.arange(6).astype("float32")
    v = f(t)

    def go():
        v.fill_(9.0) if hasattr(v, "fill_") else None
        return t.numpy().tolist(), v.inplace_version, t.inplace_version

    show("view " + nm, go)


def inpl():
    t = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    t[0] = 5.0
    return t


show("setitem leaf", inpl)


def inpl():
    t = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    t.add_(t)
    return t


show("add_ leaf", inpl)


def inpl():
    t = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    u = t * 1
    u[0] = 5.0
    u.sum().backward()
    return t.grad, u.inplace_version


show("setitem nonleaf", inpl)


def inpl():
    t = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    u = t * 1
    w = u * u
    u.add_(paddle.ones([2]))
    w.sum().backward()
    return t.grad, u.inplace_version


show("version", inpl)


def inpl():
    t = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    u = t * 1
    w = paddle.exp(u)
    w.add_(paddle.ones([2]))
    w.sum().backward()
    return t.grad, u.inplace_version


show("version out", inpl)


def inpl():
    t = paddle.to_tensor([1.0, 2.0], stop_gradient=True)
    v = paddle.to_tensor(3.0, stop_gradient=False)
    t[0] = v * 2
    t.sum().backward()
    return v.grad, t.stop_gradient


show("setitem sg with grad value", inpl)


def f():
    t = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    u = t * 1
    w = u * u
    u += 1
    w.sum().backward()
    return t.grad, u.inplace_version


show("iadd", f)


def f():
    t = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    t.set_value(np.array([3.0, 4.0], "float32"))
    return t, t.inplace_version


show("set_value", f)


def f():
    t = paddle.to_tensor([1.0, 2.0])
    t.set_value(np.array([3.0, 4.0], "float64"))
    return t


show("set_value dtype", f)


def f():
    t = paddle.to_tensor([1.0, 2.0])
    t.set_value(np.array([3.0], "float32"))
    return t


show("set_value shape", f)
show("bool", lambda: bool(paddle.to_tensor([1.0, 2.0])))
show("bool-", lambda: bool(paddle.to_tensor([-1.0])))
show("float", lambda: float(paddle.to_tensor([1.0, 2.0])))
show("float1", lambda: float(paddle.to_tensor([1.0])))
show("int", lambda: int(paddle.to_tensor([1.7])))
show("len0", lambda: len(paddle.to_tensor(1.0)))
show("len", lambda: len(paddle.to_tensor([1.0, 2.0])))
show("iter", lambda: [t for t in paddle.to_tensor([1.0, 2.0])])
show("format", lambda: f"{paddle.to_tensor(1.5):.3f} {paddle.to_tensor([1.5]):.2f} {paddle.to_tensor(2)}")
show("format2", lambda: "%.3f %s" % (paddle.to_tensor(1.5), paddle.to_tensor(2)))
show("format3", lambda: f"{paddle.to_tensor([1.0, 2.0])}")
show("hash", lambda: len({paddle.to_tensor(1.0), paddle.to_tensor(1.0)}))
show("eq", lambda: paddle.to_tensor([1.0, 2.0]) == paddle.to_tensor([1.0, 3.0]))
show("eqNone", lambda: paddle.to_tensor([1.0, 2.0]) == None)
show("neNone", lambda: paddle.to_tensor([1.0, 2.0]) != None)
show("index", lambda: [1, 2, 3][paddle.to_tensor(1)])
show("range", lambda: list(range(paddle.to_tensor(2))))
show("param", lambda: print(paddle.nn.Linear(2, 2).bias))
show("place", lambda: (paddle.to_tensor(1.0).place, repr(paddle.get_device()), paddle.CPUPlace()))
show("shape", lambda: (paddle.to_tensor([[1.0]]).shape, paddle.to_tensor(1.0).shape, type(paddle.to_tensor(1.0).shape)))
show(
    "size",
    lambda: (
        paddle.to_tensor([[1.0, 2.0]]).size,
        paddle.to_tensor([[1.0]]).ndim,
        paddle.to_tensor([[1.0]]).dim(),
        paddle.to_tensor([[1.0]]).rank(),
    ),
)
