"""What scripts do without thinking: sizes as numbers, gradients of one element, names under their old paths.

Runs under Paddle 2.6.2 and under opkit; prints one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact.
"""

import paddle, numpy as np
from paddle.autograd import PyLayer
from shown_facts import show

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
show("framework.ParamAttr", lambda: paddle.framework.ParamAttr is paddle.ParamAttr)


# ---- edges of functions
def edge(function, *arrays):
    inputs = [paddle.to_tensor(array, stop_gradient=False) for array in arrays]
    result = function(*inputs)
    weight = np.cos(np.arange(result.size)).reshape(result.shape).astype(result.numpy().dtype)
    (result * paddle.to_tensor(weight)).sum().backward()
    return plain(result), [np.round(x.grad.numpy().astype("float64"), 4).tolist() for x in inputs]


image = np.arange(1, 26, dtype="float32").reshape(1, 1, 5, 5)
volume = np.arange(27, dtype="float32").reshape(1, 1, 3, 3, 3)
pool = paddle.nn.functional.avg_pool2d
for divisor in (1, 2, 3, 5):
    for padding, exclusive in ((0, True), (0, False), (1, True), (1, False), ([0, 1], True), ([1, 0, 0, 1], True), ("SAME", True)):
        label = f"avg_pool2d divisor {divisor} padding {padding} exclusive {exclusive}"
        show(label, lambda: edge(lambda x: pool(x, 2, 2, padding, False, exclusive, divisor), image))
show("avg_pool3d divisor", lambda: edge(lambda x: paddle.nn.functional.avg_pool3d(x, 2, 2, 1, False, True, 3), volume))
ends = np.array([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, np.nan], "float32")
for name in ("erfinv",):
    show(f"{name} outside its domain", lambda: edge(getattr(paddle, name), ends)[0][2])
for kind in ("int32", "int64"):
    for values in ([[1, 2, 4], [3, 5, 9]], [[-1, -2, -4], [-3, -4, -9]], [[1, 2], [4, 7]], [[-1, -2], [-4, -9]]):
        x = paddle.to_tensor(np.array(values, kind))
        show(f"nanmean {kind} {values}", lambda: (plain(paddle.nanmean(x)), plain(paddle.nanmean(x, 1))))


# ---- schedules that jump or go on
def jumps(scheduler, epochs):
    found = []
    for epoch in epochs:
        scheduler.step(epoch)
        found.append((round(scheduler(), 6), scheduler.last_epoch))
    return found


def resumed(make):
    first, second = make(), make()
    for _ in range(7):
        first.step()
    state = first.state_dict()
    second.set_state_dict(state)
    found = []
    for _ in range(8):
        first.step()
        second.step()
        found.append((round(first(), 6), round(second(), 6)))
    return sorted(state), found


# ---- what an Executor returns without return_numpy
def fetched():
    paddle.enable_static()
    try:
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            y = paddle.static.data("x", [2], "float32") * 2
        (found,) = paddle.static.Executor().run(program, {"x": np.ones(2, "float32")}, [y], return_numpy=False)
        return type(found).__name__, found.shape(), np.array(found).tolist(), found.lod()
    finally:
        paddle.disable_static()


show("return_numpy=False", fetched)


# ---- where a pool found its elements, and putting them back
F = paddle.nn.functional
mixed = np.random.RandomState(0).permutation(50).reshape(1, 2, 5, 5).astype("float32")
even = mixed[:, :, :4, :4].copy()


def pair(function, array):
    x = paddle.to_tensor(array, stop_gradient=False)
    result, mask = function(x)
    (result * paddle.to_tensor(np.cos(np.arange(result.size)).reshape(result.shape).astype("float32"))).sum().backward()
    return plain(result), plain(mask), np.round(x.grad.numpy().astype("float64"), 4).tolist()


for arguments in ((2, 2, 0, True), (3, 2, 1, True), (2, 1, 0, True), (2, 2, 0, True, True), (3, 2, 1, True, True), ([2, 3], [1, 2], [1, 0], True)):
    show(f"max_pool2d {arguments}", lambda: pair(lambda x: F.max_pool2d(x, *arguments), mixed))
    show(f"max_pool2d {arguments} negative", lambda: pair(lambda x: F.max_pool2d(x, *arguments), -mixed))
show("max_pool2d ties", lambda: pair(lambda x: F.max_pool2d(x, 2, 2, 0, True), np.ones((1, 1, 4, 4), "float32")))
show("max_pool1d mask", lambda: pair(lambda x: F.max_pool1d(x, 2, 2, 0, True), mixed[0]))
show("max_pool3d mask", lambda: pair(lambda x: F.max_pool3d(x, 2, 2, 0, True), even.reshape(1, 1, 2, 4, 4)))
show("MaxPool2D mask", lambda: pair(paddle.nn.MaxPool2D(2, 2, return_mask=True), mixed))
show("max_pool2d mask NHWC", lambda: F.max_pool2d(paddle.to_tensor(mixed), 2, 2, 0, True, data_format="NHWC"))


def back(array, **options):
    return edge(lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, 2, 0, True), 2, 2, **options), array)


show("max_unpool2d", lambda: back(even))
show("max_unpool2d size", lambda: back(mixed, output_size=[5, 5]))
show("max_unpool2d whole size", lambda: back(mixed, output_size=[1, 2, 5, 5]))
show("max_unpool2d wrong size", lambda: back(mixed, output_size=[7, 5]))
show("max_unpool2d short size", lambda: back(mixed, output_size=[5]))
show("max_unpool2d NHWC", lambda: back(even, data_format="NHWC"))
show("max_unpool2d padded", lambda: edge(lambda x: F.max_unpool2d(*F.max_pool2d(x, 3, 2, 1, True), 3, 2, 1), mixed))
