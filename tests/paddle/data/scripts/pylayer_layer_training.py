"""A custom activation as a PyLayer inside a Layer, trained with a DataLoader, a schedule and clipping."""
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.autograd import PyLayer
from paddle.io import DataLoader, Dataset


class SwishFunction(PyLayer):
    @staticmethod
    def forward(ctx, x, beta):
        s = F.sigmoid(beta * x)
        ctx.save_for_backward(x, beta, s)
        return x * s

    @staticmethod
    def backward(ctx, dy):
        x, beta, s = ctx.saved_tensor()
        slope = s + beta * x * s * (1 - s)
        return dy * slope, (dy * x * x * s * (1 - s)).sum().reshape([1])


class Swish(nn.Layer):
    def __init__(self):
        super().__init__()
        self.beta = self.create_parameter([1], default_initializer=nn.initializer.Constant(1.0))

    def forward(self, x):
        return SwishFunction.apply(x, self.beta)


class Points(Dataset):
    def __init__(self, n):
        rng = np.random.RandomState(0)
        self.x = rng.randn(n, 4).astype("float32")
        self.y = (self.x[:, :1] * self.x[:, 1:2] > 0).astype("int64")

    def __getitem__(self, i):
        return self.x[i], self.y[i]

    def __len__(self):
        return len(self.x)


def reset(layer):
    rng = np.random.RandomState(1)
    for p in layer.parameters():
        if p.shape != [1]:
            p.set_value((rng.randn(*p.shape) * 0.4).astype("float32"))


np.random.seed(3)
net = nn.Sequential(nn.Linear(4, 16), Swish(), nn.Linear(16, 2))
reset(net)
sched = paddle.optimizer.lr.StepDecay(learning_rate=0.05, step_size=2, gamma=0.5)
opt = paddle.optimizer.Adam(sched, parameters=net.parameters(), grad_clip=nn.ClipGradByGlobalNorm(1.0))
loader = DataLoader(Points(64), batch_size=16, shuffle=True, drop_last=True)
metric = paddle.metric.Accuracy()
for epoch in range(5):
    net.train()
    total = 0.0
    for x, y in loader:
        out = net(x)
        loss = F.cross_entropy(out, y)
        loss.backward()
        opt.step()
        opt.clear_grad()
        total += float(loss)
        metric.update(metric.compute(out, y))
    sched.step()
    print("epoch", epoch, "loss %.4f" % (total / len(loader)), "lr %.4f" % opt.get_lr(), "acc %.4f" % metric.accumulate())
    metric.reset()
print("beta %.4f" % net[1].beta.item())
