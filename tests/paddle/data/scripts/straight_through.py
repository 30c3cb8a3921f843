"""Quantisation with a straight-through estimator, gradient reversal, checkpointing, and saved_tensors_hooks."""
import numpy as np
import paddle
import paddle.nn as nn
from paddle.autograd import PyLayer, PyLayerContext, saved_tensors_hooks


class Round(PyLayer):
    @staticmethod
    def forward(ctx: PyLayerContext, x, bits):
        n = 2**bits - 1
        return paddle.round(paddle.clip(x, 0.0, 1.0) * n) / n

    @staticmethod
    def backward(ctx, dy):
        return dy


class Reverse(PyLayer):
    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        return x.clone()

    @staticmethod
    def backward(ctx, dy):
        return -ctx.k * dy


class Checkpoint(PyLayer):
    @staticmethod
    def forward(ctx, fn, x):
        ctx.fn = fn
        ctx.save_for_backward(x)
        with paddle.no_grad():
            return fn(x)

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        y = x.detach()
        y.stop_gradient = False
        with paddle.enable_grad() if hasattr(paddle, "enable_grad") else paddle.set_grad_enabled(True):
            out = ctx.fn(y)
        out.backward(dy)
        return y.grad


rng = np.random.RandomState(0)
w = paddle.create_parameter([4, 4], "float32", default_initializer=nn.initializer.Assign(rng.rand(4, 4).astype("float32")))
x = paddle.to_tensor(rng.rand(3, 4).astype("float32"), stop_gradient=False)
h = Round.apply(w, 3)
y = Reverse.apply(x @ h, 0.5)
z = Checkpoint.apply(lambda v: paddle.tanh(v @ w), y)
z.sum().backward()
print(h.numpy().round(4).tolist())
print(w.grad.numpy().round(4).tolist())
print(x.grad.numpy().round(4).tolist())
log = []
with saved_tensors_hooks(lambda t: (log.append(t.shape), t.numpy())[1], lambda a: paddle.to_tensor(a)):
    a = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    b = a * a
b.sum().backward()
print(log[:1], a.grad.tolist())
opt = paddle.optimizer.SGD(0.1, parameters=[w])
opt.step()
print(w.numpy().round(4)[0].tolist())
