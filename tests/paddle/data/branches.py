"""Branches and loops: in dynamic mode and in graphs, with parameters, gradients and a py_func in them.

Runs under Paddle 2.6.2 and under opkit; prints one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact.
"""

import paddle, numpy as np
from paddle import static
from shown_facts import show

nn = static.nn


def rnd(item):
    return None if item is None else np.round(np.asarray(item).astype("float64"), 5).tolist()


def run(build, *feeds):
    """Build a graph, run it on each feed, and return what it gives and the gradients of x."""
    paddle.enable_static()
    try:
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            x = static.data("x", [None, 2], "float32")
            k = static.data("k", [1], "int64")
            x.stop_gradient = False
            found = build(x, k)
            outs = list(found) if isinstance(found, (list, tuple)) else [found]
            total = paddle.add_n([paddle.sum(paddle.cast(out, "float32") * (i + 2.0)) for i, out in enumerate(outs)])
            grads = [item for item in static.gradients(total, x) if item is not None]
            exe = static.Executor()
            exe.run(startup)
            got = []
            for array, number in feeds:
                feed = {"x": np.asarray(array, "float32"), "k": np.asarray([number], "int64")}
                got.append([rnd(item) for item in exe.run(main, feed, [*outs, *grads])])
            return got
    finally:
        paddle.disable_static()


A, B = [[1.0, 2.0]], [[-3.0, 0.5], [1.0, 1.0]]
FEEDS = (A, 0), (B, 1), (A, 2), (B, 5)
positive = lambda x: paddle.sum(x) > 0
show("cond", lambda: run(lambda x, k: nn.cond(positive(x), lambda: x * 2, lambda: x * x), *FEEDS))
show("cond of two", lambda: run(lambda x, k: nn.cond(positive(x), lambda: (x * 2, x + 1), lambda: (x * x, x)), *FEEDS))
show("cond of an outer", lambda: run(lambda x, k: nn.cond(positive(x), lambda: x, lambda: x - 1), *FEEDS))
show("cond after", lambda: run(lambda x, k: paddle.exp(nn.cond(positive(x), lambda: x * 2, lambda: x * x)) * x, *FEEDS))
show("cond nested", lambda: run(lambda x, k: nn.cond(positive(x), lambda: nn.cond(paddle.max(x) > 1.5, lambda: x * 3, lambda: x), lambda: x * x), *FEEDS))
show("cond by k", lambda: run(lambda x, k: nn.cond(k == 1, lambda: x.sum() * 2, lambda: x.mean()), *FEEDS))
show("cond reads two", lambda: run(lambda x, k: (lambda y, z: nn.cond(positive(x), lambda: y * 2, lambda: z * y))(x * 3, x + 1), *FEEDS))
show("cond without", lambda: run(lambda x, k: [nn.cond(positive(x), lambda: None, lambda: None), x][1], *FEEDS))
show("cond other dtype", lambda: run(lambda x, k: nn.cond(positive(x), lambda: x, lambda: x.astype("int64")), *FEEDS))
show("cond other count", lambda: run(lambda x, k: nn.cond(positive(x), lambda: x, lambda: (x, x)), *FEEDS))
show("cond not callable", lambda: run(lambda x, k: nn.cond(positive(x), 3, 4), *FEEDS))
show("case", lambda: run(lambda x, k: nn.case([(k == 0, lambda: x), (k == 1, lambda: x * 2)], lambda: x * 3), *FEEDS))
show("case last", lambda: run(lambda x, k: nn.case([(k == 0, lambda: x), (k == 1, lambda: x * 2)]), *FEEDS))


def count(x, k):
    i = paddle.zeros([1], "int64")
    return nn.while_loop(lambda i, y: i < k, lambda i, y: [i + 1, y * 2 + 1], [i, x * 1.0])[1]


def grow(x, k):
    i = paddle.zeros([1], "int64")
    w = x * 0.5
    return nn.while_loop(lambda i, y: i < k, lambda i, y: [i + 1, y * w + y], [i, x + 0.0])[1]


show("while", lambda: run(count, *FEEDS))
show("while reads", lambda: run(grow, *FEEDS))
show("while count", lambda: run(lambda x, k: [x, nn.while_loop(lambda i: i < 10, lambda i: [i + k + 1], [paddle.zeros([1], "int64")])[0]], *FEEDS))
show("while nothing", lambda: run(lambda x, k: nn.while_loop(lambda i: i < 10, lambda i: [i + 1], []), *FEEDS))
show("while counts", lambda: run(lambda x, k: nn.while_loop(lambda i: i < 10, lambda i: [i + 1, i], [k]), *FEEDS))
show("while no bool", lambda: run(lambda x, k: nn.while_loop(lambda i: i, lambda i: [i + 1], [k]), *FEEDS))
show("while cond", lambda: run(lambda x, k: nn.while_loop(lambda i, y: i < k, lambda i, y: [i + 1, nn.cond(paddle.sum(y) > 2, lambda: y * 0.5, lambda: y + 1)], [paddle.zeros([1], "int64"), x * 1.0])[1], *FEEDS))


def train():
    """A layer in each branch, trained."""
    paddle.enable_static()
    try:
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            x = static.data("x", [None, 2], "float32")
            init = paddle.nn.initializer.Constant(0.5)
            y = nn.cond(paddle.sum(x) > 0, lambda: nn.fc(x, 1, weight_attr=paddle.ParamAttr("up", init)), lambda: nn.fc(x * x, 1, weight_attr=paddle.ParamAttr("down", init)))
            loss = paddle.mean(y * y)
            paddle.optimizer.SGD(0.1).minimize(loss)
        exe = static.Executor()
        exe.run(startup)
        got = [rnd(exe.run(main, {"x": np.asarray(item, "float32")}, [loss])[0]) for item in (A, B, A, B)]
        return got, sorted(item.name for item in main.all_parameters() if "w" in item.name or item.name in ("up", "down"))
    finally:
        paddle.disable_static()


show("train", train)
CALLS = []


def called(x, k):
    def double(a):
        CALLS.append(float(np.asarray(a).sum()))
        return np.asarray(a) * 2

    def branch():
        out = static.default_main_program().current_block().create_var(name="doubled", dtype="float32", shape=[-1, 2])
        return static.py_func(double, x, out, lambda a, b, db: np.asarray(db) * 2)

    return nn.cond(positive(x), branch, lambda: x - 1)


show("py_func", lambda: run(called, *FEEDS))
show("py_func calls", lambda: sorted(set(CALLS)))
for v in (True, False):
    show(f"dynamic cond {v}", lambda: nn.cond(paddle.to_tensor(v), lambda: paddle.ones([1]), lambda: paddle.zeros([1])).tolist())
show("dynamic while", lambda: [item.tolist() for item in nn.while_loop(lambda i, y: i < 3, lambda i, y: [i + 1, y * 2], [paddle.zeros([1]), paddle.ones([1])])])
show("dynamic case", lambda: nn.case([(paddle.to_tensor(False), lambda: 1), (paddle.to_tensor(True), lambda: 2)], lambda: 3))
