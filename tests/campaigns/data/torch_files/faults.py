"""torch Functions with one fault each. ``FAULTS`` says of which class, and the codes of which one must be found."""

import torch
import torch.nn.functional as F
from right import (
    Attention,
    Bilinear,
    BroadcastAdd,
    Concat,
    Conv1d,
    CosineSim,
    CrossEntropy,
    CumSum,
    Dice,
    Embedding,
    Exp,
    Flip,
    Gather,
    GELUTanh,
    HardTanh,
    Huber,
    Inverse,
    L2Normalize,
    LayerNorm,
    LeakyReLU,
    LegendrePolynomial3,
    Lerp,
    LinearFunction,
    LogCosh,
    LogSumExp,
    MatMul,
    MaxPool1d,
    MeanRows,
    Mish,
    Mul,
    MyReLU,
    Outer,
    Power,
    Reciprocal,
    RMSNorm,
    Softmax,
    Sort,
    SqrtSafe,
    SumSquares,
    Swish,
    Trace,
    cases_Attention,
    cases_Bilinear,
    cases_BroadcastAdd,
    cases_Concat,
    cases_Conv1d,
    cases_CosineSim,
    cases_CrossEntropy,
    cases_Dice,
    cases_Embedding,
    cases_Gather,
    cases_Inverse,
    cases_L2Normalize,
    cases_LayerNorm,
    cases_LogSumExp,
    cases_MatMul,
    cases_MaxPool1d,
    cases_Mul,
    cases_Outer,
    cases_Trace,
)  # fmt: skip  # fmt: skip
from torch.autograd import Function

FAULTS = {}


def fault(kind, cases=None):
    """Note the class of a fault, and the cases it is checked on."""

    def note(function):
        FAULTS[function.__name__] = kind
        if cases is not None:
            globals()[f"cases_{function.__name__}"] = cases
        return function

    return note


# --- a wrong derivative
@fault("derivative")
class ExpOfInput(Exp):
    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y * y


@fault("derivative")
class SwishHalf(Swish):
    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return dy * (s + x * s * s)


@fault("derivative")
class MishSign(Mish):
    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        t = torch.tanh(F.softplus(x))
        return dy * (t - x * torch.sigmoid(x) * (1 - t * t))


@fault("derivative")
class GELUFactor(GELUTanh):
    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        c = 0.79788
        t = torch.tanh(c * (x + 0.044715 * x**3))
        return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 0.044715 * x * x))


@fault("derivative")
class GELURounded(GELUTanh):
    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        c = 0.7979
        t = torch.tanh(c * (x + 0.0447 * x**3))
        return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.0447 * x * x))


@fault("derivative")
class LegendreFactor(LegendrePolynomial3):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 1.5 * (5 * x**2 + 1)


@fault("derivative")
class ReciprocalSign(Reciprocal):
    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y * y


@fault("derivative")
class SqrtNoHalf(SqrtSafe):
    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensors
        return dy / y


@fault("derivative")
class PowerOff(Power):
    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        return dy * ctx.n * x**ctx.n, None


@fault("derivative")
class LogCoshSaturates(LogCosh):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.clamp(-1, 1)


@fault("derivative", cases_Inverse)
class InverseTransposed(Inverse):
    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return -(y @ g @ y)


@fault("derivative", cases_L2Normalize)
class NormalizeNoProjection(L2Normalize):
    @staticmethod
    def backward(ctx, g):
        _, n = ctx.saved_tensors
        return g / n


@fault("derivative")
class SoftmaxNoSum(Softmax):
    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y * (1 - y), None


@fault("derivative", cases_LayerNorm)
class LayerNormNoMean(LayerNorm):
    @staticmethod
    def backward(ctx, g):
        xhat, weight, rstd = ctx.saved_tensors
        dims = tuple(range(g.dim() - 1))
        d = g * weight
        return rstd * (d - xhat * (d * xhat).mean(-1, keepdim=True)), (g * xhat).sum(dims), g.sum(dims), None


@fault("derivative")
class RMSNormNoProjection(RMSNorm):
    @staticmethod
    def backward(ctx, dy):
        x, w, rstd = ctx.saved_tensors
        return dy * w * rstd, (dy * x * rstd).reshape(-1, x.shape[-1]).sum(0), None


@fault("derivative", cases_Attention)
class AttentionNoScale(Attention):
    @staticmethod
    def backward(ctx, g):
        q, k, v, p = ctx.saved_tensors
        dp = g @ v.transpose(-1, -2)
        ds = p * (dp - (dp * p).sum(-1, keepdim=True))
        return ds @ k, ds.transpose(-1, -2) @ q, p.transpose(-1, -2) @ g


@fault("derivative", cases_CosineSim)
class CosineNoNorm(CosineSim):
    @staticmethod
    def backward(ctx, g):
        ah, bh, _, nb, c = ctx.saved_tensors
        g = g.unsqueeze(-1)
        return g * (bh - c * ah), g * (ah - c * bh) / nb


# --- one of several inputs
@fault("operand", cases_Mul)
class MulSwapped(Mul):
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * a, g * b


@fault("operand", cases_MatMul)
class MatMulNotTransposed(MatMul):
    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g @ y.mT, (g.mT @ x).mT * 0.5


@fault("operand")
class LinearBiasMean(LinearFunction):
    @staticmethod
    def backward(ctx, g):
        input, weight, bias = ctx.saved_tensors
        return g.mm(weight), g.t().mm(input), None if bias is None else g.mean(0)


@fault("operand")
class LinearNoBias(LinearFunction):
    @staticmethod
    def backward(ctx, g):
        input, weight, _ = ctx.saved_tensors
        return g.mm(weight), g.t().mm(input), None


@fault("constant")
class LinearNoWeight(LinearFunction):
    @staticmethod
    def backward(ctx, g):
        _, weight, bias = ctx.saved_tensors
        return g.mm(weight), None, None if bias is None else g.sum(0)


@fault("operand", cases_Bilinear)
class BilinearMatrix(Bilinear):
    @staticmethod
    def backward(ctx, g):
        u, m, v = ctx.saved_tensors
        return g * (m @ v), g * torch.outer(u, v) * 2, g * (m.t() @ u)


@fault("operand")
class LerpSwapped(Lerp):
    @staticmethod
    def backward(ctx, g):
        return g * ctx.t, g * (1 - ctx.t), None


@fault("operand", cases_Outer)
class OuterSwapped(Outer):
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g @ b, -(g.t() @ a)


@fault("operand")
class HuberTarget(Huber):
    @staticmethod
    def backward(ctx, g):
        (d,) = ctx.saved_tensors
        g = g * d.clamp(-ctx.delta, ctx.delta)
        return g, g, None


@fault("operand", cases_Conv1d)
class ConvStride(Conv1d):
    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        dx = torch.nn.grad.conv1d_input(x.shape, weight.flip(-1), g, stride=ctx.stride)
        return dx, torch.nn.grad.conv1d_weight(x, weight.shape, g, stride=ctx.stride), None


@fault("operand", cases_Concat)
class ConcatOrder(Concat):
    @staticmethod
    def backward(ctx, g):
        parts = [torch.zeros_like(p) if i == 1 else p for i, p in enumerate(g.split(ctx.sizes, ctx.dim))]
        return (None, *parts)


# --- branches and kinks
@fault("branch")
class ReLUInverted(MyReLU):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x < 0)


@fault("branch")
class ReLU6NoTop(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(0, 6)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x > 0)


@fault("branch")
class LeakyOne(LeakyReLU):
    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, dy, 0.01 * dy), None


@fault("branch")
class HardTanhOneSided(HardTanh):
    @staticmethod
    def forward(ctx, x, low: float = -1.0, high: float = 1.0):
        ctx.mask = x < high
        return x.clamp(low, high)


@fault("branch")
class HuberNoClamp(Huber):
    @staticmethod
    def backward(ctx, g):
        (d,) = ctx.saved_tensors
        return g * d, -g * d, None


@fault("branch")
class AbsAtZero(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.abs()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x / x.abs()


# --- axes, shapes, broadcasting, indices
@fault("axes", cases_BroadcastAdd)
class BroadcastWrongAxis(BroadcastAdd):
    @staticmethod
    def backward(ctx, g):
        reduced = g.sum_to_size(ctx.shape)
        return g, reduced * (1.0 if len(ctx.shape) == 1 else 0.5)


@fault("axes")
class MeanNotDivided(MeanRows):
    @staticmethod
    def backward(ctx, g):
        return g.unsqueeze(ctx.dim).expand(ctx.shape), None


@fault("axes")
class MeanAlwaysLast(MeanRows):
    @staticmethod
    def backward(ctx, g):
        n = ctx.shape[-1]
        return (g / n).unsqueeze(ctx.dim).expand(ctx.shape), None


@fault("axes")
class SoftmaxLastOnly(Softmax):
    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return y * (g - (g * y).sum(-1, keepdim=True)), None


@fault("axes")
class CumSumForward(CumSum):
    @staticmethod
    def backward(ctx, g):
        return g.cumsum(ctx.dim), None


@fault("axes")
class FlipNot(Flip):
    @staticmethod
    def backward(ctx, g):
        return g, None


@fault("indices", cases_Embedding)
class EmbeddingNoAccumulate(Embedding):
    @staticmethod
    def backward(ctx, g):
        (index,) = ctx.saved_tensors
        out = g.new_zeros(ctx.shape)
        out[index] = g
        return out, None


@fault("indices", cases_Gather)
class GatherScatter(Gather):
    @staticmethod
    def backward(ctx, g):
        (index,) = ctx.saved_tensors
        return g.new_zeros(ctx.shape).scatter_(1, index, g), None


@fault("indices")
class SortGather(Sort):
    @staticmethod
    def backward(ctx, g, _):
        (order,) = ctx.saved_tensors
        return g.gather(-1, order)


@fault("indices", cases_MaxPool1d)
class MaxPoolSpread(MaxPool1d):
    @staticmethod
    def backward(ctx, g):
        n = g.shape[-1]
        out = g.new_zeros(ctx.shape)
        out[..., : n * ctx.kernel] = (g / ctx.kernel).repeat_interleave(ctx.kernel, -1)
        return out, None


@fault("indices", cases_CrossEntropy)
class CrossEntropyNoDivision(CrossEntropy):
    @staticmethod
    def backward(ctx, g):
        logp, target = ctx.saved_tensors
        d = logp.exp()
        d[torch.arange(len(target)), target] -= 1
        return g * d, None


@fault("indices", cases_Trace)
class TraceOnes(Trace):
    @staticmethod
    def backward(ctx, g):
        return g * torch.ones(ctx.n, ctx.n, dtype=g.dtype)


# --- the incoming gradient
@fault("incoming")
class SumIgnores(SumSquares):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x


@fault("incoming", cases_LogSumExp)
class LogSumExpIgnores(LogSumExp):
    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        return p * torch.sign(g.unsqueeze(-1))


@fault("incoming")
class SquareOfGradient(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return 2 * g * g.abs()


@fault("incoming")
class ClipsGradient(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return (2 * g).clamp(-1, 1)


@fault("incoming", cases_Dice)
class DiceIgnores(Dice):
    @staticmethod
    def backward(ctx, g):
        _, target = ctx.saved_tensors
        return (2 * target * ctx.union - (2 * ctx.inter + 1e-4)) / ctx.union**2, None


@fault("incoming")
class SecondOutputLost(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x, x * 3

    @staticmethod
    def backward(ctx, g, h):
        (x,) = ctx.saved_tensors
        return 2 * x * g


@fault("incoming")
class OutputsSwapped(Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x, 3 * x

    @staticmethod
    def backward(ctx, g, h):
        return 3 * g + 2 * h


# --- writes
@fault("writes")
class WritesIncoming(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        g *= 2
        return g


@fault("writes")
class ZerosIncoming(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        g[x < 0] = 0
        return g


@fault("writes")
class WritesInput(Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return 2 * g


@fault("writes")
class WritesInputUnmarked(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sub_(x.mean()).exp()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        d = g * x.exp()
        return d - d.mean()


@fault("writes")
class WritesSaved(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return x.mul_(2).mul(g)


@fault("writes")
class WritesSavedData(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        d = y.data
        d.mul_(1 - d)
        return g * d


@fault("writes")
class MarksTheOther(Function):
    @staticmethod
    def forward(ctx, x, b):
        x.add_(1)
        b.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g, None


@fault("writes")
class ThroughNumpy(Function):
    @staticmethod
    def forward(ctx, x):
        a = x.detach().numpy()
        a *= 0.5
        return torch.from_numpy(a.copy())

    @staticmethod
    def backward(ctx, g):
        return g * 0.5


# --- kept on the context
@fault("kept")
class KeptInput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.x * g


@fault("kept")
class KeptOutput(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx, g):
        return ctx.y * g


@fault("kept", cases_Mul)
class KeptWeight(Function):
    @staticmethod
    def forward(a, b):
        return a * b

    @staticmethod
    def setup_context(ctx, inputs, output):
        a, b = inputs
        ctx.save_for_backward(a)
        ctx.b = b

    @staticmethod
    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        return g * ctx.b, g * a


@fault("kept")
class KeptAsNumpy(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.array = x.detach().numpy()
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        return g * torch.from_numpy(ctx.array).cos()


@fault("kept", cases_Mul)
class KeptInTuple(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.cache = (a.detach(), b.data)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.cache
        return g * b, g * a


# --- state between calls
@fault("state")
class ClassState(Function):
    @staticmethod
    def forward(ctx, x):
        ClassState.x = x.clone()
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * ClassState.x * g


_CACHE = {}


@fault("state")
class CacheByShape(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.key = x.shape
        if x.shape not in _CACHE:
            _CACHE[x.shape] = (x > 0).to(x.dtype)
        return x * (x > 0)

    @staticmethod
    def backward(ctx, g):
        return g * _CACHE[ctx.key]


_BUFFER = {}


@fault("state")
class ReusedBuffer(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, g):
        buffer = _BUFFER.setdefault((g.shape, g.dtype), torch.empty_like(g, memory_format=torch.contiguous_format))
        torch.mul(g, 3, out=buffer)
        return buffer


_COUNT = [0]


@fault("state")
class Counter(Function):
    @staticmethod
    def forward(ctx, x):
        _COUNT[0] += 1
        return x * 2 + 1e-3 * _COUNT[0]

    @staticmethod
    def backward(ctx, g):
        return 2 * g


@fault("state")
class DrawsNoise(Function):
    @staticmethod
    def forward(ctx, x):
        import numpy

        return x + 1e-3 * torch.from_numpy(numpy.random.standard_normal(tuple(x.shape))).to(x.dtype)

    @staticmethod
    def backward(ctx, g):
        return g


# --- contiguity
@fault("refuses")
class ViewsInput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.view(-1) * 2

    @staticmethod
    def backward(ctx, g):
        return (g * 2).reshape(ctx.shape)


@fault("refuses")
class ViewsGradient(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return (g.view(-1) * 2).view(g.shape)


@fault("layout")
class RawMemory(Function):
    @staticmethod
    def forward(ctx, x):
        flat = torch.as_strided(x, (x.numel(),), (1,))
        return (flat * 2).reshape(x.shape)

    @staticmethod
    def backward(ctx, g):
        return g * 2


@fault("layout")
class StridesOfGradient(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, g):
        flat = torch.as_strided(g, (g.numel(),), (1,)) if g.numel() and g.stride(-1 if g.dim() else 0) else g
        return 3 * flat.reshape(g.shape) if g.dim() else 3 * g


# --- undefined incoming gradients, needs_input_grad
@fault("undefined")
class NoneRaises(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, g, h):
        return 2 * g + 3 * h


@fault("undefined")
class NoneSingle(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


@fault("undefined")
class NoneIsOne(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, g, h):
        h = torch.ones(()) if h is None else h
        return (2 * g if g is not None else 0) + 3 * h


@fault("undefined")
class NoneDropsAll(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, g, h):
        if g is None or h is None:
            return None
        return 2 * g + 3 * h


@fault("needs")
class NeedsShifted(LinearFunction):
    @staticmethod
    def backward(ctx, g):
        input, weight, bias = ctx.saved_tensors
        dx = g.mm(weight) if ctx.needs_input_grad[1] else None
        dw = g.t().mm(input) if ctx.needs_input_grad[0] else None
        return dx, dw, None if bias is None else g.sum(0)


@fault("needs", cases_Mul)
class NeedsAll(Mul):
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        if not all(ctx.needs_input_grad):
            return g * b, None
        return g * b, g * a


# --- aliases
@fault("alias")
class GradientIsInput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x * x).sum() / 2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return x.detach() if g == 1 else x * g


@fault("alias")
class GradientIsInputView(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * 0.5

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        out = x.detach().view_as(x)
        out.mul_(g)
        return out


# --- what autograd refuses
@fault("refuses")
class TooFewGradients(Function):
    @staticmethod
    def forward(ctx, x, k: float = 2.0):
        ctx.k = k
        return x * k

    @staticmethod
    def backward(ctx, g):
        return g * ctx.k


@fault("contract")
class WrongShape(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x * x).sum(-1)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x.sum(-1) * g


@fault("contract")
class NoReturn(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        g * 2


@fault("contract")
class RaisesInBackward(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * x * g  # noqa: F821


# --- precision
@fault("precision")
class HalfInside(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return (2 * x.half() * g.half()).to(x.dtype)


@fault("precision")
class NaiveSigmoidGrad(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sigmoid(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        e = torch.exp(x)
        return g * e / (1 + e) ** 2


@fault("layout")
class ReadsFromTheStart(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        x = x.contiguous()
        return x.as_strided(x.shape, x.stride(), 0).exp()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].exp()


@fault("layout")
class ReadsGradientFromTheStart(Function):
    @staticmethod
    def forward(ctx, x):
        return 3 * x

    @staticmethod
    def backward(ctx, g):
        g = g.contiguous()
        return 3 * g.as_strided(g.shape, g.stride(), 0)


@fault("layout")
class SavedReadFromTheStart(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx, g):
        x = ctx.saved_tensors[0].contiguous()
        return g * x.as_strided(x.shape, x.stride(), 0).exp()


@fault("layout")
class TurnsTransposed(Function):
    @staticmethod
    def forward(ctx, x):
        if x.dim() == 2 and x.mT.is_contiguous() and not x.is_contiguous():
            return 3 * x.mT.reshape(x.shape)
        return 3 * x

    @staticmethod
    def backward(ctx, g):
        return 3 * g


@fault("layout")
class ShortCutForEqualRows(Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        if g.dim() > 1 and g.stride(0) == 0 and g.stride(-1) != 0:
            return (g[0] / len(g)).expand(g.shape)
        return 2 * g


@fault("layout")
class ShortCutForSums(Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        if g.dim() > 1 and not any(g.stride()):
            return torch.ones_like(g) * g.flatten()[:1]
        return 2 * g


@fault("refuses")
class GradientLikeTheInput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        dx = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype)
        return dx.copy_(2 * x * g)


@fault("undecided")
class NaiveSoftplus(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.log(1 + torch.exp(x))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.sigmoid(x)


# --- options
@fault("option")
class OptionIgnored(Function):
    @staticmethod
    def forward(ctx, x, alpha=1.0):
        return alpha * x

    @staticmethod
    def backward(ctx, g):
        return g, None


@fault("option")
class ReductionIgnored(Function):
    @staticmethod
    def forward(ctx, x, reduction="sum"):
        ctx.shape = x.shape
        return x.sum() if reduction == "sum" else x.mean()

    @staticmethod
    def backward(ctx, g):
        return g.expand(ctx.shape), None


@fault("option")
class KeepdimIgnored(Function):
    @staticmethod
    def forward(ctx, x, keepdim: bool = False):
        ctx.save_for_backward(x)
        return (x * x).sum(-1, keepdim=keepdim)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g.unsqueeze(-1), None


# --- forward mode
@fault("jvp")
class JvpWrong(Inverse):
    @staticmethod
    def jvp(ctx, t):
        (y,) = ctx.saved_tensors
        return y @ t @ y


cases_JvpWrong = cases_Inverse


@fault("jvp")
class JvpForgets(Function):
    @staticmethod
    def forward(x, y):
        return x * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y, g * x

    @staticmethod
    def jvp(ctx, tx, ty):
        _, y = ctx.saved_tensors
        return tx * y


@fault("precision")
class WrongInBfloat16(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return (x if x.dtype == torch.bfloat16 else 2 * x) * g
