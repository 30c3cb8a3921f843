"""Layers beyond the common ones: what they print, hold and compute; initializers; optimizers.

Runs under Paddle 2.6.2 and under opkit; prints one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact.
"""

import paddle, numpy as np
import paddle.nn.functional as F
from paddle import nn
from shown_facts import I, R, plain, rnd, run, show, t


A = (2, 3)


def fill(layer, seed=0):
    """Give a layer's parameters values that both frameworks know."""
    rng = R(seed)
    seen = set()
    for name, p in sorted(layer.named_parameters()):
        if id(p) not in seen:
            seen.add(id(p))
            p.set_value((rng.randn(*p.shape) * 0.5).astype("float32"))
    return layer


def use(layer, *xs):
    fill(layer)
    if not isinstance(layer, (nn.LSTM, nn.GRU)):
        layer.eval()
    found = run(lambda *v: flat(layer(*v)), *xs)
    return found, [rnd(p.grad.numpy()) if p.grad is not None else None for n, p in sorted(layer.named_parameters())]


def flat(out):
    if isinstance(out, (list, tuple)):
        return [v for item in out for v in flat(item)]
    return [out]


def x32(shape, seed=0):
    return t(shape, seed, dtype="float32")


MADE = dict(GroupNorm=(2, 4), InstanceNorm1D=(3,), InstanceNorm2D=(3,), Pad1D=(1,), Pad2D=([1, 2, 1, 1],), CosineSimilarity=(), Dropout3D=(), Bilinear=(2, 3, 4), Unfold=(2,), LSTMCell=(2, 3), GRUCell=(2, 3), LSTM=(2, 3, 2, "bidirect"), GRU=(2, 3), MultiHeadAttention=(4, 2), PairwiseDistance=(), MaxPool3D=(2,), AdaptiveAvgPool1D=(2,), AdaptiveMaxPool1D=(2,), AdaptiveAvgPool3D=(2,), AdaptiveMaxPool3D=(2,), AvgPool3D=(2,), Conv1DTranspose=(2, 3, 3), Conv3D=(2, 3, 3), Conv3DTranspose=(2, 3, 3), TransformerEncoderLayer=(4, 2, 8), TransformerDecoderLayer=(4, 2, 8), PixelShuffle=(2,), PixelUnshuffle=(2,), GLU=(), SyncBatchNorm=(3,))
for n, a in MADE.items():
    show("made " + n, lambda: (lambda l: (repr(l), [(k, v.shape) for k, v in l.state_dict().items()]))(getattr(nn, n)(*a)))
show("made Upsample", lambda: (nn.Upsample(size=[2, 2]), nn.Upsample(scale_factor=2, mode="bilinear"), nn.UpsamplingNearest2D(scale_factor=2), nn.UpsamplingBilinear2D(size=[2, 2])))
show("made Conv", lambda: (nn.Conv2D(2, 3, 3, padding=1, padding_mode="circular"), nn.Conv2D(2, 4, (3, 2), 2, groups=2)))
show("GroupNorm", lambda: use(nn.GroupNorm(2, 4), x32((2, 4, 3))))
show("GroupNorm last", lambda: use(nn.GroupNorm(2, 4, data_format="NHWC"), x32((2, 2, 2, 4))))
show("GroupNorm none", lambda: use(nn.GroupNorm(2, 4, weight_attr=False, bias_attr=False), x32((2, 4, 3))))
show("InstanceNorm1D", lambda: use(nn.InstanceNorm1D(3), x32((2, 3, 4))))
show("InstanceNorm2D", lambda: use(nn.InstanceNorm2D(3), x32((2, 3, 2, 2))))
show("InstanceNorm2D none", lambda: use(nn.InstanceNorm2D(3, weight_attr=False, bias_attr=False), x32((2, 3, 2, 2))))
show("E InstanceNorm2D", lambda: nn.InstanceNorm2D(3)(x32((2, 3, 2))))
show("E GroupNorm", lambda: nn.GroupNorm(3, 4))
show("Bilinear", lambda: use(nn.Bilinear(2, 3, 4), x32((2, 2)), x32((2, 3), 1)))
for mode in ["reflect", "replicate", "circular"]:
    show("Conv2D " + mode, lambda: use(nn.Conv2D(1, 2, 3, padding=1, padding_mode=mode), x32((1, 1, 4, 4))))
    show("Pad2D " + mode, lambda: use(nn.Pad2D([1, 0, 2, 1], mode), x32((1, 1, 3, 3))))
show("Conv1D circular", lambda: use(nn.Conv1D(1, 2, 3, padding=1, padding_mode="circular"), x32((1, 1, 4))))
show("Pad1D", lambda: use(nn.Pad1D(2, "reflect"), x32((1, 1, 4))))
show("Pad3D", lambda: use(nn.Pad3D(1, value=2.0), x32((1, 1, 1, 2, 2))))
show("Conv1DTranspose", lambda: use(nn.Conv1DTranspose(2, 3, 3, 2), x32((1, 2, 4))))
show("Conv2DTranspose size", lambda: (lambda l: plain(fill(l)(x32((1, 2, 3, 3)), output_size=[8, 8])))(nn.Conv2DTranspose(2, 3, 3, 2)))
show("Conv3D", lambda: use(nn.Conv3D(1, 2, 2), x32((1, 1, 3, 3, 3))))
show("Conv3DTranspose", lambda: use(nn.Conv3DTranspose(1, 2, 2), x32((1, 1, 2, 2, 2))))
show("Upsample", lambda: use(nn.Upsample(scale_factor=2, mode="bilinear"), x32((1, 1, 2, 2))))
show("MaxPool3D", lambda: use(nn.MaxPool3D(2), x32((1, 1, 4, 4, 4))))
# ---- recurrent
for cell in ["LSTMCell", "GRUCell"]:
    show(cell, lambda: use(getattr(nn, cell)(2, 3), x32((2, 2))))
    show(cell + " nobias", lambda: use(getattr(nn, cell)(2, 3, bias_ih_attr=False, bias_hh_attr=False), x32((2, 2))))
    show("RNN " + cell, lambda: use(nn.RNN(getattr(nn, cell)(2, 3), is_reverse=True), x32((2, 4, 2))))
    show("BiRNN " + cell, lambda: use(nn.BiRNN(getattr(nn, cell)(2, 3), getattr(nn, cell)(2, 3)), x32((2, 3, 2))))
for net in ["LSTM", "GRU"]:
    show(net, lambda: use(getattr(nn, net)(2, 3), x32((2, 4, 2))))
    show(net + " 2", lambda: use(getattr(nn, net)(2, 3, num_layers=2, direction="bidirect"), x32((2, 3, 2))))
    show(net + " time", lambda: use(getattr(nn, net)(2, 3, time_major=True), x32((3, 2, 2))))
    show(net + " length", lambda: run(lambda x: flat(fill(getattr(nn, net)(2, 3))(x, sequence_length=I([2, 4]))), x32((2, 4, 2))))
show("LSTM states", lambda: run(lambda x, h, c: flat(fill(nn.LSTM(2, 3))(x, (h, c))), x32((2, 4, 2)), x32((1, 2, 3), 1), x32((1, 2, 3), 2)))
show("E LSTM", lambda: nn.LSTM(2, 3, direction="back"))
# ---- attention
Q, K = (lambda: x32((2, 3, 4))), (lambda: x32((2, 5, 4), 1))
show("MHA self", lambda: use(nn.MultiHeadAttention(4, 2), Q()))
show("MHA cross", lambda: use(nn.MultiHeadAttention(4, 2, need_weights=True), Q(), K(), K()))
show("MHA kdim", lambda: use(nn.MultiHeadAttention(4, 2, kdim=5, vdim=6), Q(), x32((2, 5, 5)), x32((2, 5, 6))))
MASK = lambda: paddle.to_tensor(np.tril(np.ones((3, 3))).astype("bool"))
show("MHA bool", lambda: run(lambda q: fill(nn.MultiHeadAttention(4, 2))(q, q, q, attn_mask=MASK()), Q()))
show("MHA float", lambda: run(lambda q: fill(nn.MultiHeadAttention(4, 2))(q, q, q, attn_mask=x32((3, 3), 4).detach()), Q()))


def cached():
    layer = fill(nn.MultiHeadAttention(4, 2))
    q = Q()
    cache = layer.gen_cache(q)
    first, cache = layer(q[:, :1], q[:, :1], q[:, :1], None, cache)
    second, cache = layer(q[:, 1:2], q[:, 1:2], q[:, 1:2], None, cache)
    return plain(first), plain(second), cache.k.shape, type(cache).__name__


show("MHA cache", cached)
for before in [False, True]:
    show("encoder layer %s" % before, lambda: use(nn.TransformerEncoderLayer(4, 2, 8, normalize_before=before, activation="gelu"), Q()))
    show("decoder layer %s" % before, lambda: use(nn.TransformerDecoderLayer(4, 2, 8, normalize_before=before), Q(), K()))
    show("transformer %s" % before, lambda: use(nn.Transformer(4, 2, 2, 1, 8, normalize_before=before), K(), Q()))
show("encoder", lambda: use(nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2, nn.LayerNorm(4)), Q()))
show("encoder mask", lambda: run(lambda q: fill(nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, 0.0), 2))(q, MASK()), Q()))


def decode():
    layer = fill(nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, 0.0), 2))
    memory, q = K(), Q()
    cache = layer.gen_cache(memory)
    out, cache = layer(q[:, :1], memory, None, None, cache)
    out, cache = layer(q[:, 1:2], memory, None, None, cache)
    return plain(out), len(cache), cache[0][0].k.shape


show("decoder cache", decode)
show("subsequent", lambda: nn.Transformer(4, 2, 1, 1, 8).generate_square_subsequent_mask(3).tolist())
show("names encoder", lambda: [n for n, p in nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2).named_parameters()][:3])
# ---- initializers
show("Orthogonal", lambda: (lambda w: rnd(w @ w.T))(nn.Linear(4, 3, weight_attr=paddle.ParamAttr(initializer=nn.initializer.Orthogonal(2.0))).weight.numpy().T))
show("Bilinear init", lambda: plain(nn.Conv2DTranspose(1, 1, 4, 2, weight_attr=paddle.ParamAttr(initializer=nn.initializer.Bilinear()), bias_attr=False).weight))
# ---- optimizers
for n, kw in dict(Adamax={}, Adadelta=dict(learning_rate=0.5), Lamb={}, **{"Adamax d": dict(weight_decay=0.1), "Adadelta d": dict(weight_decay=0.1), "Lamb d": dict(lamb_weight_decay=0.0), "Lamb x": dict(exclude_from_weight_decay_fn=lambda p: True)}).items():

    def train():
        w = paddle.create_parameter([3], "float32", name="w_" + n.replace(" ", ""))
        w.set_value(np.array([1.0, -2.0, 0.5], "float32"))
        o = getattr(paddle.optimizer, n.split()[0])(parameters=[w], **kw)
        found = []
        for i in range(3):
            (w * w * (i + 1)).sum().backward()
            o.step()
            o.clear_grad()
            found.append(rnd(w.numpy()))
        return found, sorted(o.state_dict())

    show("optimizer " + n, train)
