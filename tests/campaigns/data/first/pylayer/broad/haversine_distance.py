import paddle
from paddle.autograd import PyLayer


def _sum_to(grad, shape):
    """Undo broadcasting: reduce grad to ``shape``."""
    extra = grad.ndim - len(shape)
    if extra:
        grad = paddle.sum(grad, axis=list(range(extra)))
    axes = [i for i, s in enumerate(shape) if s == 1 and grad.shape[i] != 1]
    if axes:
        grad = paddle.sum(grad, axis=axes, keepdim=True)
    return grad


class HaversineDistance(PyLayer):
    """Great-circle distance; all angles in radians, inputs broadcast."""

    @staticmethod
    def forward(ctx, lat1, lon1, lat2, lon2, radius=6371.0088):
        sa = paddle.sin(0.5 * (lat2 - lat1))
        so = paddle.sin(0.5 * (lon2 - lon1))
        h = sa * sa + paddle.cos(lat1) * paddle.cos(lat2) * so * so
        ctx.save_for_backward(lat1, lon1, lat2, lon2, h)
        ctx.radius = radius
        return 2.0 * radius * paddle.asin(paddle.sqrt(h))

    @staticmethod
    def backward(ctx, dd):
        lat1, lon1, lat2, lon2, h = ctx.saved_tensor()
        gh = dd * ctx.radius / paddle.sqrt(h * (1.0 - h))
        dlat, dlon = lat2 - lat1, lon2 - lon1
        so2 = paddle.sin(0.5 * dlon) ** 2
        c1, c2 = paddle.cos(lat1), paddle.cos(lat2)
        half = 0.5 * paddle.sin(dlat)
        g_lat1 = gh * (-half - paddle.sin(lat1) * c2 * so2)
        g_lat2 = gh * (half - c1 * paddle.sin(lat2) * so2)
        g_lon2 = gh * c1 * c2 * 0.5 * paddle.sin(dlon)
        return (
            _sum_to(g_lat1, lat1.shape),
            _sum_to(-g_lon2, lon1.shape),
            _sum_to(g_lat2, lat2.shape),
            _sum_to(g_lon2, lon2.shape),
        )
