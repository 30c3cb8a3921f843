"""``paddle.linalg``: inverses, factors, systems, and their gradients.

Runs under Paddle 2.6.2 and under opkit; prints one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact.
"""

import paddle, numpy as np
import paddle.nn.functional as F
from paddle import nn
from shown_facts import R, plain, run, show, t


A = (2, 3)
L = paddle.linalg


def spd(n=3, seed=0, batch=()):
    a = R(seed).randn(*batch, n, n)
    return paddle.to_tensor(a @ np.swapaxes(a, -1, -2) + n * np.eye(n), stop_gradient=False)


def sq(n=3, seed=0, batch=()):
    return paddle.to_tensor(R(seed).randn(*batch, n, n) + 2 * np.eye(n), stop_gradient=False)


def sym(x):
    perm = list(range(len(x.shape)))
    perm[-1], perm[-2] = perm[-2], perm[-1]
    return x + x.transpose(perm)


for b in [(), (2,)]:
    show("inv %s" % (b,), lambda: run(L.inv, sq(3, 0, b)))
    show("det %s" % (b,), lambda: run(L.det, sq(3, 0, b)))
    show("slogdet %s" % (b,), lambda: run(L.slogdet, sq(3, 0, b)))
    show("solve %s" % (b,), lambda: run(L.solve, sq(3, 0, b), t((*b, 3, 2), 1)))
    show("cholesky %s" % (b,), lambda: run(lambda x: L.cholesky(sym(x)), spd(3, 0, b)))
    show("cholesky up %s" % (b,), lambda: run(lambda x: L.cholesky(sym(x), upper=True), spd(3, 0, b)))
    show("eigvalsh %s" % (b,), lambda: run(lambda x: L.eigvalsh(sym(x)), sq(3, 0, b)))
    show("eigh %s" % (b,), lambda: run(lambda x: (lambda w, v: (w, paddle.abs(v)))(*L.eigh(sym(x))), sq(3, 0, b)))
    show("qr %s" % (b,), lambda: run(lambda x: [paddle.abs(v) for v in L.qr(x)], t((*b, 4, 3))))
    show("svd %s" % (b,), lambda: run(lambda x: [paddle.abs(v) for v in L.svd(x)], t((*b, 3, 3))))
    show("matrix_power %s" % (b,), lambda: run(lambda x: L.matrix_power(x, 3), sq(3, 0, b)))
    show("pinv %s" % (b,), lambda: run(L.pinv, t((*b, 4, 3))))
show("qr wide", lambda: [plain(paddle.abs(v)) for v in L.qr(t((2, 4), sg=True))])
show("qr r", lambda: plain(paddle.abs(L.qr(t((4, 3), sg=True), mode="r"))))
show("svd tall", lambda: run(lambda x: L.svd(x)[1], t((4, 3))))
show("svd wide", lambda: run(lambda x: [paddle.abs(v) for v in L.svd(x)], t((2, 4))))
show("matrix_power -2", lambda: run(lambda x: L.matrix_power(x, -2), sq()))
show("matrix_power 0", lambda: plain(L.matrix_power(sq(), 0)))
show("solve vec", lambda: run(L.solve, sq(), t((3,), 1)))
show("solve bc", lambda: run(L.solve, sq(), t((2, 3, 2), 1)))
show("triangular up", lambda: run(L.triangular_solve, sq(), t((3, 2), 1)))
show("triangular low", lambda: run(lambda x, y: L.triangular_solve(x, y, upper=False, transpose=True), sq(), t((3, 2), 1)))
show("triangular unit", lambda: run(lambda x, y: L.triangular_solve(x, y, unitriangular=True), sq(), t((3, 2), 1)))
for p in [None, "fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf")]:
    show("cond %s" % p, lambda: plain(L.cond(sq(), p)))
show("eig", lambda: (lambda w, v: (v.shape, str(v.dtype), np.round(np.sort(w.numpy().real), 5).tolist()))(*L.eig(sq())))
show("eigvals", lambda: np.round(np.sort(L.eigvals(sq()).numpy().real), 5).tolist())
show("norm", lambda: run(L.norm, t((2, 3))))
show("norm axis", lambda: run(lambda x: L.norm(x, p=2, axis=[0, 1]), t((2, 3))))
show("norm 1", lambda: run(lambda x: L.norm(x, p=1, axis=0), t((2, 3))))
show("norm inf", lambda: run(lambda x: L.norm(x, p=float("inf"), axis=1), t((2, 3))))
show("norm 2 inf", lambda: plain(L.norm(t((2, 3)), p=float("inf"), axis=[0, 1])))
show("norm 2 one", lambda: plain(L.norm(t((2, 3)), p=1, axis=[0, 1])))
show("trace", lambda: run(paddle.trace, t((3, 4))))
show("trace nd", lambda: run(lambda x: paddle.trace(x, 1, 0, 2), t((3, 2, 4))))
show("dist", lambda: run(lambda x, y: paddle.dist(x, y, 2), t((2, 3)), t((3,), 1)))
show("dist 0", lambda: plain(paddle.dist(t((2, 3)), t((3,), 1), 0)))
show("method inverse", lambda: plain(sq().inverse()))
show("method cholesky", lambda: plain(spd().cholesky()))
show("E inv singular", lambda: L.inv(paddle.ones([2, 2])))
show("E inv shape", lambda: L.inv(paddle.ones([2, 3])))
show("E cholesky", lambda: L.cholesky(paddle.to_tensor([[1.0, 2.0], [2.0, 1.0]])))
show("E det", lambda: L.det(paddle.ones([2, 3])))
show("E solve", lambda: L.solve(paddle.ones([2, 2]), paddle.ones([3, 2])))
show("E qr", lambda: L.qr(paddle.ones([2, 2]), mode="x"))
