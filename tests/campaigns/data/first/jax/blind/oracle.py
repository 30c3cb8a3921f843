import sys,importlib,numpy as np,jax,jax.numpy as jnp
jax.config.update('jax_enable_x64',True)
import os; sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
R=np.random.default_rng(0)
def N(*s): return jnp.array(R.standard_normal(s))
def U(*s): return jnp.array(R.random(s)+.5)
def I(hi,*s): return jnp.array(R.integers(0,hi,s))
A=jnp.array
def M(*s): return jnp.array(R.random(s)>.4)
def W0(n): return N(n,n)+3*jnp.eye(n)
def SPD(n): a=N(n,n); return a@a.T+n*jnp.eye(n)+.1*N(n,n)
S={
"j1":{"mish":lambda:[(N(5),)],"serf":lambda:[(N(5),)],"aria":lambda:[(N(5),),(N(3,2),.5,2.)],
"channel_leaky":lambda:[(N(5,3),N(3)),(N(5,1),N(1))],"triangle_wave":lambda:[(N(5),),(5*N(5),.7)],"log1mexp":lambda:[(U(5),),(U(3)*.1,)],
"soft_clip":lambda:[(N(4),N(),N()),(N(4,2),N(),N())],"cube_root":lambda:[(N(5),)],"signed_power":lambda:[(N(5),N(5)),(U(3),N(3))],
"biweight":lambda:[(N(5),),(4*N(9),),(N(9),.5)],"exprel":lambda:[(N(5),),(.03*N(9),),(A([0.,.0199,.0201]),)]},
"j2":{"xent_mean":lambda:[(N(3,4),I(4,3)),(N(3,4),A([-1,4,0]))],"poly_xent":lambda:[(N(3,4),I(4,3)),(N(3,4),I(4,3),0.)],
"info_nce":lambda:[(N(4,3),N(4,3),U())],"huber_mean":lambda:[(3*N(9),N(9)),(3*N(9),N(9),.5)],"kl_diag_gauss":lambda:[(N(3,2),N(3,2),N(3,2),N(3,2))],
"poisson_nll":lambda:[(N(4),I(5,4)),(N(4),U(4))],"tversky":lambda:[(U(5)-.5,U(5)-.5),(U(5)-.5,U(5)-.5,.3,.7)],"ranknet":lambda:[(N(6),I(3,6))],
"ordinal_loss":lambda:[(N(4),N(3),I(4,4)),(N(1),N(3),I(4,1))],"margin_xent":lambda:[(N(3,4),I(4,3)),(N(3,4),I(4,3),0.)],"masked_mse":lambda:[(N(3,4),N(3,4),M(3,4)),(N(3),N(3),M(3)&False)]},
"j3":{"linear_attention":lambda:[(N(3,4),N(5,4),N(5,2))],"sigmoid_attention":lambda:[(N(3,4),N(5,4),N(5,2)),(N(3,1),N(5,1),N(5,2))],
"gained_rms":lambda:[(N(3,4),N()),(N(4),N())],"layer_norm":lambda:[(N(3,4),N(4),N(4)),(N(2,3,4),N(4),N(4),.1),(N(4),N(4),N(4))],
"batch_standard":lambda:[(N(5,3),)],"band_softmax":lambda:[(N(4,4),),(N(5,5),2)],"gru_mix":lambda:[(N(4),N(4),N(4))],
"decay_scan":lambda:[(N(5,2),N(5,2),N(2)),(N(1,2),N(1,2),N(2))],"running_lse":lambda:[(N(5),),(N(1),)],"gated_scan":lambda:[(N(5,2),N(5,2),N(5,2)),(N(1,2),N(1,2),N(1,2))],
"topk_gate":lambda:[(N(3,4),),(N(3,4),1),(N(3,4),4)]},
"j4":{"rotate2d":lambda:[(N(3),N(3,2))],"quat_mul":lambda:[(N(3,4),N(3,4))],"quat_matrix":lambda:[(N(4),)],"polar":lambda:[(N(4),N(4))],
"ray_sphere":lambda:[(.3*N(4,3),N(4,3),A(2.))],"homography":lambda:[(W0(3),N(4,2))],"haversine":lambda:[(N(4)*.5,N(4),N(4)*.5,N(4))],
"facet_normal":lambda:[(N(3,3),N(3,3),N(3,3))],"sample_image":lambda:[(N(4,5),2*N(6,2)+1),(N(2,2),U(6,2)-.5)],"lerp_rows":lambda:[(N(4,2),U(5)-.5),(N(4,2),3*N(8))],
"stereographic":lambda:[(N(4,2),)]},
"j5":{"solve_lower":lambda:[(W0(3),N(3))],"spd_logdet":lambda:[(SPD(3),)],"inverse_quadratic":lambda:[(SPD(3),N(3))],"kronecker":lambda:[(N(2,3),N(3,2))],
"ridge_fit":lambda:[(N(5,3),N(5),U()),(N(2,3),N(2),U())],"covariance":lambda:[(N(5,3),),(N(5,1),)],"bin_sums":lambda:[(N(5,2),I(4,5)),(N(3,2),A([0,7,-1]))],
"gather_cols":lambda:[(N(3,4),A([[0,1],[2,3],[1,0]])),(N(2,4),A([[0,0],[2,2]]))],"segment_softmax":lambda:[(N(6),I(3,6))],"coo_matvec":lambda:[(N(6),I(4,6),I(3,6),N(3))],
"masked_bag_mean":lambda:[(N(5,2),I(5,3,4),M(3,4)),(N(5,2),I(5,3,4),M(3,4)|True)],"conv_same":lambda:[(N(6,2),N(3,2,2)),(N(5,1),N(4,1,2)),(N(2,1),N(5,1,1))]},
"j6":{"rbf_gram":lambda:[(N(3,2),N(4,2),U())],"morse":lambda:[(U(4),U(),U(),U())],"spectral_radiance":lambda:[(3*U(4),)],"eccentric_anomaly":lambda:[(3*N(6),),(3*N(20),.9)],
"equilibrium":lambda:[(N(4),N(4))],"present_value":lambda:[(N(4),U()*.1)],"sharpe":lambda:[(N(5),)],"power_spectrum":lambda:[(N(6),),(N(5),),(N(1),)],
"autocorrelation":lambda:[(N(6),),(N(4),1)],"preemphasis":lambda:[(N(5),),(N(1),)],"lorenz_step":lambda:[(N(3,3),)]}}
for m,d in S.items():
    mod=importlib.import_module(m)
    for n,f in vars(mod).items():
        if type(f).__name__ not in('custom_vjp','custom_jvp'): continue
        if n not in d: print(m,n,'NOSPEC'); continue
        res=[]
        for rep in range(2):
          for args in d[n]():
            fi=[i for i,a in enumerate(args) if hasattr(a,'dtype') and jnp.issubdtype(a.dtype,jnp.floating)]
            def wrap(g):
                def h(*fa):
                    b=list(args)
                    for i,a in zip(fi,fa): b[i]=a
                    return g(*b)
                return h
            try:
                fa=[args[i] for i in fi]
                y1,v1=jax.vjp(wrap(f),*fa); y2,v2=jax.vjp(wrap(f.__wrapped__),*fa)
                bad=[]
                leaves,td=jax.tree.flatten(y2)
                ct=jax.tree.unflatten(td,[jnp.array(R.standard_normal(l.shape)) for l in leaves])
                for l1,l2 in zip(jax.tree.leaves(y1),leaves):
                    if not np.allclose(l1,l2,rtol=1e-12,atol=1e-13): bad.append('VALUE')
                g1,g2=v1(ct),v2(ct)
                for i,a,b in zip(fi,g1,g2):
                    # numeric too
                    num=np.zeros(np.shape(args[i])); x0=np.array(args[i])
                    for k in np.ndindex(x0.shape):
                        dd=0
                        for s in(1,-1):
                            x=x0.copy(); x[k]+=s*1e-6
                            q=list(args); q[i]=jnp.array(x)
                            dd+=s*sum(float((u*w).sum()) for u,w in zip(jax.tree.leaves(f.__wrapped__(*q)),jax.tree.leaves(ct)))
                        num[k]=dd/2e-6
                    ea=np.max(np.abs(np.array(a)-num)/(1+np.abs(num)),initial=0); eb=np.max(np.abs(np.array(b)-num)/(1+np.abs(num)),initial=0)
                    if not ea<1e-5: bad.append(f'in{i}:{ea:.1e}(auto {eb:.0e})')
                res.append(','.join(bad) or 'ok')
            except Exception as e: res.append('ERR '+str(e)[:100])
        print(f'{m}::{n}\t{res}',flush=True)
