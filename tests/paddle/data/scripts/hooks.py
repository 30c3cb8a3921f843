"""Hooks on tensors and layers, with removal; gradients inspected and changed on their way."""
import numpy as np
import paddle
import paddle.nn as nn

seen = []
lin = nn.Linear(3, 2)
lin.weight.set_value(np.arange(6, dtype="float32").reshape(3, 2) / 10)
lin.bias.set_value(np.array([0.1, -0.1], "float32"))
pre = lin.register_forward_pre_hook(lambda layer, inp: (inp[0] * 2,))
post = lin.register_forward_post_hook(lambda layer, inp, out: out + 1)
x = paddle.to_tensor(np.ones((2, 3), "float32"), stop_gradient=False)
h = lin(x)
handle = h.register_hook(lambda g: seen.append(g.numpy().tolist()) or g * 3)
wh = lin.weight.register_hook(lambda g: g.clip(-1.0, 1.0))
(h**2).sum().backward()
print("h", h.numpy().round(4).tolist())
print("seen", np.round(seen, 4).tolist())
print("w", lin.weight.grad.numpy().round(4).tolist())
print("x", x.grad.numpy().round(4).tolist())
pre.remove(); post.remove(); print("removed", handle.remove())
lin.clear_gradients()
x.clear_grad()
lin(x).sum().backward()
print("after", x.grad.numpy().round(4).tolist(), lin.bias.grad.tolist())
mid = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
inner = mid * 2
inner.retain_grads()
(inner * inner).sum().backward()
print("inner", inner.grad.tolist(), mid.grad.tolist(), inner.is_leaf, mid.is_leaf)
for name, layer in nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.ReLU())).named_sublayers():
    print(name, type(layer).__name__)
