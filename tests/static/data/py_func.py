"""py_func, programs and the Executor: arguments, results, gradients, feeds, fetches, faults.

Runs under Paddle 2.6.2 and under opkit; prints one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact.
"""

import warnings

warnings.simplefilter("ignore")
import functools

import numpy as np
import paddle

paddle.enable_static()
import paddle.static as st


def t(name, f):
    with st.program_guard(st.Program(), st.Program()), st.scope_guard(st.Scope()):
        try:
            print("#@", name, "->", f())
        except Exception as error:
            print("#@", name, "!!", ",".join(kind.__name__ for kind in type(error).__mro__), flush=True)


def cv(name, shape, dtype="float32"):
    return st.default_main_program().current_block().create_var(name=name, dtype=dtype, shape=shape)


exe = st.Executor(paddle.CPUPlace())


def run(feed, fetch, prog=None):
    exe.run(st.default_startup_program())
    return exe.run(prog or st.default_main_program(), feed=feed, fetch_list=fetch)


X = np.arange(6, dtype="float32").reshape(2, 3)


def x_(sg=False, name="x", shape=[2, 3], dtype="float32"):
    x = st.data(name, shape, dtype)
    x.stop_gradient = sg
    return x


A = np.array
t("S1 same", lambda: st.py_func is st.nn.py_func or True)


def f():
    x = x_()
    o = cv("o", [2, 3])
    r = st.py_func(lambda a: A(a) * 2, x, o)
    l = [cv("p", [2, 3]), cv("q", [2, 3])]
    r2 = st.py_func(lambda a: (A(a), A(a) + 1), x, l)
    r3 = st.py_func(lambda a: None, x, None)
    return r is o, r2 is l, r3, [v.tolist() for v in run({"x": X}, [o] + l)]


t("S1 returns", f)


def f():
    x = x_()
    y = x_(name="y")
    o = cv("o", [2, 3])
    got = []

    def bw(*a):
        got.append([A(v).sum().item() for v in a])
        return A(a[-1]), A(a[-1]) * 2

    st.py_func(lambda a, b: A(a) * A(b), [x, y], o, bw)
    l = paddle.mean(o)
    st.append_backward(l)
    r = run({"x": X, "y": X + 1}, ["x@GRAD", "y@GRAD"])
    return got, [v.tolist() for v in r]


t("S3 order", f)
for skip in ("x", "y", "o", "xy", "xo", "xyo"):

    def f():
        x = x_()
        y = x_(name="y")
        o = cv("o", [2, 3])
        got = []
        d = dict(x=x, y=y, o=o)

        def bw(*a):
            got.append([A(v).sum().item() for v in a])
            return A(a[-1]), A(a[-1]) * 2

        st.py_func(lambda a, b: A(a) * A(b), [x, y], o, bw, skip_vars_in_backward_input=[d[c] for c in skip])
        l = paddle.mean(o)
        st.append_backward(l)
        r = run({"x": X, "y": X + 1}, ["x@GRAD"])
        return got

    t("S3 skip " + skip, f)


def f():
    x = x_()
    c = x_(name="c")
    o = cv("o", [2, 3])
    st.py_func(lambda a: A(a), x, o, lambda *a: A(a[-1]), skip_vars_in_backward_input=c)


t("S3 bad skip", f)


def f():
    x = x_()
    o = cv("o", [2, 3])
    st.py_func(lambda a: A(a), x, o, lambda *a: A(a[-1]), skip_vars_in_backward_input="x")


t("S3 str skip", f)


def f():
    x = x_()
    o = cv("o", [2, 3])
    st.py_func(lambda a: A(a), x, o)
    l = paddle.mean(o)
    return st.gradients(l, x), st.append_backward(l), paddle.optimizer.SGD(0.1).minimize(l)


t("S5", f)
for nm, ret in dict(
    short=lambda a: (A(a[-1]),),
    none=lambda a: (None, A(a[-1])),
    long=lambda a: (A(a[-1]),) * 3,
    list_=lambda a: [A(a[-1]), A(a[-1])],
).items():

    def f():
        x = x_()
        y = x_(name="y")
        o = cv("o", [2, 3])
        st.py_func(lambda a, b: A(a) * A(b), [x, y], o, lambda *a: ret(a))
        l = paddle.mean(o)
        st.append_backward(l)
        return [v.tolist() for v in run({"x": X, "y": X}, ["x@GRAD", "y@GRAD"])]

    t("S6 " + nm, f)


def f():
    x = x_()
    y = x_(sg=True, name="y")
    o = cv("o", [2, 3])
    st.py_func(lambda a, b: A(a) * A(b), [x, y], o, lambda *a: (A(a[-1]), A(a[-1])))
    l = paddle.mean(o)
    st.append_backward(l)
    return [v.tolist() for v in run({"x": X, "y": X}, ["x@GRAD"])]


t("S6 sg ignored", f)
for nm, fn in dict(
    two=lambda a: (A(a), A(a)),
    none=lambda a: None,
    str_=lambda a: "abc",
    obj=lambda a: object(),
    num=lambda a: 1.5,
    int_=lambda a: 3,
    nps=lambda a: np.float32(2),
    lst=lambda a: [A(a)],
    nested=lambda a: [[1.0, 2.0]],
    T=lambda a: A(a).T.copy(),
    F=lambda a: np.asfortranarray(A(a)),
    view=lambda a: A(a)[:, ::2],
    bool_=lambda a: A(a) > 1,
    f64=lambda a: A(a).astype("f8"),
    same=lambda a: a,
    raises=lambda a: {}["k"],
).items():

    def f():
        x = x_()
        o = cv("o", [2, 3])
        st.py_func(fn, x, o)
        (r,) = run({"x": X}, [o])
        return str(r.dtype), r.tolist()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        t("S7/9 " + nm, f)


def f():
    x = x_()
    st.py_func(lambda a: A(a), x, None)
    return run({"x": X}, [])


t("S7 out none returned", f)


class C:
    def __call__(self, a):
        return A(a) + 1

    def m(self, a):
        return A(a) + 2


for nm, fn in dict(
    callable=C(),
    method=C().m,
    partial=functools.partial(lambda k, a: A(a) + k, 3),
    ufunc=np.tanh,
    default=lambda a, k=7: A(a) + k,
    var=lambda *t: A(t[0]),
    kw=lambda a, **k: A(a),
    kwonly=lambda a, *, k=3: A(a) + k,
).items():

    def f():
        x = x_()
        o = cv("o", [2, 3])
        st.py_func(fn, x, o)
        return run({"x": X}, [o])[0].sum().item()

    t("S10 " + nm, f)


def f():
    x = x_()
    st.py_func(lambda a: a, X, cv("o", [2, 3]))


t("S11 x array", f)


def f():
    x = x_()
    st.py_func(lambda a: a, x, "o")


t("S11 out str", f)


def f():
    x = x_()
    st.py_func(3, x, cv("o", [2, 3]))


t("S11 func", f)


def f():
    x = x_()
    st.py_func(lambda a: a, x, cv("o", [2, 3]), 3)


t("S11 bfunc", f)


def f():
    st.py_func(lambda a: a, None, None)


t("S11 none", f)


def f():
    o = cv("o", [1])
    st.py_func(lambda: A([5.0], "float32"), None, o)
    p = cv("p", [1])
    st.py_func(lambda: A([6.0], "float32"), [], p)
    return run({}, [o, p])


t("S11 no x", f)


def f():
    x = x_()
    b = st.default_main_program().current_block()
    o = b.create_var(name="o", dtype="float32")
    st.py_func(lambda a: A(a), x, o)


t("S11 no shape", f)


def f():
    x = x_()
    o = cv("o", [2, 3])
    calls = []
    st.py_func(lambda a: calls.append("a"), x, None)
    st.py_func(lambda a: (calls.append("b"), A(a))[1], x, o)
    st.py_func(lambda a: calls.append("c"), x, None)
    run({"x": X}, [])
    return calls


t("S13 order", f)


def f():
    x = x_()
    o = cv("o", [2, 3])
    st.py_func(lambda a: A(a) * 2, x, o, lambda a, o, d: A(d) * 2)
    st.py_func(lambda a: A(a) * 3, x, o, lambda a, o, d: A(d) * 3)
    l = paddle.mean(o)
    st.append_backward(l)
    return [v.tolist() for v in run({"x": X}, [o])]


t("S15 twice", f)


def f():
    x = x_()
    o = cv("o", [2, 3])
    st.py_func(lambda a, b: A(a) * A(b), [x, x], o, lambda a, b, o, d: (A(d) * A(b), A(d) * A(a)))
    l = paddle.sum(o)
    st.append_backward(l)
    return [v.tolist() for v in run({"x": X}, ["x@GRAD"])]


t("S15 x twice", f)


def f():
    x = x_()
    return cv("a", [2, 3]) is cv("a", [2, 3]), cv("a", [2, 4])


t("P1", f)


def f():
    return cv(None, [1]).name, cv(None, [1]).name


t("P1 auto", f)


def f():
    x = x_()
    return st.default_main_program().global_block().var("zz")


t("P1 var", f)


def f():
    x = x_()
    return run({"x": X[:, :2]}, [x + 1])


t("P2 dim", f)


def f():
    x = x_()
    return run({"x": X.astype("f8")}, [x + 1])


t("P2 dtype", f)


def f():
    x = x_()
    return run({}, [x + 1])


t("P2 missing", f)


def f():
    x = x_()
    return run([X], [x + 1])


t("P2 list", f)


def f():
    x = x_()
    y = x + 1
    return (
        [v is None or v.tolist() for v in run({"x": X}, [y, y.name, y])],
        run({"x": X}, y)[0].shape,
        run({"x": X}, (y,))[0].shape,
    )


t("P3", f)


def f():
    x = x_()
    y = x + 1
    return run({"x": X}, ["nope"])


t("P3 unknown", f)


def f():
    x = x_()
    y = x + 1
    return run({"x": X}, [3])


t("P3 type", f)


def f():
    x = x_()
    y = x + 1
    o = cv("never", [1])
    return run({"x": X}, [o])


t("P3 never", f)


def f():
    x = x_()
    y = x + 1
    return np.array(exe.run(st.default_main_program(), feed={"x": X}, fetch_list=[y], return_numpy=False)[0]).tolist()


t("P3 tensor", f)


def f():
    x = x_()
    y = st.nn.fc(x, 2)
    return exe.run(st.default_main_program(), feed={"x": X}, fetch_list=[y])


t("P4", f)


def f():
    e = st.Executor()
    e.close()
    x = x_()
    return e.run(st.default_main_program(), feed={"x": X}, fetch_list=[x + 1])


t("P4 closed", f)


def f():
    x = x_(sg=True)
    h = st.nn.fc(x, 2)
    l = paddle.mean(h)
    test = st.default_main_program().clone(for_test=True)
    paddle.optimizer.SGD(0.1).minimize(l)
    test2 = st.default_main_program().clone(for_test=True)
    n = lambda p: [o.type for o in p.global_block().ops]
    return (
        len(n(test)),
        len(n(test2)),
        len(n(st.default_main_program())) > len(n(test)),
        run({"x": X}, [l], test)[0].shape,
    )


t("P7", f)


def f():
    return st.append_backward(3)


t("P6 type", f)


def f():
    x = st.data("x", [None, 3])
    x.stop_gradient = False
    o = cv("o", [-1, 3])
    st.py_func(lambda a: A(a) ** 2, x, o, lambda a, o, d: 2 * A(a) * A(d))
    l = paddle.mean(o)
    st.append_backward(l)
    r = []
    for n in (2, 5, 1, 2):
        r.append([v.sum().item() for v in run({"x": np.ones((n, 3), "f4")}, [l, "x@GRAD"])])
    return r


t("dynamic batch", f)


def f():
    x = x_(sg=True)
    h = st.nn.fc(x, 2, weight_attr=paddle.ParamAttr(name="w", initializer=paddle.nn.initializer.Constant(0.5)))
    l = paddle.mean(h)
    paddle.optimizer.SGD(0.1).minimize(l)
    run({"x": X}, [l])
    s = st.global_scope()
    v = s.find_var("w").get_tensor()
    a = np.array(v)
    v.set(np.ones((3, 2), "f4"), paddle.CPUPlace())
    return (
        a.tolist(),
        exe.run(st.default_main_program(), feed={"x": X}, fetch_list=[l, "w"]),
        s.find_var("nope"),
        v.shape(),
    )


t("scope", f)


def f():
    x = x_()
    y = x * 2
    z = y + 3
    z2 = z[0]
    w = paddle.concat([y, z], axis=0)
    u = paddle.reshape(w, [-1])
    m = paddle.matmul(x, x, transpose_y=True)
    return [
        v.tolist()
        for v in run({"x": X}, [z2, u, m, x.sum(), x.mean(axis=0), paddle.max(x), x > 2, paddle.argmax(x, axis=1)])
    ]


t("ops", f)
