"""Integers, precision, single elements, and what is dropped, kept or printed.

Runs under Paddle 2.6.2 and under opkit; prints one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact.
"""

import paddle, numpy as np
from paddle import nn
from shown_facts import show

p = paddle.to_tensor


def plain(o):
    return o.shape, str(o.dtype), o.numpy().tolist()


def exact(o):
    return [repr(v) for v in o.numpy().astype("float64").ravel().tolist()]


for kind in ("int32", "int64"):
    x = p(np.array([-3, 2], kind))
    for name in ("abs", "square", "sign", "trunc"):
        show(f"{name} {kind}", lambda: plain(getattr(paddle, name)(x)))
        show(f"x.{name} {kind}", lambda: plain(getattr(x, name)()))
    show(f"divide {kind}", lambda: plain(paddle.divide(p(np.array([7, -7], kind)), p(np.array([2, 2], kind)))))
    show(f"operator / {kind}", lambda: plain(p(np.array([7, -7], kind)) / p(np.array([2, 2], kind))))
    show(f"median {kind}", lambda: plain(paddle.median(p(np.array([1, 2, 3], kind)))))
    show(f"median axis {kind}", lambda: plain(paddle.median(p(np.array([[1, 2, 4], [3, 5, 9]], kind)), axis=1)))
big = 2**60 + 1
for name in ("abs", "sign", "trunc"):
    show(f"{name} of a large integer", lambda: plain(getattr(paddle, name)(p([-big, big]))))
show("divide large", lambda: plain(paddle.divide(p([big, -big]), p([1, 1]))))
show("divide signs", lambda: plain(paddle.divide(p([7, -7, 7, -7, 6, -6, 0]), p([2, 2, -2, -2, 3, 3, 5]))))
for values in ([1, 0], [1.0, 0.0], [True, False]):
    show(f"all {values}", lambda: plain(paddle.all(p(values))))
    show(f"any {values}", lambda: plain(paddle.any(p(values))))
    show(f"x.all {values}", lambda: plain(p(values).all(axis=0, keepdim=True)))
for name in ("std", "var"):
    show(f"{name} one", lambda: plain(getattr(p([5.0]), name)()))
    show(f"{name} 0-d", lambda: plain(getattr(p(5.0), name)()))
    show(f"{name} axis", lambda: plain(getattr(p([[1.0], [2.0]]), name)(axis=1)))
    show(f"{name} two", lambda: plain(getattr(p([[1.0], [2.0]]), name)()))
show("sort 0-d", lambda: plain(paddle.sort(p(3.0))))
show("argsort 0-d", lambda: plain(paddle.argsort(p(3.0))))
show("diag 0-d", lambda: plain(paddle.diag(p(3.0))))
# precision
show("number f8", lambda: exact(p(0.1, dtype="float64")))
show("list f8", lambda: exact(p([0.1, 1 / 3], dtype="float64")))
show("nested f8", lambda: exact(p([[0.1], [1 / 3]], dtype="float64")))
show("tuple f8", lambda: exact(p((0.7,), dtype="float64")))
show("list f4", lambda: exact(p([0.1, 1 / 3])))
show("large int f8", lambda: exact(p(2**40 + 1, dtype="float64")))
show("floats i8", lambda: plain(p([1e10, 2.5], dtype="int64")))
show("print 1e100", lambda: p(1e100, dtype="float64"))
show("print 1e39", lambda: p([1e39, 1.0], dtype="float64"))
show("print 1e20", lambda: p([1e20, 1.5], dtype="float64"))
show("print f4", lambda: p([1e38, 1.5]))
# gradients that are dropped
w = p([1.0, 2.0], stop_gradient=False)
(w * 2).sum().backward()
w.clear_gradient(False)
show("dropped", lambda: w.grad)
(w * 2).sum().backward()
w.clear_gradient()
show("zeros", lambda: plain(w.grad))


def steps(set_to_zero):
    constant = nn.initializer.Constant(1.0)
    a, b = (nn.Linear(2, 1, weight_attr=constant, bias_attr=False) for _ in range(2))
    optimizer = paddle.optimizer.Adam(0.1, parameters=a.parameters() + b.parameters(), weight_decay=0.1)
    for i in range(4):
        (a if i % 2 else b)(paddle.ones([1, 2])).sum().backward()
        optimizer.step()
        optimizer.clear_grad(set_to_zero=set_to_zero)
    return [np.round(layer.weight.numpy().ravel(), 5).tolist() for layer in (a, b)]


show("Adam, gradients dropped", lambda: steps(False))
show("Adam, gradients zero", lambda: steps(True))
show("another head", lambda: nn.Linear(2, 4).set_state_dict(nn.Linear(2, 3).state_dict()))
# text
for layer in (
    "nn.Conv1D(2, 3, 2, dilation=2, padding_mode='reflect')",
    "nn.Conv2D(2, 3, 2, stride=2, padding=1, dilation=2)",
    "nn.BatchNorm1D(3)",
    "nn.BatchNorm2D(3)",
    "nn.BatchNorm3D(3)",
    "nn.PReLU()",
    "nn.Linear(2, 3, name='zz')",
):
    show(layer, lambda: eval(layer))


def said():
    import contextlib, io

    heard = io.StringIO()
    with contextlib.redirect_stdout(heard):
        scheduler = paddle.optimizer.lr.StepDecay(0.5, 2, verbose=True)
        for _ in range(3):
            scheduler.step()
    return heard.getvalue().split("\n")


show("verbose", said)
for name in ("cumsum", "logcumsumexp"):
    show(f"E {name} axis", lambda: getattr(paddle, name)(p([1.0, 2.0]), axis=3))
show("E sum axis", lambda: paddle.sum(p([1.0, 2.0]), axis=3))
