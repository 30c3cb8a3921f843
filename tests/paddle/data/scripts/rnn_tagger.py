"""An LSTM tagger with padding, lengths, embeddings and a custom loss function."""
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class Tagger(nn.Layer):
    def __init__(self, words=10, size=6, tags=3):
        super().__init__()
        self.emb = nn.Embedding(words, size, padding_idx=0)
        self.rnn = nn.LSTM(size, 5, direction="bidirect")
        self.out = nn.Linear(10, tags)

    def forward(self, ids, lengths):
        h, _ = self.rnn(self.emb(ids), sequence_length=lengths)
        return self.out(h)


net = Tagger()
rng = np.random.RandomState(0)
done = set()
for n, p in sorted(net.named_parameters()):
    if id(p) not in done:
        done.add(id(p))
        p.set_value((rng.randn(*p.shape) * 0.3).astype("float32"))
ids = paddle.to_tensor([[1, 2, 3, 0], [4, 5, 0, 0], [6, 7, 8, 9]])
lengths = paddle.to_tensor([3, 2, 4])
tags = paddle.to_tensor([[0, 1, 2, -1], [1, 1, -1, -1], [2, 0, 1, 2]])
opt = paddle.optimizer.AdamW(0.05, parameters=net.parameters(), weight_decay=0.01)
mask = F.sequence_mask(lengths, 4, "float32")
for i in range(8):
    logits = net(ids, lengths)
    per = F.cross_entropy(logits, tags, ignore_index=-1, reduction="none").squeeze(-1) if False else F.cross_entropy(logits, tags, ignore_index=-1, reduction="none")
    loss = (per.reshape([3, 4]) * mask).sum() / mask.sum()
    loss.backward()
    opt.step()
    opt.clear_grad()
    if i % 2 == 0:
        print(i, round(loss.item(), 4))
print(net(ids, lengths).argmax(-1).tolist())
print(len(net.parameters()), sum(int(np.prod(p.shape)) for p in net.parameters()))
