"""Central-difference oracle for the PyLayer set (float64).

run:  python oracle.py [fuzz]
Every right class must agree with central differences to 1e-5 (relative to the largest
entry of the gradient, at least 1), stay right on a second backward through the same graph
and when another call happens between forward and backward, and leave its inputs alone.
Every faulty class must break one of these on some of its ordinary inputs.
"""
import importlib, inspect, itertools, json, os, sys, warnings
warnings.filterwarnings("ignore")
import numpy as np, paddle

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
TOL = 1e-5


def run(cls, arrs, kw, cot=None, order="plain"):
    """-> outputs (float ones), grads, complaints"""
    ts, notes = [], []
    for a in arrs:
        ts.append(paddle.to_tensor(a, stop_gradient=a.dtype.kind != "f") if isinstance(a, np.ndarray) else a)
    outs = cls.apply(*ts, **kw)
    outs = [o for o in (outs if isinstance(outs, (tuple, list)) else [outs])]
    if order == "between":        # an unrelated call before our backward
        cls.apply(*[paddle.to_tensor((a * 0.7 + 0.1 * (a > 0)).astype(a.dtype)) if isinstance(a, np.ndarray) and a.dtype.kind == "f" and cls.__name__ != "CholeskyLower" else t
                    for a, t in zip(arrs, ts)], **kw)
    vals = [o.numpy() for o in outs]
    if cot is None:
        return vals
    # paddle.grad, not loss.backward(): in paddle 2.6.2 a second .backward(retain_graph=True)
    # through any PyLayer kills the process with a segmentation fault
    leaves = [t for a, t in zip(arrs, ts) if isinstance(a, np.ndarray) and a.dtype.kind == "f"]
    for again in range(2 if order == "twice" else 1):
        gs = paddle.grad(outs, leaves, [paddle.to_tensor(c) for c in cot], retain_graph=order == "twice", allow_unused=True)
    grads = [None if g is None else g.numpy() for g in gs]
    for a, t in zip([a for a in arrs if isinstance(a, np.ndarray) and a.dtype.kind == "f"], leaves):
        if not np.array_equal(t.numpy(), a): notes.append("input modified")
    return vals, grads, notes


def numeric(cls, arrs, kw, cot, h=1e-5):
    out = []
    for i, a in enumerate(arrs):
        if not (isinstance(a, np.ndarray) and a.dtype.kind == "f"): continue
        n = np.zeros(a.shape)
        for j in np.ndindex(*a.shape):
            v = []
            for s in (h, -h):
                b = a.copy(); b[j] += s
                v.append(sum((o * c).sum() for o, c in zip(run(cls, [*arrs[:i], b, *arrs[i + 1:]], kw), cot)))
            n[j] = (v[0] - v[1]) / (2 * h)
        out.append(n)
    return out


def compare(cls, arrs, kw, rng, skip_none=(), orders=("plain", "twice", "between"), tol=TOL):
    cot = [np.asarray(rng.uniform(-2, 2, o.shape)) for o in run(cls, arrs, kw)]
    num = numeric(cls, arrs, kw, cot)
    bad = []
    for order in orders:
        try:
            _, g, notes = run(cls, arrs, kw, cot, order)
        except Exception as e:
            bad.append(f"{order}: backward raised {type(e).__name__}"); continue
        bad += [f"{order}: {n}" for n in notes]
        for i, (a, n) in enumerate(zip(g, num)):
            if a is None:
                if i not in skip_none: bad.append(f"{order}: grad {i} None")
            elif a.shape != n.shape: bad.append(f"{order}: grad {i} shape {a.shape} for {n.shape}")
            elif not np.isfinite(a).all(): bad.append(f"{order}: grad {i} not finite")
            else:
                err = np.abs(a - n).max(initial=0) / max(1.0, np.abs(n).max(initial=0))
                if not err <= tol: bad.append(f"{order}: grad {i} off by {err:.2g}")
    return bad


# ------------------------------------------------------------------ inputs per function
U = lambda r, *s, lo=-3.0, hi=3.0: r.uniform(lo, hi, s)
I = lambda r, n, *s: r.integers(0, n, s)
def spd(r, n, b=()):
    m = r.normal(size=(*b, n, n)); return m @ np.swapaxes(m, -1, -2) + n * np.eye(n)
def sq(r, n, b=()): return r.normal(size=(*b, n, n)) + 2 * np.eye(n)
one = lambda *fs: list(fs)
elem = one(lambda r: ([U(r, 3, 4)], {}), lambda r: ([U(r, 2, 3, 2, lo=-8, hi=8)], {}), lambda r: ([U(r, 5)], {}))
two = one(lambda r: ([U(r, 3, 4), U(r, 3, 4)], {}), lambda r: ([U(r, 6, lo=-8, hi=8), U(r, 6, lo=-8, hi=8)], {}))
snake = one(lambda r: ([U(r, 2, 3), U(r, 3, lo=.3, hi=2)], {}), lambda r: ([U(r, 2, 3, 4, lo=-8, hi=8), U(r, 3, lo=-2, hi=-.3)], {}))
shrink = one(lambda r: ([U(r, 4, 3), np.array([.7])], {}), lambda r: ([U(r, 4, lo=-8, hi=8), np.array(1.3)], {}))
hyp = two + one(lambda r: ([U(r, 3, 4), U(r, 4)], {}), lambda r: ([U(r, 3, 1), U(r, 1, 4)], {}), lambda r: ([U(r, 2, 3, 4), U(r, 3, 1)], {}))
def tok(r):
    y = I(r, 5, 2, 4); y[0, 1] = y[1, 2] = y[1, 3] = -100
    return [U(r, 2, 4, 5), y], {}
ce = one(tok, lambda r: ([U(r, 6, 4), I(r, 4, 6)], {}), lambda r: ([U(r, 6, 4), I(r, 4, 6)], {"ignore_index": 0}))
dice = one(lambda r: ([U(r, 2, 6, lo=0, hi=1), (r.uniform(size=(2, 6)) > .5) * 1.0], {}), lambda r: ([U(r, 3, 2, 2), U(r, 3, 2, 2)], {"smooth": .1}))
hub = one(lambda r: ([U(r, 4, 3), U(r, 4, 3), U(r, 4, 3, lo=0, hi=2)], {}), lambda r: ([U(r, 8), U(r, 8), U(r, 8)], {"delta": .5}))
trip = one(lambda r: ([U(r, 5, 3), U(r, 5, 3), U(r, 5, 3)], {}), lambda r: ([U(r, 6, 2), U(r, 6, 2), U(r, 6, 2)], {"margin": 1.0}))
trip_r = trip + one(*[lambda r, k=k: ([U(r, 6, 2), U(r, 6, 2), U(r, 6, 2)], {"reduction": k}) for k in ("sum", "none")])
prob = lambda r, *s: (lambda e: e / e.sum(-1, keepdims=True))(np.exp(r.normal(size=s)))
ln = one(lambda r: ([U(r, 3, 5), U(r, 5), U(r, 5)], {}), lambda r: ([U(r, 2, 3, 4, lo=-8, hi=8), U(r, 4), U(r, 4)], {}))
rms = one(lambda r: ([U(r, 3, 5), U(r, 5)], {}), lambda r: ([U(r, 2, 3, 4, lo=-8, hi=8), U(r, 4)], {}))
l2 = one(lambda r: ([U(r, 3, 4)], {}), lambda r: ([U(r, 3, 4)], {"axis": 0}), lambda r: ([U(r, 2, 3, 4)], {"axis": 1}), lambda r: ([U(r, 2, 3)], {"axis": -1, "eps": 50.0}))
rope = one(lambda r: ([U(r, 2, 3, 2, 4), np.arange(3)], {}), lambda r: ([U(r, 1, 2, 1, 6), np.array([5, 2])], {"base": 100.0}))
emb = one(lambda r: ([U(r, 5, 3), I(r, 5, 2, 6)], {}), lambda r: ([U(r, 9, 2), np.array([[1, 2], [3, 4]])], {}))
mp = one(lambda r: ([U(r, 2, 2, 9)], {}), lambda r: ([U(r, 1, 2, 8)], {"k": 2, "s": 2}), lambda r: ([U(r, 1, 1, 10, lo=-8, hi=8)], {"k": 4, "s": 2}))
conv = one(lambda r: ([U(r, 2, 2, 7), U(r, 3, 2, 3)], {}), lambda r: ([U(r, 1, 2, 8), U(r, 2, 2, 3)], {"stride": 2}), lambda r: ([U(r, 2, 2, 6), U(r, 2, 2, 3)], {"padding": 1}))
inv = one(lambda r: ([sq(r, 3)], {}), lambda r: ([sq(r, 2, (3,))], {}))
quat = one(lambda r: ([U(r, 4, 4), U(r, 4, 3)], {}), lambda r: ([U(r, 4), U(r, 3)], {}), lambda r: ([U(r, 2, 3, 4, lo=-8, hi=8), U(r, 2, 3, 3)], {}))
lse = one(lambda r: ([U(r, 3, 4)], {}), lambda r: ([U(r, 3, 3)], {"axis": -1, "keepdim": False}), lambda r: ([U(r, 2, 3, 4, lo=-8, hi=8)], {"axis": 1, "keepdim": True}), lambda r: ([U(r, 3, 4)], {"axis": 0, "keepdim": False}))
att = lambda r: [U(r, 2, 2, 3, 4), U(r, 2, 2, 5, 4), U(r, 2, 2, 5, 3)]

CASES = {
 "right_a.Mish": elem, "right_a.Sinc": elem,
 "right_a.SwishBeta": one(lambda r: ([U(r, 3, 4), np.array([1.3])], {}), lambda r: ([U(r, 5, lo=-8, hi=8), np.array([-.6])], {})),
 "right_a.SnakeBeta": snake, "right_a.Shrink": shrink, "right_a.Hypot": hyp,
 "right_a.L": one(lambda r: ([U(r, 3, 4, lo=.02, hi=.98)], {}), lambda r: ([U(r, 9, lo=-.4, hi=1.4)], {"eps": .05}), *elem),
 "right_a.LambertW0": one(lambda r: ([U(r, 3, 4, lo=.01, hi=8)], {}), lambda r: ([U(r, 5, lo=.1, hi=60)], {})),
 "right_b.MaskedCrossEntropy": ce,
 "right_b.SoftTargetCE": one(lambda r: ([U(r, 3, 4), prob(r, 3, 4)], {}), lambda r: ([U(r, 2, 3, 2), U(r, 2, 3, 2)], {"axis": 1})),
 "right_b.SigmoidFocal": one(lambda r: ([U(r, 3, 4), I(r, 2, 3, 4)], {}), lambda r: ([U(r, 6, lo=-8, hi=8), I(r, 2, 6)], {"gamma": 1.5, "alpha": .6}), lambda r: ([U(r, 4), I(r, 2, 4)], {"gamma": 0.0})),
 "right_b.HuberLoss": hub, "right_b.DiceLoss": dice, "right_b.TripletMargin": trip_r,
 "right_b.LogCosh": one(*[lambda r, k=k: ([U(r, 3, 4, lo=-8, hi=8), U(r, 3, 4)], {"reduction": k}) for k in ("mean", "sum", "none")]),
 "right_c.FusedLayerNorm": ln, "right_c.RMSNorm": rms, "right_c.L2Normalize": l2, "right_c.RoPE": rope,
 "right_c.ScaledDotProductAttention": one(lambda r: (att(r), {}), lambda r: (att(r) + [r.uniform(size=(3, 5)) > .4], {}), lambda r: (att(r) + [r.uniform(size=(2, 1, 3, 5)) > .7], {}), lambda r: (att(r), {"causal": True}),
                                          lambda r: (att(r) + [np.zeros((3, 5), bool)], {})),
 "right_c.EmbeddingBagMean": emb + one(lambda r: ([U(r, 4, 3), I(r, 4, 3, 5)], {"padding_idx": 0}), lambda r: ([U(r, 3, 2), np.array([[1, 1], [0, 1]])], {"padding_idx": 1})),
 "right_c.MaxPool1D": mp,
 "right_c.Conv1D": conv + one(lambda r: ([U(r, 2, 2, 7), U(r, 3, 2, 3), U(r, 3)], {"stride": 2, "padding": 2})),
 "right_c.CumProd": elem[::2] + one(lambda r: ([U(r, 4, 3)], {"axis": 0}), lambda r: ([np.array([1., 0, 2, 0, 3])], {})),
 "right_d.Inverse": inv, "right_d.CholeskyLower": one(lambda r: ([spd(r, 3)], {}), lambda r: ([spd(r, 4) + .1 * r.normal(size=(4, 4))], {}), lambda r: ([spd(r, 2, (3,))], {})),
 "right_d.SymExp": one(lambda r: ([U(r, 3, 3, lo=-1, hi=1)], {}), lambda r: ([U(r, 2, 2, 2)], {}), lambda r: ([np.eye(3)], {})),
 "right_d.QuatRotate": quat, "right_d.PairwiseDistance": one(lambda r: ([U(r, 3, 2), U(r, 4, 2)], {}), lambda r: ([U(r, 2, 5, lo=-8, hi=8), U(r, 2, 5)], {})),
 "right_d.Periodogram": one(lambda r: ([U(r, 8)], {}), lambda r: ([U(r, 2, 7, lo=-8, hi=8)], {})),
 "right_d.LeakyIntegrator": one(lambda r: ([U(r, 2, 6), np.array([.8])], {}), lambda r: ([U(r, 5), np.array(-1.2)], {})),
 "right_d.LSE": lse + one(lambda r: ([U(r, 2, 3, 4)], {"axis": [0, 2]})),
 "right_d.Haar": one(lambda r: ([U(r, 8)], {}), lambda r: ([U(r, 2, 3, 4)], {})),
 "right_d.Blend": one(lambda r: ([U(r, 3)] + [U(r, 2, 2) for _ in range(3)], {}), lambda r: ([U(r, 1), U(r, 4)], {})),

 "faulty_a.MishFn": elem, "faulty_a.Snake": snake, "faulty_a.SoftThreshold": shrink, "faulty_a.Magnitude": hyp, "faulty_a.SiLU": elem, "faulty_a.SELU": elem,
 "faulty_a.CELU": elem + one(lambda r: ([U(r, 4, 3)], {"alpha": .5})), "faulty_a.LogAddExp": two,
 "faulty_a.N": one(lambda r: ([U(r, 3, 4)], {}), lambda r: ([U(r, 3, 4, lo=.2, hi=3)], {}), lambda r: ([U(r, 3, 4)], {"p": 4.0, "axis": 0})),
 "faulty_b.TokenNLL": ce, "faulty_b.SoftDice": dice, "faulty_b.SmoothL1": hub, "faulty_b.TripletLoss": trip,
 "faulty_b.KLBatchMean": one(lambda r: ([U(r, 3, 4), prob(r, 3, 4)], {})),
 "faulty_b.GaussianNLL": one(lambda r: ([U(r, 3, 4), U(r, 3, 4), U(r, 3, 4)], {})),
 "faulty_b.InfoNCE": one(lambda r: ([U(r, 4, 3), U(r, 4, 3)], {})),
 "faulty_b.BCEProb": one(lambda r: ([U(r, 3, 4, lo=.05, hi=.95), I(r, 2, 3, 4)], {}), lambda r: ([U(r, 8, lo=-.3, hi=1.3), I(r, 2, 8)], {"eps": .05})),
 "faulty_c.LayerNormLast": ln, "faulty_c.RMSNormRef": rms, "faulty_c.UnitNorm": l2, "faulty_c.RotaryEmbedding": rope, "faulty_c.BagOfEmbeddings": emb,
 "faulty_c.SlidingMax": mp, "faulty_c.ConvNCL": conv,
 "faulty_c.SegmentMean": one(lambda r: ([U(r, 6, 2), np.array([0, 1, 1, 3, 0, 1]), 4], {})),
 "faulty_c.BatchStandardize": one(lambda r: ([U(r, 5, 3)], {})),
 "faulty_c.AvgPool2D": one(lambda r: ([U(r, 1, 2, 4, 4)], {}), lambda r: ([U(r, 1, 1, 4, 4)], {"padding": 1})),
 "faulty_d.MatInv": inv, "faulty_d.RotateByQuaternion": quat, "faulty_d.LogSumExp": lse, "faulty_d.CartToPolar": two,
 "faulty_d.HeatStep": one(lambda r: ([U(r, 2, 6), np.array([.2])], {}), lambda r: ([U(r, 5), np.array(.4)], {})),
 "faulty_d.CoulombEnergy": one(lambda r: ([U(r, 4, 3), U(r, 4)], {})),
 "faulty_d.GatedUnit": two,

 "surrogates.SignSTE": elem, "surrogates.FakeQuant": elem, "surrogates.Spike": elem, "surrogates.GradReverse": elem,
}
CONSTANT = {"right_b.HuberLoss": (2,)}          # float inputs whose gradient is None by design


def main():
    index = json.load(open(os.path.join(HERE, "index.json")))
    wrong = 0
    for e in index:
        key = e["file"][:-3] + "." + e["name"]
        cls = getattr(importlib.import_module(e["file"][:-3]), e["name"])
        rows = []
        for c, case in enumerate(CASES[key]):
            for seed in range(3):
                r = np.random.default_rng(100 * c + seed)
                arrs, kw = case(r)
                arrs = [np.array(a, dtype="float64") if isinstance(a, (np.ndarray, np.floating)) and np.asarray(a).dtype.kind == "f" else a for a in arrs]
                rows.append((c, compare(cls, arrs, kw, r, CONSTANT.get(key, ()))))
        nbad = [(c, b) for c, b in rows if b]
        ok = (not nbad) if e["kind"] == "right" else bool(nbad)
        wrong += not ok
        msg = "" if not nbad else f"  e.g. case {nbad[0][0]}: {nbad[0][1][0]}"
        print(f"{'ok ' if ok else 'BAD'} {e['kind']:9} {key:38} disagree {len(nbad)}/{len(rows)}{msg}")
    n = {k: sum(e["kind"] == k for e in index) for k in ("right", "faulty", "surrogate")}
    print(n, "unconfirmed:", wrong)
    assert wrong == 0


def fuzz():
    """Whatever a right forward accepts in silence: same-shape, mixed and broadcast shapes, |x| <= 8."""
    shapes = [(), (1,), (3,), (4,), (1, 3), (3, 1), (3, 3), (2, 3), (2, 4), (3, 4), (2, 3, 4), (2, 2, 4), (1, 2, 3, 4)]
    for e in json.load(open(os.path.join(HERE, "index.json"))):
        if e["kind"] != "right": continue
        key = e["file"][:-3] + "." + e["name"]
        cls = getattr(importlib.import_module(e["file"][:-3]), e["name"])
        r = np.random.default_rng(7)
        base, _ = CASES[key][0](r)
        kinds = [a.dtype.kind for a in base]
        combos = list(itertools.product(shapes, repeat=len(kinds)))
        if len(combos) > 250: combos = [combos[i] for i in r.choice(len(combos), 250, replace=False)] + [(s,) * len(kinds) for s in shapes]
        ran, raised, bad = 0, 0, []
        for lim in (2.0, 8.0):
            for sh in combos:
                arrs = [np.asarray(r.uniform(-lim, lim, s)) if k == "f" else (np.asarray(r.uniform(size=s) > .5) if k == "b" else np.asarray(r.integers(0, 2, s))) for k, s in zip(kinds, sh)]
                if cls.__name__ in ("LambertW0",): arrs = [np.abs(a) for a in arrs]
                try:
                    out = run(cls, arrs, {})
                except Exception: raised += 1; continue
                ran += 1
                b = compare(cls, arrs, {}, r, CONSTANT.get(key, ()), ("plain",), 1e-4)
                if b: bad.append((sh, lim, b[0]))
        print(f"{'ok ' if not bad else '???'} {key:38} accepted {ran} raised {raised} bad {len(bad)} {bad[:4]}")


if __name__ == "__main__":
    fuzz() if "fuzz" in sys.argv else main()
