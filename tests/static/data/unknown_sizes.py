"""py_func results whose unknown sizes are those of no input: values and gradients, run by run.

Runs under Paddle 2.6.2 and under opkit; prints one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact.
"""

import warnings

warnings.simplefilter("ignore")
import numpy as np
import paddle

paddle.enable_static()
from paddle import static

A = np.asarray
exe = static.Executor(paddle.CPUPlace())


def R(*shape):
    return np.arange(1, 1 + int(np.prod(shape)), dtype="float32").reshape(shape) / 4


def var(shape, dtype="float32"):
    block = static.default_main_program().current_block()
    return block.create_var(name=paddle.utils.unique_name.generate("made"), dtype=dtype, shape=shape)


def fed(name, shape):
    x = static.data(name, shape, "float32")
    x.stop_gradient = False
    return x


def call(forward, backward, xs, shape, skip=True):
    y = var(shape)
    static.py_func(forward, xs, y, backward, y if skip else None)
    return y


def colsum(x, shape=(-1,)):
    return call(lambda x: A(x).sum(0), lambda x, g: np.broadcast_to(A(g), A(x).shape).copy(), x, list(shape))


def rowsum(x):
    return call(lambda x: A(x).sum(1), lambda x, g: np.broadcast_to(A(g)[:, None], A(x).shape).copy(), x, [-1])


def turn(x):
    return call(lambda x: A(x).T.copy(), lambda x, g: A(g).T.copy(), x, [-1, -1])


def twice(x, shape=(-1, -1)):
    return call(lambda x: np.repeat(A(x), 2, 0), lambda x, g: A(g).reshape(-1, 2, A(x).shape[1]).sum(1), x, list(shape))


def flat(x):
    return call(lambda x: A(x).reshape(-1), lambda x, g: A(g).reshape(A(x).shape), x, [-1])


def product(a, b):
    return call(lambda a, b: A(a) @ A(b), lambda a, b, g: (A(g) @ A(b).T, A(a).T @ A(g)), [a, b], [-1, -1])


def outer(a, b):
    return call(lambda a, b: np.outer(A(a), A(b)), lambda a, b, g: (A(g) @ A(b), A(g).T @ A(a)), [a, b], [-1, -1])


def swap(a, b):
    def slopes(a, b, g):
        return np.full_like(A(a), (A(g) * A(b)).sum()), A(g) * A(a).sum()

    return call(lambda a, b: A(b) * A(a).sum(), slopes, [a, b], [-1])


def t(name, build, *runs, shapes=None, how="append_backward", more=()):
    """Print the loss and the gradients of each run; ``build`` returns a loss, or a loss and what else is fetched."""
    with static.program_guard(static.Program(), static.Program()), static.scope_guard(static.Scope()):
        try:
            first = runs[0]
            shapes = shapes or [[None] * x.ndim for x in first]
            xs = [fed(f"x{i}", shape) for i, shape in enumerate(shapes)]
            built = build(*xs)
            loss, *rest = built if isinstance(built, tuple) else (built,)
            if how == "gradients":
                grads = static.gradients([loss], xs)
            else:
                grads = [g for _, g in static.append_backward(loss, parameter_list=xs)]
            exe.run(static.default_startup_program())
            fetches = [*([] if how == "no loss" else [loss]), *rest, *grads, *more]
            found = []
            for arrays in runs:
                feed = {f"x{i}": x for i, x in enumerate(arrays)}
                out = exe.run(static.default_main_program(), feed=feed, fetch_list=fetches)
                found.append([np.round(A(item, "float64"), 6).tolist() for item in out])
            print("#@", name, "->", found)
        except Exception as error:
            print("#@", name, "!!", ",".join(kind.__name__ for kind in type(error).__mro__), flush=True)


mean, total = paddle.mean, paddle.sum
F = paddle.nn.functional

# ---- one function, one op after it
t("column sums of one row", lambda x: mean(colsum(x)), [R(1, 4)])
t("column sums", lambda x: mean(colsum(x)), [R(3, 4)])
t("flat", lambda x: mean(flat(x)), [R(2, 3)])
t("flat sum", lambda x: total(flat(x)), [R(2, 3)])
t("flat square", lambda x: total(flat(x) * flat(x)), [R(2, 3)])
t("turned", lambda x: total(turn(x)[0] * turn(x)[0]), [R(3, 2)])
t("twice", lambda x: mean(paddle.exp(twice(x))), [R(3, 2)])
t("twice, width known", lambda x: mean(paddle.exp(twice(x, (-1, 2)))), [R(3, 2)], shapes=[[None, 2]])
t("product", lambda a, b: mean(F.softmax(product(a, b))[:, 0]), [R(2, 3), R(3, 4)])
t("swap", lambda a, b: mean(swap(a, b) * swap(a, b)), [R(2), R(3)])
t("swap of one", lambda a, b: mean(swap(a, b)), [R(1), R(3)])

# ---- other ops with unknown sizes
t("reshape", lambda x: mean(paddle.reshape(twice(x), [-1, 3]) ** 2), [R(3, 2)])
t("reshape like another", lambda x: mean(paddle.reshape(twice(x), [2, -1])[0] ** 2), [R(3, 2)])
t("transpose", lambda x: mean(paddle.transpose(twice(x), [1, 0])[1] ** 3), [R(3, 2)])
t("matmul", lambda x: mean(paddle.matmul(turn(x), x)), [R(3, 2)])
t("matmul with itself", lambda x: mean(paddle.matmul(twice(x), twice(x), transpose_y=True)), [R(2, 2)])
t("tile", lambda x: mean(paddle.tile(colsum(x), [3]) ** 2), [R(1, 4)])
t("mean of another axis", lambda x: total(mean(turn(x), 1, keepdim=True) ** 2), [R(3, 2)])
t("maximum", lambda x: total(paddle.max(twice(x), 0)), [R(3, 2)])
t("broadcast a row", lambda x: mean(x * colsum(x)), [R(3, 4)])
t("broadcast a column", lambda x: mean(paddle.unsqueeze(colsum(x), 1) + turn(x)), [R(3, 4)])
t("beside known sizes", lambda x, z: mean(colsum(x) * z), [R(3, 4), R(4)], shapes=[[None, None], [4]])
t("beside other unknown sizes", lambda x, z: mean(colsum(x) * z), [R(3, 4), R(4)])
t("a bias of known size", lambda x, b: mean(turn(x) + b), [R(3, 2), R(3)], shapes=[[None, None], [3]])
t("concat", lambda x: mean(paddle.concat([twice(x), x], 0) ** 2), [R(3, 2)])
t("slice", lambda x: mean(twice(x)[3:]), [R(3, 2)])
t("item", lambda x: total(colsum(x)[3]), [R(2, 4)])
t("cumsum", lambda x: mean(paddle.cumsum(colsum(x)) ** 2), [R(2, 4)])
t("softmax", lambda x: total(F.softmax(colsum(x) / 8) ** 2), [R(3, 4)])
t("ones like", lambda x: mean(paddle.ones_like(colsum(x)) + colsum(x)), [R(1, 4)])
t("ones like, fetched", lambda x: (mean(colsum(x)), paddle.ones_like(colsum(x))), [R(1, 4)])
t("shape", lambda x: (mean(colsum(x)), paddle.shape(colsum(x))), [R(1, 4)])
t("shape as a factor", lambda x: mean(colsum(x) * paddle.cast(paddle.shape(colsum(x)), "float32")), [R(1, 4)])
t("where", lambda x: mean(paddle.where(colsum(x) > 1, colsum(x), colsum(x) * 2)), [R(1, 4)])

# ---- functions of functions
t("sums of twice", lambda x: mean(colsum(twice(x))), [R(3, 4)])
t("twice of turned", lambda x: mean(twice(turn(x)) ** 2), [R(3, 2)])
t("flat of outer", lambda a, b: mean(flat(outer(a, b)) ** 2), [R(2), R(3)])
t("four in a row", lambda x: mean(colsum(twice(turn(paddle.tanh(twice(x)))))), [R(3, 2)])
t("large", lambda x: mean(colsum(paddle.tanh(twice(paddle.exp(x * 0.001)) + 1))), [R(500, 3)], how="gradients")

# ---- what the backward function takes, and who asks for gradients
t(
    "x skipped",
    lambda x: mean(
        (lambda y: static.py_func(lambda x: np.exp(A(x)).T.copy(), x, y, lambda y, g: (A(y) * A(g)).T.copy(), x))(
            var([-1, -1])
        )
    ),
    [R(3, 2)],
)
t(
    "nothing skipped",
    lambda x: mean(
        call(
            lambda x: np.exp(A(x)).sum(0),
            lambda x, y, g: np.exp(A(x)) * A(g) * A(y) / A(y),
            x,
            [-1],
            skip=False,
        )
        * 2
    ),
    [R(3, 2)],
)


def halves(x):
    y, z = var([-1]), var([-1, -1])

    def slopes(x, gy, gz):
        return np.broadcast_to(A(gy), A(x).shape) + A(gz).T

    static.py_func(lambda x: (A(x).sum(0), A(x).T * 3), x, [y, z], slopes, [y, z])
    return mean(y) + mean(z**2)


t("two results", halves, [R(3, 2)])


def wide(x):
    def slope(x, g):
        return A(g).reshape(2, len(A(x)), 2, -1).sum((0, 2))

    return call(lambda x: np.tile(A(x), (2, 2)), slope, x, [-1, -1])


t("a size that no input leaves open", lambda x: mean(total(wide(x), 1) ** 2), [R(3, 4)], shapes=[[None, 4]])
for how in ("gradients", "no loss"):
    t(f"{how}: column sums", lambda x: mean(colsum(x)), [R(1, 4)], how=how)
    t(f"{how}: turned", lambda x: mean(turn(x) ** 2), [R(3, 2)], how=how)
    t(f"{how}: a sum of both", lambda x: mean(colsum(x) + rowsum(turn(x))), [R(3, 2)], how=how)
    t(f"{how}: beside an input", lambda x, z: mean(colsum(x) + paddle.exp(z)), [R(3, 4), R(4)], how=how)

# ---- several runs
SIZES = [R(3, 4)], [R(3, 4)], [R(1, 4)], [R(1, 4)], [R(4, 3)], [R(2, 2)], [R(5, 1)], [R(3, 4)]
MANY = [[R(n, 2 + n % 3)] for n in range(1, 13)]
t("runs: column sums", lambda x: mean(colsum(x)), *SIZES)
t("runs: turned", lambda x: mean(turn(x) ** 2), *SIZES)
t("runs: sums of twice", lambda x: mean(colsum(twice(x)) ** 2), *SIZES)
t("runs: many sizes", lambda x: mean(colsum(twice(x)) ** 2), *MANY)
t("runs: batches", lambda x: mean(twice(x, (-1, 3)) ** 2), [R(2, 3)], [R(5, 3)], shapes=[[None, 3]])
t("runs: two feeds", lambda a, b: mean(swap(a, b)), [R(2), R(3)], [R(3), R(3)], [R(3), R(2)], [R(1), R(4)])


def as_it_is_told(x):
    return call(lambda x: A(x)[A(x)[:, 0] > 0.5], lambda x, g: np.full_like(A(x), A(g).max()), x, [-1, -1])


t(
    "runs: sizes that values decide",
    lambda x: mean(as_it_is_told(x)),
    [R(3, 2)],
    [R(3, 2) + 1],
    [R(3, 2)],
    [R(3, 2) - 0.5],
)


# ---- training
def train(layer):
    with static.program_guard(static.Program(), static.Program()), static.scope_guard(static.Scope()):
        x = static.data("x", [None, 3], "float32")
        one = paddle.nn.initializer.Constant(0.5)
        h = static.nn.fc(
            x, 4, weight_attr=paddle.ParamAttr(initializer=one), bias_attr=paddle.ParamAttr(initializer=one)
        )
        loss = mean(layer(h) ** 2)
        paddle.optimizer.SGD(0.1).minimize(loss)
        exe.run(static.default_startup_program())
        return [
            round(float(exe.run(feed={"x": R(n, 3) / 8}, fetch_list=[loss])[0]), 6) for n in (2, 2, 3, 1, 2, 4, 4, 1)
        ]


for label, layer in {"column sums": colsum, "flat": flat}.items():
    try:
        print("#@ training:", label, "->", train(layer))
    except Exception as error:
        print("#@ training:", label, "!!", ",".join(kind.__name__ for kind in type(error).__mro__), flush=True)
