"""Shapes that a graph computes while it runs, and what else scripts ask of programs, Variables and Executors.

Runs under Paddle 2.6.2 and under opkit; prints one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact.
"""

import os
import tempfile

import paddle, numpy as np
from paddle import static
from shown_facts import show

FEEDS = [np.arange(4.0).reshape(2, 2).astype("float32"), np.arange(6.0).reshape(3, 2).astype("float32") - 2, np.ones((1, 2), "float32")]


def rnd(item):
    return np.round(np.asarray(item).astype("float64"), 4).tolist()


def run(build, slopes=True):
    """Build a graph of x, [None, 2], run it on batches of several sizes; with the gradient of x where there is one."""
    paddle.enable_static()
    try:
        main, start = static.Program(), static.Program()
        with static.program_guard(main, start), static.scope_guard(static.Scope()):
            x = static.data("x", [None, 2], "float32")
            x.stop_gradient = False
            outs = build(x)
            outs = list(outs) if isinstance(outs, (list, tuple)) else [outs]
            shapes = [list(out.shape) for out in outs]
            if slopes:
                loss = paddle.add_n([paddle.sum(paddle.square(paddle.cast(out, "float32"))) for out in outs])
                outs += static.gradients(loss, [x])
            exe = static.Executor()
            exe.run(start)
            return shapes, [[rnd(item) for item in exe.run(main, feed={"x": array}, fetch_list=outs)] for array in FEEDS]
    finally:
        paddle.disable_static()


shape = paddle.shape
for label, build in {
    "reshape to one": lambda x: paddle.reshape(x, [shape(x)[0] * 2]),
    "reshape with -1": lambda x: paddle.reshape(x, [shape(x)[0], -1, 1]),
    "reshape by a vector": lambda x: paddle.reshape(paddle.transpose(x, [1, 0]), shape(x)),
    "reshape keeps": lambda x: x.reshape([0, shape(x)[1]]),
    "expand": lambda x: paddle.expand(x[:1], [shape(x)[0], 2]),
    "expand keeps": lambda x: paddle.expand(paddle.unsqueeze(x, 0), [shape(x)[0], -1, -1]),
    "broadcast_to": lambda x: paddle.broadcast_to(paddle.mean(x), shape(x)),
    "zeros": lambda x: paddle.zeros(shape(x)) + x,
    "ones": lambda x: x * paddle.ones([shape(x)[0], 1]),
    "full": lambda x: x + paddle.full([shape(x)[0], 2], 1.5),
    "full int": lambda x: x + paddle.cast(paddle.full([shape(x)[0], 1], 3, "int64"), "float32"),
    "positions": lambda x: x + paddle.cast(paddle.reshape(paddle.arange(0, shape(x)[0], 1, "int32"), [-1, 1]), "float32"),
    "mean by size": lambda x: paddle.sum(x) / paddle.cast(shape(x)[0], "float32"),
    "outer": lambda x: paddle.matmul(paddle.ones([shape(x)[0], shape(x)[0]]), x),
}.items():
    show(label, lambda: run(build))
for label, build in {
    "shape": lambda x: [shape(x), shape(x)[0] + 1, shape(x)[-1]],
    "shape of a result": lambda x: shape(paddle.concat([x, x], 0)),
    "shape of a cut": lambda x: shape(x[1:]),
    "arange": lambda x: paddle.arange(shape(x)[0]),
    "arange steps": lambda x: paddle.arange(1, shape(x)[0] * 4, 3, "int64"),
    "zeros int": lambda x: paddle.zeros([shape(x)[0]], "int64"),
    "fill_constant": lambda x: paddle.tensor.fill_constant([shape(x)[0], 1], "float32", 2.5),
}.items():
    show(label, lambda: run(build, slopes=False))


class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = paddle.nn.Linear(2, 4, weight_attr=paddle.nn.initializer.Constant(0.5))

    def forward(self, x):
        y = paddle.reshape(self.linear(x), [paddle.shape(x)[0], 2, 2])
        return paddle.sum(y, -1) + paddle.zeros([paddle.shape(x)[0], 1])


def saved():
    net = Net()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net")
        paddle.jit.save(net, path, input_spec=[static.InputSpec([None, 2], "float32")])
        loaded = paddle.jit.load(path)
        return [rnd(loaded(paddle.to_tensor(array))) == rnd(net(paddle.to_tensor(array))) for array in FEEDS]


show("jit.save", saved)
show("shape in dynamic mode", lambda: (shape(paddle.ones([2, 3])).tolist(), paddle.zeros(shape(paddle.ones([2, 3]))).shape, paddle.reshape(paddle.ones([2, 3]), [shape(paddle.ones([2, 3]))[1], -1]).shape))
