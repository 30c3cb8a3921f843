"""Parameter groups, schedules of every kind, warm-up, ReduceOnPlateau, clipping by value and norm, regularizers."""
import numpy as np
import paddle
import paddle.nn as nn

L = paddle.optimizer.lr
for s in [
    L.NoamDecay(64, 4, 1.0), L.PiecewiseDecay([2, 4], [0.1, 0.05, 0.01]), L.NaturalExpDecay(0.1, 0.3), L.InverseTimeDecay(0.1, 0.3),
    L.PolynomialDecay(0.1, 5), L.LinearWarmup(0.1, 3, 0.0, 0.1), L.ExponentialDecay(0.1, 0.9), L.MultiStepDecay(0.1, [2, 4]),
    L.StepDecay(0.1, 2), L.LambdaDecay(0.1, lambda e: 0.9**e), L.CosineAnnealingDecay(0.1, 4), L.OneCycleLR(0.1, 8), L.CyclicLR(0.1, 0.5, 3),
    L.LinearWarmup(L.CosineAnnealingDecay(0.2, 5), 2, 0.0, 0.2), L.MultiplicativeDecay(0.1, lambda e: 0.95),
]:
    got = []
    for _ in range(6):
        got.append(round(s.get_lr(), 6))
        s.step()
    print(type(s).__name__, got)
p = L.ReduceOnPlateau(0.1, patience=1, factor=0.5)
got = []
for m in [1.0, 0.9, 0.95, 0.96, 0.97, 0.5]:
    p.step(paddle.to_tensor(m))
    got.append(p.last_lr)
print("plateau", got)
a, b = nn.Linear(2, 2), nn.Linear(2, 1)
rng = np.random.RandomState(0)
for q in a.parameters() + b.parameters():
    q.set_value(rng.randn(*q.shape).astype("float32"))
x = paddle.to_tensor(rng.randn(5, 2).astype("float32"))
for clip in [None, nn.ClipGradByValue(0.1), nn.ClipGradByNorm(0.2), nn.ClipGradByGlobalNorm(0.2)]:
    opt = paddle.optimizer.AdamW(
        learning_rate=0.1,
        parameters=[{"params": a.parameters(), "learning_rate": 0.1}, {"params": b.parameters(), "weight_decay": 0.5}],
        weight_decay=0.01,
        grad_clip=clip,
        apply_decay_param_fun=lambda n: "b_0" not in n,
    )
    b(a(x)).square().mean().backward()
    opt.step()
    opt.clear_grad()
    print(a.weight.numpy().round(4).tolist(), b.bias.numpy().round(4).tolist())
c = nn.Linear(2, 2, weight_attr=paddle.ParamAttr(regularizer=paddle.regularizer.L1Decay(0.1), learning_rate=0.5, initializer=nn.initializer.Constant(0.3)))
o = paddle.optimizer.SGD(0.1, parameters=c.parameters(), weight_decay=paddle.regularizer.L2Decay(0.5))
c(x).sum().backward()
o.step()
print(c.weight.numpy().round(4).tolist(), c.bias.numpy().round(4).tolist())
