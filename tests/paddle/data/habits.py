"""What scripts do without thinking: sizes as numbers, gradients of one element, names under their old paths.

Runs under Paddle 2.6.2 and under opkit; prints one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact.
"""

import warnings

warnings.simplefilter("ignore")


def show(label, fact):
    try:
        print("#@", label, "->", fact(), flush=True)
    except BaseException as error:
        print("#@", label, "!!", ",".join(kind.__name__ for kind in type(error).__mro__), flush=True)


import paddle, numpy as np
from paddle.autograd import PyLayer


def plain(x):
    return x.shape, str(x.dtype), x.tolist()


# ---- a size instead of a shape
SIZES = {"2": 2, "0": 0, "np.int64(3)": np.int64(3), "np.int32(1)": np.int32(1), "array": np.array([2, 1]), "0-d": paddle.to_tensor(2)}
REFUSED = {"-1": -1, "True": True, "2.0": 2.0, "'2'": "2"}
for label, size in {**SIZES, **REFUSED}.items():
    show(f"ones {label}", lambda: plain(paddle.ones(size)))
    show(f"zeros {label}", lambda: plain(paddle.zeros(size)))
    show(f"full {label}", lambda: plain(paddle.full(size, 1.5)))
for label, size in {"2": 2, "-1": -1, "np.int32(2)": np.int32(2), "array": np.array([2, 1]), "True": True, "2.0": 2.0}.items():
    show(f"expand {label}", lambda: plain(paddle.to_tensor([1.0]).expand(size)))
    show(f"broadcast_to {label}", lambda: plain(paddle.broadcast_to(paddle.to_tensor([1.0]), size)))
show("expand 0-d", lambda: plain(paddle.to_tensor(1.0).expand(2)))
show("expand fewer axes", lambda: plain(paddle.ones([2, 2]).expand(2)))
show("scatter_nd", lambda: plain(paddle.scatter_nd(paddle.to_tensor([[1]]), paddle.to_tensor([2.0]), 3)))
show("crop", lambda: plain(paddle.crop(paddle.ones([3]), 2)))
show("reshape", lambda: plain(paddle.ones([1, 2]).reshape(2)))
for name in ("rand", "randn", "uniform"):
    show(f"{name} array", lambda: getattr(paddle, name)(np.array([2, 3])).shape)


# ---- the gradient of one element
class Given(PyLayer):
    @staticmethod
    def forward(ctx, x, shape):
        ctx.shape = shape
        return x * 2

    @staticmethod
    def backward(ctx, dy):
        return paddle.full(ctx.shape, 3.0)


def gradient(shape, given):
    x = paddle.full(shape, 1.0)
    x.stop_gradient = False
    y = x * 2.0
    Given.apply(y, given).sum().backward()
    return float(x.grad), x.grad.shape


show("gradient [1] of []", lambda: gradient([], [1])[0])
show("gradient [] of [1]", lambda: gradient([1], [])[0])
show("gradient [1] of [1]", lambda: gradient([1], [1]))
show("gradient [1] of [], its shape", lambda: gradient([], [1])[1])
show("gradient [] of [1], its shape", lambda: gradient([1], [])[1])


class Scaled(PyLayer):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x, scale)
        return x * scale

    @staticmethod
    def backward(ctx, dy):
        x, scale = ctx.saved_tensor()
        return None, (dy * x).sum()


def learned_scale():
    scale = paddle.create_parameter([1], "float32", default_initializer=paddle.nn.initializer.Constant(0.5))
    optimizer = paddle.optimizer.SGD(0.1, parameters=[scale])
    for _ in range(3):
        Scaled.apply(paddle.to_tensor([1.0, 2.0]), scale).sum().backward()
        optimizer.step()
        optimizer.clear_grad()
    return np.round(scale.numpy().ravel(), 5).tolist()


show("a learned scale", learned_scale)
# ---- names and modes
show("static.data in dynamic mode", lambda: paddle.static.data("x", [1]))
show("nn.loss", lambda: paddle.nn.loss.CrossEntropyLoss is paddle.nn.CrossEntropyLoss)
show("nn.loss is a module", lambda: paddle.nn.loss.__name__.rsplit(".", 1)[1])
