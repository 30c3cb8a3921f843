"""A small convolutional net with a custom pooling PyLayer, weight sharing and evaluation."""
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.autograd import PyLayer


class SoftPool(PyLayer):
    @staticmethod
    def forward(ctx, x, t=2.0):
        b, c, h, w = x.shape
        cols = F.unfold(x, 2, 2).reshape([b, c, 4, -1])
        p = F.softmax(cols * t, axis=2)
        y = (p * cols).sum(2)
        ctx.t = t
        ctx.shape = (b, c, h, w)
        ctx.save_for_backward(cols, p, y)
        return y.reshape([b, c, h // 2, w // 2])

    @staticmethod
    def backward(ctx, dy):
        cols, p, y = ctx.saved_tensor()
        b, c, h, w = ctx.shape
        g = dy.reshape([b, c, 1, -1])
        d = g * p * (1 + ctx.t * (cols - y.unsqueeze(2)))
        return F.fold(d.reshape([b, c * 4, -1]), [h, w], 2, 2)


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2D(1, 4, 3, padding=1)
        self.norm = nn.GroupNorm(2, 4)
        self.conv2 = nn.Conv2D(4, 4, 3, padding=1, bias_attr=False)
        self.bn = nn.BatchNorm2D(4)
        self.fc = nn.Linear(4 * 2 * 2, 3)

    def forward(self, x):
        x = SoftPool.apply(F.relu(self.norm(self.conv(x))))
        x = SoftPool.apply(F.silu(self.bn(self.conv2(x))), t=1.0)
        return self.fc(paddle.flatten(x, 1))


net = Net()
rng = np.random.RandomState(0)
for n, p in sorted(net.named_parameters()):
    if len(p.shape) > 1:
        p.set_value((rng.randn(*p.shape) * 0.3).astype("float32"))
x = paddle.to_tensor(rng.randn(6, 1, 8, 8).astype("float32"))
y = paddle.to_tensor([0, 1, 2, 0, 1, 2])
opt = paddle.optimizer.Momentum(0.1, parameters=net.parameters())
crit = nn.CrossEntropyLoss(label_smoothing=0.1)
for i in range(6):
    loss = crit(net(x), y)
    loss.backward()
    opt.step()
    opt.clear_grad()
    print(i, round(loss.item(), 4))
net.eval()
with paddle.no_grad():
    print(net(x).numpy().round(3).tolist())
print(net.bn._mean.numpy().round(4).tolist(), net.bn._variance.numpy().round(4).tolist())
print(net)
