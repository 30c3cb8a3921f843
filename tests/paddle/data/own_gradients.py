"""Parts of graphs whose gradient a function of the script's builds: ``paddle.static.nn.static_pylayer``.

Runs under Paddle 2.6.2 and under opkit; prints one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact.
"""

import paddle, numpy as np
from paddle import static
from shown_facts import show

S = static.nn.static_pylayer


def graph(build, *arrays, wrt=True):
    def go():
        paddle.enable_static()
        try:
            main, start = static.Program(), static.Program()
            with static.program_guard(main, start):
                xs = []
                for i, a in enumerate(arrays):
                    x = static.data(f"x{i}", [None, *a.shape[1:]], "float32")
                    x.stop_gradient = False
                    xs.append(x)
                out = build(*xs)
                outs = list(out) if isinstance(out, (list, tuple)) else [out]
                fetch = list(outs)
                if wrt:
                    loss = paddle.add_n([paddle.sum(o * (i + 2.0)) for i, o in enumerate(outs)])
                    fetch += [g for g in static.gradients(loss, xs) if g is not None]
                exe = static.Executor()
                exe.run(start)
                got = exe.run(main, feed={f"x{i}": a for i, a in enumerate(arrays)}, fetch_list=fetch)
                return (
                    [np.round(g.astype("float64"), 4).tolist() for g in got],
                    [list(o.shape) for o in outs],
                    [o.stop_gradient for o in outs],
                )
        finally:
            paddle.disable_static()

    return go


A = np.array([[0.3, -0.4], [0.5, 0.6]], "float32")
show("exp 3dy", graph(lambda x: S(lambda x: paddle.exp(x), [x], lambda dy: 3 * dy), A))
show("two in", graph(lambda x, y: S(lambda a, b: a * b, [x, y], lambda dy: (dy * 5, dy * 7)), A, A + 1))
show("two out", graph(lambda x: S(lambda a: (a * 2, a + 1), [x], lambda d0, d1: d0 * 10 + d1), A))
show("two out unused", graph(lambda x: S(lambda a: (a * 2, a + 1), [x], lambda d0, d1: d0 * 10 + d1)[0], A))
show("no backward", graph(lambda x: S(lambda a: a * 2, [x]), A))
show("no backward forward", graph(lambda x: S(lambda a: a * 2, [x]), A, wrt=False))
show("reads outer", graph(lambda x, y: S(lambda a: a * y, [x], lambda dy: dy * y), A, A + 1))
show("nested list", graph(lambda x: S(lambda a: [a * 2, [a + 1]], [x], lambda d0, d1: d0), A, wrt=False))
show("short back", graph(lambda x, y: S(lambda a, b: a * b, [x, y], lambda dy: dy), A, A))
show("none back", graph(lambda x, y: S(lambda a, b: a * b, [x, y], lambda dy: (dy, None)), A, A))
show(
    "twice", graph(lambda x: S(lambda a: a * 2, [S(lambda a: a * 3, [x], lambda dy: dy * 100)], lambda dy: dy * 10), A)
)
show("same in", graph(lambda x: S(lambda a, b: a * b, [x, x], lambda dy: (dy * 5, dy * 7)), A))
show("identity", graph(lambda x: S(lambda a: a, [x], lambda dy: dy * 4), A))
show("constant forward", graph(lambda x: S(lambda a: paddle.ones([2, 2]), [x], lambda dy: dy * 4), A))
show("not list", graph(lambda x: S(lambda a: a * 2, x, lambda dy: dy), A))
show("no function", graph(lambda x: S(3, [x]), A))
show("none out", graph(lambda x: S(lambda a: None, [x]), A, wrt=False))
show("kw", graph(lambda x: S(forward_fn=lambda a: a * 2, inputs=[x], backward_fn=lambda dy: dy * 2, name="n"), A))
show("dynamic", lambda: S(lambda a: a * 2, [paddle.to_tensor(A)], lambda dy: dy * 9).tolist())
show("pyfunc inside", graph(lambda x: S(lambda a: a * 2, [x], lambda dy: paddle.tanh(dy)), A))


def param(x):
    w = paddle.create_parameter([2], "float32", default_initializer=paddle.nn.initializer.Constant(2.0))
    return S(lambda a: a * w, [x], lambda dy: dy * w)


show("param", graph(param, A))


def trained():
    """Train a weight behind a gradient that is cut off at 1."""
    paddle.enable_static()
    try:
        main, start = static.Program(), static.Program()
        with static.program_guard(main, start), static.scope_guard(static.Scope()):
            x = static.data("x", [2, 2], "float32")
            w = paddle.create_parameter([2, 1], "float32", default_initializer=paddle.nn.initializer.Constant(3.0))
            y = S(lambda a: a * 1.0, [paddle.matmul(x, w)], lambda dy: paddle.clip(dy, -1.0, 1.0))
            loss = paddle.mean(paddle.square(y))
            paddle.optimizer.SGD(0.1).minimize(loss)
            exe = static.Executor()
            exe.run(start)
            return [np.round(exe.run(main, feed={"x": A}, fetch_list=[loss])[0], 5).tolist() for _ in range(3)]
    finally:
        paddle.disable_static()


show("trained", trained)
show(
    "in a branch",
    graph(
        lambda x: static.nn.cond(
            paddle.mean(x) > 0, lambda: S(lambda a: a * 2, [x], lambda dy: dy * 5), lambda: x * 1.0
        ),
        A,
    ),
)
