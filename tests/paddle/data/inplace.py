"""In-place functions, grad, hooks, and PyLayers in less common ways.

Runs under Paddle 2.6.2 and under opkit; prints one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact.
"""

import paddle, numpy as np
from paddle.autograd import PyLayer
from shown_facts import show

T = paddle.to_tensor


# in-place family
def ip(code):
    def f():
        x = T([1.0, -2.0, 3.0], stop_gradient=False)
        y = x * 1
        z = y * 2 if "Z" in code else None
        exec(code.replace("Z", ""), dict(x=x, y=y, paddle=paddle, T=T, np=np))
        y.sum().backward()
        return y.numpy().tolist(), y.inplace_version, x.grad.numpy().tolist()

    show(code, f)


for c in [
    "y.add_(T([1.,1.,1.]))",
    "y.subtract_(T([1.,1.,1.]))",
    "y.multiply_(T([2.,3.,4.]))",
    "y.scale_(2.0)",
    "y.clip_(-1.,1.)",
    "y.exp_()",
    "y.tanh_()",
    "paddle.nn.functional.relu_(y)",
    "y.sqrt_() if 0 else y.abs_()",
    "y.reshape_([3,1])",
    "y.unsqueeze_(0)",
    "y.fill_(3.)",
    "y.zero_()",
    "y[1]=5.",
    "y[:2]=T([7.,8.])",
    "y[y>0]=0.",
    "y+=1; y.add_(y)",
    "y.round_()",
    "y.floor_()",
    "y.reciprocal_()",
    "y.neg_()",
]:
    ip(c)


def f():
    x = T([1.0, 2.0], stop_gradient=False)
    y = x * 1
    v = y[0:1]
    v.add_(T([5.0]))
    return y.numpy().tolist(), y.inplace_version, v.inplace_version


show("view inplace", f)


def f():
    x = T([1.0, 2.0])
    x.set_value(np.array([3.0, 4.0], "float32"))
    x.copy_(T([5.0, 6.0]), True)
    return x, x.inplace_version


show("copy_", f)


def f():
    p = paddle.create_parameter([2], "float32")
    p.set_value(paddle.ones([2]))
    with paddle.no_grad():
        p.add_(T([1.0, 1.0]))
        p[0] = 9.0
    return p.numpy().tolist(), p.stop_gradient, p.is_leaf


show("param nograd inplace", f)


def f():
    x = T([1.0, 2.0], stop_gradient=False)
    y = x.detach()
    y.add_(T([1.0, 1.0]))
    return x.numpy().tolist(), x.inplace_version


show("detach inplace", f)


# register hook on leaf removal, multiple backward with hooks
def f():
    x = T([1.0, 2.0], stop_gradient=False)
    log = []
    h = x.register_hook(lambda g: log.append(g.numpy().tolist()))
    (x * 2).sum().backward()
    h.remove()
    (x * 3).sum().backward()
    return log, x.grad.numpy().tolist()


show("hook rm", f)


def f():
    x = T([1.0, 2.0], stop_gradient=False)
    y = x * x
    z = y.sum()
    y.retain_grads()
    z.backward()
    return y.grad, y.is_leaf


show("retain", f)


def f():
    x = T([1.0, 2.0], stop_gradient=False)
    y = x**3
    g = paddle.grad(y, x, grad_outputs=T([1.0, 10.0]), create_graph=True)[0]
    g2 = paddle.grad(g, x, grad_outputs=T([1.0, 1.0]))[0]
    return g, g2


show("grad go", f)


def f():
    a = T([1.0, 2.0], stop_gradient=False)
    b = T([3.0, 4.0], stop_gradient=False)
    c = a * b
    return paddle.grad([c.sum(), a.sum()], [a, b])


show("grad two outs", f)


def f():
    a = T([1.0, 2.0], stop_gradient=False)
    b = a * 2
    return paddle.grad(b.sum(), a, retain_graph=True), paddle.grad(b.sum(), a)


show("grad retain", f)


def f():
    a = T([1.0, 2.0], stop_gradient=False)
    b = (a * a).sum()
    paddle.grad(b, a)
    return paddle.grad(b, a)


show("grad twice", f)


def f():
    a = T([1.0, 2.0], stop_gradient=False)
    return paddle.grad((a * 2).sum(), [a], allow_unused=True, no_grad_vars=None, only_inputs=True)


show("grad kw", f)
show("grad bad out", lambda: paddle.grad(1, T([1.0])))
show("grad sg", lambda: paddle.grad(T([1.0]) * 2, T([1.0])))


# leaf/non-leaf flags
def f():
    a = T([1.0, 2.0])
    b = a * 2
    b.stop_gradient = False
    c = b * 3
    c.sum().backward()
    return b.grad, b.is_leaf, a.grad


show("sg flip on computed", f)


def f():
    a = T([1.0, 2.0], stop_gradient=False)
    b = a * 2
    b.stop_gradient = True
    b.stop_gradient = False
    c = b * 3
    c.sum().backward()
    return b.is_leaf, a.grad


show("sg flip back", f)


def f():
    x = T([1.0, 2.0], stop_gradient=False)
    with paddle.no_grad():
        y = x * 2
    y.stop_gradient = False
    (y * x).sum().backward()
    return x.grad, y.grad


show("nograd then leaf", f)


# pylayer list etc
class L(PyLayer):
    @staticmethod
    def forward(ctx, *xs):
        ctx.n = len(xs)
        return sum(xs[1:], xs[0] * 1)

    @staticmethod
    def backward(ctx, d):
        return tuple(d * (i + 1) for i in range(ctx.n))


def f():
    xs = [T([1.0], stop_gradient=False) for _ in range(3)]
    L.apply(*xs).backward()
    return [x.grad.item() for x in xs]


show("varargs", f)


def f():
    x = T([1.0], stop_gradient=False)
    y = L.apply(x, x, x)
    y.backward()
    return x.grad


show("same thrice", f)


def f():
    x = T([2.0], stop_gradient=False)
    y = x
    for _ in range(5):
        y = L.apply(y, x)
    y.backward()
    return x.grad


show("recur", f)


class M(PyLayer):
    @staticmethod
    def forward(ctx, x, fn):
        ctx.fn = fn
        ctx.save_for_backward(x)
        return fn(x)

    @staticmethod
    def backward(ctx, d):
        (x,) = ctx.saved_tensor()
        x = x.detach()
        x.stop_gradient = False
        with paddle.enable_grad():
            y = ctx.fn(x)
            g = paddle.grad(y, x, d)[0]
        return g


def f():
    x = T([1.0, 2.0], stop_gradient=False)
    M.apply(x, lambda t: paddle.sin(t) * t).sum().backward()
    return x.grad


show("checkpoint", f)


def f():
    x = T([1.0, 2.0], stop_gradient=False)
    y = M.apply(x, paddle.exp)
    z = M.apply(y, paddle.log)
    z.sum().backward()
    return x.grad


show("checkpoint2", f)


class Count(PyLayer):
    calls = 0

    @staticmethod
    def forward(ctx, x):
        Count.calls += 1
        return x * 2

    @staticmethod
    def backward(ctx, d):
        Count.calls += 10
        return d * 2


def f():
    x = T([1.0], stop_gradient=False)
    y = Count.apply(x)
    z = y + y * 3
    z.backward()
    return Count.calls, x.grad


show("once", f)
show("type", lambda: (type(Count).__name__ != "", issubclass(Count, PyLayer)))


def f():
    x = T([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False)
    y = Count.apply(x)[0]
    y.sum().backward()
    return x.grad


show("partial use", f)


def f():
    x = T([1.0, 2.0], stop_gradient=False)
    y = Count.apply(x)
    y[0] = 100.0
    y.sum().backward()
    return x.grad, y


show("setitem on output", f)


def f():
    x = T([1.0, 2.0], stop_gradient=False)
    y = Count.apply(x)
    w = y.detach()
    w[0] = 50.0
    return y, w.stop_gradient


show("detach out", f)


def f():
    import copy

    x = T([1.0, 2.0], stop_gradient=False)
    y = copy.deepcopy(x)
    return y.stop_gradient, y.numpy().tolist(), y is x


show("deepcopy", f)


def f():
    import copy

    x = T([1.0, 2.0], stop_gradient=False) * 2
    y = copy.deepcopy(x)
    return y


show("deepcopy nonleaf", f)


def f():
    x = T([1.0, 2.0], stop_gradient=False)
    x.stop_gradient = True
    return (x * 2).stop_gradient


show("sg", f)


def f():
    d = {}
    x = T([1.0])
    d[x] = 1
    return x in d, len({x, x})


show("dict key", f)
show("np funcs", lambda: (np.array(T([1.0, 2.0])).tolist(), np.allclose(T([1.0, 2.0]), [1.0, 2.0])))
show("np.mean", lambda: np.mean(T([1.0, 2.0])))
show("zip", lambda: [a.item() + b.item() for a, b in zip(T([1.0, 2.0]), T([3.0, 4.0]))])
show("sum builtin", lambda: sum(T([1.0, 2.0])))
show("max builtin", lambda: max(T([1.0, 2.0])))
show("round", lambda: round(float(T(1.5)), 1))
show("chained cmp", lambda: bool(T(1.0) < T(2.0)))
show("unpack", lambda: (lambda a, b: (a.item(), b.item()))(*T([1.0, 2.0])))
show("astype bool", lambda: T([0.0, 2.0]).astype("bool"))
show("to", lambda: T([1.0]).to("float64").dtype)
show("cpu", lambda: T([1.0]).cpu().place)
show(
    "ndim",
    lambda: (T([[1.0]]).ndim, T([[1.0]]).dim(), T(1.0).shape, T([[1.0, 2.0]]).numel().item(), T([1.0]).element_size()),
)
show("gradient()", lambda: T([1.0]).gradient())
show("repr param", lambda: str(paddle.create_parameter([1], "float32"))[:21])
