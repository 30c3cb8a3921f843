"""A focal loss as a PyLayer checked against autograd, several outputs, None gradients, non-tensor arguments."""
import numpy as np
import paddle
import paddle.nn.functional as F
from paddle.autograd import PyLayer


class Focal(PyLayer):
    @staticmethod
    def forward(ctx, logit, label, gamma=2.0):
        p = F.sigmoid(logit)
        pt = p * label + (1 - p) * (1 - label)
        ctx.save_for_backward(p, pt, label)
        ctx.gamma = gamma
        ctx.mark_non_differentiable(pt)
        return (-((1 - pt) ** gamma) * paddle.log(pt)).mean(), pt

    @staticmethod
    def backward(ctx, dy, dpt):
        p, pt, label = ctx.saved_tensor()
        g = ctx.gamma
        sign = 2 * label - 1
        d = g * (1 - pt) ** (g - 1) * paddle.log(pt) - (1 - pt) ** g / pt
        return dy * d * sign * p * (1 - p) / p.size


rng = np.random.RandomState(0)
x = paddle.to_tensor(rng.randn(4, 3), stop_gradient=False)
t = paddle.to_tensor((rng.rand(4, 3) > 0.5).astype("float64"))
loss, pt = Focal.apply(x, t, gamma=3.0)
loss.backward()
mine = x.grad.numpy()
x.clear_grad()
p = F.sigmoid(x)
q = p * t + (1 - p) * (1 - t)
ref = (-((1 - q) ** 3.0) * paddle.log(q)).mean()
ref.backward()
print(round(loss.item(), 6), round(ref.item(), 6), np.allclose(mine, x.grad.numpy()), pt.stop_gradient)
print(mine.round(5).tolist())
f = F.sigmoid_focal_loss(x, t, alpha=0.5, gamma=3.0, reduction="mean")
print(round(f.item() * 2, 6))


class Split(PyLayer):
    @staticmethod
    def forward(ctx, x, scale, axis):
        ctx.axis, ctx.scale = axis, scale
        ctx.set_materialize_grads(False)
        a, b = paddle.split(x, 2, axis)
        return a * scale, b

    @staticmethod
    def backward(ctx, da, db):
        print("got", da is None, db is None)
        return paddle.concat([paddle.zeros_like(db) if da is None else da * ctx.scale, paddle.zeros_like(da) if db is None else db], ctx.axis)


v = paddle.to_tensor(np.arange(4.0), stop_gradient=False)
a, b = Split.apply(v, 3.0, axis=0)
(b * b).sum().backward()
print(v.grad.tolist())
