"""python torch_oracle.py cases_module  -> prints lines file::name TAB ok|BAD TAB case TAB figure"""
import sys, importlib.util, importlib, torch, warnings
warnings.filterwarnings("ignore")
import os; sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
torch.manual_seed(0)

def loss_of(out, cots):
    s = 0.0
    for o, c in zip(out, cots):
        if c is None: continue
        s = s + ((o * c.conj()).real.sum() if o.is_complex() else (o * c).sum())
    return s

def flat(out):
    return list(out) if isinstance(out, (tuple, list)) else [out]

def check(f, args, eps=1e-6):
    leaves = []
    def prep(a):
        if isinstance(a, torch.Tensor) and (a.is_floating_point() or a.is_complex()) and getattr(a, "_nograd", False) is False:
            b = a.clone().requires_grad_(True); leaves.append(b); return b
        if isinstance(a, (list, tuple)) and any(isinstance(t, torch.Tensor) for t in a):
            return type(a)(prep(t) for t in a)
        return a
    pargs = [prep(a) for a in args]
    out = flat(f(*pargs))
    befores = [l.detach().clone() for l in leaves]
    torch.manual_seed(1)
    cots = [torch.randn_like(o) if (o.is_floating_point() or o.is_complex()) and o.requires_grad else None for o in out]
    cc = [None if c is None else c.clone() for c in cots]
    os_ = [o for o, c in zip(out, cots) if c is not None]
    grads = torch.autograd.grad(os_, leaves, [c for c in cots if c is not None], allow_unused=True, retain_graph=True)
    note = ""
    for c, d in zip(cots, cc):
        if c is not None and not torch.equal(c, d): note += " dy-written"
    worst = 0.0; where = ""
    fullg = False
    for li, l in enumerate(leaves):
        g = grads[li]
        num = torch.zeros_like(l)
        flatl = l.detach()
        dirs = [1.0, 1j] if l.is_complex() else [1.0]
        for k in range(l.numel()):
            val = 0
            for d in dirs:
                vs = []
                for s in (eps, -eps):
                    with torch.no_grad():
                        old = flatl.reshape(-1)[k].clone()
                        assert flatl.is_contiguous()
                        flatl.view(-1)[k] = old + s * d
                        vs.append(float(loss_of(flat(f(*[p for p in pargs])), cots)))
                        flatl.view(-1)[k] = old
                val = val + d * (vs[0] - vs[1]) / (2 * eps)
            num.view(-1)[k] = val
        gg = torch.zeros_like(l) if g is None else g
        if g is None: note += f" grad{li}=None"
        if gg.shape != num.shape: note += f" shape{li}"; worst = float("inf"); continue
        e = ((gg - num).abs().max() / (num.abs().max() + 1e-3)).item() if num.numel() else 0.0
        if not (e <= worst): worst, where = e, f"arg{li}"
    for l, b in zip(leaves, befores):
        if not torch.equal(l.detach(), b): note += " input-written"
    # again, to catch stale state
    return worst, where + note

def main(modname):
    m = importlib.import_module(modname)
    for key, (f, cases) in m.CASES.items():
        for label, mk in cases.items():
            try:
                torch.manual_seed(3)
                e, note = check(f, mk())
                print(f"{key}\t{'ok' if e < 2e-6 else 'BAD'}\t{label}\t{e:.2e} {note}")
            except Exception as ex:
                print(f"{key}\tRAISE\t{label}\t{type(ex).__name__}: {str(ex)[:100]}")
main(sys.argv[1])
