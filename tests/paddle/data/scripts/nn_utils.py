"""paddle.nn.utils around a training loop: clipping by hand, vectors of parameters, weight norm."""
import numpy as np
import paddle
import paddle.nn as nn
from paddle.nn.utils import clip_grad_norm_, clip_grad_value_, parameters_to_vector, remove_weight_norm, vector_to_parameters, weight_norm

rng = np.random.RandomState(0)
net = nn.Linear(3, 2)
net.weight.set_value(rng.randn(3, 2).astype("float32"))
x = paddle.to_tensor(rng.randn(4, 3).astype("float32"))
net(x).square().sum().backward()
print("norm", round(float(clip_grad_norm_(net.parameters(), 1.0)), 4))
print(net.weight.grad.numpy().round(4).tolist(), net.bias.grad.numpy().round(4).tolist())
clip_grad_value_(net.parameters(), 0.2)
print(net.weight.grad.numpy().round(4).tolist())
print("inf", round(float(clip_grad_norm_(net.parameters(), 0.1, float("inf"))), 4))
vec = parameters_to_vector(net.parameters())
print(vec.shape, vec.numpy().round(4).tolist())
vector_to_parameters(paddle.arange(8, dtype="float32"), net.parameters())
print(net.weight.tolist(), net.bias.tolist())
for dim in [0, 1, None]:
    wn = weight_norm(nn.Linear(3, 2), dim=dim)
    print(sorted((n, p.shape) for n, p in wn.named_parameters()))
    wn.weight_v.set_value(rng.randn(3, 2).astype("float32"))
    wn.weight_g.set_value(np.full(wn.weight_g.shape, 2.0, "float32"))
    wn.bias.set_value(np.zeros(2, "float32"))
    y = wn(x)
    y.sum().backward()
    print(y.numpy().round(4).tolist())
    print(wn.weight_v.grad.numpy().round(4).tolist(), wn.weight_g.grad.numpy().round(4).tolist())
    remove_weight_norm(wn)
    print(sorted(n for n, _ in wn.named_parameters()), np.allclose(wn(x).numpy(), y.numpy(), atol=1e-5))
try:
    remove_weight_norm(nn.Linear(1, 1))
except ValueError:
    print("refused")
