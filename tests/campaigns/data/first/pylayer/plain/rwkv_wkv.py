import paddle
from paddle.autograd import PyLayer


class WKV(PyLayer):
    """
    k, v: (T, C); decay w >= 0 (C,), bonus u (C,)
    y_t = (sum_{i<t} e^{k_i - (t-1-i) w} v_i + e^{u+k_t} v_t) / (same without v)
    """

    @staticmethod
    def forward(ctx, k, v, w, u):
        T = k.shape[0]
        ew = paddle.exp(-w)
        a = paddle.zeros_like(w)
        b = paddle.zeros_like(w)
        A, B, ys = [], [], []
        for t in range(T):
            A.append(a)
            B.append(b)
            e = paddle.exp(u + k[t])
            ys.append((a + e * v[t]) / (b + e))
            ek = paddle.exp(k[t])
            a = ew * a + ek * v[t]
            b = ew * b + ek
        y = paddle.stack(ys)
        ctx.save_for_backward(k, v, ew, u, paddle.stack(A), paddle.stack(B), y)
        return y

    @staticmethod
    def backward(ctx, gy):
        k, v, ew, u, A, B, y = ctx.saved_tensor()
        T = k.shape[0]
        ga, gb = paddle.zeros_like(ew), paddle.zeros_like(ew)
        gu, gew = paddle.zeros_like(ew), paddle.zeros_like(ew)
        gk, gv = [], []
        for t in range(T - 1, -1, -1):
            ek = paddle.exp(k[t])
            e = paddle.exp(u + k[t])
            den = B[t] + e
            gn = gy[t] / den
            ge = gn * (v[t] - y[t])
            gk.append(ge * e + (ga * v[t] + gb) * ek)
            gv.append(gn * e + ga * ek)
            gu = gu + gn * v[t] * e
            gew = gew + ga * A[t] + gb * B[t]
            ga = ga * ew + gn
            gb = gb * ew - gn * y[t]
        return paddle.stack(gk[::-1]), paddle.stack(gv[::-1]), -gew * ew, gu
