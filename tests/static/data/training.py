"""Training in graphs: optimizers, layers, clones, gradients.

Runs under Paddle 2.6.2 and under opkit; prints one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact.
"""

import warnings

warnings.simplefilter("ignore")
import numpy as np
import paddle

paddle.enable_static()
import paddle.static as st

rs = np.random.RandomState(0)
W = lambda *s: (rs.standard_normal(s) * 0.3).astype("f4")
A = np.array
pa = lambda v, **k: paddle.ParamAttr(initializer=paddle.nn.initializer.Assign(v), **k)


def t(name, f):
    rs.seed(0)
    with st.program_guard(st.Program(), st.Program()), st.scope_guard(st.Scope()):
        try:
            print("#@", name, "->", f())
        except Exception as error:
            print("#@", name, "!!", ",".join(kind.__name__ for kind in type(error).__mro__), flush=True)


def cv(name, shape, dtype="float32"):
    return st.default_main_program().current_block().create_var(name=name, dtype=dtype, shape=shape)


r6 = lambda L: [round(float(v), 5) for v in np.array(L).reshape(-1)]


def tanh(x):
    return np.tanh(np.array(x))


def tanh_grad(y, dy):
    return np.array(dy) * (1 - np.square(np.array(y)))


def net(x, y, n=3):
    h = x
    for i in range(n):
        h = st.nn.fc(h, 8, weight_attr=pa(W(h.shape[1], 8)), bias_attr=pa(W(8)))
        o = cv("h%d" % i, [-1, 8])
        h = st.py_func(tanh, h, o, tanh_grad, h)
    p = st.nn.fc(h, 4, weight_attr=pa(W(8, 4)), bias_attr=pa(W(4)))
    return paddle.nn.CrossEntropyLoss()(p, y)


X = np.random.RandomState(1).standard_normal((6, 5)).astype("f4")
Y = np.random.RandomState(2).randint(0, 4, 6).astype("i8")


def train(opt, steps=6, clip=None):
    x = st.data("x", [None, 5])
    y = st.data("y", [None], "int64")
    l = net(x, y)
    o = opt()
    o.minimize(l)
    exe = st.Executor()
    exe.run(st.default_startup_program())
    out = []
    for i in range(steps):
        out.append(exe.run(feed={"x": X, "y": Y}, fetch_list=[l])[0])
        if isinstance(o._learning_rate, paddle.optimizer.lr.LRScheduler):
            o._learning_rate.step()
    return r6(out)


O = paddle.optimizer
for nm, op in dict(
    sgd=lambda: O.SGD(0.5),
    mom=lambda: O.Momentum(0.1, 0.9),
    nest=lambda: O.Momentum(0.1, 0.9, use_nesterov=True),
    adam=lambda: O.Adam(0.01),
    adamw=lambda: O.AdamW(0.01, weight_decay=0.1),
    rms=lambda: O.RMSProp(0.01),
    rmsc=lambda: O.RMSProp(0.01, centered=True, momentum=0.9),
    ada=lambda: O.Adagrad(0.05),
    sgdwd=lambda: O.SGD(0.5, weight_decay=0.1),
    l1=lambda: O.SGD(0.5, weight_decay=paddle.regularizer.L1Decay(0.01)),
    momwd=lambda: O.Momentum(0.1, weight_decay=paddle.regularizer.L2Decay(0.1)),
    clipv=lambda: O.SGD(0.5, grad_clip=paddle.nn.ClipGradByValue(0.05)),
    clipn=lambda: O.SGD(0.5, grad_clip=paddle.nn.ClipGradByNorm(0.1)),
    clipg=lambda: O.SGD(0.5, grad_clip=paddle.nn.ClipGradByGlobalNorm(0.3)),
    step=lambda: O.SGD(O.lr.StepDecay(0.5, 2, 0.1)),
    exp=lambda: O.Adam(O.lr.ExponentialDecay(0.05, 0.9)),
    warm=lambda: O.SGD(O.lr.LinearWarmup(0.5, 3, 0.0, 0.5)),
).items():
    t(nm, lambda: train(op))


def f():
    x = st.data("x", [None, 5])
    y = st.data("y", [None], "int64")
    h = st.nn.fc(x, 8, weight_attr=pa(W(5, 8), learning_rate=0.1), bias_attr=pa(W(8), trainable=False))
    p = st.nn.fc(h, 4, weight_attr=pa(W(8, 4), regularizer=paddle.regularizer.L2Decay(0.5)), bias_attr=False)
    l = paddle.nn.CrossEntropyLoss()(p, y)
    r = O.SGD(0.5).minimize(l)
    exe = st.Executor()
    exe.run(st.default_startup_program())
    return len(r[1]), r6([exe.run(feed={"x": X, "y": Y}, fetch_list=[l])[0] for _ in range(5)])


t("attrs", f)


def f():
    x = st.data("x", [None, 5])
    y = st.data("y", [None], "int64")
    h = st.nn.fc(x, 8, weight_attr=pa(W(5, 8)), bias_attr=pa(W(8)))
    h = st.nn.batch_norm(h, act="relu")
    p = st.nn.fc(h, 4, weight_attr=pa(W(8, 4)), bias_attr=False)
    l = paddle.nn.CrossEntropyLoss()(p, y)
    test = st.default_main_program().clone(for_test=True)
    O.SGD(0.5).minimize(l)
    exe = st.Executor()
    exe.run(st.default_startup_program())
    r = [exe.run(feed={"x": X, "y": Y}, fetch_list=[l])[0] for _ in range(5)]
    e = exe.run(test, feed={"x": X[:3], "y": Y[:3]}, fetch_list=[l])[0]
    return (
        r6(r),
        r6(e),
        r6(st.global_scope().find_var("batch_norm_0.w_1").get_tensor()),
        r6(st.global_scope().find_var("batch_norm_0.w_2").get_tensor()),
    )


t("bn", f)


def f():
    x = st.data("x", [None, 5])
    h = paddle.nn.functional.dropout(x, 0.5)
    l = paddle.mean(h)
    test = st.default_main_program().clone(for_test=True)
    exe = st.Executor()
    return r6(exe.run(test, feed={"x": X}, fetch_list=[l])[0])


t("dropout test", f)


def f():
    i = st.data("i", [None, 3], "int64")
    y = st.data("y", [None], "int64")
    e = st.nn.embedding(i, [10, 6], padding_idx=0, param_attr=pa(W(10, 6)))
    h = paddle.reshape(e, [-1, 18])
    p = st.nn.fc(h, 4, weight_attr=pa(W(18, 4)))
    l = paddle.nn.CrossEntropyLoss()(p, y)
    O.Adam(0.05).minimize(l)
    exe = st.Executor()
    exe.run(st.default_startup_program())
    I = np.random.RandomState(3).randint(0, 10, (6, 3)).astype("i8")
    return e.shape, r6([exe.run(feed={"i": I, "y": Y}, fetch_list=[l])[0] for _ in range(5)])


t("emb", f)


def f():
    x = st.data("x", [None, 1, 6, 6])
    y = st.data("y", [None], "int64")
    h = st.nn.conv2d(x, 3, 3, padding=1, act="relu", param_attr=pa(W(3, 1, 3, 3)))
    h = paddle.nn.functional.max_pool2d(h, 2)
    p = st.nn.fc(h, 4, weight_attr=pa(W(27, 4)))
    l = paddle.nn.functional.cross_entropy(p, y)
    O.SGD(0.5).minimize(l)
    exe = st.Executor()
    exe.run(st.default_startup_program())
    I = np.random.RandomState(3).standard_normal((6, 1, 6, 6)).astype("f4")
    return h.shape, r6([exe.run(feed={"x": I, "y": Y}, fetch_list=[l])[0] for _ in range(5)])


t("conv", f)


def f():
    x = st.data("x", [None, 5])
    y = st.data("y", [None], "int64")
    lin = paddle.nn.Linear(5, 8, weight_attr=pa(W(5, 8)))
    l2 = paddle.nn.Linear(8, 4, weight_attr=pa(W(8, 4)))
    h = paddle.nn.functional.relu(lin(x))
    p = l2(h)
    l = paddle.nn.functional.cross_entropy(p, y)
    O.SGD(0.5).minimize(l)
    exe = st.Executor()
    exe.run(st.default_startup_program())
    return r6([exe.run(feed={"x": X, "y": Y}, fetch_list=[l])[0] for _ in range(5)])


t("layers", f)


def f():
    x = st.data("x", [None, 5])
    h = st.nn.layer_norm(x)
    h = st.nn.fc([h, x], 3, weight_attr=[pa(W(5, 3)), pa(W(5, 3))], activation="sigmoid")
    exe = st.Executor()
    exe.run(st.default_startup_program())
    return r6(exe.run(feed={"x": X}, fetch_list=[h])[0])


t("ln fc2", f)


def f():
    x = st.data("x", [None, 5])
    x.stop_gradient = False
    a = cv("a", [-1, 5])
    b = cv("b", [-1, 5])
    st.py_func(
        lambda v: (np.array(v) * 2, np.array(v) ** 2),
        x,
        [a, b],
        lambda x, a, b, da, db: np.array(da) * 2 + 2 * np.array(x) * np.array(db),
    )
    l = paddle.mean(a * b)
    st.append_backward(l)
    exe = st.Executor()
    return r6(exe.run(feed={"x": X}, fetch_list=["x@GRAD"])[0])


t("multi out", f)


def f():
    x = st.data("x", [2, 3])
    x.stop_gradient = False
    y = paddle.exp(x) * paddle.sin(x) + paddle.sqrt(x * x + 1)
    (g,) = st.gradients(y, x)
    (gg,) = st.gradients(paddle.sum(g * g), x)
    exe = st.Executor()
    V = np.arange(6, dtype="f4").reshape(2, 3) / 5
    return r6(exe.run(feed={"x": V}, fetch_list=[gg])[0])


t("double", f)


def f():
    x = st.data("x", [None, 5])
    w = paddle.create_parameter([5, 1], "float32", attr=pa(W(5, 1)))
    y = paddle.matmul(x, w)
    l = paddle.mean((y - 1) ** 2)
    o = O.SGD(0.1)
    pg = o.backward(l)
    o.apply_gradients(pg)
    exe = st.Executor()
    exe.run(st.default_startup_program())
    return r6([exe.run(feed={"x": X}, fetch_list=[l])[0] for _ in range(5)])


t("apply_gradients", f)
