"""Correct torch Functions that are easily taken for wrong ones."""

import torch
import torch.nn.functional as F
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class InplaceScale(Function):
    """Changes its input in place and says so."""

    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


class InplaceReLU(Function):
    """The same, and keeps its result."""

    @staticmethod
    def forward(x):
        return x.clamp_(min=0)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * (y > 0)


class NoMaterialize(Function):
    """Gets None for an output that nothing uses, and takes it for zero."""

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x)
        return x * x, x * 3

    @staticmethod
    def backward(ctx, g, h):
        (x,) = ctx.saved_tensors
        if g is None and h is None:
            return None
        result = torch.zeros_like(x)
        if g is not None:
            result = result + 2 * x * g
        if h is not None:
            result = result + 3 * h
        return result


class NoMaterializeSingle(Function):
    """One output, which may have no gradient at all."""

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return 3 * x

    @staticmethod
    def backward(ctx, g):
        if g is None:
            return None
        return g * 3


class GradReverse(Function):
    """Negates the gradient on purpose; SURROGATE says so."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g.neg()


SURROGATE_GradReverse = {"GradReverse": lambda x: -x}


class RoundSTE(Function):
    """A straight-through estimate, as declared."""

    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, g):
        return g


SURROGATE_RoundSTE = {"RoundSTE": lambda x: x * 1.0}


class Identity(Function):
    """Gives back its input and its incoming gradient themselves."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g


class AddBoth(Function):
    """Gives one tensor as two gradients."""

    @staticmethod
    def forward(ctx, a, b):
        return a + b

    @staticmethod
    def backward(ctx, g):
        return g, g


def cases_AddBoth(rng):
    yield rng.standard_normal((3, 2)), rng.standard_normal((3, 2))


class BiasByAutograd(Function):
    """Leaves the sum over broadcast axes to autograd, which does it."""

    @staticmethod
    def forward(ctx, x, bias):
        return x + bias

    @staticmethod
    def backward(ctx, g):
        return g, g


def cases_BiasByAutograd(rng):
    yield rng.standard_normal((4, 3)), rng.standard_normal(3)


class MaskedFill(Function):
    """A bool input, and a float option that is no tensor."""

    @staticmethod
    def forward(ctx, x, mask, value=-1.0):
        ctx.save_for_backward(mask)
        return x.masked_fill(mask, value)

    @staticmethod
    def backward(ctx, g):
        (mask,) = ctx.saved_tensors
        return g.masked_fill(mask, 0.0), None, None


def cases_MaskedFill(rng):
    yield {"x": rng.standard_normal((3, 4)), "mask": rng.uniform(size=(3, 4)) > 0.5}


class Dropout(Function):
    """Draws from torch's own random numbers."""

    @staticmethod
    def forward(ctx, x, p: float = 0.5, training: bool = True):
        if not training or p == 0:
            ctx.mask = None
            return x.clone()
        ctx.mask = (torch.rand_like(x) >= p).to(x.dtype) / (1 - p)
        return x * ctx.mask

    @staticmethod
    def backward(ctx, g):
        return (g if ctx.mask is None else g * ctx.mask), None, None


def cases_Dropout(rng):
    yield {"x": rng.standard_normal((4, 5)), "p": 0.3}
    yield {"x": rng.standard_normal(7), "p": 0.5, "training": False}


class AbsSubgradient(Function):
    """0 at the kink."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.abs()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.sign()


class TopKValues(Function):
    """Keeps indices, which are its own."""

    @staticmethod
    def forward(ctx, x, k: int = 2):
        v, i = x.topk(k, -1)
        ctx.index, ctx.shape = i, x.shape
        return v

    @staticmethod
    def backward(ctx, g):
        return g.new_zeros(ctx.shape).scatter(-1, ctx.index, g), None


def cases_TopKValues(rng):
    yield {"x": rng.standard_normal((3, 5)), "k": 2}
    yield {"x": rng.standard_normal(6), "k": 1}


class Float32Only(Function):
    """Takes float32 alone, and says so."""

    @staticmethod
    def forward(ctx, x, w):
        if x.dtype != torch.float32 or w.dtype != torch.float32:
            raise TypeError("float32 only")
        ctx.save_for_backward(x, w)
        return x * w.tanh()

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        t = w.tanh()
        return g * t, g * x * (1 - t * t)


class SavedIntermediate(Function):
    """Saves what forward computed."""

    @staticmethod
    def forward(ctx, x):
        e = torch.exp(-x.abs())
        ctx.save_for_backward(e, x.sign())
        return torch.log1p(e)

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        e, sign = ctx.saved_tensors
        return -g * sign * e / (1 + e)


class CopyOnContext(Function):
    """Keeps copies on the context, which no later change reaches."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.x, ctx.w = x.clone(), w.clone()
        return x * w

    @staticmethod
    def backward(ctx, g):
        return g * ctx.w, g * ctx.x


def cases_CopyOnContext(rng):
    yield rng.standard_normal(4), rng.standard_normal(4)


class ShapesOnContext(Function):
    """Keeps its input for its shape alone."""

    @staticmethod
    def forward(ctx, x):
        ctx.like = x
        return x.sum(0)

    @staticmethod
    def backward(ctx, g):
        return g.expand_as(ctx.like)


class NeedsInputGrad(Function):
    """Computes what is asked for, by the right positions."""

    @staticmethod
    def forward(ctx, scale: float, x, flag, w):
        ctx.save_for_backward(x, w)
        ctx.scale = scale
        return scale * x * w

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        dx = dw = None
        if ctx.needs_input_grad[1]:
            dx = g * w * ctx.scale
        if ctx.needs_input_grad[3]:
            dw = g * x * ctx.scale
        return None, dx, None, dw


def cases_NeedsInputGrad(rng):
    yield {"scale": 1.5, "x": rng.standard_normal(4), "flag": True, "w": rng.standard_normal(4)}


class WithTable(Function):
    """A lookup table of the module's."""

    TABLE = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)

    @staticmethod
    def forward(ctx, x):
        t = WithTable.TABLE.to(x.dtype)
        ctx.save_for_backward(x)
        return t[0] + t[1] * x + t[2] * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        t = WithTable.TABLE.to(x.dtype)
        return g * (t[1] + 2 * t[2] * x)


class ByAutograd(Function):
    """Computes its gradient by a graph of its own, as checkpoints do."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return torch.tanh(x @ w)

    @staticmethod
    def backward(ctx, g):
        x, w = (item.detach().requires_grad_() for item in ctx.saved_tensors)
        with torch.enable_grad():
            y = torch.tanh(x @ w)
        return torch.autograd.grad(y, (x, w), g)


def cases_ByAutograd(rng):
    yield rng.standard_normal((3, 4)), rng.standard_normal((4, 2))


class NoneForOption(Function):
    """An activation as an option, and None for inputs that need nothing."""

    @staticmethod
    def forward(ctx, x, act="tanh"):
        y = torch.tanh(x) if act == "tanh" else torch.sigmoid(x)
        ctx.save_for_backward(y)
        ctx.act = act
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return (g * (1 - y * y) if ctx.act == "tanh" else g * y * (1 - y)), None


class TargetHasNone(Function):
    """A float target that takes no gradient."""

    @staticmethod
    def forward(ctx, pred, target):
        d = pred - target
        ctx.save_for_backward(d)
        return (d * d).mean(-1)

    @staticmethod
    def backward(ctx, g):
        (d,) = ctx.saved_tensors
        return 2 * d * g.unsqueeze(-1) / d.shape[-1], None


class SetupWithOptions(Function):
    """Options of several kinds, None among them."""

    @staticmethod
    def forward(x, weight=None, reduction: str = "sum", scale=(1.0, 2.0)):
        y = x * scale[0] * scale[1]
        if weight is not None:
            y = y * weight
        return y.sum() if reduction == "sum" else y.mean() if reduction == "mean" else y

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, weight, reduction, scale = inputs
        ctx.save_for_backward(x, weight)
        ctx.reduction, ctx.scale = reduction, scale

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        k = ctx.scale[0] * ctx.scale[1]
        if ctx.reduction == "mean":
            k = k / x.numel()
        dx = g * k * (torch.ones_like(x) if weight is None else weight)
        dw = None if weight is None else g * k * x
        return dx, dw, None, None


def cases_SetupWithOptions(rng):
    x = rng.standard_normal((2, 3))
    yield {"x": x, "weight": rng.standard_normal((2, 3)), "reduction": "sum", "scale": (0.5, 3.0)}
    yield {"x": x, "weight": None, "reduction": "mean", "scale": (1.0, 2.0)}
    yield {"x": x, "weight": None, "reduction": "none", "scale": (1.0, 2.0)}


class Contiguous(Function):
    """Makes its arguments contiguous before it looks at them as one row."""

    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.contiguous().view(-1) * 2

    @staticmethod
    def backward(ctx, g):
        return (g.contiguous() * 2).view(ctx.shape)


class HardShrink(Function):
    """Jumps."""

    @staticmethod
    def forward(ctx, x, lambd=0.5):
        ctx.mask = x.abs() > lambd
        return x * ctx.mask

    @staticmethod
    def backward(ctx, g):
        return g * ctx.mask, None


class TensorThreshold(Function):
    """A threshold that is a tensor and takes no gradient."""

    @staticmethod
    def forward(ctx, x, threshold):
        ctx.save_for_backward(x, threshold)
        return F.relu(x - threshold)

    @staticmethod
    def backward(ctx, g):
        x, threshold = ctx.saved_tensors
        g = g * (x > threshold)
        return g, -g.sum_to_size(threshold.shape)


def cases_TensorThreshold(rng):
    yield rng.standard_normal((3, 4)), rng.standard_normal(())


class UnusedOutputOk(Function):
    """Two outputs, materialized, one not differentiable."""

    @staticmethod
    def forward(ctx, x):
        y = x.relu()
        mask = (x > 0).to(x.dtype)
        ctx.mark_non_differentiable(mask)
        ctx.save_for_backward(mask)
        return y, mask

    @staticmethod
    def backward(ctx, g, _):
        (mask,) = ctx.saved_tensors
        return g * mask
