"""Numerical code as users write it around custom ops: gradient checks, statistics, linear algebra, printing."""
import numpy as np
import paddle
import paddle.nn.functional as F

paddle.set_default_dtype("float64")
rng = np.random.RandomState(0)


def numeric(f, x, eps=1e-6):
    g = np.zeros_like(x)
    for i in np.ndindex(*x.shape):
        d = np.zeros_like(x)
        d[i] = eps
        g[i] = (float(f(paddle.to_tensor(x + d))) - float(f(paddle.to_tensor(x - d)))) / (2 * eps)
    return g


for name, f in {
    "logsumexp": lambda x: paddle.logsumexp(x),
    "cumprod": lambda x: paddle.cumprod(x, 1).sum(),
    "norm": lambda x: paddle.norm(x, p=3),
    "inv": lambda x: paddle.linalg.inv(x @ x.t() + 3 * paddle.eye(3)).sum(),
    "slogdet": lambda x: paddle.linalg.slogdet(x @ x.t() + 3 * paddle.eye(3))[1],
    "kron": lambda x: paddle.kron(x, x).square().sum(),
    "pad": lambda x: (F.pad(x.unsqueeze(0).unsqueeze(0), [1, 1, 1, 1], mode="reflect") ** 2).sum(),
    "std": lambda x: x.std(axis=0).prod(),
    "gather": lambda x: paddle.gather(x, paddle.to_tensor([0, 2, 2])).sin().sum(),
    "where": lambda x: paddle.where(x > 0, x**2, -x).sum(),
    "sort": lambda x: (paddle.sort(x, axis=1) * paddle.arange(3, dtype="float64")).sum(),
}.items():
    a = rng.randn(3, 3)
    t = paddle.to_tensor(a, stop_gradient=False)
    f(t).backward()
    print(name, bool(np.allclose(numeric(f, a), t.grad.numpy(), atol=1e-5)), round(float(t.grad.sum()), 5))
x = paddle.to_tensor(rng.randn(3, 4))
print(x)
print(paddle.mean(x, axis=0), x.var(), x.max(axis=1), x.argmin())
print(x.shape, x.dtype, x.ndim, x.size, x.T.shape, len(x), x.numel())
print(paddle.to_tensor([1, 2, 3]) / 2, paddle.to_tensor([1, 2, 3]) // 2, 2 ** paddle.to_tensor([1.0, 2.0]))
print(float(paddle.dist(x, x * 2)), paddle.equal_all(x, x).item(), paddle.allclose(x, x + 1e-9).item())
print(paddle.concat([x[:, :1], x[:, 2:]], axis=1).shape, [s.shape for s in paddle.split(x, [1, 3], axis=1)], paddle.stack([x, x]).shape)
print(paddle.unique(paddle.to_tensor([3, 1, 3, 2])), paddle.nonzero(paddle.to_tensor([0, 1, 0, 1])).tolist(), paddle.bincount(paddle.to_tensor([0, 1, 1])).tolist())
print(paddle.linspace(0, 1, 5).tolist(), paddle.meshgrid(paddle.arange(2), paddle.arange(3))[0].tolist(), paddle.full([2], 3).dtype)
paddle.set_default_dtype("float32")
