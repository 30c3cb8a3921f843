"""PyLayers that take some numbers only, by their function or by a guard next to its limit, and single faults in these."""

from __future__ import annotations

from tests.corpus.layer_model import Fault, Layer, planted

__all__ = ["BOUNDED", "BOUNDED_FAULTY"]

L = Layer

ROWS = (
    L("ArcCosine", "c", "ctx.save_for_backward(c)\nreturn paddle.acos(c)", "(c,) = ctx.saved_tensor()\nreturn -dy / paddle.sqrt(1 - c * c)",
      call="leaf(3, 4, low=-0.9, high=0.9)"),
    L("LogOnePlus", "x", "ctx.save_for_backward(x)\nreturn paddle.log(1 + x)", "(x,) = ctx.saved_tensor()\nreturn dy / (1 + x)",
      call="leaf(3, 4, low=-0.5, high=2)"),
    L("LogLess", "x", "ctx.save_for_backward(x)\nreturn paddle.log(1 - x)", "(x,) = ctx.saved_tensor()\nreturn -dy / (1 - x)",
      call="leaf(3, 4, low=-4, high=0.9)"),
    L("PowerLaw", "base, exponent", """
        y = base ** exponent
        ctx.save_for_backward(base, exponent, y)
        return y
        """, "base, exponent, y = ctx.saved_tensor()\nreturn dy * exponent * y / base, dy * y * paddle.log(base)",
      call="leaf(3, 4, low=0.3, high=2), leaf(3, 4)", tags="saves guard"),
    L("LogitGuarded", "p, eps=1e-6", """
        q = paddle.clip(p, eps, 1 - eps)
        ctx.save_for_backward(q)
        return paddle.log(q / (1 - q))
        """, "(q,) = ctx.saved_tensor()\nreturn dy / (q * (1 - q))", call="leaf(3, 4, low=0.1, high=0.9)", tags="saves option guard"),
    L("AngleGuarded", "cosine", """
        c = paddle.clip(cosine, -1 + EPS, 1 - EPS)
        ctx.save_for_backward(c)
        return paddle.acos(c)
        """, "(c,) = ctx.saved_tensor()\nreturn -dy / paddle.sqrt(1 - c * c)", prelude="EPS = 1e-6\n", call="leaf(3, 4, low=-0.9, high=0.9)", tags="saves guard"),
    L("GeometricMean", "x", """
        least = np.maximum(x.numpy(), 1e-8)
        y = np.exp(np.log(least).mean(axis=-1))
        ctx.kept = least, y
        return paddle.to_tensor(y)
        """, """
        least, y = ctx.kept
        return paddle.to_tensor((dy.numpy() * y)[..., None] / (least.shape[-1] * least))
        """, call="leaf(3, 4, low=0.2, high=2)", tags="saves guard"),
    L("FocalProbs", "logits, labels, gamma=2.0", """
        p = F.sigmoid(logits)
        pt = paddle.where(labels > 0.5, p, 1 - p)
        pt = paddle.clip(pt, 1e-7, 1 - 1e-7)
        ctx.save_for_backward(pt, labels)
        ctx.gamma = gamma
        return (-((1 - pt) ** gamma) * paddle.log(pt)).mean()
        """, """
        pt, labels = ctx.saved_tensor()
        g = ctx.gamma
        slope = g * (1 - pt) ** (g - 1) * paddle.log(pt) - (1 - pt) ** g / pt
        sign = paddle.where(labels > 0.5, paddle.ones_like(pt), -paddle.ones_like(pt))
        return dy * slope * sign * pt * (1 - pt) / pt.size, None
        """, call="leaf(3, 4), const(3, 4, low=0, high=1)", tags="saves option guard"),
    L("LogMasked", "x", """
        inside = x > 1e-6
        ctx.save_for_backward(x, inside)
        return paddle.log(paddle.where(inside, x, paddle.full_like(x, 1e-6)))
        """, """
        x, inside = ctx.saved_tensor()
        return paddle.where(inside, dy / x, paddle.zeros_like(x))
        """, call="leaf(3, 4, low=0.2, high=2)", tags="saves"),
)

BOUNDED: dict[str, Layer] = {row.name: row for row in ROWS}

F = Fault

FAULTS = (
    F("ArcCosine", "ArcCosineEven", "region", "wrong below 0", "c * c", "c * paddle.abs(c)"),
    F("LogOnePlus", "LogOneAbs", "region", "wrong below 0", "dy / (1 + x)", "dy / (1 + paddle.abs(x))", call="leaf(3, 4, low=-0.5, high=2)"),
    F("LogLess", "LogLessFar", "region", "wrong far below 0", "-dy / (1 - x)", "-dy / (1 - paddle.clip(x, min=-1.5))"),
    F("PowerLaw", "PowerLawSign", "region", "sign of the exponent lost", "dy * exponent * y", "dy * paddle.abs(exponent) * y"),
    F("LogitGuarded", "LogitPlus", "gross", "1 + q for 1 - q", "(q * (1 - q))", "(q * (1 + q))"),
    F("AngleGuarded", "AngleSign", "gross", "sign", "return -dy", "return dy"),
    F("GeometricMean", "GeometricNoCount", "gross", "count forgotten", "(least.shape[-1] * least)", "least"),
    F("FocalProbs", "FocalNoSlope", "subtle", "the weight's slope is left out", "g * (1 - pt) ** (g - 1) * paddle.log(pt) - (1 - pt) ** g / pt", "-((1 - pt) ** g) / pt"),
    F("LogMasked", "LogMaskNan", "edge", "not finite at 0, which forward's guard takes", "paddle.where(inside, dy / x, paddle.zeros_like(x))", "dy / x * paddle.cast(inside, dy.dtype)", call="leaf(3, 4, low=0, high=0)"),
)

#: By name.
BOUNDED_FAULTY: dict[str, Layer] = {fault.name: planted(fault, BOUNDED[fault.of]) for fault in FAULTS}
