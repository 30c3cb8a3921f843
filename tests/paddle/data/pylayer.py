"""PyLayer and autograd, item by item.

Runs under Paddle 2.6.2 and under opkit; prints one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact.
"""

import paddle, numpy as np
from paddle.autograd import PyLayer
from shown_facts import show

T = paddle.to_tensor


def leaf(v=[1.0, 2.0, 3.0]):
    t = T(v)
    t.stop_gradient = False
    return t


def mk(fw, bw=None):
    d = dict(forward=staticmethod(fw))
    if bw:
        d["backward"] = staticmethod(bw)
    return type("L", (PyLayer,), d)


# A1
for nm, r in dict(
    none=lambda x: None,
    i=lambda x: 1,
    arr=lambda x: x.numpy(),
    l=lambda x: x.shape,
    d=lambda x: {"a": x},
    e=lambda x: [],
    t=lambda x: (1, "a"),
).items():
    show("A1 " + nm, lambda: mk(lambda ctx, x: r(x)).apply(leaf()))
    show("A1sg " + nm, lambda: mk(lambda ctx, x: r(x)).apply(T([1.0])))
# A2
for nm, r in dict(
    tup=lambda x: (x * 2,),
    lst=lambda x: [x * 2, 3],
    mix=lambda x: (None, x * 2, "a", x.shape, x * 3),
    single=lambda x: x * 2,
).items():

    def f():
        o = mk(lambda ctx, x: r(x)).apply(leaf())
        return type(o).__name__, [
            (type(e).__name__, getattr(e, "stop_gradient", e)) for e in (o if isinstance(o, (list, tuple)) else [o])
        ]

    show("A2 " + nm, f)


# A4/5
def f():
    st = {}

    def fw(ctx, x):
        st["g"] = paddle.is_grad_enabled()
        y = x * 2
        st["sg"] = y.stop_gradient
        return y

    o = mk(fw).apply(leaf())
    return st, o.stop_gradient, o.is_leaf


show("A4", f)


def f():
    called = []
    L = mk(lambda ctx, x: x * 2, lambda ctx, d: called.append(1) or d)
    o = L.apply(T([1.0]))
    o.sum().backward()
    with paddle.no_grad():
        o2 = L.apply(leaf())
    with paddle.no_grad():
        with paddle.enable_grad():
            o3 = L.apply(leaf())
    return o.stop_gradient, o.is_leaf, o2.stop_gradient, o3.stop_gradient, called


show("A5", f)


def f():
    x = leaf()
    L = mk(lambda ctx, x: paddle.ones([2]), lambda ctx, d: paddle.ones([3]) * d.sum())
    L.apply(x).sum().backward()
    return x.grad


show("A6", f)
G = T([5.0, 6.0])


def f():
    x = leaf()
    o = mk(lambda ctx, x: G, lambda ctx, d: paddle.ones([3]) * d.sum()).apply(x)
    return o is G, G.stop_gradient, G.is_leaf


show("A6g", f)


def f():
    x = leaf()
    seen = []
    o = mk(lambda ctx, x: x.astype("int64"), lambda ctx, d: seen.append(d.dtype) or d.astype("float32")).apply(x)
    o.sum().backward()
    return o.stop_gradient, o.dtype, seen, x.grad


show("A7", f)


def f():
    x = T([1, 2, 3], stop_gradient=False)
    o = mk(lambda ctx, x: x.astype("float32") * 2, lambda ctx, d: d).apply(x)
    o.sum().backward()
    return x.grad.dtype


# A9
L0 = lambda: mk(lambda ctx, x: x, lambda ctx, d: d)
show("A9 leaf", lambda: L0().apply(leaf()))


def f():
    x = leaf()
    y = x * 2
    o = L0().apply(y)
    r = (o is y, y.inplace_version, o.is_leaf)
    o.sum().backward()
    return r, x.grad


show("A9 nonleaf", f)


def f():
    x = T([1.0])
    o = L0().apply(x)
    return o is x, x.inplace_version, o.stop_gradient


show("A9 sg", f)


def f():
    x = leaf()
    with paddle.no_grad():
        o = L0().apply(x)
    return o is x, x.inplace_version, o.stop_gradient


show("A9 nograd", f)
show("A9 detach", lambda: mk(lambda ctx, x: x.detach(), lambda ctx, d: d).apply(leaf() * 2))
for nm, g in dict(clone=lambda x: x.clone(), reshape=lambda x: x.reshape([3]), mul=lambda x: x * 1).items():

    def f():
        x = leaf()
        mk(lambda ctx, x: g(x), lambda ctx, d: d).apply(x).sum().backward()
        return x.grad

    show("A9 " + nm, f)


def f():
    x = leaf()
    y = x * 1

    def fw(ctx, x):
        ctx.mark_not_inplace(x)
        return x

    o = mk(fw, lambda ctx, d: d * 3).apply(y)
    r = (o is y, y.inplace_version)
    o.sum().backward()
    return r, x.grad


show("A10", f)
show("A10b", lambda: mk(lambda ctx, x: ctx.mark_dirty(x)).apply(leaf()))
show("A10c", lambda: mk(lambda ctx, x: ctx.needs_input_grad).apply(leaf()))


def f():
    x = leaf()
    got = []

    def fw(ctx, x):
        a = x * 2
        b = x * 3
        ctx.mark_non_differentiable(a)
        return a, b

    a, b = mk(fw, lambda ctx, da, db: got.append((da.numpy().tolist(), da.stop_gradient)) or db * 3).apply(x)
    r = (a.stop_gradient, b.stop_gradient)
    b.sum().backward()
    a2 = None
    return r, got, x.grad


show("A11", f)
for mat in (True, False):

    def f():
        x = leaf()
        got = []

        def fw(ctx, x):
            ctx.set_materialize_grads(mat)
            return x * 2, x * 3

        a, b = mk(
            fw,
            lambda ctx, da, db: (
                got.append(
                    (db if db is None else (db.numpy().tolist(), str(db.dtype), db.stop_gradient), da.stop_gradient)
                )
                or da
            ),
        ).apply(x)
        a.sum().backward()
        return got

    show("A12 %s" % mat, f)


def f():
    x = leaf()
    got = []

    def fw(ctx, x):
        y = x * 2
        return y, y

    a, b = mk(fw, lambda ctx, da, db: got.append((da.numpy().tolist(), db.numpy().tolist())) or da + db).apply(x)
    (a + b).sum().backward()
    return a is b, got, x.grad


show("A13", f)


class Plain(PyLayer):
    def forward(ctx, x):
        return x * 2

    def backward(ctx, d):
        return d * 2


def f():
    x = leaf()
    Plain.apply(x).sum().backward()
    return x.grad


show("A14", f)


class CM(PyLayer):
    @classmethod
    def forward(cls, ctx, x):
        return x * 2

    @classmethod
    def backward(cls, ctx, d):
        return d * 2


def f():
    x = leaf()
    CM.apply(x).sum().backward()
    return x.grad


show("A14c", f)


class NoF(PyLayer):
    @staticmethod
    def backward(ctx, d):
        return d


show("A15f", lambda: NoF.apply(leaf()))


class NoB(PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x * 2


show("A15b", lambda: NoB.apply(leaf()).sum().backward())
show("A15sg", lambda: NoB.apply(T([1.0])).sum().backward())
show("A15base", lambda: PyLayer.apply(leaf()))
show("A15base2", lambda: PyLayer.forward(None, leaf()))
show("A15base3", lambda: PyLayer.backward(None, leaf()))
show("A16", lambda: (Plain().apply(T([1.0])), Plain(T([1.0])) is not None))
show("A16call", lambda: Plain()(T([1.0])))


class Ov(Plain):
    @classmethod
    def apply(cls, x):
        return super().apply(x) * 10


def f():
    x = leaf()
    Ov.apply(x).sum().backward()
    return x.grad


show("A16ov", f)


class SubB(Plain):
    @staticmethod
    def backward(ctx, d):
        return d * 7


def f():
    x = leaf()
    SubB.apply(x).sum().backward()
    return x.grad


show("A16subb", f)


def f():
    x = leaf()
    y = Plain.forward(None, x)
    y.sum().backward()
    return x.grad


show("A16plain", f)


class KW(PyLayer):
    @staticmethod
    def forward(ctx, a, b):
        return a * 1 + b * 1

    @staticmethod
    def backward(ctx, d):
        return d * 2, d * 3


def f():
    a, b = leaf(), leaf()
    KW.apply(b=b, a=a).sum().backward()
    return a.grad, b.grad


show("A17", f)


def f():
    a, b = leaf(), leaf()
    KW.apply(a, b=b).sum().backward()
    return a.grad, b.grad


show("A17b", f)
show("A18", lambda: mk(lambda ctx, x, n: x * n, lambda ctx, d: (d, None)).apply(leaf(), 3).sum().backward())


class Lst(PyLayer):
    @staticmethod
    def forward(ctx, xs, s=None):
        return xs[0] * 1 + xs[1] * 1

    @staticmethod
    def backward(ctx, d):
        return [d, d]


def f():
    a, b = leaf(), leaf()
    Lst.apply([a, b]).sum().backward()
    return a.grad, b.grad


show("A19", f)


def f(ret, *extra):
    a, b = leaf(), leaf()
    L = mk(lambda ctx, xs, *e: xs[0] * 1 + xs[1] * 1, lambda ctx, d: ret(d))
    L.apply([a, b], *extra).sum().backward()
    return a.grad, b.grad


show("A19 tuple", lambda: f(lambda d: (d, d)))
show("A19 bare", lambda: f(lambda d: d))
show("A19 nested", lambda: f(lambda d: ([d, d],)))
show("A19 two", lambda: f(lambda d: ([d, d], d), leaf()))
show("A19 short", lambda: f(lambda d: [d]))
show("A20", lambda: mk(lambda ctx, x: x * 1, lambda ctx, d: [d]).apply(leaf()).sum().backward())


def bad(e):
    def g(ctx, *a):
        raise e

    return g


show("A21f", lambda: mk(bad(KeyError("k"))).apply(leaf()))
show("A21arity", lambda: mk(lambda ctx, a, b: a).apply(leaf()))


def f():
    x = leaf()
    try:
        mk(lambda ctx, x: x * 1, bad(KeyError("k"))).apply(x).sum().backward()
    except Exception:
        pass
    r = x.grad
    (x * 2).sum().backward()
    return r, x.grad


show("A21after", f)


def f():
    order = []

    def L(n):
        return mk(lambda ctx, x: x * 1, lambda ctx, d: order.append(n) or d)

    x = leaf()
    a = L("b1").apply(x)
    b = L("b2").apply(a)
    c = L("b3").apply(a)
    (b + c).sum().backward()
    return order


show("A23", f)


def f():
    order = []

    def L(n):
        return mk(
            lambda ctx, *x: sum(x[1:], x[0] * 1), lambda ctx, d: order.append(n) or ((d,) * n[1] if n[1] > 1 else d)
        )

    x = leaf()
    a = L(("a", 1)).apply(x)
    b = L(("b", 1)).apply(x)
    c = L(("c", 2)).apply(a, b)
    e = L(("e", 1)).apply(a)
    g = L(("g", 3)).apply(c, e, b)
    h = L(("h", 1)).apply(c)
    (h + g).sum().backward()
    return order, x.grad


show("A23 dag", f)


def f():
    x = leaf()

    class In(PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, d):
            raise RuntimeError("no")

    mk(lambda ctx, x: In.apply(x) * 1, lambda ctx, d: d * 5).apply(x).sum().backward()
    return x.grad


show("A23 nested", f)
# B
two = lambda r: mk(lambda ctx, a, b: a * 1 + b * 1, lambda ctx, d: r(d))
for nm, r in dict(
    three=lambda d: (d, d, d),
    one=lambda d: d,
    empty=lambda d: (),
    none2=lambda d: (d, None),
    i=lambda d: (d, 1),
    f=lambda d: (d, 1.0),
    arr=lambda d: (d, d.numpy()),
    s=lambda d: (d, "a"),
    dct=lambda d: {"a": d},
    ok=lambda d: (d, d),
).items():

    def f():
        a, b = leaf(), leaf()
        two(r).apply(a, b).sum().backward()
        return a.grad, b.grad

    show("B " + nm, f)

    def f():
        a, b = leaf(), T([1.0, 2.0, 3.0])
        two(r).apply(a, b).sum().backward()
        return a.grad, b.grad

    show("Bsg " + nm, f)


def f():
    a = leaf()
    two(lambda d: (d * 2, d * 3)).apply(a, a).sum().backward()
    return a.grad


show("B9", f)


# C
def f():
    r = []

    def fw(ctx, x):
        r.append(ctx.saved_tensor() if 0 else None)
        ctx.save_for_backward()
        r.append(ctx.saved_tensor())
        return x * 1

    mk(fw, lambda ctx, d: r.append(ctx.saved_tensor()) or d).apply(leaf()).sum().backward()
    return r


show("C1", f)


def f():
    r = []
    keep = []
    x = leaf()

    def fw(ctx, x, *a):
        y = x * 2
        ctx.save_for_backward(x, None, 3, "s", np.ones(1), [x], y)
        keep.append((ctx, y))
        ctx.foo = 5
        return y

    def bw(ctx, d):
        s = ctx.saved_tensor()
        r.append(
            (
                s[0] is x,
                s[1:4],
                type(s[4]).__name__,
                s[5][0] is x,
                s[6] is keep[0][1],
                s[6].stop_gradient,
                s[6].is_leaf,
                ctx is keep[0][0],
                ctx.foo,
                type(ctx).__name__,
            )
        )
        return d * 2

    o = mk(fw, bw).apply(x)
    o.sum().backward()
    return r, o is keep[0][1], len(keep[0][0].saved_tensor())


show("C3", f)


def f():
    def fw(ctx, x):
        y = x * 2
        ctx.save_for_backward(y)
        return y

    x = leaf()
    o = mk(fw, lambda ctx, d: d * ctx.saved_tensor()[0]).apply(x)
    l = o.sum()
    with paddle.no_grad():
        o.fill_(10.0) if hasattr(o, "fill_") else None
    l.backward()
    return x.grad


show("C5", f)


# D
def f():
    x = leaf()
    y = x * 2
    y.backward()
    return x.grad, y.grad


show("D2", f)


def f():
    x = leaf()
    x.backward()
    return x.grad, x.grad.stop_gradient


show("D2leaf", f)
show("D2sg", lambda: T([1.0]).backward())
show("D2gt", lambda: (leaf() * 2).backward(3))
show("D2gts", lambda: (leaf() * 2).backward(T([1.0])))


def f():
    x = leaf()
    y = (x * x).sum()
    y.backward()
    y.backward()


def f():
    x = leaf()
    y = (x * x).sum()
    y.backward(retain_graph=True)
    g = x.grad
    y.backward()
    return g is x.grad, x.grad, g


show("D4", f)


def f():
    x = leaf()
    (x * x).sum().backward()
    x.clear_grad()
    r = x.grad.numpy().tolist()
    x.clear_gradient()
    return r, x.grad, x.gradient()


show("D4c", f)


def f():
    x = leaf()
    x.grad = None


show("D4n", f)


def f():
    x = leaf()
    x.grad = T([1.0, 1.0, 1.0])
    (x * x).sum().backward()
    return x.grad


show("D4t", f)


def f():
    x = leaf()
    x.grad = np.ones(3)


show("D4a", f)


def f():
    x = leaf()
    y = x * 2
    z = y * 3
    y.retain_grads()
    z.sum().backward()
    return y.grad, x.grad, z.grad


show("D5", f)


def f():
    x = leaf()
    d = x.detach()
    c = x.clone()
    a = x.astype("float32")
    return d is x, d.stop_gradient, c.stop_gradient, c.is_leaf, a is x, a.is_leaf


show("D6", f)


def f():
    x = leaf()
    r = []
    y = x * 2
    h = y.register_hook(lambda g: r.append(g.numpy().tolist()) or g * 10)
    h2 = y.register_hook(lambda g: r.append(g.numpy().tolist()))
    y.sum().backward()
    a = h.remove()
    b = h.remove()
    return r, x.grad, a, b


show("D7", f)


def f():
    x = leaf()
    r = []
    x.register_hook(lambda g: r.append(g.numpy().tolist()) or g * 10)
    (x * 2).sum().backward()
    return r, x.grad


show("D7leaf", f)


def f():
    x = leaf()
    r = []
    x.register_hook(lambda g: r.append(g.numpy().tolist()) or g * 10)
    y = x * 2
    z = y + x
    z.sum().backward()
    return r, x.grad


show("D7leaf2", f)
show("D7sg", lambda: T([1.0]).register_hook(lambda g: g))


def f():
    x = leaf()
    r = []
    p = mk(lambda ctx, x: x * 1, lambda ctx, d: d * 2)
    y = x * 3
    y.register_hook(lambda g: g * 100)
    p.apply(y).sum().backward()
    return x.grad


show("D7in", f)


def f():
    x, z = leaf(), leaf()
    y = (x * x).sum()
    return paddle.grad(y, [x]), x.grad


show("D8", f)
show("D8u", lambda: paddle.grad((leaf() * 2).sum(), [leaf()]))
show("D8au", lambda: paddle.grad((leaf() * 2).sum(), [leaf()], allow_unused=True))


def f():
    x = leaf()
    y = x * 2
    z = y * y
    return paddle.grad(z.sum(), [y, x])


show("D8mid", f)


def f():
    x = leaf()
    y = x * x
    return paddle.grad([y], [x], grad_outputs=[T([1.0, 2.0, 3.0])])


show("D8go", f)


def f():
    x = leaf()
    return paddle.grad(x, x), paddle.grad((x * 2).sum(), x, no_grad_vars=None)


show("D8self", f)


class Cube(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, d):
        (x,) = ctx.saved_tensor()
        return d * 3 * x * x


def f():
    x = leaf()
    y = Cube.apply(x)
    (g,) = paddle.grad(y.sum(), [x], create_graph=True)
    (g2,) = paddle.grad(g.sum(), [x], create_graph=True)
    (g3,) = paddle.grad(g2.sum(), [x])
    return g, g2, g3, g.stop_gradient, g3.stop_gradient


show("D9", f)


def f():
    x = leaf()
    y = Cube.apply(x)
    (g,) = paddle.grad(y.sum(), [x], create_graph=True)
    (g * g).sum().backward()
    return x.grad


show("D9gp", f)


def f():
    x = leaf()
    y = Cube.apply(x)
    (g,) = paddle.grad(y.sum(), [x])
    return g.stop_gradient


show("D9n", f)


class TanhS(PyLayer):
    @staticmethod
    def forward(ctx, x):
        y = paddle.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, d):
        (y,) = ctx.saved_tensor()
        return d * (1 - y * y)


def f():
    x = leaf()
    (g,) = paddle.grad(TanhS.apply(x).sum(), [x], create_graph=True)
    (g2,) = paddle.grad(g.sum(), [x])
    return g, g2


show("D9out", f)
show("D14", lambda: setattr(leaf(), "stop_gradient", 3))


def f():
    x = leaf()
    y = x * 2
    x.stop_gradient = True
    y.sum().backward()
    return x.grad


show("D14b", f)


def f():
    x = leaf()
    y = x * 2
    y.stop_gradient = True
    z = y * 3
    z.sum().backward()
    return x.grad, z.stop_gradient


show("D14c", f)


def f():
    x = leaf()
    paddle.autograd.backward([x * 2, x * 3], [T([1.0, 1.0, 1.0]), None])
    return x.grad


show("auto.backward", f)
show("ab dup", lambda: (lambda y: paddle.autograd.backward([y, y]))(leaf() * 2))
show("ab type", lambda: paddle.autograd.backward([1]))


def f():
    @paddle.no_grad()
    def g(x):
        return x * 2

    return g(leaf()).stop_gradient


show("nograd dec", f)


def f():
    with paddle.set_grad_enabled(False):
        a = paddle.is_grad_enabled()
    return a, paddle.is_grad_enabled()


show("sge", f)
