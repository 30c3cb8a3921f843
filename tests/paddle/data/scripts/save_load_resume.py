"""Training stopped, saved, loaded into new objects and resumed: the same as without a stop."""
import os
import tempfile

import numpy as np
import paddle
import paddle.nn as nn


def make():
    net = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1D(8), nn.LeakyReLU(0.1), nn.Linear(8, 1))
    rng = np.random.RandomState(7)
    for p in net.parameters():
        if len(p.shape) == 2:
            p.set_value((rng.randn(*p.shape) * 0.3).astype("float32"))
    sched = paddle.optimizer.lr.CosineAnnealingDecay(0.1, T_max=10)
    opt = paddle.optimizer.Momentum(sched, 0.9, parameters=net.parameters(), weight_decay=1e-3)
    return net, opt, sched


rng = np.random.RandomState(0)
X, Y = rng.randn(32, 3).astype("float32"), rng.randn(32, 1).astype("float32")


def steps(net, opt, sched, n):
    out = []
    for _ in range(n):
        loss = nn.functional.mse_loss(net(paddle.to_tensor(X)), paddle.to_tensor(Y))
        loss.backward()
        opt.step()
        opt.clear_grad()
        sched.step()
        out.append(round(loss.item(), 5))
    return out


net, opt, sched = make()
print(steps(net, opt, sched, 4))
with tempfile.TemporaryDirectory() as d:
    paddle.save(net.state_dict(), os.path.join(d, "net.pdparams"))
    paddle.save(opt.state_dict(), os.path.join(d, "opt.pdopt"))
    paddle.save({"epoch": 4, "best": 0.5, "rng": [1, 2, 3]}, os.path.join(d, "extra.pkl"))
    full = steps(net, opt, sched, 3)
    net2, opt2, sched2 = make()
    print(net2.set_state_dict(paddle.load(os.path.join(d, "net.pdparams"))))
    state = paddle.load(os.path.join(d, "opt.pdopt"))
    print(sorted(k.split("_", 2)[-1] if "LR" not in k else k for k in state)[:3], len(state))
    # names of the new parameters differ: hand the state over by position
    olds, news = [p.name for p in net.parameters()], [p.name for p in net2.parameters()]
    moved = {}
    for k, v in state.items():
        for o, n in zip(olds, news):
            if k.startswith(o + "_"):
                k = n + k[len(o):]
                break
        moved[k] = v
    opt2.set_state_dict(moved)
    print(paddle.load(os.path.join(d, "extra.pkl")))
print(full)
print(steps(net2, opt2, sched2, 3))
net.eval()
print(net(paddle.to_tensor(X[:2])).numpy().round(4).tolist())
print(sorted(net.state_dict()))
