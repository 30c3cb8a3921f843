"""Edges of functions: pools with a divisor or a mask, ties, values outside a domain, schedules that are restored, names of types.

Runs under Paddle 2.6.2 and under opkit; prints one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact.
"""

import paddle, numpy as np
import paddle.nn.functional as F
from shown_facts import show

R = np.random.RandomState


def t(values, dtype="float32", sg=False):
    return paddle.to_tensor(np.asarray(values, dtype), stop_gradient=sg)


def rnd(a):
    a = np.asarray(a)
    return np.round(a.astype("float64"), 5).tolist() if a.dtype.kind == "f" else a.tolist()


def run(f, *xs):
    """Return the shape, dtype and value of each result, and the gradients with fixed cotangents."""
    outs = f(*xs)
    outs = outs if isinstance(outs, (list, tuple)) else [outs]
    total = None
    for i, o in enumerate(outs):
        if o.stop_gradient or "int" in str(o.dtype):
            continue
        w = paddle.to_tensor(np.asarray(R(9 + i).randint(1, 9, o.shape), str(o.numpy().dtype)))
        total = (o * w).sum() if total is None else total + (o * w).sum()
    if total is not None:
        total.backward()
    return [(o.shape, str(o.dtype), rnd(o.numpy())) for o in outs], [None if x.grad is None else rnd(x.grad.numpy()) for x in xs]


# ---- average pools with a divisor
X = R(0).randint(0, 9, (1, 1, 5, 5))
for k, s, p, ceil, excl in ((3, 2, 1, False, True), (3, 2, 1, False, False), (3, 2, 1, True, True), (2, 2, 0, True, True), (2, 2, 0, True, False), (3, 2, [0, 1], True, False), (2, 1, [[0,0],[0,0],[1,0],[0,1]], False, True)):
    for d in (None, 2.5):
        show(f"avg_pool2d {k} {s} {p} {ceil} {excl} {d}", lambda: run(lambda x: F.avg_pool2d(x, k, s, p, ceil, excl, d), t(X)))
for d in (0, -3):
    show(f"avg_pool2d divisor {d}", lambda: run(lambda x: F.avg_pool2d(x, 3, 2, 1, divisor_override=d), t(X)))
for pad in ("SAME", "VALID"):
    show(f"avg_pool2d {pad}", lambda: run(lambda x: F.avg_pool2d(x, 3, 2, pad, divisor_override=4), t(X)))
show("avg_pool2d NHWC", lambda: run(lambda x: F.avg_pool2d(x, 3, 2, 1, divisor_override=4, data_format="NHWC"), t(X.reshape(1, 5, 5, 1))))
X3 = R(0).randint(0, 9, (1, 1, 3, 4, 3))
for ceil in (False, True):
    for excl in (True, False):
        show(f"avg_pool3d {ceil} {excl}", lambda: run(lambda x: F.avg_pool3d(x, 2, 2, 1, ceil, excl, 3), t(X3)))
        show(f"avg_pool1d {ceil} {excl}", lambda: run(lambda x: F.avg_pool1d(x, 3, 2, 1, excl, ceil), t(X[:, :, 0])))

# ---- largest with a mask
T = np.array([[3, 3, 1, 2, 2], [3, 0, 4, 4, 1], [5, 5, 5, 0, 1], [1, 2, 5, 7, 7], [0, 2, 1, 7, 6]]).reshape(1, 1, 5, 5)
for k, s, p, ceil in ((2, 2, 0, False), (2, 2, 0, True), (3, 2, 1, False), (3, 1, 1, False), (3, 2, 1, True), ([2, 3], [1, 2], [1, 0], False)):
    show(f"max_pool2d mask {k} {s} {p} {ceil}", lambda: run(lambda x: F.max_pool2d(x, k, s, p, True, ceil), t(T)))
show("max_pool1d mask", lambda: run(lambda x: F.max_pool1d(x, 2, 2, 0, True), t(T[:, 0])))
show("max_pool1d mask padding", lambda: run(lambda x: F.max_pool1d(x, 3, 2, 1, True), t(T[:, 0])))
show("max_pool3d mask", lambda: run(lambda x: F.max_pool3d(x, 2, 2, 0, True), t(np.stack([T, T + 1, T], 2))))
show("max_pool2d mask SAME", lambda: run(lambda x: F.max_pool2d(x, 3, 2, "SAME", True), t(T)))
show("max_pool2d mask VALID", lambda: run(lambda x: F.max_pool2d(x, 3, 2, "VALID", True), t(T)))
show("max_pool2d mask NHWC", lambda: run(lambda x: F.max_pool2d(x, 3, 2, 0, True, data_format="NHWC"), t(T.reshape(1, 5, 5, 1))))
show("max_pool2d NaN", lambda: run(lambda x: F.max_pool2d(x, 2, 2, 0, True), t([[[[1, np.nan, 2, 3], [0, 0, 1, 5]]]])))
for n in (1, 2, 3, (2, 3), (None, 2)):
    show(f"adaptive_max_pool2d mask {n}", lambda: run(lambda x: F.adaptive_max_pool2d(x, n, True), t(T)))
show("adaptive_max_pool1d mask", lambda: run(lambda x: F.adaptive_max_pool1d(x, 3, True), t(T[:, 0])))
show("adaptive_max_pool3d mask", lambda: run(lambda x: F.adaptive_max_pool3d(x, 2, True), t(np.stack([T, T + 1, T], 2))))
show("AdaptiveMaxPool2D mask", lambda: run(paddle.nn.AdaptiveMaxPool2D(2, return_mask=True), t(T)))
show("MaxPool2D mask", lambda: run(paddle.nn.MaxPool2D(2, return_mask=True), t(T)))


def unpool(x, k=2, s=2, p=0, size=None, ceil=False):
    y, m = F.max_pool2d(x, k, s, p, True, ceil)
    return F.max_unpool2d(y, m, k, s, p, output_size=size)


show("max_unpool2d", lambda: run(lambda x: unpool(x), t(T)))
show("max_unpool2d size", lambda: run(lambda x: unpool(x, size=[5, 5]), t(T)))
show("max_unpool2d size 4", lambda: run(lambda x: unpool(x, size=[1, 1, 5, 5]), t(T)))
show("max_unpool2d size wrong", lambda: run(lambda x: unpool(x, size=[7, 7]), t(T)))
show("max_unpool2d overlap", lambda: run(lambda x: unpool(x, 3, 1, 1), t(T)))
show("max_unpool2d stride", lambda: run(lambda x: unpool(x, 3, 2, 1), t(T)))
def un(x, i, **k):
    return run(lambda x: F.max_unpool2d(x, paddle.to_tensor(np.asarray(i, k.pop("idt", "int32"))), 2, 2, **k), t(x))
show("max_unpool2d twice", lambda: un([[[[1., 2.], [3., 4.]]]], [[[[0, 0], [5, 5]]]]))
show("max_unpool2d int64", lambda: un([[[[1., 2.], [3., 4.]]]], [[[[0, 1], [5, 6]]]], idt="int64"))
show("max_unpool2d float64", lambda: run(lambda x: unpool(x), t(T, "float64")))
# ---- erfinv
V = [-2.0, -1.0, -0.5, 0.0, 0.3, 1.0, 1.5, float("nan"), float("inf"), float("-inf")]
for d in ("float32", "float64"):
    show(f"erfinv {d}", lambda: run(paddle.erfinv, t(V, d)))
for d in ("int32", "int64", "bool"):
    show(f"erfinv {d}", lambda: run(paddle.erfinv, t([0, 1], d, True)))
# ---- nanmean
for d in ("int64", "float64"):
    for v in ([-1, -2, -4, -7], [[1, 2, 3, 4], [4, 1, 9, 7]], 5):
        for ax, k in ((None, False), (0, True), (-1, False), ((0, 1), True)):
            if np.ndim(v) == 0 and ax not in (None,): continue
            if np.ndim(v) == 1 and isinstance(ax, tuple): continue
            for n in ("nanmean", "median", "mean"):
                if n in ("median",) and isinstance(ax, tuple): continue
                show(f"{n} {d} {v} {ax} {k}", lambda: run(lambda x: getattr(paddle, n)(x, axis=ax, keepdim=k), t(v, d, sg="float" not in d)))
N = float("nan")
for v in ([1, N, 3, 2], [[1, N], [N, 2]], [2, 2, 1, N, 2], [1, 1, 2, 2], [3, 1, 1, 3], [2, 2, 2, 2], [1, 2, 2, 3], [1, 2, 2, 2, 3], [[1, 1, 2], [2, 1, 1]]):
    for ax, k in ((None, False), (-1, True)):
        for n in ("nanmean", "median"):
            a = {"q": 0.5} if "quantile" in n else {}
            show(f"{n} {v} {ax} {k}", lambda: run(lambda x: getattr(paddle, n)(x, axis=ax, keepdim=k, **a), t(v)))
# ---- ties
for v in ([2, 2, 1, 2], [1, 1, 1, 1], [3, 1, 3, 1, 3], [[2, 1, 2], [1, 1, 1], [2, 2, 0]], [5, 4, 4, 4, 4, 4, 4, 4, 1, 1, 1, 1, 1, 1, 1, 1, 4, 4]):
    for ax in (0,):
        for k in (1, 2, 3, 4):
            show(f"kthvalue {v} {ax} {k}", lambda: run(lambda x: paddle.kthvalue(x, k, ax), t(v)))
        show(f"median {v} {ax}", lambda: run(lambda x: paddle.median(x, ax), t(v)))
        show(f"topk {v} {ax}", lambda: run(lambda x: paddle.topk(x, 2, ax), t(v)))
MANY = R(4).randint(0, 6, 200)
for k in (1, 2, 3, 4, 40, 150):
    show(f"kthvalue of many {k}", lambda: run(lambda x: paddle.kthvalue(x, k), t(MANY)))
    show(f"topk of many {k}", lambda: [item.tolist() for item in paddle.topk(t(MANY), k)])
    show(f"topk of many {k} smallest", lambda: [item.tolist() for item in paddle.topk(t(MANY), k, largest=False)])
# ---- CTC
L = R(3).randn(6, 2, 5)
lab = np.array([[1, 2, 2], [3, 1, 0]])
for red in ("mean", "sum", "none"):
    for blank in (0, 4):
        for nbt in (False, True):
            show(f"ctc {red} {blank} {nbt}", lambda: run(lambda x: F.ctc_loss(x, paddle.to_tensor(lab.astype("int32")), paddle.to_tensor(np.array([6, 5])), paddle.to_tensor(np.array([3, 2])), blank, red, nbt), t(L, "float64")))
show("ctc float32", lambda: run(lambda x: F.ctc_loss(x, paddle.to_tensor(lab.astype("int32")), paddle.to_tensor(np.array([6, 5])), paddle.to_tensor(np.array([3, 2]))), t(L)))
show("ctc impossible", lambda: run(lambda x: F.ctc_loss(x, paddle.to_tensor(lab.astype("int32")), paddle.to_tensor(np.array([3, 5])), paddle.to_tensor(np.array([3, 2])), reduction="none"), t(L, "float64")))
show("CTCLoss", lambda: run(lambda x: paddle.nn.CTCLoss(0, "sum")(x, paddle.to_tensor(lab.astype("int32")), paddle.to_tensor(np.array([6, 5])), paddle.to_tensor(np.array([3, 2]))), t(L, "float64")))
# ---- schedules
lr = paddle.optimizer.lr
for e in ([0, 1, 2, 3, 4, 5, 6], [3], [5, 2], [4, None, None], [None, 3, None, 1, None, 7, None], [0, 0], [10], [4, 4, 5]):
    def go(s):
        out = [s()]
        for i in e:
            s.step(i); out.append(round(s(), 7))
        return out
    show(f"Cosine {e}", lambda: go(lr.CosineAnnealingDecay(0.5, 3)))
for le in (0, 1, 2, 4):
    show(f"Cosine last {le}", lambda: go2(lr.CosineAnnealingDecay(0.5, 5, last_epoch=le)))
def go2(s):
    out = [round(s(), 7)]
    for _ in range(5): s.step(); out.append(round(s(), 7))
    return out
# ---- types
lin = paddle.nn.Linear(2, 2)
show("type param", lambda: type(lin.weight).__name__)
show("type tensor", lambda: type(paddle.ones([1])).__name__)
show("type buffer", lambda: type(paddle.nn.BatchNorm1D(2)._mean).__name__)
show("type created", lambda: type(paddle.create_parameter([2], "float32")).__name__)
show("type eager", lambda: type(paddle.base.framework.EagerParamBase([2], "float32")).__name__)
show("type product", lambda: type(lin.weight * 2).__name__)
show("type detach", lambda: type(lin.weight.detach()).__name__)
show("type clone", lambda: type(lin.weight.clone()).__name__)
show("type deepcopy", lambda: type(__import__("copy").deepcopy(lin.weight)).__name__)
show("type class is", lambda: type(lin.weight) is type(lin.bias))
show("isinstance Tensor", lambda: isinstance(lin.weight, paddle.Tensor))
show("issubclass", lambda: issubclass(type(lin.weight), paddle.Tensor))
show("repr", lambda: repr(lin.bias))
show("class", lambda: lin.weight.__class__.__name__)
show("type grad", lambda: ((lin(paddle.ones([1, 2]))).sum().backward(), type(lin.weight.grad).__name__)[1])
show("trainable", lambda: (lin.weight.trainable, lin.weight.stop_gradient))
for norm in (-1.0, 0.0, 0.5):
    show(f"clip by norm {norm}", lambda: paddle.nn.ClipGradByNorm(norm)([(lin.weight, t([[3.0, 4.0]]))])[0][1].tolist())
for shape in ([5], [5, 3], [5, 3, 2]):
    show(f"embedding of {shape}", lambda: paddle.nn.functional.embedding(paddle.to_tensor([0, 4]), paddle.ones(shape)).shape)
paddle.enable_static()
main, startup = paddle.static.Program(), paddle.static.Program()
with paddle.static.program_guard(main, startup):
    x = paddle.static.data("x", [None, 2])
    y = paddle.static.nn.fc(x, 2)
w = main.all_parameters()[0]
exe = paddle.static.Executor()
exe.run(startup)
out, = exe.run(main, feed={"x": np.ones((1, 2), "float32")}, fetch_list=[y], return_numpy=False)
show("scope var", lambda: type(paddle.static.global_scope().find_var(w.name).get_tensor()).__name__)
paddle.disable_static()
