import paddle
from paddle.autograd import PyLayer


def _sum_to(g, shape):
    lead = len(g.shape) - len(shape)
    return g.sum(list(range(lead))) if lead > 0 else g


class NetRadiation(PyLayer):
    """absorptivity * S - emissivity * T^4, scaled units"""

    @staticmethod
    def forward(ctx, T, emis, absorb):
        ctx.save_for_backward(T, emis)
        ctx.shapes = list(emis.shape), list(absorb.shape)
        return absorb * 1.361 - emis * 0.567 * T ** 4

    @staticmethod
    def backward(ctx, g):
        T, emis = ctx.saved_tensor()
        se, sa = ctx.shapes
        gT = -g * emis * 0.567 * 4 * T ** 4
        return gT, _sum_to(-g * 0.567 * T ** 4, se), _sum_to(g * 1.361, sa)
