"""Two networks trained in turn, detach, parameters frozen and thawed, an exponential moving average."""
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

rng = np.random.RandomState(0)


def init(layer, scale=0.5):
    for p in layer.parameters():
        p.set_value((rng.randn(*p.shape) * scale).astype("float32"))
    return layer


G = init(nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2)))
D = init(nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1)))
go = paddle.optimizer.RMSProp(0.01, parameters=G.parameters())
do = paddle.optimizer.Adam(0.01, beta1=0.5, parameters=D.parameters())
bce = nn.BCEWithLogitsLoss()
ema = {k: v.clone().detach() for k, v in G.state_dict().items()}
for i in range(5):
    z = paddle.to_tensor(rng.randn(16, 2).astype("float32"))
    real = paddle.to_tensor((rng.randn(16, 2) + 2).astype("float32"))
    fake = G(z)
    d_loss = bce(D(real), paddle.ones([16, 1])) + bce(D(fake.detach()), paddle.zeros([16, 1]))
    d_loss.backward()
    do.step()
    do.clear_grad()
    for p in D.parameters():
        p.stop_gradient = True
    g_loss = bce(D(fake), paddle.ones([16, 1]))
    g_loss.backward()
    assert all(p.grad is None or float(p.grad.abs().sum()) == 0 for p in D.parameters())
    go.step()
    go.clear_grad()
    for p in D.parameters():
        p.stop_gradient = False
    with paddle.no_grad():
        for k, v in G.state_dict().items():
            ema[k] = ema[k] * 0.9 + v * 0.1
    print(i, round(d_loss.item(), 4), round(g_loss.item(), 4))
G.set_state_dict(ema)
print(G(paddle.zeros([1, 2])).numpy().round(4).tolist())
