"""Segment reduction used by the graph readout."""
import paddle
from paddle.autograd import PyLayer


def _per_row(v, ndim):
    return paddle.reshape(v, [-1] + [1] * (ndim - 1))


class SegmentMean(PyLayer):
    """out[s] = mean of x[i] over rows with segment_ids[i] == s (0 for an empty s)."""

    @staticmethod
    def forward(ctx, x, segment_ids, num_segments=None):
        if segment_ids.ndim != 1 or segment_ids.shape[0] != x.shape[0]:
            raise ValueError("segment_ids must be 1-D, one id per row of x")
        if num_segments is None:
            num_segments = int(paddle.max(segment_ids)) + 1
        counts = paddle.bincount(segment_ids, minlength=num_segments)
        counts = paddle.cast(counts, x.dtype)
        counts = paddle.maximum(counts, paddle.ones_like(counts))
        acc = paddle.zeros([num_segments] + list(x.shape[1:]), dtype=x.dtype)
        acc = paddle.scatter_nd_add(acc, paddle.unsqueeze(segment_ids, -1), x)
        ctx.save_for_backward(segment_ids, counts)
        return acc / _per_row(counts, x.ndim)

    @staticmethod
    def backward(ctx, dy):
        segment_ids, counts = ctx.saved_tensor()
        scaled = dy / _per_row(counts, dy.ndim)
        return paddle.gather(scaled, segment_ids, axis=0), None
