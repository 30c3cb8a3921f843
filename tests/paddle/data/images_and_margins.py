"""``paddle.nn.functional`` beyond the common ones: images, windows, margins, attention, norms.

Runs under Paddle 2.6.2 and under opkit; prints one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact.
"""

import paddle, numpy as np
import paddle.nn.functional as F
from paddle import nn
from shown_facts import I, plain, rnd, run, show, t


A = (2, 3)
IMG = (2, 4, 4, 6)
SMALL = (1, 2, 3, 4)
show("pixel_shuffle", lambda: run(lambda x: F.pixel_shuffle(x, 2), t((1, 4, 2, 3))))
show("pixel_shuffle last", lambda: run(lambda x: F.pixel_shuffle(x, 2, "NHWC"), t((1, 2, 3, 4))))
show("pixel_unshuffle", lambda: run(lambda x: F.pixel_unshuffle(x, 2), t((1, 1, 4, 6))))
show("pixel_unshuffle last", lambda: run(lambda x: F.pixel_unshuffle(x, 2, "NHWC"), t((1, 4, 6, 1))))
show("temporal_shift", lambda: run(lambda x: F.temporal_shift(x, 2, 0.25), t((4, 4, 1, 2))))
for kw in [
    dict(size=[5, 7]),
    dict(scale_factor=2),
    dict(scale_factor=[1.5, 2.5]),
    dict(size=[2, 3], mode="bilinear"),
    dict(size=[5, 7], mode="bilinear"),
    dict(size=[5, 7], mode="bilinear", align_corners=True),
    dict(size=[5, 7], mode="bilinear", align_mode=1),
    dict(scale_factor=1.7, mode="bilinear"),
    dict(size=[5, 7], mode="bicubic"),
    dict(size=[5, 7], mode="bicubic", align_corners=True),
    dict(scale_factor=1.5, mode="bicubic"),
]:
    show("interpolate %s" % kw, lambda: run(lambda x: F.interpolate(x, **kw), t(SMALL)))


def area(x):
    import contextlib, io

    with contextlib.redirect_stdout(io.StringIO()):  # Paddle 2.6.2 prints the size
        return F.interpolate(x, [2, 2], mode="area")


show("interpolate area", lambda: run(area, t(SMALL)))
show("interpolate linear", lambda: run(lambda x: F.interpolate(x, [6], mode="linear", data_format="NCW"), t((1, 2, 4))))
show("interpolate trilinear", lambda: run(lambda x: F.interpolate(x, [3, 2, 5], mode="trilinear", data_format="NCDHW"), t((1, 1, 2, 3, 3))))
show("interpolate 3d", lambda: run(lambda x: F.interpolate(x, [3, 2, 5], mode="nearest", data_format="NCDHW"), t((1, 1, 2, 3, 3))))
show("interpolate last", lambda: run(lambda x: F.interpolate(x, [4, 4], mode="bilinear", data_format="NHWC"), t((1, 3, 2, 2))))
show("upsample", lambda: run(lambda x: F.upsample(x, scale_factor=2), t(SMALL)))
show("E interpolate", lambda: F.interpolate(t(SMALL)))
show("E interpolate mode", lambda: F.interpolate(t(SMALL), size=[2, 2], mode="cubic"))
show("E interpolate corners", lambda: F.interpolate(t(SMALL), size=[2, 2], align_corners=True))
show("affine_grid", lambda: run(lambda x: F.affine_grid(x, [2, 3, 2, 3]), t((2, 2, 3))))
show("affine_grid half", lambda: run(lambda x: F.affine_grid(x, [2, 3, 2, 3], align_corners=False), t((2, 2, 3))))
for mode in ["bilinear", "nearest"]:
    for pad in ["zeros", "border", "reflection"]:
        for corners in [True, False]:
            show("grid_sample %s %s %s" % (mode, pad, corners), lambda: run(lambda x, g: F.grid_sample(x, g, mode, pad, corners), t(SMALL), t((1, 2, 3, 2), 1, -1.4, 1.4)))
for kw in [dict(kernel_sizes=2), dict(kernel_sizes=[3, 2], strides=2, paddings=1), dict(kernel_sizes=2, dilations=2, paddings=[1, 0, 2, 1])]:
    show("unfold %s" % kw, lambda: run(lambda x: F.unfold(x, **kw), t((2, 2, 4, 5))))
for kw, rows, n in [(dict(kernel_sizes=2), 8, 12), (dict(kernel_sizes=[3, 2], strides=2, paddings=1), 12, 6)]:
    show("fold %s" % kw, lambda: run(lambda x: F.fold(x, [4, 5], **kw), t((2, rows, n))))
show("sequence_mask", lambda: plain(F.sequence_mask(I([1, 3, 2]))))
show("sequence_mask max", lambda: plain(F.sequence_mask(I([[1, 3], [0, 2]]), 4, "float32")))
show("pairwise_distance", lambda: run(F.pairwise_distance, t((2, 3)), t((2, 3), 1)))
show("pairwise_distance 1", lambda: run(lambda x, y: F.pairwise_distance(x, y, 1.0, keepdim=True), t((2, 3)), t((2, 3), 1)))
show("bilinear", lambda: run(F.bilinear, t((2, 3)), t((2, 4), 1), t((5, 3, 4), 2), t((1, 5), 3)))
show("dropout3d", lambda: plain(F.dropout3d(t((1, 2, 1, 1, 2), sg=True), training=False)))
show("gumbel hard", lambda: (lambda y: (y.shape, rnd(y.sum(1))))(F.gumbel_softmax(t((3, 4)), hard=True, axis=1)))
show("gumbel sum", lambda: rnd(F.gumbel_softmax(t((3, 4)), 0.5, axis=0).sum(0)))
for n in "elu_ leaky_relu_".split():
    show(n, lambda: run(lambda x: getattr(F, n)(x * 1.0), t(A)))
# ---- losses
Y1 = lambda: paddle.to_tensor([1.0, -1.0, 1.0], dtype="float64")
Yi = lambda: I([1, -1, 1])
for r in ["mean", "sum", "none"]:
    show("soft_margin %s" % r, lambda: run(lambda a: F.soft_margin_loss(a, Y1(), r), t((3,))))
    show("focal %s" % r, lambda: run(lambda a: F.sigmoid_focal_loss(a, paddle.to_tensor([[1.0, 0, 1], [0, 0, 1]], dtype="float64"), reduction=r), t(A)))
show("focal norm", lambda: run(lambda a: F.sigmoid_focal_loss(a, paddle.to_tensor([[1.0, 0, 1], [0, 0, 1]], dtype="float64"), paddle.to_tensor([3.0], dtype="float64"), 0.3, 1.5), t(A)))
show("E reduction", lambda: F.soft_margin_loss(t((3,)), Y1(), "avg"))
# ---- pools, convolutions, norms
V5 = (1, 2, 4, 4, 4)
show("max_pool3d", lambda: run(lambda x: F.max_pool3d(x, 2), t(V5)))
show("max_pool3d pad", lambda: run(lambda x: F.max_pool3d(x, 3, 2, 1), t(V5)))
show("avg_pool3d", lambda: run(lambda x: F.avg_pool3d(x, 2, padding=1), t(V5)))
show("avg_pool3d div", lambda: run(lambda x: F.avg_pool3d(x, 2, divisor_override=3), t(V5)))
for s in [1, 2, 3]:
    show("adaptive_avg_pool1d %d" % s, lambda: run(lambda x: F.adaptive_avg_pool1d(x, s), t((1, 2, 5))))
    show("adaptive_max_pool1d %d" % s, lambda: run(lambda x: F.adaptive_max_pool1d(x, s), t((1, 2, 5))))
    show("adaptive_avg_pool3d %d" % s, lambda: run(lambda x: F.adaptive_avg_pool3d(x, s), t(V5)))
    show("adaptive_max_pool3d %d" % s, lambda: run(lambda x: F.adaptive_max_pool3d(x, [s, None, 2]), t(V5)))
show("conv3d", lambda: run(lambda x, w, b: F.conv3d(x, w, b, stride=2, padding=1), t(V5), t((3, 2, 2, 2, 2), 1), t((3,), 2)))
show("conv3d last", lambda: plain(F.conv3d(t((1, 3, 3, 3, 2)), t((3, 2, 2, 2, 2), 1), data_format="NDHWC")))
show("conv1d_transpose", lambda: run(lambda x, w, b: F.conv1d_transpose(x, w, b, stride=2, padding=1), t((1, 2, 4)), t((2, 3, 3), 1), t((3,), 2)))
show("conv1d_transpose size", lambda: plain(F.conv1d_transpose(t((1, 2, 4)), t((2, 3, 3), 1), stride=2, padding=1, output_size=[8])))
show("conv2d_transpose size", lambda: plain(F.conv2d_transpose(t((1, 2, 3, 3)), t((2, 3, 3, 3), 1), stride=2, output_size=[8, 7])))
show("conv2d_transpose last", lambda: plain(F.conv2d_transpose(t((1, 3, 3, 2)), t((2, 3, 3, 3), 1), stride=2, data_format="NHWC")))
show("conv3d_transpose", lambda: run(lambda x, w: F.conv3d_transpose(x, w, stride=2, output_padding=1), t((1, 2, 2, 2, 2)), t((2, 1, 2, 2, 2), 1)))
show("instance_norm", lambda: run(lambda x, w, b: F.instance_norm(x, weight=w, bias=b), t(SMALL), t((2,), 1), t((2,), 2)))
show("instance_norm plain", lambda: run(F.instance_norm, t((2, 3, 4))))
show("attention", lambda: run(F.scaled_dot_product_attention, *[t((1, 3, 2, 4), i) for i in range(3)]))
show("attention causal", lambda: run(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), *[t((1, 3, 2, 4), i) for i in range(3)]))
show("attention mask", lambda: run(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, t((1, 1, 3, 3), 4, sg=True)), *[t((1, 3, 2, 4), i) for i in range(3)]))
