"""Rows by segment, messages along edges, nested structures, what a network is made of, and other small parts.

Runs under Paddle 2.6.2 and under opkit; prints one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact.
"""

import contextlib
import io
import paddle, numpy as np
from paddle import nn, static
from shown_facts import show

# ---- segments and messages
G = paddle.geometric


def run(f, *arrays):
    xs = [paddle.to_tensor(np.asarray(a, "float32"), stop_gradient=False) for a in arrays]
    y = f(*xs)
    (y * paddle.arange(1, y.size + 1).reshape(y.shape).astype("float32")).sum().backward()
    return y.tolist(), [None if x.grad is None else x.grad.tolist() for x in xs]


D = [[1.0, 2.0], [3.0, 2.0], [-1.0, -2.0], [3.0, 0.0], [5.0, 5.0]]
I = lambda *a: paddle.to_tensor(list(a), dtype="int64")
for n in ("sum", "mean", "max", "min"):
    f = getattr(G, "segment_" + n)
    show(n, lambda: run(lambda x: f(x, I(0, 0, 0, 2, 2)), D))
    show(n + " ties", lambda: run(lambda x: f(x, I(0, 0, 1, 1, 1)), [[1.0], [1.0], [2.0], [2.0], [0.0]]))
    show(n + " 1d", lambda: run(lambda x: f(x, I(0, 1, 1)), [1.0, 2.0, 5.0]))
    show(n + " unsorted", lambda: run(lambda x: f(x, I(1, 0, 1)), [1.0, 2.0, 5.0]))
    show(n + " int", lambda: (lambda y: (str(y.dtype), y.tolist()))(f(paddle.to_tensor([1, 2, 5]), I(0, 0, 1))))
    show(
        n + " int32 ids",
        lambda: f(paddle.to_tensor([1.0, 2.0, 5.0]), paddle.to_tensor([0, 0, 1], dtype="int32")).tolist(),
    )
    show(
        n + " incubate",
        lambda: getattr(paddle.incubate, "segment_" + n)(paddle.to_tensor([1.0, 2.0, 5.0]), I(0, 0, 1)).tolist(),
    )
show("float ids", lambda: G.segment_sum(paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([0.0, 1.0])))
show("negative ids", lambda: G.segment_sum(paddle.to_tensor([1.0, 2.0]), I(-1, 0)).tolist())
show("short ids", lambda: G.segment_sum(paddle.to_tensor([1.0, 2.0]), I(0)).tolist())
show("empty", lambda: G.segment_sum(paddle.zeros([0, 2]), paddle.zeros([0], "int64")).shape)
X = [[0.0, 2.0, 3.0], [1.0, 4.0, 5.0], [2.0, 6.0, 7.0]]
for r in ("sum", "mean", "max", "min"):
    show("recv " + r, lambda: run(lambda x: G.send_u_recv(x, I(0, 1, 2, 0), I(1, 2, 1, 0), r), X))
    show("recv size " + r, lambda: run(lambda x: G.send_u_recv(x, I(0, 1, 2, 0), I(1, 2, 1, 0), r, out_size=5), X))
    show("recv ties " + r, lambda: run(lambda x: G.send_u_recv(x, I(0, 1), I(0, 0), r), [[1.0], [1.0], [3.0]]))
    for m in ("add", "sub", "mul", "div"):
        show(
            f"ue {m} {r}",
            lambda: run(lambda x, y: G.send_ue_recv(x, y, I(0, 1, 2, 0), I(1, 2, 1, 0), m, r), X, [1.0, 2.0, 4.0, 8.0]),
        )
        show(
            f"ue rows {m} {r}",
            lambda: run(
                lambda x, y: G.send_ue_recv(x, y, I(0, 1, 2, 0), I(1, 2, 1, 0), m, r), X, [[1.0], [2.0], [4.0], [8.0]]
            ),
        )
for m in ("add", "sub", "mul", "div"):
    show(
        f"uv {m}",
        lambda: run(
            lambda x, y: G.send_uv(x, y, I(0, 1, 2, 0), I(1, 2, 1, 0), m),
            X,
            [[1.0, 1.0, 2.0], [2.0, 4.0, 8.0], [1.0, 1.0, 1.0]],
        ),
    )
show("recv size small", lambda: G.send_u_recv(paddle.to_tensor(X), I(0, 1, 2, 0), I(1, 2, 1, 0), "sum", out_size=2))
show("recv size 0", lambda: G.send_u_recv(paddle.to_tensor(X), I(0, 1, 2, 0), I(1, 2, 1, 0), "sum", out_size=0).shape)
show(
    "recv size tensor",
    lambda: (
        G.send_u_recv(paddle.to_tensor(X), I(0, 1, 2, 0), I(1, 2, 1, 0), "sum", out_size=paddle.to_tensor([4])).shape
    ),
)
show("recv op", lambda: G.send_u_recv(paddle.to_tensor(X), I(0, 1, 2, 0), I(1, 2, 1, 0), "prod"))
show(
    "ue op",
    lambda: G.send_ue_recv(
        paddle.to_tensor(X), paddle.to_tensor([1.0, 2.0, 4.0, 8.0]), I(0, 1, 2, 0), I(1, 2, 1, 0), "pow", "sum"
    ),
)
show("recv lengths", lambda: G.send_u_recv(paddle.to_tensor(X), I(0, 1, 2), I(1, 2), "sum"))
for a in (("2.0.0",), ("2.6.2",), ("99.0",), ("1.0", "2.0"), ("2.x",), (2,), ("2.0.0", "99")):
    show(f"require {a}", lambda: paddle.utils.require_version(*a))
from paddle.common_ops_import import convert_dtype

for d in ("float32", np.float32, paddle.float32, np.dtype("int64"), "floatx"):
    show(f"convert_dtype {d}", lambda: convert_dtype(d))
ids = paddle.to_tensor([[[2, 2], [6, 1]], [[3, 9], [6, 1]], [[0, 1], [9, 0]]])
par = paddle.to_tensor([[[0, 0], [1, 1]], [[1, 0], [1, 0]], [[0, 0], [0, 1]]])
show("gather_tree", lambda: paddle.nn.functional.gather_tree(ids, par).tolist())


# ---- what a network is made of
def said(fact):
    """Return a fact and the lines that it printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        found = fact()
    return found, [line.strip() for line in printed.getvalue().splitlines() if not line.startswith("<class")]


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2D(1, 2, 3, padding=1), nn.BatchNorm2D(2), nn.ReLU(), nn.AvgPool2D(2))
        self.flat, self.head, self.drop = nn.Flatten(), nn.Linear(32, 3), nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.head(self.flat(self.body(x))))


class Two(nn.Layer):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(3, 2)
        self.other = nn.Embedding(5, 2)

    def forward(self, x, k):
        return self.one(x) + self.other(k), [self.one(x)]


with paddle.utils.unique_name.guard():
    net, two = Net(), Two()
net.head.weight.stop_gradient = True
show("summary", lambda: said(lambda: paddle.summary(net, (1, 1, 8, 8))))
show("summary keeps training", lambda: (net.training, net.body.training, net.drop.training))
for size in (
    (None, 1, 8, 8),
    (-1, 1, 8, 8),
    [1, 1, 8, 8],
    (None, None, 8, 8),
    (0, 1, 8, 8),
    static.InputSpec([None, 1, 8, 8]),
    None,
):
    show(f"summary {size}", lambda: said(lambda: paddle.summary(net, size))[0])
show("summary two", lambda: said(lambda: paddle.summary(two, [(4, 3), (4,)], dtypes=["float32", "int64"])))
show("summary input", lambda: said(lambda: paddle.summary(net, input=paddle.ones([2, 1, 8, 8])))[0])
show("summary one layer", lambda: said(lambda: paddle.summary(nn.Linear(3, 2), (1, 3)))[0])
show("flops", lambda: said(lambda: paddle.flops(net, [1, 1, 8, 8]))[0])
show("flops detail", lambda: said(lambda: paddle.flops(net, [1, 1, 8, 8], print_detail=True))[1][-1])


def doubled(layer, x, y):
    layer.total_ops += int(x[0].numel()) * 2


show("flops own", lambda: said(lambda: paddle.flops(net, [1, 1, 8, 8], custom_ops={nn.Flatten: doubled}))[0])
show(
    "flops layers",
    lambda: [
        said(lambda: paddle.flops(nn.Sequential(layer), [1, 2, 6, 6]))[0]
        for layer in (
            nn.Conv2D(2, 3, 3, bias_attr=False),
            nn.Conv2DTranspose(2, 2, 2, groups=2),
            nn.AdaptiveAvgPool2D(2),
            nn.LeakyReLU(),
            nn.MaxPool2D(2),
            nn.ReLU6(),
        )
    ],
)


# ---- graphs
def transposed(**options):
    paddle.enable_static()
    try:
        main, start = static.Program(), static.Program()
        with static.program_guard(main, start), static.scope_guard(static.Scope()):
            last = options.get("data_format") == "NHWC"
            x = static.data("x", [1, 3, 3, 2] if last else [1, 2, 3, 3])
            x.stop_gradient = False
            set_to = nn.initializer.Constant
            y = static.nn.conv2d_transpose(
                x,
                2,
                param_attr=paddle.ParamAttr(initializer=set_to(0.5)),
                bias_attr=paddle.ParamAttr(initializer=set_to(0.25)),
                **options,
            )
            grads = static.gradients(paddle.sum(y * y), [x])
            exe = static.Executor()
            exe.run(start)
            got = exe.run(
                main, feed={"x": np.cos(np.arange(18)).reshape(x.shape).astype("float32")}, fetch_list=[y, *grads]
            )
            return [np.round(item.astype("float64"), 3).tolist() for item in got], [
                list(item.shape) for item in main.all_parameters()
            ]
    finally:
        paddle.disable_static()


for options in (
    {"filter_size": 2},
    {"filter_size": (2, 3), "stride": 2, "padding": 1},
    {"output_size": 6, "stride": 2},
    {"output_size": (7, 6), "filter_size": 3, "stride": 2},
    {"filter_size": 2, "groups": 2, "act": "relu"},
    {"filter_size": 2, "data_format": "NHWC"},
    {},
):
    show(f"conv2d_transpose {options}", lambda: transposed(**options))

# ---- small parts
show(
    "strategies",
    lambda: [
        item.name
        for item in (
            static.BuildStrategy().reduce_strategy,
            static.BuildStrategy.ReduceStrategy.Reduce,
            static.BuildStrategy.GradientScaleStrategy.One,
        )
    ],
)
show("prim", lambda: paddle.base.core.set_prim_eager_enabled(False))
from paddle.common_ops_import import check_dtype, check_type, check_variable_and_dtype
from paddle.io.dataloader.collate import default_collate_fn

show("collate", lambda: [np.asarray(item).tolist() for item in default_collate_fn([(np.ones(2), 1), (np.zeros(2), 2)])])


def checked(fact):
    """Ask in dynamic mode, where nothing is checked, and in static mode."""

    def both():
        fact()
        paddle.enable_static()
        try:
            with static.program_guard(static.Program()):
                return fact()
        finally:
            paddle.disable_static()

    return both


show("check_type", checked(lambda: (check_type(1, "x", int, "f"), check_type(1, "x", (int, float), "f"))))
show("check_type wrong", checked(lambda: check_type("1", "x", (int, float), "f")))
show("check_dtype", checked(lambda: check_dtype("float32", "x", ["float32", "float64"], "f")))
show("check_dtype wrong", checked(lambda: check_dtype("int32", "x", ["float32", "float64"], "f")))
show("check_variable", checked(lambda: check_variable_and_dtype(paddle.ones([1]), "x", ["float32"], "f")))
show("check_variable wrong", checked(lambda: check_variable_and_dtype(np.ones(1), "x", ["float32"], "f")))
