import torch
from torch import Tensor
from torch.autograd import Function


@torch.library.custom_op("fc11::clip_norm_rows", mutates_args=())
def clip_norm_rows(x: Tensor, limit: float = 1.0) -> Tensor:
    n = x.norm(dim=-1, keepdim=True)
    return torch.where(n > limit, x * (limit / n), x)


@clip_norm_rows.register_fake
def _(x, limit=1.0):
    return torch.empty_like(x)


def _cn_setup(ctx, inputs, output):
    x, limit = inputs
    ctx.save_for_backward(x)
    ctx.limit = limit


def _cn_bwd(ctx, g):
    x, = ctx.saved_tensors
    n = x.norm(dim=-1, keepdim=True)
    u = x / n
    d = (g - u * (g * u).sum(-1, keepdim=True)) * (ctx.limit / n)
    return torch.where(n > ctx.limit, d, g), None


clip_norm_rows.register_autograd(_cn_bwd, setup_context=_cn_setup)


@torch.library.custom_op("fc11::unfold_sum", mutates_args=())
def unfold_sum(x: Tensor, size: int = 3, step: int = 2) -> Tensor:
    return x.unfold(-1, size, step).sum(-1)


@unfold_sum.register_fake
def _(x, size=3, step=2):
    return x.new_empty(*x.shape[:-1], (x.shape[-1] - size) // step + 1)


def _us_setup(ctx, inputs, output):
    x, size, step = inputs
    ctx.n, ctx.size, ctx.step = x.shape[-1], size, step


def _us_bwd(ctx, g):
    gx = g.new_zeros(g.shape[:-1] + (ctx.n,))
    idx = torch.arange(g.shape[-1]) * ctx.step
    for j in range(ctx.size):
        gx[..., idx + j] = gx[..., idx + j] + g
    return gx, None, None


unfold_sum.register_autograd(_us_bwd, setup_context=_us_setup)


@torch.library.custom_op("fc11::masked_logsumexp", mutates_args=())
def masked_logsumexp(x: Tensor, mask: Tensor) -> Tensor:
    return torch.where(mask, x, torch.full_like(x, -1e30)).logsumexp(-1)


@masked_logsumexp.register_fake
def _(x, mask):
    return x.new_empty(torch.broadcast_shapes(x.shape, mask.shape)[:-1])


def _ml_setup(ctx, inputs, output):
    x, mask = inputs
    if x.shape != mask.shape:
        raise ValueError("mask of another shape")
    ctx.save_for_backward(x, output)


def _ml_bwd(ctx, g):
    x, y = ctx.saved_tensors
    return g.unsqueeze(-1) * torch.exp(x - y.unsqueeze(-1)), None


masked_logsumexp.register_autograd(_ml_bwd, setup_context=_ml_setup)


@torch.library.custom_op("fc11::cross_rows", mutates_args=())
def cross_rows(a: Tensor, b: Tensor) -> Tensor:
    return torch.linalg.cross(a, b, dim=-1)


@cross_rows.register_fake
def _(a, b):
    return a.new_empty(torch.broadcast_shapes(a.shape, b.shape))


def _cr_setup(ctx, inputs, output):
    a, b = inputs
    if a.shape != b.shape:
        raise ValueError("cross_rows: a and b of one shape")
    ctx.save_for_backward(a, b)


def _cr_bwd(ctx, g):
    a, b = ctx.saved_tensors
    return torch.linalg.cross(b, g, dim=-1), torch.linalg.cross(a, g, dim=-1)


cross_rows.register_autograd(_cr_bwd, setup_context=_cr_setup)


class SymEigRecon(Function):
    """spectral clamp: V max(lam, floor) V' of a symmetric matrix"""

    @staticmethod
    def forward(ctx, a, floor=0.0):
        if a.dim() != 2 or a.shape[0] != a.shape[1]:
            raise ValueError("matrix")
        lam, v = torch.linalg.eigh((a + a.T) / 2)
        c = lam.clamp(min=floor)
        ctx.save_for_backward(lam, v, c)
        ctx.floor = floor
        return (v * c) @ v.T

    @staticmethod
    def backward(ctx, g):
        lam, v, c = ctx.saved_tensors
        d = lam[:, None] - lam[None, :]
        same = d.abs() < 1e-12
        k = torch.where(same, (lam[:, None] > ctx.floor).to(d.dtype), (c[:, None] - c[None, :]) / torch.where(same, torch.ones_like(d), d))
        m = v.T @ ((g + g.T) / 2) @ v
        return v @ (k * m) @ v.T, None


class LUSolveBoth(Function):
    """X with A X B = C"""

    @staticmethod
    def forward(ctx, a, b, c):
        x = torch.linalg.solve(b.T, torch.linalg.solve(a, c).T).T
        ctx.save_for_backward(a, b, x)
        return x

    @staticmethod
    def backward(ctx, g):
        a, b, x = ctx.saved_tensors
        gc = torch.linalg.solve(b, torch.linalg.solve(a.T, g).T).T
        return -gc @ (x @ b).T, -(a @ x).T @ gc, gc


class PopStack(Function):
    """two-stage affine; intermediates on a stack"""

    @staticmethod
    def forward(ctx, x, w1, w2):
        h = x @ w1
        r = torch.nn.functional.elu(h)
        ctx.stack = [x, h, r]
        ctx.save_for_backward(w1, w2)
        return r @ w2

    @staticmethod
    def backward(ctx, g):
        w1, w2 = ctx.saved_tensors
        r = ctx.stack.pop()
        h = ctx.stack.pop()
        x = ctx.stack.pop()
        gr = g @ w2.t()
        gh = gr * torch.where(h > 0, torch.ones_like(h), h.exp())
        return gh @ w1.t(), x.t() @ gh, r.t() @ g


class GradClipPass(Function):
    """identity-like scaling; a NaN guard in backward"""

    @staticmethod
    def forward(ctx, x, scale=2.0):
        ctx.scale = scale
        return x * scale

    @staticmethod
    def backward(ctx, g):
        return g.clamp(-10, 10) * ctx.scale, None


class ConcatLinear(Function):
    """[a, b] W without the concatenation"""

    @staticmethod
    def forward(ctx, a, b, w):
        p = a.shape[-1]
        ctx.save_for_backward(a, b, w)
        return a @ w[:p] + b @ w[p:]

    @staticmethod
    def backward(ctx, g):
        a, b, w = ctx.saved_tensors
        p = a.shape[-1]
        ga, gb = g @ w[:p].t(), g @ w[p:].t()
        f = g.reshape(-1, g.shape[-1])
        gw = torch.cat([a.reshape(-1, p).t() @ f, b.reshape(-1, b.shape[-1]).t() @ f])
        return ga, gb, gw


class StudentTNLL(Function):
    """negative log likelihood of a Student t with df, loc, log scale (elementwise), mean"""

    @staticmethod
    def forward(ctx, x, loc, logs, df=3.0):
        if not x.shape == loc.shape == logs.shape:
            raise ValueError("same shapes")
        z = (x - loc) * torch.exp(-logs)
        ctx.save_for_backward(z, logs)
        ctx.df = df
        return (logs + 0.5 * (df + 1) * torch.log1p(z * z / df)).mean()

    @staticmethod
    def backward(ctx, g):
        z, logs = ctx.saved_tensors
        df = ctx.df
        dz = (df + 1) * z / (df + z * z)
        k = g / z.numel()
        dx = k * dz * torch.exp(-logs)
        return dx, -dx, k * (1 - dz * z), None


class TiedMaxAll(Function):
    @staticmethod
    def forward(ctx, x, dim=-1):
        m = x.amax(dim, keepdim=True)
        ctx.save_for_backward(x, m)
        ctx.dim = dim
        return m.squeeze(dim)

    @staticmethod
    def backward(ctx, g):
        x, m = ctx.saved_tensors
        return (x == m) * g.unsqueeze(ctx.dim), None


class MultiLabelMargin(Function):
    """mean over rows of the sum of relu(1 - (s_t - s_j)) / C, one target per row"""

    @staticmethod
    def forward(ctx, s, t):
        if s.dim() != 2 or t.shape != s.shape[:1]:
            raise ValueError
        st = s.gather(1, t[:, None])
        v = 1 - st + s
        on = (v > 0).to(s.dtype).scatter(1, t[:, None], 0.0)
        ctx.save_for_backward(on, t)
        return (v * on).sum() / s.numel()

    @staticmethod
    def backward(ctx, g):
        on, t = ctx.saved_tensors
        d = on.scatter(1, t[:, None], -on.sum(1, keepdim=True))
        return g * d / on.numel(), None
