"""Correct torch Functions in the styles that people write; those with cases end in ``cases_Name``."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch.autograd import Function
from torch.autograd.function import once_differentiable

#: What holds for one number alone, such as an eps without a default, and takes arrays in silence (rule 5).
OPEN = frozenset({"MSELoss", "RMSNorm"})


# --- pointwise
class Exp(Function):
    @staticmethod
    def forward(ctx, i):
        result = i.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result


class MyReLU(Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input < 0] = 0
        return grad_input


class LegendrePolynomial3(Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 0.5 * (5 * input**3 - 3 * input)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * 1.5 * (5 * input**2 - 1)


class Swish(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return dy * (s * (1 + x * (1 - s)))


class Mish(Function):
    @staticmethod
    def forward(x):
        return x * torch.tanh(F.softplus(x))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        t = torch.tanh(F.softplus(x))
        return dy * (t + x * torch.sigmoid(x) * (1 - t * t))


class LeakyReLU(Function):
    @staticmethod
    def forward(ctx, x, slope=0.1):
        ctx.slope = slope
        ctx.save_for_backward(x)
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, dy, ctx.slope * dy), None


class HardTanh(Function):
    @staticmethod
    def forward(ctx, x, low: float = -1.0, high: float = 1.0):
        ctx.mask = (x > low) & (x < high)
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, dy):
        return dy * ctx.mask, None, None


class Power(Function):
    @staticmethod
    def forward(ctx, x, n: int):
        ctx.save_for_backward(x)
        ctx.n = n
        return x**n

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        return (dy * ctx.n * x ** (ctx.n - 1) if ctx.n else torch.zeros_like(x)), None


class GELUTanh(Function):
    @staticmethod
    def forward(ctx, x):
        c = math.sqrt(2 / math.pi)
        t = torch.tanh(c * (x + 0.044715 * x**3))
        ctx.save_for_backward(x)
        return 0.5 * x * (1 + t)

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        c = math.sqrt(2 / math.pi)
        t = torch.tanh(c * (x + 0.044715 * x**3))
        return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x))


class SqrtSafe(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.sqrt()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensors
        return dy / (2 * y)


class Reciprocal(Function):
    @staticmethod
    def forward(x):
        return 1 / x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return -g * y * y


class LogCosh(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        a = x.abs()
        return a + F.softplus(-2 * a) - math.log(2)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.tanh(x)


# --- several inputs
class Mul(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b, g * a


def cases_Mul(rng):
    for shape in ((3,), (2, 4), ()):
        yield {"a": rng.standard_normal(shape), "b": rng.standard_normal(shape)}


class BroadcastAdd(Function):
    @staticmethod
    def forward(ctx, x, bias):
        ctx.shape = bias.shape
        return x + bias

    @staticmethod
    def backward(ctx, g):
        return g, g.sum_to_size(ctx.shape)


def cases_BroadcastAdd(rng):
    yield rng.standard_normal((4, 3)), rng.standard_normal(3)
    yield rng.standard_normal((2, 4, 3)), rng.standard_normal((4, 1))


class LinearFunction(Function):
    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias


class MatMul(Function):
    @staticmethod
    def forward(x, y):
        return x @ y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g @ y.mT, x.mT @ g


def cases_MatMul(rng):
    yield {"x": rng.standard_normal((3, 4)), "y": rng.standard_normal((4, 2))}
    yield {"x": rng.standard_normal((2, 3, 4)), "y": rng.standard_normal((2, 4, 5))}


class Bilinear(Function):
    @staticmethod
    def forward(ctx, u, m, v):
        ctx.save_for_backward(u, m, v)
        return torch.einsum("i,ij,j->", u, m, v)

    @staticmethod
    def backward(ctx, g):
        u, m, v = ctx.saved_tensors
        return g * (m @ v), g * torch.outer(u, v), g * (m.t() @ u)


def cases_Bilinear(rng):
    yield rng.standard_normal(3), rng.standard_normal((3, 4)), rng.standard_normal(4)


class Lerp(Function):
    @staticmethod
    def forward(ctx, a, b, t: float = 0.3):
        ctx.t = t
        return a + t * (b - a)

    @staticmethod
    def backward(ctx, g):
        return g * (1 - ctx.t), g * ctx.t, None


class AddMany(Function):
    @staticmethod
    def forward(ctx, *tensors):
        ctx.n = len(tensors)
        return sum(tensors[1:], tensors[0].clone())

    @staticmethod
    def backward(ctx, g):
        return tuple(g.clone() for _ in range(ctx.n))


class Concat(Function):
    @staticmethod
    def forward(ctx, dim, *tensors):
        ctx.dim = dim
        ctx.sizes = [t.shape[dim] for t in tensors]
        return torch.cat(tensors, dim)

    @staticmethod
    def backward(ctx, g):
        return (None, *g.split(ctx.sizes, ctx.dim))


def cases_Concat(rng):
    yield {"dim": 1, "tensors": [rng.standard_normal((2, n)) for n in (3, 1, 2)]}
    yield {"dim": 0, "tensors": [rng.standard_normal((n, 2)) for n in (1, 4)]}


# --- reductions, norms, losses
class SumSquares(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x * x).sum()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * g * x


class MeanRows(Function):
    @staticmethod
    def forward(ctx, x, dim: int = -1):
        ctx.dim, ctx.shape = dim, x.shape
        return x.mean(dim)

    @staticmethod
    def backward(ctx, g):
        n = ctx.shape[ctx.dim]
        return (g / n).unsqueeze(ctx.dim).expand(ctx.shape), None


class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim=-1):
        y = torch.softmax(x, dim)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return y * (g - (g * y).sum(ctx.dim, keepdim=True)), None


class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x):
        m = x.amax(-1, keepdim=True)
        e = (x - m).exp()
        s = e.sum(-1, keepdim=True)
        ctx.save_for_backward(e / s)
        return (s.log() + m).squeeze(-1)

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        return g.unsqueeze(-1) * p


def cases_LogSumExp(rng):
    for shape in ((4,), (2, 5), (2, 3, 4)):
        yield (rng.standard_normal(shape),)


class LayerNorm(Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps=1e-5):
        mu = x.mean(-1, keepdim=True)
        rstd = ((x - mu).pow(2).mean(-1, keepdim=True) + eps).rsqrt()
        xhat = (x - mu) * rstd
        ctx.save_for_backward(xhat, weight, rstd)
        return xhat * weight + bias

    @staticmethod
    def backward(ctx, g):
        xhat, weight, rstd = ctx.saved_tensors
        dims = tuple(range(g.dim() - 1))
        dxhat = g * weight
        dx = rstd * (dxhat - dxhat.mean(-1, keepdim=True) - xhat * (dxhat * xhat).mean(-1, keepdim=True))
        return dx, (g * xhat).sum(dims), g.sum(dims), None


def cases_LayerNorm(rng):
    for shape in ((4, 6), (2, 3, 5)):
        n = shape[-1]
        yield {"x": rng.standard_normal(shape), "weight": rng.standard_normal(n), "bias": rng.standard_normal(n)}


class RMSNorm(Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        rstd = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, rstd)
        return x * rstd * weight

    @staticmethod
    def backward(ctx, dy):
        x, w, rstd = ctx.saved_tensors
        xhat = x * rstd
        dxhat = dy * w
        dx = rstd * (dxhat - xhat * (dxhat * xhat).mean(-1, keepdim=True))
        return dx, (dy * xhat).reshape(-1, x.shape[-1]).sum(0), None


class CrossEntropy(Function):
    @staticmethod
    def forward(ctx, logits, target):
        logp = torch.log_softmax(logits, 1)
        ctx.save_for_backward(logp, target)
        return -logp[torch.arange(len(target)), target].mean()

    @staticmethod
    def backward(ctx, g):
        logp, target = ctx.saved_tensors
        d = logp.exp()
        d[torch.arange(len(target)), target] -= 1
        return g * d / len(target), None


def cases_CrossEntropy(rng):
    yield {"logits": rng.standard_normal((5, 4)), "target": rng.integers(0, 4, 5)}
    yield {"logits": rng.standard_normal((1, 3)), "target": rng.integers(0, 3, 1)}


class MSELoss(Function):
    @staticmethod
    def forward(ctx, y_pred, y):
        ctx.save_for_backward(y_pred, y)
        return ((y_pred - y) ** 2).mean()

    @staticmethod
    def backward(ctx, g):
        y_pred, y = ctx.saved_tensors
        return 2 * (y_pred - y) * g / y_pred.numel(), None


class Huber(Function):
    @staticmethod
    def forward(ctx, x, target, delta=1.0):
        d = x - target
        ctx.save_for_backward(d)
        ctx.delta = delta
        a = d.abs()
        return torch.where(a <= delta, 0.5 * d * d, delta * (a - 0.5 * delta))

    @staticmethod
    def backward(ctx, g):
        (d,) = ctx.saved_tensors
        g = g * d.clamp(-ctx.delta, ctx.delta)
        return g, -g, None


class Dice(Function):
    @staticmethod
    def forward(ctx, input, target):
        ctx.save_for_backward(input, target)
        eps = 1e-4
        ctx.inter = torch.dot(input.reshape(-1), target.reshape(-1))
        ctx.union = input.sum() + target.sum() + eps
        return (2 * ctx.inter + eps) / ctx.union

    @staticmethod
    def backward(ctx, g):
        _, target = ctx.saved_tensors
        eps = 1e-4
        return g * (2 * target * ctx.union - (2 * ctx.inter + eps)) / ctx.union**2, None


def cases_Dice(rng):
    yield {"input": rng.uniform(0.1, 1, (3, 4)), "target": (rng.uniform(0, 1, (3, 4)) > 0.5).astype(float)}


class L2Normalize(Function):
    @staticmethod
    def forward(ctx, x):
        n = x.norm(dim=-1, keepdim=True)
        y = x / n
        ctx.save_for_backward(y, n)
        return y

    @staticmethod
    def backward(ctx, g):
        y, n = ctx.saved_tensors
        return (g - y * (g * y).sum(-1, keepdim=True)) / n


def cases_L2Normalize(rng):
    yield {"x": rng.standard_normal((4, 3))}
    yield {"x": rng.standard_normal(6)}


# --- shapes, indices, orders
class Transpose(Function):
    @staticmethod
    def forward(ctx, x):
        return x.t()

    @staticmethod
    def backward(ctx, g):
        return g.t()


class Flip(Function):
    @staticmethod
    def forward(ctx, x, dims=(0,)):
        ctx.dims = dims
        return x.flip(dims)

    @staticmethod
    def backward(ctx, g):
        return g.flip(ctx.dims), None


class CumSum(Function):
    @staticmethod
    def forward(ctx, x, dim: int):
        ctx.dim = dim
        return x.cumsum(dim)

    @staticmethod
    def backward(ctx, g):
        return g.flip(ctx.dim).cumsum(ctx.dim).flip(ctx.dim), None


class Embedding(Function):
    @staticmethod
    def forward(ctx, weight, index):
        ctx.save_for_backward(index)
        ctx.shape = weight.shape
        return weight[index]

    @staticmethod
    def backward(ctx, g):
        (index,) = ctx.saved_tensors
        out = g.new_zeros(ctx.shape)
        out.index_put_((index,), g, accumulate=True)
        return out, None


def cases_Embedding(rng):
    yield {"weight": rng.standard_normal((5, 3)), "index": rng.integers(0, 5, (2, 4))}
    yield {"weight": rng.standard_normal((5, 3)), "index": np.array([1, 1, 1])}


class Gather(Function):
    @staticmethod
    def forward(ctx, x, index):
        ctx.save_for_backward(index)
        ctx.shape = x.shape
        return x.gather(1, index)

    @staticmethod
    def backward(ctx, g):
        (index,) = ctx.saved_tensors
        return g.new_zeros(ctx.shape).scatter_add_(1, index, g), None


def cases_Gather(rng):
    yield {"x": rng.standard_normal((3, 4)), "index": rng.integers(0, 2, (3, 4))}


class Sort(Function):
    @staticmethod
    def forward(ctx, x):
        y, order = x.sort(-1)
        ctx.save_for_backward(order)
        ctx.mark_non_differentiable(order)
        return y, order

    @staticmethod
    def backward(ctx, g, _):
        (order,) = ctx.saved_tensors
        return torch.zeros_like(g).scatter_(-1, order, g)


class MaxPool1d(Function):
    @staticmethod
    def forward(ctx, x, kernel: int = 2):
        n = x.shape[-1] // kernel
        windows = x[..., : n * kernel].reshape(*x.shape[:-1], n, kernel)
        y, index = windows.max(-1)
        ctx.save_for_backward(index)
        ctx.kernel, ctx.shape = kernel, x.shape
        return y

    @staticmethod
    def backward(ctx, g):
        (index,) = ctx.saved_tensors
        n = g.shape[-1]
        d = g.new_zeros(*g.shape, ctx.kernel).scatter_(-1, index.unsqueeze(-1), g.unsqueeze(-1))
        out = g.new_zeros(ctx.shape)
        out[..., : n * ctx.kernel] = d.reshape(*g.shape[:-1], n * ctx.kernel)
        return out, None


def cases_MaxPool1d(rng):
    yield {"x": rng.standard_normal((2, 7)), "kernel": 2}
    yield {"x": rng.standard_normal((2, 3, 9)), "kernel": 3}


class Conv1d(Function):
    @staticmethod
    def forward(ctx, x, weight, stride=1):
        ctx.save_for_backward(x, weight)
        ctx.stride = stride
        return F.conv1d(x, weight, stride=stride)

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        dx = torch.nn.grad.conv1d_input(x.shape, weight, g, stride=ctx.stride)
        dw = torch.nn.grad.conv1d_weight(x, weight.shape, g, stride=ctx.stride)
        return dx, dw, None


def cases_Conv1d(rng):
    yield {"x": rng.standard_normal((2, 3, 8)), "weight": rng.standard_normal((4, 3, 3))}
    yield {"x": rng.standard_normal((1, 2, 9)), "weight": rng.standard_normal((2, 2, 3)), "stride": 2}


class Attention(Function):
    @staticmethod
    def forward(ctx, q, k, v):
        p = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), -1)
        ctx.save_for_backward(q, k, v, p)
        return p @ v

    @staticmethod
    def backward(ctx, g):
        q, k, v, p = ctx.saved_tensors
        dv = p.transpose(-1, -2) @ g
        dp = g @ v.transpose(-1, -2)
        ds = p * (dp - (dp * p).sum(-1, keepdim=True)) / math.sqrt(q.shape[-1])
        return ds @ k, ds.transpose(-1, -2) @ q, dv


def cases_Attention(rng):
    yield {name: rng.standard_normal((2, 5, 4)) for name in "qkv"}
    yield {"q": rng.standard_normal((3, 4)), "k": rng.standard_normal((5, 4)), "v": rng.standard_normal((5, 2))}


# --- through numpy
class NumpyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.as_tensor(np.tanh(x.detach().numpy()))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * (1 - y * y)


class CosineSim(Function):
    @staticmethod
    def forward(ctx, a, b):
        na, nb = a.norm(dim=-1, keepdim=True), b.norm(dim=-1, keepdim=True)
        ah, bh = a / na, b / nb
        c = (ah * bh).sum(-1, keepdim=True)
        ctx.save_for_backward(ah, bh, na, nb, c)
        return c.squeeze(-1)

    @staticmethod
    def backward(ctx, g):
        ah, bh, na, nb, c = ctx.saved_tensors
        g = g.unsqueeze(-1)
        return g * (bh - c * ah) / na, g * (ah - c * bh) / nb


def cases_CosineSim(rng):
    yield rng.standard_normal((4, 3)), rng.standard_normal((4, 3))


class Trace(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.n = x.shape[0]
        return torch.trace(x)

    @staticmethod
    def backward(ctx, g):
        return g * torch.eye(ctx.n, dtype=g.dtype)


def cases_Trace(rng):
    for n in (1, 3):
        yield (rng.standard_normal((n, n)),)


class Inverse(Function):
    @staticmethod
    def forward(x):
        return torch.linalg.inv(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return -(y.mT @ g @ y.mT)

    @staticmethod
    def jvp(ctx, t):
        (y,) = ctx.saved_tensors
        return -(y @ t @ y)


def cases_Inverse(rng):
    for n in (2, 4):
        yield {"x": rng.standard_normal((n, n)) + 3 * np.eye(n)}


class Outer(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a[:, None] * b[None, :]

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g @ b, g.t() @ a


def cases_Outer(rng):
    yield rng.standard_normal(3), rng.standard_normal(4)
