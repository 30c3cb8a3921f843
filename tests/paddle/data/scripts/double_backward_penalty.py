"""A gradient penalty: paddle.grad with create_graph through a network with a PyLayer."""
import numpy as np
import paddle
from paddle.autograd import PyLayer


class Cube(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        return dy * 3 * x * x


rng = np.random.RandomState(0)
w = paddle.to_tensor(rng.randn(3, 3).astype("float32"), stop_gradient=False)
x = paddle.to_tensor(rng.randn(5, 3).astype("float32"), stop_gradient=False)
y = Cube.apply(paddle.tanh(x @ w)).sum()
(gx,) = paddle.grad(y, x, create_graph=True)
norm = paddle.sqrt((gx**2).sum(axis=1) + 1e-12)
penalty = ((norm - 1) ** 2).mean()
print("penalty", round(penalty.item(), 5))
penalty.backward()
print("dw", np.round(w.grad.numpy(), 4).tolist())
print("dx", np.round(x.grad.numpy(), 4).tolist())
z = paddle.to_tensor([0.5, -1.0], stop_gradient=False)
v = (z**4).sum()
for k in range(2):
    (v,) = paddle.grad(v.sum(), z, create_graph=True)
    print("order", k + 1, v.numpy().tolist())
