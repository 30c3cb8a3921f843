import sys, importlib, warnings
warnings.filterwarnings("ignore")
import numpy as np, paddle
import os; sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
class K:   # constant float
    def __init__(s, a): s.a = np.asarray(a)
def T(a, grad):
    t = paddle.to_tensor(a, stop_gradient=not grad); return t
def flat(o): return list(o) if isinstance(o, (list, tuple)) else [o]
def build(args):
    leaves, out = [], []
    for a in args:
        if isinstance(a, K): out.append(T(a.a, False))
        elif isinstance(a, np.ndarray):
            g = np.issubdtype(a.dtype, np.inexact); t = T(a, g); out.append(t)
            if g: leaves.append(t)
        elif isinstance(a, (list, tuple)) and a and isinstance(a[0], np.ndarray):
            l = [T(x, np.issubdtype(x.dtype, np.inexact)) for x in a]; out.append(l); leaves += [t for t in l if not t.stop_gradient]
        else: out.append(a)
    return out, leaves
def check(f, args, eps=1e-6):
    ts, leaves = build(args)
    before = [l.numpy().copy() for l in leaves]
    out = flat(f(*ts))
    rng = np.random.default_rng(1)
    cots = [rng.normal(size=o.shape) if o.dtype in (paddle.float64, paddle.float32) and not o.stop_gradient else None for o in out]
    s = None
    for o, c in zip(out, cots):
        if c is None: continue
        v = (o * paddle.to_tensor(c).astype(o.dtype)).sum(); s = v if s is None else s + v
    s.backward()
    grads = [None if l.grad is None else l.grad.numpy() for l in leaves]
    note = ""
    for l, b in zip(leaves, before):
        if not np.array_equal(l.numpy(), b): note += " input-written"
    def loss(args):
        with paddle.no_grad():
            t, _ = build(args); return sum(float((o.numpy() * c).sum()) for o, c in zip(flat(f(*t)), cots) if c is not None)
    worst, where, li = 0.0, "", 0
    for ai, a in enumerate(args):
        if isinstance(a, np.ndarray) and np.issubdtype(a.dtype, np.inexact): parts = [(None, a)]
        elif isinstance(a, (list, tuple)) and a and isinstance(a[0], np.ndarray): parts = list(enumerate(a))
        else: continue
        for pi, arr in parts:
            num = np.zeros(arr.shape)
            for k in np.ndindex(*arr.shape):
                v = []
                for sgn in (1, -1):
                    b = arr.copy(); b[k] += sgn * eps
                    aa = list(args); aa[ai] = b if pi is None else [b if j == pi else x for j, x in enumerate(a)]
                    v.append(loss(aa))
                num[k] = (v[0] - v[1]) / (2 * eps)
            g = grads[li]; li += 1
            if g is None: note += f" grad{ai}=None"; g = np.zeros(arr.shape)
            if list(g.shape) != list(num.shape): note += f" shape{ai} {g.shape}"; worst = float("inf"); continue
            e = np.max(np.abs(g - num)) / (np.max(np.abs(num)) + 1e-3) if num.size else 0.0
            if not (e <= worst): worst, where = float(e), f"arg{ai}"
    return worst, where + note
if __name__ == "__main__":
    sys.modules["paddle_oracle"] = sys.modules["__main__"]
    m = importlib.import_module(sys.argv[1])
    for key, (f, cases) in m.CASES.items():
        for label, mk in cases.items():
            try:
                m.rng = np.random.default_rng(5)
                e, n = check(f, mk())
                print(f"{key}\t{'ok' if e < 2e-6 else 'BAD'}\t{label}\t{e:.2e} {n}", flush=True)
            except Exception as ex:
                print(f"{key}\tRAISE\t{label}\t{type(ex).__name__}: {str(ex)[-150:]}".replace("\n", " ") , flush=True)
