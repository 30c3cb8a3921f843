import sys,importlib,torch
import os; sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import t_spec
torch.set_num_threads(1)
for m,d in t_spec.S.items():
    mod=importlib.import_module(m)
    names=[n for n,c in vars(mod).items() if isinstance(c,type) and issubclass(c,torch.autograd.Function) and n!='Function']
    for n in names:
        F=getattr(mod,n); res=[]
        if n not in d: print(m,n,'NOSPEC'); continue
        for seed in (0,1):
          torch.manual_seed(seed)
          for k,args in enumerate(d[n]()):
            args=tuple(a.requires_grad_() if torch.is_tensor(a) and (a.is_floating_point() or a.is_complex()) else a for a in args)
            try: ok=torch.autograd.gradcheck(F.apply,args,raise_exception=True,atol=1e-6,rtol=1e-5); res.append('ok')
            except Exception as e: res.append('BAD' if 'Jacobian' in str(e) or 'not reentrant' in str(e) else 'ERR '+str(e)[:80])
        print(f'{m}::{n}\t{res}')
