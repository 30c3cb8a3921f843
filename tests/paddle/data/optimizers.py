"""Traces of optimizers and of learning-rate schedules.

Runs under Paddle 2.6.2 and under opkit; prints one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact.
"""

import paddle, numpy as np
from shown_facts import show

L = paddle.optimizer.lr
S = dict(
    noam=lambda: L.NoamDecay(64, 5, learning_rate=1.0),
    piece=lambda: L.PiecewiseDecay([2, 4], [0.1, 0.05, 0.01]),
    inv=lambda: L.InverseTimeDecay(0.5, 0.1),
    poly=lambda: L.PolynomialDecay(0.5, 5),
    polyc=lambda: L.PolynomialDecay(0.5, 3, end_lr=0.1, power=2.0, cycle=True),
    warm=lambda: L.LinearWarmup(0.5, 4, 0.0, 0.5),
    warm2=lambda: L.LinearWarmup(L.ExponentialDecay(0.5, 0.5), 3, 0.1, 0.5),
    exp=lambda: L.ExponentialDecay(0.5, 0.9),
    multi=lambda: L.MultiStepDecay(0.5, [2, 5], 0.1),
    step=lambda: L.StepDecay(0.5, 2, 0.1),
    lam=lambda: L.LambdaDecay(0.5, lambda e: 0.95**e),
    cos=lambda: L.CosineAnnealingDecay(0.5, 4, 0.01),
    one=lambda: L.OneCycleLR(1.0, 8),
    onel=lambda: L.OneCycleLR(1.0, 8, anneal_strategy="linear", three_phase=True),
    cyc=lambda: L.CyclicLR(0.1, 1.0, 2),
    cyct=lambda: L.CyclicLR(0.1, 1.0, 2, 3, mode="triangular2"),
    cyce=lambda: L.CyclicLR(0.1, 1.0, 2, mode="exp_range", exp_gamma=0.9),
)
for k, f in S.items():
    s = f()
    v = [s()]
    for i in range(9):
        try:
            s.step()
            v.append(s())
        except Exception:
            v.append("over")
            break
    print("#@", k, "->", [float("%.7g" % x) if not isinstance(x, str) else x for x in v], s.state_dict())
s = L.ReduceOnPlateau(0.5, patience=1, cooldown=1, factor=0.5)
v = [s()]
for m in [1, 0.9, 0.9, 0.9, 0.9, 0.8, 0.9, 0.9, 0.9, 0.9]:
    s.step(paddle.to_tensor(float(m)))
    v.append(s())
print("#@ plateau ->", v, s.state_dict())
for name, mk in dict(
    sgd=lambda p: paddle.optimizer.SGD(0.1, p),
    sgdl2=lambda p: paddle.optimizer.SGD(0.1, p, weight_decay=0.01),
    sgdl1=lambda p: paddle.optimizer.SGD(0.1, p, weight_decay=paddle.regularizer.L1Decay(0.01)),
    mom=lambda p: paddle.optimizer.Momentum(0.1, 0.9, p),
    momn=lambda p: paddle.optimizer.Momentum(0.1, 0.9, p, use_nesterov=True, weight_decay=0.1),
    adam=lambda p: paddle.optimizer.Adam(0.1, parameters=p),
    adaml2=lambda p: paddle.optimizer.Adam(0.1, parameters=p, weight_decay=0.1),
    adamw=lambda p: paddle.optimizer.AdamW(0.1, parameters=p),
    rms=lambda p: paddle.optimizer.RMSProp(0.1, parameters=p),
    rmsc=lambda p: paddle.optimizer.RMSProp(0.1, parameters=p, momentum=0.9, centered=True),
    ada=lambda p: paddle.optimizer.Adagrad(0.1, parameters=p, initial_accumulator_value=0.1),
    gn=lambda p: paddle.optimizer.SGD(0.1, p, grad_clip=paddle.nn.ClipGradByGlobalNorm(0.5)),
    n=lambda p: paddle.optimizer.SGD(0.1, p, grad_clip=paddle.nn.ClipGradByNorm(0.5)),
    v=lambda p: paddle.optimizer.SGD(0.1, p, grad_clip=paddle.nn.ClipGradByValue(0.5)),
).items():
    w = paddle.create_parameter(
        [3], "float32", default_initializer=paddle.nn.initializer.Assign(np.array([1.0, -2.0, 3.0], "float32"))
    )
    b = paddle.create_parameter(
        [1], "float32", default_initializer=paddle.nn.initializer.Assign(np.array([0.5], "float32"))
    )
    o = mk([w, b])
    tr = []
    for i in range(4):
        ((w * w * paddle.to_tensor([1.0, 2.0, 0.3])).sum() + b * b).sum().backward()
        o.step()
        o.clear_grad()
        tr.append([float("%.7g" % t) for t in w.numpy().tolist() + b.numpy().tolist()])
    print("#@", name, "->", tr)
    print("#@", name, "state ->", sorted(k.split("_", 3)[-1] for k in o.state_dict()))
