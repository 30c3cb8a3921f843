"""In-place changes, masks and indices in a hand-written attention and a beam of scores."""
import numpy as np
import paddle
import paddle.nn.functional as F

rng = np.random.RandomState(0)
q = paddle.to_tensor(rng.randn(2, 3, 4).astype("float32"), stop_gradient=False)
k = paddle.to_tensor(rng.randn(2, 3, 4).astype("float32"), stop_gradient=False)
scores = paddle.einsum("bid,bjd->bij", q, k) / 2.0
mask = paddle.triu(paddle.ones([3, 3], dtype="bool").astype("float32"), 1).astype("bool")
scores = paddle.masked_fill(scores, mask, -1e9)
att = F.softmax(scores, axis=-1)
print(att.numpy().round(4).tolist())
out = att.unsqueeze(-1) * k.unsqueeze(1)
out[:, 0] = 0.0
out[0, 1:, 2] += 1.0
loss = out.sum() + paddle.logsumexp(scores[:, 2])
loss.backward()
print("dq", q.grad.numpy().round(4).tolist())
print("dk", k.grad.numpy().round(4).tolist())
a = paddle.zeros([4, 3])
a[1] = paddle.to_tensor([1.0, 2.0, 3.0])
a[paddle.to_tensor([0, 3])] = 7.0
a[a > 6] = 5.0
a.add_(paddle.ones([3])).scale_(0.5)
a.clip_(0.0, 2.5)
print(a.tolist())
b = paddle.arange(12).reshape([3, 4])
print(b[::2, 1:].tolist(), b[-1].tolist(), b[b % 2 == 0].tolist(), b[:, [0, 2]].tolist())
b.transpose_([1, 0]) if hasattr(b, "transpose_") else None
print(b.shape)
v, i = paddle.topk(paddle.to_tensor([[1.0, 5.0, 3.0], [9.0, 2.0, 4.0]]), 2)
print(v.tolist(), i.tolist(), paddle.index_sample(v, paddle.to_tensor([[1], [0]])).tolist())
x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
try:
    x[0] = 3.0
except Exception as e:
    print("refused", isinstance(e, (RuntimeError, ValueError)))
with paddle.no_grad():
    x[0] = 3.0
print(x.tolist(), x.stop_gradient)
y = x * 2
y.exp_()
y.sum().backward()
print(x.grad.numpy().round(3).tolist())
