"""Quantisation with a learned step: the layers of paddle.nn.quant over several steps of training, and their functions.

Runs under Paddle 2.6.2 and under opkit; prints one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact.
"""

import warnings

warnings.simplefilter("ignore")


def show(label, fact):
    try:
        print("#@", label, "->", fact(), flush=True)
    except BaseException as error:
        print("#@", label, "!!", ",".join(kind.__name__ for kind in type(error).__mro__), flush=True)


import paddle, numpy as np

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


import paddle.nn.quant.lsq as lsq
FakeQuantActLSQPlus, FakeQuantWeightLSQPlus = lsq.FakeQuantActLSQPlus, lsq.FakeQuantWeightLSQPlus
X = R(2).randn(3, 4)
def steps(layer, shape=(3, 4), n=2):
    out = []
    opt = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
    for i in range(n):
        x = t(R(i + 20).randn(*shape), sg=True)
        y = layer(x)
        (y * y).sum().backward()
        out.append((y.shape, rnd(y.numpy()), [(p.shape, rnd(p.numpy()), rnd(p.grad.numpy())) for p in layer.parameters()], rnd(x.grad.numpy())))
        opt.step(); opt.clear_grad()
    return out
for a in (dict(), dict(all_postive=True), dict(symmetric=True), dict(batch_init=2), dict(name="q"), dict(batch_init=0)):
    show(f"act {a}", lambda: steps(FakeQuantActLSQPlus(4, **a)))
for a in (dict(per_channel=True, channel_num=3), dict(per_channel=True, channel_num=4, quant_linear=True), dict(channel_num=1), dict(), dict(per_channel=True, channel_num=3, all_postive=True, batch_init=2), dict(channel_num=3)):
    show(f"weight {a}", lambda: steps(FakeQuantWeightLSQPlus(4, **a)))
show("conv", lambda: steps(FakeQuantWeightLSQPlus(3, per_channel=True, channel_num=2), (2, 3, 2, 2)))
show("names", lambda: [p.name for p in FakeQuantActLSQPlus(4, name="z").parameters()])
show("round", lambda: lsq.round(t([0.5, 1.5, -0.5, -1.4, 2.5])).tolist())
show("func", lambda: run(lambda x, a: lsq.LsqFunc.apply(x, a, paddle.to_tensor(0.5), -8, 7), t(X), t(0.3)))
show("func [1]", lambda: run(lambda x, a: lsq.LsqFunc.apply(x, a, paddle.to_tensor(0.5), -2, 1), t(X), t([0.3])))
show("channels", lambda: run(lambda x, a: lsq.LsqFunc.apply(x, a, paddle.to_tensor(0.5), -2, 1, True, 0), t(X), t([0.3, .2, .5])))
show("plus", lambda: run(lambda x, a, b: lsq.LsqPlusActFunc.apply(x, a, b, paddle.to_tensor(0.5), -2, 1), t(X), t(0.3), t(.1)))
for shape in ((), (1,), (2, 3), (1, 2, 1)):
    x = R(1).randn(*shape)
    show(f"func {shape}", lambda: run(lambda x, a: lsq.LsqFunc.apply(x, a, paddle.to_tensor(2.0), 0, 3), t(x), t(0.7)))
show("parameters", lambda: [sorted(dict(layer.named_parameters())) for layer in (FakeQuantActLSQPlus(4), FakeQuantActLSQPlus(4, symmetric=True))])
show("levels", lambda: [(layer.Qn, layer.Qp) for layer in (FakeQuantActLSQPlus(4), FakeQuantActLSQPlus(8, True))])
