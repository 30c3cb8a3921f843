import sys, importlib, warnings
warnings.filterwarnings("ignore")
import jax; jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp, numpy as np
import os; sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
def isf(a): return isinstance(a, (np.ndarray,)) and np.issubdtype(a.dtype, np.inexact)
def check(f, args, eps=1e-6):
    leaves, tree = jax.tree_util.tree_flatten(args)
    fi = [i for i, a in enumerate(leaves) if isf(a)]
    def g(*fs):
        l = list(leaves)
        for i, v in zip(fi, fs): l[i] = v
        return f(*jax.tree_util.tree_unflatten(tree, l))
    fs = [leaves[i] for i in fi]
    prim = g(*fs)
    out, vjp = jax.vjp(g, *[jnp.asarray(v) for v in fs])
    note = ""
    rng = np.random.default_rng(1)
    po, pt = jax.tree_util.tree_flatten(out)
    pp = jax.tree_util.tree_leaves(prim)
    for a, b in zip(po, pp):
        if np.shape(a) != np.shape(b) or not np.allclose(a, b, 1e-12, 1e-12): note += " fwd!=f"
    cots = [(rng.normal(size=o.shape) + (1j * rng.normal(size=o.shape) if np.iscomplexobj(o) else 0)) if jnp.issubdtype(o.dtype, jnp.inexact) else np.zeros(o.shape, jax.dtypes.float0) for o in po]
    grads = vjp(jax.tree_util.tree_unflatten(pt, [jnp.asarray(c) if c.dtype != jax.dtypes.float0 else c for c in cots]))
    gj = jax.jit(g)
    def loss(*v):
        s = 0.0
        for o, c in zip(jax.tree_util.tree_leaves(gj(*v)), cots):
            if c.dtype != jax.dtypes.float0: s += float(np.real(np.sum(np.asarray(o) * c)))
        return s
    worst, where = 0.0, ""
    for i, v in enumerate(fs):
        num = np.zeros(v.shape, v.dtype)
        for k in np.ndindex(*v.shape):
            for d in ((1, 1j) if np.iscomplexobj(v) else (1,)):
                a = v.copy(); a[k] += eps * d
                b = v.copy(); b[k] -= eps * d
                fsa = list(fs); fsa[i] = a; fsb = list(fs); fsb[i] = b
                dv = (loss(*fsa) - loss(*fsb)) / (2 * eps)
                num[k] += dv if d == 1 else -1j * dv
        e = np.max(np.abs(np.asarray(grads[i]) - num)) / (np.max(np.abs(num)) + 1e-3) if v.size else 0.0
        if not (e <= worst): worst, where = float(e), f"arg{i}"
    return worst, where + note
m = importlib.import_module(sys.argv[1])
for key, (f, cases) in m.CASES.items():
    for label, mk in cases.items():
        try:
            m.rng = np.random.default_rng(5)
            e, n = check(f, mk())
            print(f"{key}\t{'ok' if e < 2e-6 and 'fwd!' not in n else 'BAD'}\t{label}\t{e:.2e} {n}", flush=True)
        except Exception as ex:
            print(f"{key}\tRAISE\t{label}\t{type(ex).__name__}: {str(ex)[:100]}", flush=True)
