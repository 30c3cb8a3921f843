"""Oracle for torch: vector-Jacobian products against central differences of the forward, float64, in several draws.

``python oracle.py`` prints of each function the largest error of its right version (R) and the errors of what is checked (F).
"""

import importlib.util
import pathlib

import torch

torch.set_default_dtype(torch.float32)
D = torch.float64


def R(*s):
    return torch.randn(*s, dtype=D)


def U(*s):
    return torch.rand(*s, dtype=D) + 0.5


def W(n, *s):
    return torch.randint(0, n, s)


def spd(n):
    a = R(n, n)
    return a @ a.T + n * torch.eye(n, dtype=D)


HERE = pathlib.Path(__file__).parent
INP = {
    "t_norms": {
        "RMSNormFn": [lambda: (R(4, 6), R(6)), lambda: (R(2, 3, 5), R(5), 0.1)],
        "GroupNormFn": [
            lambda: (R(3, 4), R(4), R(4)),
            lambda: (R(2, 4, 5), R(4), R(4), 2),
            lambda: (R(2, 6, 2, 3), R(6), R(6), 3),
        ],
        "WeightNormFn": [lambda: (R(4, 5), R(4)), lambda: (R(3, 2, 3), R(3))],
        "FusedAddRMSNorm": [lambda: (R(4, 6), R(4, 6), R(6))],
        "L2Unit": [lambda: (R(4, 6),), lambda: (R(4, 6), 0), lambda: (R(2, 3, 4), 1)],
        "DyT": [lambda: (R(4, 6), R(1)[0], R(6), R(6)), lambda: (R(2, 3, 4), R(1), R(4), R(4))],
    },
    "t_attn": {
        "CausalSoftmax": [lambda: (R(5, 5),), lambda: (R(2, 3, 6), 0.4)],
        "SoftCap": [lambda: (10 * R(4, 5),), lambda: (R(3, 4), 2.0)],
        "SDPA": [lambda: (R(4, 3), R(5, 3), R(5, 2)), lambda: (R(2, 4, 3), R(2, 4, 3), R(2, 4, 3), True)],
        "MergeStates": [lambda: (R(3, 4, 5), R(3, 4), R(3, 4, 5), R(3, 4))],
        "AlibiScores": [lambda: (R(3, 5, 5), R(3)), lambda: (R(2, 3, 4, 4), R(2, 3))],
        "RotaryHalf": [lambda: (R(4, 6), R(4, 3), R(4, 3))],
        "RotaryPairs": [lambda: (R(5, 6), W(20, 5)), lambda: (R(2, 5, 4), torch.arange(5), 100.0)],
    },
    "t_act": {
        "SwiGLU": [lambda: (R(4, 5), R(4, 5))],
        "GeGLU": [lambda: (R(4, 6),)],
        "Snake": [lambda: (R(4, 5), U(5)), lambda: (R(2, 3, 4), U(3))],
        "ChannelPReLU": [lambda: (R(4, 5), U(5)), lambda: (R(2, 3, 4), U(3))],
        "XIELU": [lambda: (R(4, 5), U(1)[0], U(1)[0]), lambda: (R(4, 5), U(1)[0], U(1)[0], 1.5)],
    },
    "t_loss": {
        "SmoothedCE": [
            lambda: (R(5, 4), W(4, 5)),
            lambda: (R(5, 4), W(4, 5), 0.2, 1),
            lambda: (R(5, 4), W(4, 5), 0.0, 2, "sum"),
            lambda: (R(2, 5, 4), W(4, 2, 5), 0.1, 2, "none"),
        ],
        "ZLossCE": [lambda: (R(5, 4), W(4, 5)), lambda: (R(5, 4), W(4, 5), 0.3)],
        "BinaryFocal": [lambda: (R(5, 4), (W(2, 5, 4)).to(D)), lambda: (R(6), W(2, 6).to(D), 0.6, 1.5)],
        "MaskedHuber": [lambda: (2 * R(5, 4), R(5, 4), W(2, 5, 4).to(D))],
        "DistillKL": [lambda: (R(5, 4), R(5, 4)), lambda: (R(2, 5, 4), R(2, 5, 4), 3.0)],
        "SigLip": [lambda: (R(4, 3), R(4, 3), R(1)[0], R(1)[0])],
    },
    "t_quant": {
        "FakeQuant": "S",
        "SoftSign1Bit": "S",
        "DequantMatmul": [lambda: (R(4, 5), W(9, 3, 5) - 4, R(3)), lambda: (R(2, 4, 5), W(9, 3, 5) - 4, R(3))],
    },
    "t_scan": {
        "DiagScan": [lambda: (R(6, 3), R(6, 3)), lambda: (R(6), R(6))],
        "LogCumSumExp": [lambda: (R(4, 6),), lambda: (R(4, 6), 0)],
        "EMA": [lambda: (R(3, 6), U(1)[0] - 0.3)],
        "PrefixSum": [lambda: (R(4, 5),), lambda: (R(4, 5), 1, True), lambda: (R(4, 5), 1, True, True)],
    },
    "t_index": {
        "SegMean": [lambda: (R(6, 3), W(4, 6), 4), lambda: (R(6), W(3, 6), 5)],
        "ScatterAddRows": [lambda: (R(4, 3), W(4, 6), R(6, 3)), lambda: (R(4, 3), W(4, 6), R(6, 3), 0.3)],
        "BagWeighted": [lambda: (R(5, 3), W(5, 4, 3), R(4, 3))],
        "Lerp1D": [lambda: (R(6), 7 * torch.rand(8, dtype=D) - 1), lambda: (R(6), 5 * torch.rand(2, 3, dtype=D))],
    },
    "t_geo": {
        "QuatRotate": [lambda: (R(5, 4), R(5, 3))],
        "Pinhole": [lambda: (R(5, 3) + torch.tensor([0, 0, 5.0], dtype=D), R(4))],
        "CrossFn": [lambda: (R(5, 3), R(5, 3)), lambda: (R(3, 5), R(3, 5), 0)],
    },
    "t_linsig": {
        "CausalDW": [lambda: (R(2, 3, 7), R(3, 4), R(3))],
        "CholeskyFn": [lambda: (spd(4),)],
        "SolveFn": [lambda: (R(4, 4), R(4, 2))],
        "LogAbsDet": [lambda: (R(4, 4),), lambda: (R(2, 3, 3),)],
    },
    "t_dist": {
        "StudentTLogProb": [lambda: (R(5), U(5) * 4, R(5), U(5))],
        "GaussNLL": [lambda: (R(4, 5), R(4, 5), R(4, 5))],
        "VonMises": [lambda: (R(5), R(5), U(5))],
    },
}
CONST = {"RotaryHalf": {1, 2}, "BinaryFocal": {1}, "MaskedHuber": {2}}


def load(p):
    sp = importlib.util.spec_from_file_location("m", p)
    m = importlib.util.module_from_spec(sp)
    sp.loader.exec_module(m)
    return m


def err(fn, args, const):
    args = [a.clone() if torch.is_tensor(a) else a for a in args]
    fl = [i for i, a in enumerate(args) if torch.is_tensor(a) and a.is_floating_point() and i not in const]
    for i in fl:
        args[i].requires_grad_()
    out = fn(*args)
    outs = out if isinstance(out, tuple) else (out,)
    w = [torch.randn(o.shape, dtype=o.dtype) for o in outs]
    gr = torch.autograd.grad(sum((o * v).sum() for o, v in zip(outs, w)), [args[i] for i in fl], allow_unused=True)

    def val(a):
        with torch.no_grad():
            o = fn(*a)
            o = o if isinstance(o, tuple) else (o,)
            return float(sum((x * v).sum() for x, v in zip(o, w)))

    worst = 0.0
    for i, g in zip(fl, gr):
        x = args[i].detach()
        n = torch.zeros_like(x).reshape(-1)
        for k in range(x.numel()):
            h = 1e-5
            a = list(args)
            xp = x.clone().reshape(-1)
            xp[k] += h
            xm = x.clone().reshape(-1)
            xm[k] -= h
            a[i] = xp.reshape(x.shape)
            p = val(a)
            a[i] = xm.reshape(x.shape)
            q = val(a)
            n[k] = (p - q) / (2 * h)
        n = n.reshape(x.shape)
        g = torch.zeros_like(n) if g is None else g
        assert g.shape == n.shape
        worst = max(worst, float((g - n).abs().max() / (1 + n.abs().max())))
    return worst


def main():
    res = {}
    for mod, fs in INP.items():
        for d in ("right", ""):
            m = load(HERE / d / f"{mod[2:]}.py")
            for name, draws in fs.items():
                if draws == "S":
                    draws = SUR[name]
                es = []
                for seed in range(3):
                    torch.manual_seed(seed)
                    for dr in draws:
                        a = dr()
                        if name in SUR:
                            f = getattr(m, "SURROGATE_" + name)["forward"]

                            def fn(*z, f=f):
                                return f(*z)

                            # claimed by the Function, numeric of the surrogate
                            x = a[0].clone().requires_grad_()
                            o = getattr(m, name).apply(x, *a[1:])
                            w = torch.randn_like(o)
                            (g,) = torch.autograd.grad((o * w).sum(), x)
                            h = 1e-6
                            n = (f(a[0] + h, *a[1:]) - f(a[0] - h, *a[1:])) / (2 * h) * w
                            es.append(float((g - n).abs().max()))
                        else:
                            es.append(err(getattr(m, name).apply, a, CONST.get(name, set())))
                res.setdefault(name, {})[d] = es
    for n, r in res.items():
        print(
            n,
            "R {:.1e}".format(max(r["right"])),
            "F " + " ".join(f"{e:.1e}" for e in r[""]) if max(r[""]) > 1e-6 else "(right)",
            "" if max(r["right"]) < 1e-6 else "<<<<<<",
        )


SUR = {
    "FakeQuant": [
        lambda: (R(5, 4) * 2, torch.tensor(0.02, dtype=D)),
        lambda: (R(5, 4) * 2, torch.tensor(0.4, dtype=D), 4),
    ],
    "SoftSign1Bit": [lambda: (R(5, 4),), lambda: (R(5, 4), 3.0)],
}
if __name__ == "__main__":
    main()
