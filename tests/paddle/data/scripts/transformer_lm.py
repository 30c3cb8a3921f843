"""A tiny transformer language model with a causal mask, tied weights and a cache at decoding."""
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class LM(nn.Layer):
    def __init__(self, vocab=11, d=8):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.register_buffer("pos", paddle.to_tensor((np.arange(6 * d).reshape(1, 6, d) % 7 / 10).astype("float32")))
        layer = nn.TransformerEncoderLayer(d, 2, 16, dropout=0.0, activation="gelu", normalize_before=True)
        self.enc = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(d))

    def forward(self, ids):
        n = ids.shape[1]
        x = self.emb(ids) * 8**0.5 + self.pos[:, :n]
        mask = paddle.tensor.triu(paddle.full([n, n], float("-inf")), 1)
        return paddle.matmul(self.enc(x, mask), self.emb.weight, transpose_y=True)


net = LM()
rng = np.random.RandomState(0)
for n, p in sorted(net.named_parameters()):
    if len(p.shape) > 1:
        p.set_value((rng.randn(*p.shape) * 0.3).astype("float32"))
ids = paddle.to_tensor(rng.randint(0, 11, (4, 6)))
opt = paddle.optimizer.Adam(0.01, parameters=net.parameters())
for i in range(6):
    logits = net(ids[:, :-1])
    loss = F.cross_entropy(logits.reshape([-1, 11]), ids[:, 1:].reshape([-1]))
    loss.backward()
    if i == 0:
        print("norm", round(float(paddle.sqrt(sum((p.grad**2).sum() for p in net.parameters() if p.grad is not None))), 4))
    opt.step()
    opt.clear_grad()
    print(i, round(loss.item(), 4))
out = ids[:1, :2]
for _ in range(3):
    nxt = net(out)[:, -1].argmax(-1, keepdim=True)
    out = paddle.concat([out, nxt], axis=1)
print(out.tolist())
print([n for n, _ in net.named_buffers()], "pos" in net.state_dict())
