"""PyLayers without cases whose comments name shapes or constants, and others of losses, recurrences and geometry.

Written before the checker saw them, with a fault planted in each. The oracle of the campaigns has judged each at the
shapes of its typical call.
"""

from __future__ import annotations

from tests.corpus.layer_model import Fault, Layer, planted

__all__ = ["TOLD", "TOLD_FAULTY"]

L = Layer

ROWS = (
    L("CRFLogZ", "emissions, transitions", """
        # emissions [T, K], transitions [K, K] (from, to); returns log Z
        e, tr = emissions.numpy(), transitions.numpy()
        T, K = e.shape
        alpha = np.zeros_like(e)
        alpha[0] = e[0]
        for t in range(1, T):
            s = alpha[t - 1][:, None] + tr
            m = s.max(0)
            alpha[t] = e[t] + m + np.log(np.exp(s - m).sum(0))
        m = alpha[-1].max()
        logz = m + np.log(np.exp(alpha[-1] - m).sum())
        ctx.e, ctx.tr, ctx.alpha, ctx.logz = e, tr, alpha, logz
        return paddle.to_tensor(np.asarray(logz, e.dtype))
        """, """
        e, tr, alpha, logz = ctx.e, ctx.tr, ctx.alpha, ctx.logz
        T, K = e.shape
        beta = np.zeros_like(e)
        dtr = np.zeros_like(tr)
        for t in range(T - 2, -1, -1):
            s = tr + e[t + 1][None] + beta[t + 1][None]
            dtr += np.exp(alpha[t][:, None] + s - logz)
            m = s.max(1)
            beta[t] = m + np.log(np.exp(s - m[:, None]).sum(1))
        de = np.exp(alpha + beta - logz)
        gv = g.numpy()
        return paddle.to_tensor(de * gv), paddle.to_tensor(dtr * gv)
        """, call="leaf(5, 3), leaf(3, 3)", gets="g", tags="saves"),
    L("SoftPool2D", "x, kernel_size=2", """
        k = kernel_size
        n, c, h, w = x.shape
        xb = x.reshape([n, c, h // k, k, w // k, k])
        e = paddle.exp(xb - xb.max([3, 5], keepdim=True))
        wgt = e / e.sum([3, 5], keepdim=True)
        y = (wgt * xb).sum([3, 5], keepdim=True)
        ctx.save_for_backward(xb, wgt, y)
        ctx.shape = x.shape
        return y.squeeze([3, 5])
        """, """
        xb, wgt, y = ctx.saved_tensor()
        g = dy.unsqueeze([3, 5])
        return (g * wgt * (1 + xb - y)).reshape(ctx.shape)
        """, call="leaf(2, 3, 4, 6)", tags="saves option"),
    L("BilinearSample", "img, pts", """
        # Sample img [C, H, W] at pts [N, 2] (x, y in pixels).
        a, p = img.numpy(), pts.numpy()
        C, H, W = a.shape
        x, y = p[:, 0], p[:, 1]
        x0 = np.clip(np.floor(x), 0, W - 2).astype(int)
        y0 = np.clip(np.floor(y), 0, H - 2).astype(int)
        wx, wy = x - x0, y - y0
        ctx.saved = a, x0, y0, wx, wy
        out = (a[:, y0, x0] * (1 - wx) * (1 - wy) + a[:, y0, x0 + 1] * wx * (1 - wy)
               + a[:, y0 + 1, x0] * (1 - wx) * wy + a[:, y0 + 1, x0 + 1] * wx * wy)
        return paddle.to_tensor(out.astype(a.dtype))
        """, """
        a, x0, y0, wx, wy = ctx.saved
        g = dout.numpy()
        da = np.zeros_like(a)
        for i in range(g.shape[1]):
            da[:, y0[i], x0[i]] += g[:, i] * (1 - wx[i]) * (1 - wy[i])
            da[:, y0[i], x0[i] + 1] += g[:, i] * wx[i] * (1 - wy[i])
            da[:, y0[i] + 1, x0[i]] += g[:, i] * (1 - wx[i]) * wy[i]
            da[:, y0[i] + 1, x0[i] + 1] += g[:, i] * wx[i] * wy[i]
        v00, v01, v10, v11 = a[:, y0, x0], a[:, y0, x0 + 1], a[:, y0 + 1, x0], a[:, y0 + 1, x0 + 1]
        dx = (g * ((v01 - v00) * (1 - wy) + (v11 - v10) * wy)).sum(0)
        dy = (g * ((v10 - v00) * (1 - wx) + (v11 - v01) * wx)).sum(0)
        return paddle.to_tensor(da), paddle.to_tensor(np.stack([dx, dy], 1).astype(a.dtype))
        """, call="leaf(3, 6, 7), leaf(5, 2, low=0.5, high=4.5)", gets="dout", tags="saves"),
    L("MaskedSoftmax", "scores, key_mask, scale=1.0", """
        # scores: [B, H, Tq, Tk]; key_mask: [B, Tk], True = keep
        keep = key_mask.unsqueeze([1, 2])
        s = paddle.where(keep.expand_as(scores), scores * scale, paddle.full_like(scores, -1e9))
        p = F.softmax(s, axis=-1)
        p = p * keep.astype(p.dtype)
        ctx.save_for_backward(p)
        ctx.scale = scale
        return p
        """, """
        (p,) = ctx.saved_tensor()
        inner = (dp * p).sum(-1, keepdim=True)
        return ctx.scale * p * (dp - inner), None
        """, call="leaf(2, 2, 3, 5), paddle.to_tensor([[True, True, True, False, False], [True, True, True, True, True]]), 0.25", gets="dp", tags="saves option"),
    L("ApplyRotary", "x, cos, sin", """
        # x: [batch, seq, heads, dim]; cos, sin: [seq, dim / 2] tables.
        c = cos.unsqueeze([0, 2])
        s = sin.unsqueeze([0, 2])
        ctx.save_for_backward(c, s)
        x1, x2 = paddle.chunk(x, 2, axis=-1)
        return paddle.concat([x1 * c - x2 * s, x2 * c + x1 * s], axis=-1)
        """, """
        c, s = ctx.saved_tensor()
        g1, g2 = paddle.chunk(dy, 2, axis=-1)
        return paddle.concat([g1 * c + g2 * s, g2 * c - g1 * s], axis=-1), None, None
        """, call="leaf(2, 5, 2, 8), const(5, 4), const(5, 4)", tags="saves"),
    L("CausalLinearAttention", "q, k, v", """
        Q, K, V = q.numpy(), k.numpy(), v.numpy()
        B, L, D = Q.shape
        S = np.zeros((B, D, V.shape[-1]), Q.dtype)
        out = np.empty_like(V)
        states = []
        for t in range(L):
            S = S + K[:, t, :, None] * V[:, t, None, :]
            states.append(S)
            out[:, t] = np.einsum("bd,bde->be", Q[:, t], S)
        ctx.q, ctx.k, ctx.v, ctx.states = Q, K, V, states
        return paddle.to_tensor(out)
        """, """
        Q, K, V, G = ctx.q, ctx.k, ctx.v, dout.numpy()
        dQ, dK, dV = np.zeros_like(Q), np.zeros_like(K), np.zeros_like(V)
        dS = np.zeros_like(ctx.states[0])
        for t in reversed(range(Q.shape[1])):
            dQ[:, t] = np.einsum("bde,be->bd", ctx.states[t], G[:, t])
            dS = dS + Q[:, t, :, None] * G[:, t, None, :]
            dK[:, t] = np.einsum("bde,be->bd", dS, V[:, t])
            dV[:, t] = np.einsum("bde,bd->be", dS, K[:, t])
        return paddle.to_tensor(dQ), paddle.to_tensor(dK), paddle.to_tensor(dV)
        """, call="leaf(2, 5, 4, low=0, high=1), leaf(2, 5, 4, low=0, high=1), leaf(2, 5, 4)", gets="dout", tags="saves"),
    L("DiagonalSSM", "u, a, b, c", """
        # h_t = a * h_{t-1} + b * u_t;  y_t = c * h_t  (all diagonal, per channel).
        uu, aa, bb, cc = (t.numpy() for t in (u, a, b, c))
        batch, length, dim = uu.shape
        h = np.zeros((batch, length + 1, dim), uu.dtype)
        for t in range(length):
            h[:, t + 1] = aa * h[:, t] + bb * uu[:, t]
        ctx.u, ctx.a, ctx.b, ctx.c, ctx.h = uu, aa, bb, cc, h
        return paddle.to_tensor(cc * h[:, 1:])
        """, """
        g = dy.numpy()
        u, a, b, c, h = ctx.u, ctx.a, ctx.b, ctx.c, ctx.h
        dc = (g * h[:, 1:]).sum((0, 1))
        du = np.zeros_like(u)
        da, db = np.zeros_like(a), np.zeros_like(b)
        carry = np.zeros_like(h[:, 0])
        for t in range(u.shape[1] - 1, -1, -1):
            carry = carry * a + g[:, t] * c
            da += (carry * h[:, t]).sum(0)
            db += (carry * u[:, t]).sum(0)
            du[:, t] = carry * b
        return tuple(paddle.to_tensor(z) for z in (du, da, db, dc))
        """, call="leaf(2, 6, 3), leaf(3, low=0, high=1), leaf(3), leaf(3)", tags="saves"),
    L("SegmentSoftmax", "logits, segment_ids, num_segments=None", """
        # Softmax over the edges of each node (GAT): logits [E], segment_ids [E].
        x, seg = logits.numpy(), segment_ids.numpy()
        n = int(seg.max()) + 1 if num_segments is None else num_segments
        top = np.full(n, -np.inf, x.dtype)
        np.maximum.at(top, seg, x)
        e = np.exp(x - top[seg])
        tot = np.zeros(n, x.dtype)
        np.add.at(tot, seg, e)
        y = e / tot[seg]
        ctx.y, ctx.seg, ctx.n = y, seg, n
        return paddle.to_tensor(y)
        """, """
        yg = ctx.y * dy.numpy()
        s = np.zeros(ctx.n, yg.dtype)
        np.add.at(s, ctx.seg, yg)
        return paddle.to_tensor(yg - ctx.y * s[ctx.seg]), None
        """, call="leaf(9), ints([0, 0, 1, 1, 1, 2, 3, 3, 3])", tags="saves option"),
    L("SpectralScale", "weight, u, v", """
        # W / (u^T W v): u and v come from power iteration and are constants.
        sigma = (u * paddle.mv(weight, v)).sum()
        ctx.save_for_backward(weight, u, v, sigma)
        return weight / sigma
        """, """
        weight, u, v, sigma = ctx.saved_tensor()
        coef = (dy * weight).sum() / (sigma * sigma)
        return dy / sigma - coef * paddle.outer(u, v), None, None
        """, call="leaf(6, 4), const(6), const(4)", tags="saves"),
    L("LennardJones", "pos, epsilon=1.0, sigma=1.0", """
        # Total Lennard-Jones energy of positions [N, 3]; the force is minus the gradient.
        r = pos.numpy()
        i, j = np.triu_indices(len(r), k=1)
        d = r[i] - r[j]
        r2 = (d ** 2).sum(1)
        s6 = (sigma ** 2 / r2) ** 3
        ctx.saved = i, j, d, r2, s6, r.shape
        ctx.epsilon = epsilon
        e = 4 * epsilon * (s6 ** 2 - s6).sum()
        return paddle.to_tensor(np.asarray(e, dtype=r.dtype))
        """, """
        i, j, d, r2, s6, shape = ctx.saved
        coef = 4 * ctx.epsilon * (-12 * s6 ** 2 + 6 * s6) / r2
        f = coef[:, None] * d
        g = np.zeros(shape, d.dtype)
        np.add.at(g, i, f)
        np.add.at(g, j, -f)
        return paddle.to_tensor(g * de.numpy())
        """, call="leaf(4, 3)", gets="de", tags="saves option"),
    L("QuatRotate", "q, v", """
        # Rotate vectors v [N, 3] by (not necessarily unit) quaternions q [N, 4] = (w, x, y, z).
        w, u = q[:, :1], q[:, 1:]
        uv = paddle.cross(u, v, axis=1)
        ctx.save_for_backward(w, u, v, uv)
        return v + 2 * (w * uv + paddle.cross(u, uv, axis=1))
        """, """
        w, u, v, uv = ctx.saved_tensor()
        dw = 2 * (g * uv).sum(1, keepdim=True)
        # y = v + 2 w (u x v) + 2 u x (u x v)
        gu = paddle.cross(g, u, axis=1)
        du = 2 * w * paddle.cross(v, g, axis=1) + 2 * paddle.cross(uv, g, axis=1) + 2 * paddle.cross(v, gu, axis=1)
        dv = g + 2 * w * paddle.cross(g, u, axis=1) + 2 * paddle.cross(gu, u, axis=1)
        return paddle.concat([dw, du], axis=1), dv
        """, call="leaf(5, 4), leaf(5, 3)", gets="g", tags="saves"),
    L("QuadForm", "x, M", """
        # x: [batch, d]; M: [d, d]; returns x_i^T M x_i, [batch]
        xM = paddle.matmul(x, M)
        ctx.save_for_backward(x, M, xM)
        return (xM * x).sum(axis=1)
        """, """
        x, M, xM = ctx.saved_tensor()
        g = dy.unsqueeze(1)
        dx = g * (xM + paddle.matmul(x, M, transpose_y=True))
        dM = paddle.matmul(x, g * x, transpose_x=True)
        return dx, dM
        """, call="leaf(5, 3), leaf(3, 3)", tags="saves"),
    L("PowerSpectrum", "signal", """
        n = signal.shape[-1]
        k = np.arange(n // 2 + 1)
        ang = 2 * np.pi * np.outer(np.arange(n), k) / n
        dt = signal.numpy().dtype
        C = paddle.to_tensor(np.cos(ang).astype(dt))
        S = paddle.to_tensor(np.sin(ang).astype(dt))
        re, im = paddle.matmul(signal, C), paddle.matmul(signal, S)
        ctx.save_for_backward(C, S, re, im)
        return re * re + im * im
        """, """
        C, S, re, im = ctx.saved_tensor()
        return 2 * (paddle.matmul(dp * re, C.t()) + paddle.matmul(dp * im, S.t()))
        """, call="leaf(3, 16)", gets="dp", tags="saves"),
    L("CausalDWConv", "x, w", """
        # x [B, L, C], w [K, C]
        K = w.shape[0]
        L = x.shape[1]
        xp = F.pad(x, [K - 1, 0], data_format="NLC")
        y = paddle.zeros_like(x)
        for k in range(K):
            y = y + xp[:, k:k + L] * w[k]
        ctx.save_for_backward(xp, w)
        return y
        """, """
        xp, w = ctx.saved_tensor()
        K, L = w.shape[0], dy.shape[1]
        gp = F.pad(dy, [0, K - 1], data_format="NLC")
        dx = paddle.zeros_like(dy)
        dw = []
        for k in range(K):
            dx = dx + gp[:, K - 1 - k:K - 1 - k + L] * w[k]
            dw.append((xp[:, k:k + L] * dy).sum([0, 1]))
        return dx, paddle.stack(dw)
        """, call="leaf(2, 7, 3), leaf(4, 3)", tags="saves"),
    L("WeightedSumN", "*xs, weights=None", """
        if weights is None:
            weights = [1.0 / len(xs)] * len(xs)
        if len(weights) != len(xs):
            raise ValueError("one weight per input")
        ctx.weights = list(weights)
        out = xs[0] * ctx.weights[0]
        for w, x in zip(ctx.weights[1:], xs[1:]):
            out = out + w * x
        return out
        """, """
        return tuple(dy * w for w in ctx.weights)
        """, call="leaf(3, 4), leaf(3, 4), leaf(3, 4), weights=[0.2, 0.3, 0.5]", tags="saves option"),
    L("TotalVariation", "img, eps=0.001", """
        # Smoothed isotropic TV of images [N, C, H, W]: sum sqrt(dx^2 + dy^2 + eps).
        dx = img[:, :, :-1, 1:] - img[:, :, :-1, :-1]
        dy = img[:, :, 1:, :-1] - img[:, :, :-1, :-1]
        mag = paddle.sqrt(dx * dx + dy * dy + eps)
        ctx.save_for_backward(dx / mag, dy / mag)
        return mag.sum()
        """, """
        ux, uy = ctx.saved_tensor()
        ux, uy = ux * g, uy * g
        out = F.pad(ux, [1, 0, 0, 1]) + F.pad(uy, [0, 1, 1, 0]) - F.pad(ux + uy, [0, 1, 0, 1])
        return out
        """, call="leaf(1, 2, 5, 6)", gets="g", tags="saves option"),
    L("PoissonNLL", "log_rate, counts, full=False", """
        lam = paddle.exp(log_rate)
        nll = lam - counts * log_rate
        if full:
            nll = nll + paddle.lgamma(counts + 1)
        ctx.save_for_backward(lam, counts)
        return nll.mean()
        """, """
        lam, counts = ctx.saved_tensor()
        return dy * (lam - counts) / lam.size, None
        """, call="leaf(10), const(10, low=0, high=5)", tags="saves option"),
    L("WeightedMSE", "pred, target, weight=None", """
        diff = pred - target
        w = paddle.ones_like(diff) if weight is None else weight
        total = w.sum()
        ctx.save_for_backward(diff, w, total)
        return (w * diff * diff).sum() / total
        """, """
        diff, w, total = ctx.saved_tensor()
        g = 2 * dy * w * diff / total
        return g, -g, None
        """, call="leaf(6), leaf(6), const(6, low=0.1, high=1)", tags="saves option"),
    L("GRUCell", "gi, gh, h", """
        # The pointwise half of a GRU cell; gi and gh are [B, 3 H] (r, z, n).
        i_r, i_z, i_n = paddle.split(gi, 3, axis=1)
        h_r, h_z, h_n = paddle.split(gh, 3, axis=1)
        r = F.sigmoid(i_r + h_r)
        z = F.sigmoid(i_z + h_z)
        n = paddle.tanh(i_n + r * h_n)
        ctx.save_for_backward(r, z, n, h_n, h)
        return (1 - z) * n + z * h
        """, """
        r, z, n, h_n, h = ctx.saved_tensor()
        dn = dy * (1 - z) * (1 - n * n)
        dz = dy * (h - n) * z * (1 - z)
        dr = dn * h_n * r * (1 - r)
        dgi = paddle.concat([dr, dz, dn], axis=1)
        dgh = paddle.concat([dr, dz, dn * r], axis=1)
        return dgi, dgh, dy * z
        """, call="leaf(3, 12), leaf(3, 12), leaf(3, 4)", tags="saves"),
    L("SplitHeads", "x, num_heads=2", """
        b, t, c = x.shape
        ctx.num_heads = num_heads
        q, k, v = paddle.split(x, 3, axis=2)
        f = lambda z: z.reshape([b, t, num_heads, -1]).transpose([0, 2, 1, 3])
        return f(q), f(k), f(v)
        """, """
        parts = []
        for g in (dq, dk, dv):
            b, h, t, d = g.shape
            parts.append(g.transpose([0, 2, 1, 3]).reshape([b, t, h * d]))
        return paddle.concat(parts, axis=2)
        """, call="leaf(2, 4, 12), 2", gets="dq, dk, dv", tags="saves option"),
)

#: By name.
TOLD: dict[str, Layer] = {row.name: row for row in ROWS}

F = Fault

FAULTS = (
    F("CRFLogZ", "CrfOverwrites", "accumulation", "each step overwrites", "dtr += np.exp(alpha[t][:, None] + s - logz)", "dtr = np.exp(alpha[t][:, None] + s - logz)"),
    F("SoftPool2D", "SoftPoolDetached", "subtle", "weights taken for constants", "g * wgt * (1 + xb - y)", "g * wgt"),
    F("BilinearSample", "BilinearSwap", "wiring", "x for y", "np.stack([dx, dy], 1)", "np.stack([dy, dx], 1)"),
    F("MaskedSoftmax", "MaskedNoScale", "attribute", "scale forgotten", "ctx.scale * p * (dp - inner)", "p * (dp - inner)"),
    F("ApplyRotary", "RotaryForward", "wiring", "rotates forward again", "[g1 * c + g2 * s, g2 * c - g1 * s]", "[g1 * c - g2 * s, g2 * c + g1 * s]"),
    F("CausalLinearAttention", "CausalLastState", "wiring", "the last state for each", 'np.einsum("bde,be->bd", ctx.states[t], G[:, t])', 'np.einsum("bde,be->bd", ctx.states[-1], G[:, t])'),
    F("DiagonalSSM", "SsmLateState", "wiring", "the state after for the state before", "da += (carry * h[:, t]).sum(0)", "da += (carry * h[:, t + 1]).sum(0)"),
    F("SegmentSoftmax", "SegmentSumAll", "gross", "summed over all segments", "yg - ctx.y * s[ctx.seg]", "yg - ctx.y * yg.sum()"),
    F("SpectralScale", "SpectralDetached", "gross", "sigma's part is left out", "return dy / sigma - coef * paddle.outer(u, v), None, None", "return dy / sigma, None, None"),
    F("LennardJones", "LennardPower", "gross", "factor of the attraction", "(-12 * s6 ** 2 + 6 * s6)", "(-12 * s6 ** 2 + 3 * s6)"),
    F("QuatRotate", "QuatSign", "gross", "sign of u x (u x v)", "+ 2 * paddle.cross(uv, g, axis=1) +", "- 2 * paddle.cross(uv, g, axis=1) +"),
    F("QuadForm", "QuadSymmetric", "subtle", "taken for symmetric", "dx = g * (xM + paddle.matmul(x, M, transpose_y=True))", "dx = g * 2 * xM"),
    F("PowerSpectrum", "SpectrumSign", "gross", "sign of the imaginary part", "paddle.matmul(dp * re, C.t()) + paddle.matmul(dp * im, S.t())", "paddle.matmul(dp * re, C.t()) - paddle.matmul(dp * im, S.t())"),
    F("CausalDWConv", "CausalShifted", "wiring", "taps not reversed", "gp[:, K - 1 - k:K - 1 - k + L] * w[k]", "gp[:, k:k + L] * w[k]"),
    F("WeightedSumN", "WeightedSumFirst", "attribute", "the first weight for all", "return tuple(dy * w for w in ctx.weights)", "return tuple(dy * ctx.weights[0] for w in ctx.weights)"),
    F("TotalVariation", "VariationAxes", "wiring", "axes swapped", "F.pad(ux, [1, 0, 0, 1]) + F.pad(uy, [0, 1, 1, 0])", "F.pad(ux, [0, 1, 1, 0]) + F.pad(uy, [1, 0, 0, 1])"),
    F("PoissonNLL", "PoissonRatio", "gross", "divides by the rate", "(lam - counts)", "(1 - counts / lam)"),
    F("WeightedMSE", "WeightedMseLost", "gross", "weight forgotten", "g = 2 * dy * w * diff / total", "g = 2 * dy * diff / total"),
    F("GRUCell", "GruSameGates", "wiring", "the reset gate is left out", "dgh = paddle.concat([dr, dz, dn * r], axis=1)", "dgh = dgi"),
    F("SplitHeads", "SplitHeadsFlat", "wiring", "not transposed back", "parts.append(g.transpose([0, 2, 1, 3]).reshape([b, t, h * d]))", "parts.append(g.reshape([b, t, h * d]))"),
)

#: By name.
TOLD_FAULTY: dict[str, Layer] = {fault.name: planted(fault, TOLD[fault.of]) for fault in FAULTS}
