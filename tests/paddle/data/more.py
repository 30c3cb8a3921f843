"""Functions of tensors beyond arithmetic: elementary ones, products, statistics, selection, layout.

Runs under Paddle 2.6.2 and under opkit; prints one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact.
"""

import paddle, numpy as np
import paddle.nn.functional as F
from paddle import nn
from shown_facts import I, plain, run, show, t

A = (2, 3)
# ---- elementary
for n in "deg2rad rad2deg frac erfinv".split():
    show(n, lambda: run(getattr(paddle, n), t(A, 1, 0.1, 0.9)))
show("deg2rad int", lambda: run(paddle.deg2rad, I([90, 180])))
show("rad2deg int", lambda: run(paddle.rad2deg, I([1, 2])))
show("frac int", lambda: run(paddle.frac, I([1, 2])))
show("frac neg", lambda: run(paddle.frac, t((4,))))
show("erfinv f32", lambda: plain(paddle.erfinv(paddle.to_tensor([-1.0, -0.5, 0.0, 0.999, 1.0]))))
X = lambda: paddle.to_tensor([float("nan"), float("inf"), -float("inf"), 1.5], stop_gradient=False)
show("nan_to_num", lambda: run(paddle.nan_to_num, X()))
show("nan_to_num args", lambda: run(lambda x: paddle.nan_to_num(x, 1.0, 2.0, 3.0), X()))
for n in "fmax fmin heaviside".split():
    show(n, lambda: run(getattr(paddle, n), t(A, 1), t((3,), 2)))
show("fmax nan", lambda: run(paddle.fmax, X(), paddle.to_tensor([1.0, 2, 3, float("nan")], stop_gradient=False)))
show("fmin nan", lambda: run(paddle.fmin, X(), paddle.to_tensor([1.0, 2, 3, float("nan")], stop_gradient=False)))
show("fmax tie", lambda: run(paddle.fmax, paddle.to_tensor([1.0, 2], stop_gradient=False), paddle.to_tensor([1.0, 3], stop_gradient=False)))
show("heaviside 0", lambda: plain(paddle.heaviside(paddle.to_tensor([-1.0, 0.0, 2.0]), paddle.to_tensor([0.5, 0.25, 7.0]))))
show("lerp", lambda: run(lambda x, y: paddle.lerp(x, y, 0.3), t(A), t(A, 1)))
show("E erfinv int", lambda: paddle.erfinv(I([1])))
# ---- products
show("addmm", lambda: run(lambda i, x, y: paddle.addmm(i, x, y, beta=0.5, alpha=2.0), t((2, 4)), t((2, 3), 1), t((3, 4), 2)))
show("addmm row", lambda: run(lambda i, x, y: paddle.addmm(i, x, y), t((1, 4)), t((2, 3), 1), t((3, 4), 2)))
show("inner", lambda: run(paddle.inner, t((2, 3)), t((4, 3), 1)))
show("inner 1", lambda: run(paddle.inner, t((3,)), t((3,), 1)))
show("inner 3", lambda: run(paddle.inner, t((2, 2, 3)), t((3,), 1)))
show("kron", lambda: run(paddle.kron, t((2, 3)), t((2, 2), 1)))
show("kron nd", lambda: run(paddle.kron, t((3,)), t((2, 2, 2), 1)))
show("cross", lambda: run(paddle.cross, t((2, 3)), t((2, 3), 1)))
show("cross ax", lambda: run(lambda x, y: paddle.cross(x, y, axis=0), t((3, 3)), t((3, 3), 1)))
show("cross first", lambda: run(paddle.cross, t((3, 3)), t((3, 3), 1)))
show("E cross", lambda: paddle.cross(t((2, 2)), t((2, 2))))
show("tensordot 2", lambda: run(paddle.tensordot, t((2, 3, 4)), t((3, 4, 2), 1)))
show("tensordot 0", lambda: run(lambda x, y: paddle.tensordot(x, y, 0), t((2,)), t((3,), 1)))
show("tensordot list", lambda: run(lambda x, y: paddle.tensordot(x, y, [[0, 1], [1, 0]]), t((2, 3, 4)), t((3, 2), 1)))
show("tensordot one", lambda: run(lambda x, y: paddle.tensordot(x, y, [0]), t((2, 3)), t((2, 4), 1)))
show("tensordot uneven", lambda: run(lambda x, y: paddle.tensordot(x, y, [[0, 1], [0]]), t((2, 3)), t((2, 3), 1)))
for eq, shapes in {
    "ij,jk->ik": [(2, 3), (3, 4)],
    "bij,bjk->bik": [(2, 2, 3), (2, 3, 2)],
    "ij->ji": [(2, 3)],
    "ij->": [(2, 3)],
    "ij->i": [(2, 3)],
    "ii->i": [(3, 3)],
    "ii->": [(3, 3)],
    "i,j->ij": [(2,), (3,)],
    "i,i->": [(3,), (3,)],
    "ij,ij->ij": [(2, 3), (2, 3)],
    "...ij,...jk->...ik": [(2, 2, 3), (3, 2)],
    "ij,jk": [(2, 3), (3, 4)],
    "ba": [(2, 3)],
    "ij,jk,kl->il": [(2, 3), (3, 2), (2, 2)],
    "bhqd,bhkd->bhqk": [(1, 2, 2, 3), (1, 2, 2, 3)],
    "bn,anm,bm->ba": [(2, 3), (4, 3, 2), (2, 2)],
    "i...->...": [(2, 3)],
}.items():
    show("einsum " + eq, lambda: run(lambda *v: paddle.einsum(eq, *v), *[t(s, 3 + i) for i, s in enumerate(shapes)]))
show("E einsum", lambda: paddle.einsum("ij,jk->ik", t((2, 3)), t((2, 3))))
show("E einsum terms", lambda: paddle.einsum("ij,jk->ik", t((2, 3))))
for p in [2.0, 1.0, 3.0, 0.0, float("inf")]:
    show("cdist %s" % p, lambda: run(lambda x, y: paddle.cdist(x, y, p), t((2, 3)), t((4, 3), 1)))
# ---- statistics
N = lambda: paddle.to_tensor([[1.0, float("nan"), 3.0], [4.0, 5.0, float("nan")]], dtype="float64", stop_gradient=False)
for n in "nanmean".split():
    for kw in [{}, dict(axis=1), dict(axis=0, keepdim=True)]:
        show("%s %s" % (n, kw), lambda: run(lambda x: getattr(paddle, n)(x, **kw), N()))
for kw in [{}, dict(axis=1), dict(axis=0, keepdim=True), dict(axis=[0, 1])]:
    show("count_nonzero %s" % kw, lambda: plain(paddle.count_nonzero(I([[0, 1, 2], [0, 0, 3]]), **kw)))
for q in [0.5, 0.3, [0.1, 0.75], 1, 0]:
    for kw in [{}, dict(axis=1), dict(axis=0, keepdim=True), dict(axis=[0, 1])]:
        show("quantile %s %s" % (q, kw), lambda: run(lambda x: paddle.quantile(x, q, **kw), t((3, 4))))
show("quantile f32", lambda: plain(paddle.quantile(t((5,), dtype="float32"), 0.25)))
show("quantile nan", lambda: plain(paddle.quantile(N(), 0.25, axis=1)))
show("E quantile", lambda: paddle.quantile(t((3,)), 1.5))
V = lambda: paddle.to_tensor([[2.0, 1.0, 2.0, 3.0], [3.0, 3.0, 1.0, 1.0]], stop_gradient=False)
show("mode", lambda: run(paddle.mode, V()))
show("mode ax", lambda: run(lambda x: paddle.mode(x, 0, keepdim=True), V()))
for kw in [dict(k=2), dict(k=1, axis=0), dict(k=3, axis=1, keepdim=True)]:
    show("kthvalue %s" % kw, lambda: run(lambda x: paddle.kthvalue(x, **kw), t((3, 4))))
show("E kthvalue", lambda: paddle.kthvalue(t((3,)), 4))
show("bincount", lambda: plain(paddle.bincount(I([1, 2, 1, 4]))))
show("bincount min", lambda: plain(paddle.bincount(I([1, 2, 1]), minlength=6)))
show("bincount w", lambda: plain(paddle.bincount(I([1, 2, 1]), weights=paddle.to_tensor([0.5, 1.0, 2.0]))))
show("E bincount", lambda: paddle.bincount(t((3,))))
show("histogram", lambda: plain(paddle.histogram(paddle.to_tensor([1.0, 2.0, 1.0, 4.0]), bins=4)))
show("histogram mm", lambda: plain(paddle.histogram(paddle.to_tensor([1.0, 2.0, 1.0, 4.0]), bins=4, min=0, max=3)))
show("histogram int", lambda: plain(paddle.histogram(I([1, 2, 1]), bins=4, min=0, max=3)))
show("E histogram", lambda: paddle.histogram(t((3,)), bins=4, min=3, max=1))
# ---- scans
for kw in [{}, dict(axis=0), dict(axis=1), dict(dtype="float32", axis=0)]:
    show("logcumsumexp %s" % kw, lambda: run(lambda x: paddle.logcumsumexp(x, **kw), t((3, 4))))
show("logcumsumexp far", lambda: run(lambda x: paddle.logcumsumexp(x, 0), paddle.to_tensor([-900.0, 900.0, -900.0], stop_gradient=False)))
show("diff", lambda: run(paddle.diff, t((2, 4))))
show("diff 2", lambda: run(lambda x: paddle.diff(x, n=2, axis=0, prepend=t((1, 4), 1), append=t((1, 4), 2)), t((3, 4))))
show("diff n", lambda: run(lambda x: paddle.diff(x, n=2), t((2, 4))))
show("diff app", lambda: run(lambda x: paddle.diff(x, append=t((2, 1), 1)), t((2, 4))))
show("diff bool", lambda: plain(paddle.diff(paddle.to_tensor([True, False, False]))))
show("trapezoid", lambda: run(paddle.trapezoid, t((2, 4))))
show("trapezoid dx", lambda: run(lambda y: paddle.trapezoid(y, dx=0.5, axis=0), t((2, 4))))
show("trapezoid x", lambda: run(lambda y, x: paddle.trapezoid(y, x), t((2, 4)), t((4,), 1)))
show("cumulative_trapezoid", lambda: run(lambda y, x: paddle.cumulative_trapezoid(y, x), t((2, 4)), t((4,), 1)))
# ---- selection
M = lambda: paddle.to_tensor([[True, False, True], [False, False, True]])
show("masked_fill", lambda: run(lambda x: paddle.masked_fill(x, M(), 2.0), t(A)))
show("masked_fill t", lambda: run(lambda x, v: paddle.masked_fill(x, M(), v), t(A), t((), 1)))
show("masked_fill row", lambda: run(lambda x: paddle.masked_fill(x, M()[0], 2.0), t(A)))
show("masked_fill int", lambda: plain(paddle.masked_fill(I([[1, 2, 3], [4, 5, 6]]), M(), 0)))
show("index_add", lambda: run(lambda x, v: paddle.index_add(x, I([0, 2, 0]), 0, v), t((3, 2)), t((3, 2), 1)))
show("index_add ax", lambda: run(lambda x, v: paddle.index_add(x, I([1, 1]), 1, v), t((3, 2)), t((3, 2), 1)))
show("index_sample", lambda: run(lambda x: paddle.index_sample(x, I([[0, 2], [1, 1]])), t((2, 3))))
show("index_put", lambda: run(lambda x, v: paddle.index_put(x, (I([0, 1]), I([2, 0])), v), t((2, 3)), t((2,), 1)))
show("index_put acc", lambda: run(lambda x, v: paddle.index_put(x, (I([0, 0]), I([2, 2])), v, accumulate=True), t((2, 3)), t((2,), 1)))
show("index_put row", lambda: run(lambda x, v: paddle.index_put(x, (I([1]),), v), t((2, 3)), t((3,), 1)))
show("take", lambda: run(lambda x: paddle.take(x, I([[0, -1], [4, 2]])), t((2, 3))))
show("take wrap", lambda: plain(paddle.take(t((2, 3)), I([7, -8]), mode="wrap")))
show("take clip", lambda: plain(paddle.take(t((2, 3)), I([7, -8]), mode="clip")))
show("E take", lambda: paddle.take(t((2, 3)), I([7])))
show("scatter_nd", lambda: run(lambda u: paddle.scatter_nd(I([[1], [0], [1]]), u, [3, 2]), t((3, 2))))
show("unfold", lambda: run(lambda x: paddle.unfold(x, 0, 3, 2), t((7,))))
show("unfold 2", lambda: run(lambda x: x.unfold(1, 2, 1), t((2, 3, 2))))
show("crop", lambda: run(lambda x: paddle.crop(x, [2, -1], [1, 1]), t((4, 3))))
show("searchsorted", lambda: plain(paddle.searchsorted(paddle.to_tensor([1.0, 3, 5]), paddle.to_tensor([[3.0, 6.0], [0.0, 1.0]]))))
show("searchsorted r", lambda: plain(paddle.searchsorted(I([[1, 3, 5], [2, 4, 6]]), I([[3, 6], [2, 4]]), out_int32=True, right=True)))
show("bucketize", lambda: plain(paddle.bucketize(I([[3, 6], [2, 4]]), I([2, 4, 6]))))
show("unique_consecutive", lambda: [plain(v) for v in paddle.unique_consecutive(I([1, 1, 2, 2, 3, 1, 1]), return_inverse=True, return_counts=True)])
show("unique_consecutive ax", lambda: plain(paddle.unique_consecutive(I([[1, 2], [1, 2], [3, 4]]), axis=0)))
show("put_along add", lambda: run(lambda x, v: paddle.put_along_axis(x, I([[0, 0, 1]]), v, 0, "add"), t((2, 3)), t((1, 3), 1)))
show("put_along mul", lambda: plain(paddle.put_along_axis(t((2, 3), sg=True), I([[0, 0, 1]]), t((1, 3), 1, sg=True), 0, "mul")))
show("put_along number", lambda: plain(paddle.put_along_axis(t((2, 3), sg=True, dtype="float32"), I([[0, 0, 1]]), 9.0, 0)))
show("take_along bc", lambda: run(lambda x: paddle.take_along_axis(x, I([[1]]), 0), t((2, 3))))
# ---- layout
for n in "atleast_1d atleast_2d".split():
    for s in [(), (2,), (2, 3), (1, 2, 3)]:
        show("%s %s" % (n, s), lambda: run(getattr(paddle, n), t(s)))
show("atleast list", lambda: [plain(v) for v in paddle.atleast_2d(t(()), t((2,)))])
show("broadcast_tensors", lambda: run(lambda *v: paddle.broadcast_tensors(list(v)), t((2, 1)), t((3,), 1)))
show("E broadcast_tensors", lambda: paddle.broadcast_tensors([t((2,)), t((3,))]))
for kw in [{}, dict(offset=1), dict(offset=-1), dict(offset=1, axis1=2, axis2=0), dict(axis1=-1, axis2=1)]:
    show("diagonal %s" % kw, lambda: run(lambda x: paddle.diagonal(x, **kw), t((3, 4, 2))))
for kw in [{}, dict(offset=1), dict(offset=-2), dict(offset=1, dim1=0, dim2=2), dict(dim1=1, dim2=0)]:
    show("diag_embed %s" % kw, lambda: run(lambda x: F.diag_embed(x, **kw), t((2, 3))))
show("view", lambda: run(lambda x: paddle.view(x, [3, 2]), t((2, 3))))
show("view dtype", lambda: plain(paddle.view(paddle.to_tensor([1.0, 2.0], dtype="float32"), "int32")))
show("view_as", lambda: run(lambda x: paddle.view_as(x, t((3, 2))), t((2, 3))))
show("unflatten", lambda: run(lambda x: paddle.unflatten(x, 1, [2, -1]), t((2, 6))))
show("reverse", lambda: run(lambda x: paddle.reverse(x, [0]), t((2, 2))))
show("tolist", lambda: paddle.tolist(I([[1, 2], [3, 4]])))
show("logspace", lambda: plain(paddle.logspace(0, 2, 3)))
# ---- attributes
show("is_empty", lambda: (plain(paddle.is_empty(t((0, 2)))), plain(paddle.is_empty(t((1,))))))
show("is_x", lambda: [(paddle.is_complex(v), paddle.is_integer(v), paddle.is_floating_point(v)) for v in (t((1,)), I([1]), M())])
show("E is_complex", lambda: paddle.is_complex(1))
show("finfo", lambda: (lambda f: (f.min, f.max, f.eps, f.tiny, f.smallest_normal, f.bits, f.dtype, f.resolution))(paddle.finfo(paddle.float32)))
show("iinfo", lambda: (lambda f: (f.min, f.max, f.bits, f.dtype))(paddle.iinfo("int16")))
show("rng", lambda: (lambda s: (paddle.randn([2]).tolist(), paddle.set_rng_state(s), paddle.randn([2]).tolist()))(paddle.get_rng_state())[1])
show("poisson", lambda: (lambda v: (v.shape, str(v.dtype), float(v.min()) >= 0))(paddle.poisson(t((3,), 0, 1, 5, sg=True))))
show("multinomial", lambda: (lambda v: (v.shape, str(v.dtype)))(paddle.multinomial(t((2, 4), 0, 1, 5, sg=True), 3)))
