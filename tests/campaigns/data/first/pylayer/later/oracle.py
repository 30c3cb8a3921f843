"""Oracle for PyLayers: real paddlepaddle 2.6.2, float64, backward against central differences of forward.

``python oracle.py`` prints of each function the largest error of its right version (R) and the errors of what is checked (F).
"""

import importlib.util
import pathlib

import numpy as np
import paddle

rng = None


def T(a):
    return paddle.to_tensor(np.asarray(a, dtype="float64"))


def R(*s):
    return T(rng.standard_normal(s))


def U(*s):
    return T(rng.random(s) + 0.5)


def W(n, *s):
    return paddle.to_tensor(rng.integers(0, n, s).astype("int64"))


def M(*s):
    return T(rng.integers(0, 2, s))


def spd(n):
    a = rng.standard_normal((n, n))
    return T(a @ a.T + n * np.eye(n))


HERE = pathlib.Path(__file__).parent
INP = {
    "p_norm": {
        "InstNorm": [lambda: (R(3, 4, 5), R(4), R(4))],
        "ScaleNorm": [lambda: (R(4, 5), R(1))],
        "MeanStd": [lambda: (R(3, 5),), lambda: (R(2, 4, 3),)],
    },
    "p_attn": {
        "MaskedSoftmax": [lambda: (R(4, 5), R(4, 5))],
        "RelBias": [lambda: (R(2, 4, 4), R(7, 2))],
        "PartialRope": [lambda: (R(4, 7), R(4, 2), R(4, 2))],
        "LoraLinear": [lambda: (R(4, 5), R(5, 3), R(5, 2), R(2, 3)), lambda: (R(4, 5), R(5, 3), R(5, 2), R(2, 3), 2.0)],
    },
    "p_act": {
        "ReGLU": [lambda: (R(4, 6),)],
        "CeluFn": [lambda: (R(4, 5),), lambda: (R(4, 5), 0.3)],
        "Softplus2": [lambda: (R(4, 5),), lambda: (R(4, 5), 2.5), lambda: (10 * R(4, 5), 2.5, 5.0)],
        "TanhMix": [lambda: (R(4, 5), R(5)), lambda: (R(2, 4, 5), R(5))],
        "Pact": "S",
    },
    "p_loss": {
        "BceLogits": [lambda: (R(4, 5), M(4, 5), U(5))],
        "CosEmbedLoss": [lambda: (R(6, 4), R(6, 4), 2 * M(6) - 1)],
        "ArcMargin": [lambda: (R(4, 5).tanh() * 0.8, W(5, 4))],
        "MaskedMSE": [
            lambda: (R(4, 5), R(4, 5), M(4, 5)),
            lambda: (R(4, 5), R(4, 5), M(4, 5), "sum"),
            lambda: (R(4, 5), R(4, 5), M(4, 5), "none"),
        ],
        "PinballLoss": [lambda: (R(5, 3), R(5), U(3) - 0.5)],
        "GroupDRO": [lambda: (R(7), W(2, 7)), lambda: (R(7), W(4, 7), 4)],
    },
    "p_seq": {
        "RevCumsum": [lambda: (R(4, 5),), lambda: (R(4, 5), 1)],
        "PrefixMean": [lambda: (R(4, 5),)],
        "MinGRU": [lambda: (U(5, 3) - 0.5, R(5, 3), R(3))],
        "PreEmphasis": [lambda: (R(3, 6), R(1))],
        "Conv1dValid": [lambda: (R(3, 8), R(3))],
        "SmoothTV": [lambda: (R(5, 6),)],
    },
    "p_index": {
        "GatherRows": [lambda: (R(5, 3), W(5, 7))],
        "EdgeSum": [lambda: (R(5, 3), R(8), W(5, 8), W(5, 8))],
        "PixelShuffle2": [lambda: (R(2, 8, 2, 3),), lambda: (R(1, 9, 2, 2), 3)],
        "UpLinear": [lambda: (R(3, 5),)],
        "WSum": [lambda: (R(3), R(2, 3), R(2, 3), R(2, 3)), lambda: (R(2), R(4), R(4))],
        "LinearOpt": [lambda: (R(4, 5), R(5, 3), R(3)), lambda: (R(4, 5), R(5, 3))],
    },
    "p_geo": {
        "Cross3": [lambda: (R(5, 3), R(5, 3))],
        "RigidMove": [lambda: (R(5, 3), R(3, 3), R(3))],
        "PairDist": [lambda: (R(4, 3), R(5, 3))],
        "Rot2D": [lambda: (R(5, 2), R(5))],
        "BilinearPair": [lambda: (R(4, 3), R(2, 3, 5), R(4, 5), R(2))],
        "Sandwich": [lambda: (R(3, 4), R(4, 5), R(5, 2))],
        "LogDetChol": [lambda: (spd(4),)],
    },
    "p_dist": {
        "LaplaceLogProb": [lambda: (R(5), R(5), U(5))],
        "WeibullLogProb": [lambda: (U(5), U(5), U(5))],
        "LogNormalLogProb": [lambda: (U(5), R(5), U(5))],
        "CatEntropy": [lambda: (R(4, 5),), lambda: (R(4, 5), 0.5)],
    },
}
CONST = {"PartialRope": {1, 2}, "CosEmbedLoss": {2}, "MaskedMSE": {2}}


def load(p):
    sp = importlib.util.spec_from_file_location("m", p)
    m = importlib.util.module_from_spec(sp)
    sp.loader.exec_module(m)
    return m


def tens(a):
    return isinstance(a, paddle.Tensor)


def err(C, args, const, sym=False, sur=None):
    fl = [i for i, a in enumerate(args) if tens(a) and a.dtype == paddle.float64 and i not in const]
    args = list(args)
    for i in fl:
        args[i] = paddle.to_tensor(args[i].numpy(), stop_gradient=False)
    out = C.apply(*args)
    outs = out if isinstance(out, (tuple, list)) else (out,)
    w = [R(*o.shape) for o in outs]
    L = sum((o * v).sum() for o, v in zip(outs, w))
    L.backward()
    f = sur or C.apply

    def val(a):
        with paddle.no_grad():
            o = f(*a)
            o = o if isinstance(o, (tuple, list)) else (o,)
            return float(sum((x * v).sum() for x, v in zip(o, w)))

    worst = 0.0
    for i in fl:
        x = args[i].numpy()
        g = args[i].grad.numpy()
        n = np.zeros(x.size)
        gg = g.reshape(-1).copy()
        for k in range(x.size):
            d = np.zeros(x.size)
            d[k] = 1
            d = d.reshape(x.shape)
            if sym:
                d = (d + d.T) / 2
                gg[k] = (g * d).sum()
            a = list(args)
            h = 1e-5
            a[i] = T(x + h * d)
            p = val(a)
            a[i] = T(x - h * d)
            n[k] = (p - val(a)) / (2 * h)
        assert g.shape == x.shape
        worst = max(worst, float(np.abs(gg - n).max() / (1 + np.abs(n).max())))
    return worst


SUR = {"Pact": [lambda: (R(4, 5), U(1)), lambda: (R(4, 5), U(1), 2)]}
res = {}
for mod, fs in INP.items():
    for d in ("right", ""):
        m = load(HERE / d / f"{mod[2:]}.py")
        for name, draws in fs.items():
            if draws == "S":
                draws = SUR[name]
            es = []
            for seed in range(3):
                rng = np.random.default_rng(seed)
                paddle.seed(seed)
                for dr in draws:
                    try:
                        es.append(
                            err(
                                getattr(m, name),
                                dr(),
                                CONST.get(name, set()),
                                name == "LogDetChol",
                                getattr(m, "SURROGATE_" + name)["forward"] if name in SUR else None,
                            )
                        )
                    except Exception as e:
                        print(name, d, type(e).__name__, str(e)[-300:])
                        es.append(float("nan"))
            res.setdefault(name, {})[d] = es
for n, r in res.items():
    print(
        n,
        "R {:.1e}".format(max(r["right"])),
        "F " + " ".join(f"{e:.1e}" for e in r[""]) if max(r[""]) > 1e-6 else "(right)",
        "" if max(r["right"]) < 1e-6 else "<<<<<<",
    )
