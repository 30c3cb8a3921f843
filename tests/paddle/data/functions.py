"""Functions, losses, normalisations, convolutions and their gradients; errors.

Runs under Paddle 2.6.2 and under opkit; prints one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact.
"""

import paddle, numpy as np
import paddle.nn.functional as F
from paddle import nn
from shown_facts import rnd, run, show, t

A = (2, 3)
for n in "relu relu6 sigmoid tanh softmax log_softmax gelu elu selu leaky_relu silu swish softplus softsign hardtanh hardsigmoid hardswish mish log_sigmoid tanhshrink hardshrink softshrink thresholded_relu".split():
    show("F." + n, lambda: run(getattr(F, n), t(A)))
show("gelu approx", lambda: run(lambda x: F.gelu(x, approximate=True), t(A)))
show("softplus b", lambda: run(lambda x: F.softplus(x, beta=2, threshold=1), t(A)))
show("prelu", lambda: run(F.prelu, t((2, 3, 2)), t((3,), 1)))
show("glu", lambda: run(F.glu, t((2, 4))))
for n in "abs acos asin atan ceil cos cosh digamma erf exp expm1 floor lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid sign sin sinh sqrt square tan tanh trunc asinh atanh".split():
    show("p." + n, lambda: run(getattr(paddle, n), t(A, 1, 0.1, 0.9)))
show("p.acosh", lambda: run(paddle.acosh, t(A, 1, 1.1, 2)))
for n in "add subtract multiply divide maximum minimum floor_divide mod pow atan2 remainder".split():
    show("p." + n, lambda: run(getattr(paddle, n), t(A, 1, 0.5, 2), t((3,), 2, 0.5, 2)))
show("pow n", lambda: run(lambda x: paddle.pow(x, 3), t(A)))
show("pow .5", lambda: run(lambda x: x**0.5, t(A, 1, 0.1, 1)))
show("rpow", lambda: run(lambda x: 2.0**x, t(A)))
show("clip", lambda: run(lambda x: paddle.clip(x, -0.5, 0.5), t(A)))
show("scale", lambda: run(lambda x: paddle.scale(x, 2.0, 1.0), t(A)))
for n in "sum mean max min prod logsumexp std var amax amin".split():
    for kw in [{}, dict(axis=1), dict(axis=0, keepdim=True), dict(axis=[0, 1])]:
        show("p.%s %s" % (n, kw), lambda: run(lambda x: getattr(paddle, n)(x, **kw), t(A)))
show("max ties", lambda: run(lambda x: x.max(), paddle.to_tensor([1.0, 2.0, 2.0], stop_gradient=False)))
show("amax ties", lambda: run(lambda x: paddle.amax(x), paddle.to_tensor([1.0, 2.0, 2.0], stop_gradient=False)))
for n in "argmax argmin".split():
    for kw in [{}, dict(axis=1), dict(axis=0, keepdim=True)]:
        show("p.%s %s" % (n, kw), lambda: run(lambda x: getattr(paddle, n)(x, **kw), t(A)))
for n in "cumsum cumprod".split():
    show(n, lambda: run(lambda x: getattr(paddle, n)(x, 1), t(A)))
show("cumsum flat", lambda: run(lambda x: paddle.cumsum(x), t(A)))
show("norm", lambda: run(lambda x: paddle.norm(x), t(A)))
show("norm1", lambda: run(lambda x: paddle.norm(x, 1, 1), t(A)))
show("norm inf", lambda: run(lambda x: paddle.norm(x, float("inf")), t(A)))
show("matmul", lambda: run(paddle.matmul, t((2, 3)), t((3, 4), 1)))
show("matmul b", lambda: run(paddle.matmul, t((5, 2, 3)), t((3, 4), 1)))
show("matmul t", lambda: run(lambda a, b: paddle.matmul(a, b, True, True), t((3, 2)), t((4, 3), 1)))
show("mv", lambda: run(paddle.matmul, t((2, 3)), t((3,), 1)))
show("vv", lambda: run(paddle.matmul, t((3,)), t((3,), 1)))
show("vm", lambda: run(paddle.matmul, t((3,)), t((3, 2), 1)))
show("bmm", lambda: run(paddle.bmm, t((2, 2, 3)), t((2, 3, 2), 1)))
show("dot", lambda: run(paddle.dot, t((3,)), t((3,), 1)))
show("outer", lambda: run(paddle.outer, t((3,)), t((2,), 1)))
show("mm", lambda: run(paddle.mm, t((2, 3)), t((3, 2), 1)))
show("reshape", lambda: run(lambda x: x.reshape([3, -1]), t(A)))
show("reshape0", lambda: run(lambda x: x.reshape([0, 3, 1]), t(A)))
show("transpose", lambda: run(lambda x: x.transpose([1, 0]), t(A)))
show("T", lambda: run(lambda x: x.T, t((2, 3, 4))))
show("squeeze", lambda: run(lambda x: x.squeeze(), t((2, 1, 3))))
show("squeeze ax", lambda: run(lambda x: x.squeeze(0), t((2, 1, 3))))
show("unsq", lambda: run(lambda x: x.unsqueeze([0, 2]), t(A)))
show("flatten", lambda: run(lambda x: paddle.flatten(x, 1), t((2, 3, 2))))
show("expand", lambda: run(lambda x: paddle.expand(x, [2, -1, 3]), t((2, 3))))
show("expand_as", lambda: run(lambda x: paddle.expand_as(x, paddle.ones([2, 3])), t((3,))))
show("tile", lambda: run(lambda x: paddle.tile(x, [2, 1, 2]), t(A)))
show("broadcast_to", lambda: run(lambda x: paddle.broadcast_to(x, [2, 2, 3]), t(A)))
show("concat", lambda: run(lambda a, b: paddle.concat([a, b], 1), t(A), t(A, 1)))
show("stack", lambda: run(lambda a, b: paddle.stack([a, b], 1), t(A), t(A, 1)))
show("split", lambda: run(lambda x: paddle.split(x, 3, 1), t(A)))
show("split l", lambda: run(lambda x: paddle.split(x, [1, -1], 1)[1], t(A)))
show("chunk", lambda: run(lambda x: paddle.chunk(x, 2, 0), t(A)))
show("unstack", lambda: run(lambda x: paddle.unstack(x, 1), t(A)))
show("unbind", lambda: run(lambda x: paddle.unbind(x, 0)[1], t(A)))
show("flip", lambda: run(lambda x: paddle.flip(x, [0, 1]), t(A)))
show("roll", lambda: run(lambda x: paddle.roll(x, 1, 1), t(A)))
show("roll f", lambda: run(lambda x: paddle.roll(x, 2), t(A)))
show("tril", lambda: run(lambda x: paddle.tril(x), t((3, 3))))
show("triu", lambda: run(lambda x: paddle.triu(x, 1), t((3, 3))))
show("diag", lambda: run(lambda x: paddle.diag(x), t((3,))))
show("diag m", lambda: run(lambda x: paddle.diag(x), t((3, 3))))
I = lambda v: paddle.to_tensor(v)
show("gather", lambda: run(lambda x: paddle.gather(x, I([1, 0, 1])), t(A)))
show("gather ax", lambda: run(lambda x: paddle.gather(x, I([2, 0]), axis=1), t(A)))
show("gather_nd", lambda: run(lambda x: paddle.gather_nd(x, I([[1, 2], [0, 0]])), t(A)))
show("index_select", lambda: run(lambda x: paddle.index_select(x, I([2, 0, 2]), 1), t(A)))
show("take_along", lambda: run(lambda x: paddle.take_along_axis(x, I([[1], [0]]), 1), t(A)))
show("masked", lambda: run(lambda x: paddle.masked_select(x, x > 0), t(A)))
show("where", lambda: run(lambda a, b: paddle.where(a > 0, a, b), t(A), t(A, 1)))
show("scatter", lambda: run(lambda x, u: paddle.scatter(x, I([1, 0]), u), t((3, 2)), t((2, 2), 1)))
show("scatter add", lambda: run(lambda x, u: paddle.scatter(x, I([1, 1]), u, overwrite=False), t((3, 2)), t((2, 2), 1)))
show("scatter_nd_add", lambda: run(lambda x, u: paddle.scatter_nd_add(x, I([[1], [1]]), u), t((3, 2)), t((2, 2), 1)))
show("slice", lambda: run(lambda x: paddle.slice(x, [0, 1], [0, 1], [1, 3]), t(A)))
show("strided", lambda: run(lambda x: paddle.strided_slice(x, [1], [2], [-10], [-1]), t(A)))
show("topk", lambda: [rnd(v.numpy()) for v in paddle.topk(t(A), 2)])
show("sort", lambda: run(lambda x: paddle.sort(x, axis=1, descending=True), t(A)))
show("argsort", lambda: rnd(paddle.argsort(t(A), axis=1).numpy()))
show("one_hot", lambda: rnd(F.one_hot(I([1, 0, 2]), 3).numpy()))
show("cast", lambda: run(lambda x: x.astype("float32"), t(A)))
show("add_n", lambda: run(lambda a, b: paddle.add_n([a, b]), t(A), t(A, 1)))
show("median", lambda: run(lambda x: paddle.median(x), t((5,))))
show("median e", lambda: run(lambda x: paddle.median(x, 1), t((2, 4))))
show("numel", lambda: paddle.numel(t(A)))
show("nonzero", lambda: paddle.nonzero(I([0, 3, 0, 5])).numpy().tolist())
show(
    "unique",
    lambda: [
        v.numpy().tolist()
        for v in paddle.unique(I([3, 1, 3]), return_index=True, return_inverse=True, return_counts=True)
    ],
)
show("lerp", lambda: run(lambda a, b: paddle.lerp(a, b, 0.3), t(A), t(A, 1)))
show("trace", lambda: run(paddle.trace, t((3, 3))))
show("dist", lambda: run(lambda a, b: paddle.dist(a, b, 2), t(A), t(A, 1)))
for e in [
    "paddle.arange(5)",
    "paddle.arange(1,6,2)",
    "paddle.arange(0.,1.,.3)",
    "paddle.linspace(0,1,5)",
    "paddle.eye(2,3)",
    "paddle.full([2],3)",
    "paddle.full([2],3,'int64')",
    "paddle.full([2],True)",
    "paddle.zeros([2],'int32')",
    "paddle.ones([2,1])",
    "paddle.full_like(paddle.ones([2]),5)",
    "paddle.zeros_like(I([1,2]))",
    "paddle.ones_like(I([1,2]),dtype='float32')",
    "paddle.shape(paddle.ones([2,3]))",
    "paddle.all(I([True,False]))",
    "paddle.any(I([True,False]))",
    "paddle.allclose(paddle.ones([2]),paddle.ones([2]))",
    "paddle.isclose(paddle.ones([2]),paddle.ones([2]))",
    "paddle.equal_all(paddle.ones([2]),paddle.ones([3]))",
    "paddle.logical_and(I([True]),I([False]))",
    "paddle.isnan(paddle.to_tensor([1.,float('nan')]))",
    "paddle.meshgrid(I([1,2]),I([3,4,5]))[0]",
    "paddle.tril(paddle.ones([2,2]))",
    "paddle.randn([2]).dtype",
    "paddle.rand([2]).shape",
    "paddle.randint(0,5,[3]).dtype",
    "paddle.randperm(4).shape",
    "paddle.uniform([2]).dtype",
    "paddle.normal(0.,1.,[2]).shape",
    "paddle.assign(np.ones(2)).dtype",
    "paddle.is_tensor(I(1))",
    "paddle.rank(paddle.ones([2,2]))",
    "paddle.to_tensor(1).ndim",
    "paddle.increment(I([1.]))",
    "paddle.broadcast_shape([2,1],[3])",
    "paddle.moveaxis(paddle.ones([2,3,4]),0,2).shape",
    "paddle.repeat_interleave(I([1,2]),2)",
    "paddle.einsum('ij,jk->ik',paddle.ones([2,2]),paddle.ones([2,2]))",
    "paddle.outer(I([1.,2.]),I([1.,2.]))",
    "paddle.floor_divide(I([5,-5]),I([3,3]))",
    "paddle.mod(I([5,-5]),I([3,3]))",
    "paddle.sum(I([[1,2],[3,4]]),axis=0)",
]:
    show(e, lambda: eval(e))
# losses
lab = lambda: I(np.array([2, 0, 1]))
L = (3, 4)
for nm, kw in dict(
    d={},
    s=dict(reduction="sum"),
    n=dict(reduction="none"),
    ig=dict(ignore_index=0),
    w=dict(weight=t((4,), 5, 0.1, 1, True)),
    wi=dict(weight=t((4,), 5, 0.1, 1, True), ignore_index=0),
    ls=dict(label_smoothing=0.1),
).items():
    show("ce " + nm, lambda: run(lambda x: F.cross_entropy(x, lab(), **kw), t(L)))
    show("ce1 " + nm, lambda: run(lambda x: F.cross_entropy(x, lab().reshape([3, 1]), **kw), t(L)))
show("ce soft", lambda: run(lambda x, y: F.cross_entropy(x, F.softmax(y), soft_label=True), t(L), t(L, 1, sg=True)))
show(
    "ce softw",
    lambda: run(
        lambda x, y: F.cross_entropy(x, F.softmax(y), soft_label=True, weight=t((4,), 5, 0.1, 1, True)),
        t(L),
        t(L, 1, sg=True),
    ),
)
show("ce nosm", lambda: run(lambda x: F.cross_entropy(F.softmax(x), lab(), use_softmax=False), t(L)))
show("ce ax", lambda: run(lambda x: F.cross_entropy(x, I(np.array([[0, 1], [1, 1], [2, 0]])), axis=1), t((3, 3, 2))))
show("ce allig", lambda: run(lambda x: F.cross_entropy(x, I(np.array([1, 1, 1])), ignore_index=1), t(L)))
show("ce badlabel", lambda: run(lambda x: F.cross_entropy(x, I(np.array([1, 1, 9]))), t(L)))
show("swce", lambda: run(lambda x: F.softmax_with_cross_entropy(x, lab().reshape([3, 1])), t(L)))
show("nll", lambda: run(lambda x: F.nll_loss(F.log_softmax(x), lab()), t(L)))
show(
    "nllw",
    lambda: run(lambda x: F.nll_loss(F.log_softmax(x), lab(), weight=t((4,), 5, 0.1, 1, True), ignore_index=0), t(L)),
)
for n in "mse_loss l1_loss smooth_l1_loss".split():
    for r in "mean sum none".split():
        show(n + r, lambda: run(lambda a, b: getattr(F, n)(a, b, reduction=r), t(A), t(A, 1)))
show("sl1d", lambda: run(lambda a, b: F.smooth_l1_loss(a, b, delta=0.5), t(A), t(A, 1)))
show("bce", lambda: run(lambda a: F.binary_cross_entropy(a, t(A, 1, 0, 1, True)), t(A, 0, 0.1, 0.9)))
show("bcel", lambda: run(lambda a: F.binary_cross_entropy_with_logits(a, t(A, 1, 0, 1, True)), t(A)))
show(
    "bcelpw",
    lambda: run(
        lambda a: F.binary_cross_entropy_with_logits(
            a, t(A, 1, 0, 1, True), pos_weight=t((3,), 2, 0.5, 2, True), weight=t((3,), 3, 0.5, 2, True)
        ),
        t(A),
    ),
)
show("kl", lambda: run(lambda a: F.kl_div(a, t(A, 1, 0.1, 1, True)), t(A)))
show("klb", lambda: run(lambda a: F.kl_div(a, t(A, 1, 0.1, 1, True), reduction="batchmean"), t(A)))
show("sec", lambda: run(F.square_error_cost, t(A), t(A, 1)))
show("logloss", lambda: run(lambda a: F.log_loss(a, t((2, 1), 1, 0, 1, True)), t((2, 1), 0, 0.1, 0.9)))
show("lsmooth", lambda: run(lambda a: F.label_smooth(a), t(A)))
show("cos", lambda: run(F.cosine_similarity, t(A), t(A, 1)))
show("normalize", lambda: run(F.normalize, t(A)))
show("linear", lambda: run(F.linear, t((2, 3)), t((3, 4), 1), t((4,), 2)))
show("embedding", lambda: run(lambda w: F.embedding(I([[0, 2], [1, 2]]), w), t((3, 2))))
show("embedding pad", lambda: run(lambda w: F.embedding(I([[0, 2], [1, 2]]), w, padding_idx=2), t((3, 2))))
show("ln", lambda: run(lambda x, w, b: F.layer_norm(x, [3], w, b), t((2, 3)), t((3,), 1), t((3,), 2)))
show("ln2", lambda: run(lambda x: F.layer_norm(x, [2, 3]), t((2, 2, 3))))


def bn(x, w, b, tr=True, fmt="NCHW"):
    m = paddle.zeros([w.shape[0]], "float64")
    v = paddle.ones([w.shape[0]], "float64")
    o = F.batch_norm(x, m, v, w, b, training=tr, data_format=fmt)
    return [o, m, v]


show("bn", lambda: run(bn, t((2, 3, 2, 2)), t((3,), 1), t((3,), 2)))
show("bn eval", lambda: run(lambda *a: bn(*a, tr=False), t((2, 3, 2, 2)), t((3,), 1), t((3,), 2)))
show("bn 2d", lambda: run(lambda *a: bn(*a, fmt="NC"), t((4, 3)), t((3,), 1), t((3,), 2)))
show("bn nhwc", lambda: run(lambda *a: bn(*a, fmt="NHWC"), t((2, 2, 2, 3)), t((3,), 1), t((3,), 2)))
show("conv", lambda: run(F.conv2d, t((1, 2, 4, 4)), t((3, 2, 3, 3), 1), t((3,), 2)))
show("conv sp", lambda: run(lambda x, w: F.conv2d(x, w, stride=2, padding=1), t((1, 2, 4, 4)), t((3, 2, 3, 3), 1)))
show(
    "conv same", lambda: run(lambda x, w: F.conv2d(x, w, padding="SAME", stride=2), t((1, 2, 4, 4)), t((3, 2, 3, 3), 1))
)
show(
    "conv g",
    lambda: run(lambda x, w: F.conv2d(x, w, groups=2, dilation=2, padding=[1, 2]), t((1, 2, 5, 5)), t((4, 1, 2, 2), 1)),
)
show("conv asym", lambda: run(lambda x, w: F.conv2d(x, w, padding=[1, 0, 2, 1]), t((1, 2, 4, 4)), t((3, 2, 3, 3), 1)))
show("conv nhwc", lambda: run(lambda x, w: F.conv2d(x, w, data_format="NHWC"), t((1, 4, 4, 2)), t((3, 2, 3, 3), 1)))
show("conv1d", lambda: run(lambda x, w: F.conv1d(x, w, padding=1), t((1, 2, 5)), t((3, 2, 3), 1)))
show(
    "convT",
    lambda: run(lambda x, w: F.conv2d_transpose(x, w, stride=2, padding=1), t((1, 2, 3, 3)), t((2, 3, 3, 3), 1)),
)
show("maxp", lambda: run(lambda x: F.max_pool2d(x, 2), t((1, 2, 4, 4))))
show("maxp s", lambda: run(lambda x: F.max_pool2d(x, 3, 2, 1), t((1, 2, 5, 5))))
show("maxp c", lambda: run(lambda x: F.max_pool2d(x, 2, 2, 0, ceil_mode=True), t((1, 1, 5, 5))))
show("avgp", lambda: run(lambda x: F.avg_pool2d(x, 2), t((1, 2, 4, 4))))
show("avgp p", lambda: run(lambda x: F.avg_pool2d(x, 3, 2, 1), t((1, 2, 5, 5))))
show("avgp i", lambda: run(lambda x: F.avg_pool2d(x, 3, 2, 1, exclusive=False), t((1, 2, 5, 5))))
show("adap", lambda: run(lambda x: F.adaptive_avg_pool2d(x, [2, 3]), t((1, 2, 5, 5))))
show("adap1", lambda: run(lambda x: F.adaptive_avg_pool2d(x, 1), t((1, 2, 5, 5))))
show("pad", lambda: run(lambda x: F.pad(x, [1, 2, 0, 1]), t((1, 1, 2, 2))))
show("pad all", lambda: run(lambda x: F.pad(x, [0, 0, 0, 0, 1, 1, 2, 0]), t((1, 1, 2, 2))))
show("pad refl", lambda: run(lambda x: F.pad(x, [1, 1, 1, 1], mode="reflect"), t((1, 1, 3, 3))))
show("pad rep", lambda: run(lambda x: F.pad(x, [1, 1, 1, 1], mode="replicate"), t((1, 1, 3, 3))))
show("pad circ", lambda: run(lambda x: F.pad(x, [1, 1, 1, 1], mode="circular"), t((1, 1, 3, 3))))
show("dropout eval", lambda: run(lambda x: F.dropout(x, 0.5, training=False), t(A)))
show("dropout inf", lambda: run(lambda x: F.dropout(x, 0.4, training=False, mode="downscale_in_infer"), t(A)))
show("dropout1", lambda: run(lambda x: F.dropout(x, 1.0), t(A)))
show("getset", lambda: run(lambda x: (lambda y: (y.__setitem__((slice(None), 1), 0.0), y)[1])(x * 2), t(A)))
# errors
x = t(A)
for e in [
    "paddle.reshape(x,[4])",
    "paddle.concat([x,t((3,2))],0)",
    "paddle.matmul(x,x)",
    "paddle.transpose(x,[0])",
    "paddle.split(x,2,1)",
    "F.cross_entropy(x,I([1,2,3]))",
    "F.mse_loss(x,x,'avg')",
    "paddle.ones(-1)",
    "paddle.zeros('a')",
    "paddle.sum(x,axis=3)",
    "paddle.squeeze(x,axis=5)",
    "nn.Linear(2,2)(x)",
    "F.softmax(x,axis=4)",
    "paddle.cast(x,'foo')",
    "x.astype('foo')",
    "paddle.to_tensor([1],dtype='foo')",
    "paddle.add(x,t((4,)))",
    "paddle.stack([x,t((3,2))])",
    "nn.Conv2D(2,3,3)(paddle.ones([1,1,5,5]))",
    "F.embedding(I([5]),t((3,2)))",
    "paddle.nn.Embedding(3,2)(I([7]))",
    "paddle.expand(x,[4,3])",
    "paddle.tile(x,'a')",
    "paddle.set_flags({'FLAGS_x':1})",
    "paddle.optimizer.SGD(0.1)",
    "paddle.optimizer.SGD('a',parameters=[])",
    "paddle.optimizer.Adam(0.1,beta1=2.,parameters=[])",
    "paddle.load('/nonexistent')",
    "paddle.full([2],'a')",
    "paddle.set_default_dtype('int32')",
    "paddle.seed('a')",
    "nn.Layer()(1)",
    "nn.Dropout(2.)",
    "F.dropout(x,-1.)",
    "paddle.optimizer.lr.StepDecay(0.1,0)",
    "x.foo",
    "paddle.foo",
    "paddle.nn.Foo",
    "F.foo",
    "x.reshape('a')",
    "x.numpy(1,2)",
    "paddle.argmax(x,axis=9)",
    "paddle.arange('a')",
    "paddle.linspace(0,1,0)",
]:
    show("E " + e, lambda: eval(e))
