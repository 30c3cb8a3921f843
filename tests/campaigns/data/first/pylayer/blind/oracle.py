import sys,importlib,numpy as np,paddle
import os; sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
R=np.random.default_rng(0)
def N(*s): return R.standard_normal(s)
def U(*s): return R.random(s)+.5
def P(*s): return R.random(s)*.9+.05
def I(hi,*s): return R.integers(0,hi,s)
A=np.array
def SPD(n): a=N(n,n); return a@a.T+n*np.eye(n)+.1*N(n,n)
S={
"p1":{"CELU":lambda:[(N(5),),(N(3,2),.4)],"ScaledSoftsign":lambda:[(N(5),),(N(5),2.)],"GeGLU":lambda:[(N(3,4),)],"GatedLinear":lambda:[(2*N(20),)],
"LearnedSwish":lambda:[(N(3,4),N(4)),(N(3,4),N(3,1)),(N(1),N(3)),(N(3,4),N())],"PieceMax":lambda:[(N(3,6),),(N(3,6),3),(N(3,6),1)],"HardGate":lambda:[(3*N(6),),(3*N(6),-.5)],
"GuardedLogit":lambda:[(P(5),),(N(6),.1)],"SineLayer":lambda:[(N(5),),(N(5),3.)],"TanhCubed":lambda:[(N(5),)]},
"p2":{"SmoothL1":lambda:[(N(3,2),N(3,2),b,r) for b in(1.,.3) for r in('mean','sum','none')],"WeightedLogitLoss":lambda:[(N(4),I(2,4)*1.),(N(4),A([0.,1,1,0]),3.)],
"MarginRank":lambda:[(N(4),N(4),2*I(2,4)-1)],"CenterLoss":lambda:[(N(3,2),A([0,1,2]),N(3,2)),(N(3,2),A([1,1,2]),N(3,2))],"JensenShannon":lambda:[(P(3,4),P(3,4))],
"GaussianNLL":lambda:[(N(4),N(4),N(4))],"SmoothVariation":lambda:[(N(4,5),),(N(2,2),)],"MeanEntropy":lambda:[(N(3,4),)],"SquaredHinge":lambda:[(N(5),2*I(2,5)-1)],
"RelativeError":lambda:[(N(6),N(6)),(N(6),N(6),.7)]},
"p3":{"AffineLayerNorm":lambda:[(N(3,4),N(4),N(4))],"TrainBatchNorm":lambda:[(N(5,3),N(3),N(3)),(N(1,3),N(3),N(3))],"InstanceStandard":lambda:[(N(2,3,4),)],
"AxisSoftmax":lambda:[(N(3,4),),(N(3,4),0)],"RowLogSoftmax":lambda:[(N(3,4),)],"MaskedAttention":lambda:[(N(3,4),N(5,4),N(5,2),R.random((3,5))>.4),(N(1,4),N(2,4),N(2,2),A([[False,False]]))],
"RelativeBias":lambda:[(N(4,4),N(7)),(N(1,1),N(1))],"AttentionPool":lambda:[(N(2,3,4),N(4))],"ResponseNorm":lambda:[(N(3,4),),(N(3,4),1.,2.)],"SwitchScale":lambda:[(N(3,4),N(3,3),N(3,4))]},
"p4":{"ScaledEmbedding":lambda:[(N(4,2),A([1,1,3]))],"GroupTotals":lambda:[(N(5,2),I(4,5))],"PickPairs":lambda:[(N(3,4),A([0,1]),A([2,3])),(N(3,4),A([1,1]),A([2,2]))],
"BlockMean":lambda:[(N(3,4),),(N(2,6),3)],"SlidingMax":lambda:[(N(6),),(N(7),3,1),(N(9),2,3)],"LastStep":lambda:[(N(3,4,2),A([1,4,2])),(N(2,4,2),A([0,9]))],"MirrorPad":lambda:[(N(5),),(N(5),3),(N(5),0)],
"LagDifference":lambda:[(N(3,5),),(N(2,4),2)],"ExclusiveSum":lambda:[(N(3,5),)],"Ranked":lambda:[(N(6),),(A([1.,2,3]),)],"RepeatUp":lambda:[(N(2,3),),(N(2,3),2)]},
"p5":{"PlaneDistance":lambda:[(N(4,3),N(3),N(1))],"PlanarCompose":lambda:[(N(3,3),N(3,2))],"RowQuadratic":lambda:[(N(3,2),N(2,2))],"NearestCost":lambda:[(N(5,2),N(3,2))],
"TraceOfProduct":lambda:[(N(3,3),N(3,3))],"MatrixCube":lambda:[(N(3,3),)],"OrthogonalPenalty":lambda:[(N(4,3),)],"Trilinear":lambda:[(N(2,3),N(3,4,5),N(2,4))],
"CholeskyLogDet":lambda:[(SPD(3),)],"CircularFilter":lambda:[(N(5),N(5))]},
"p6":{"MomentumStep":lambda:[(N(3),N(3),N(3)),(N(3),N(3),N(3),.1,.9,True)],"AverageCall":lambda:[(N(6,3),N(1))],"DampedWave":lambda:[(U(4),U(4),U(4)*2)],"ChargeEnergy":lambda:[(N(4,3),N(4))],
"Saturation":lambda:[(U(3,4),U(4),U(3,1)),(U(4),U(),U()),(U(4),U(4),U(4))],"BetaLogPdf":lambda:[(P(4),U(4),U(4))],"Sinc":lambda:[(N(6),),(.04*N(9),),(A([0.,1.,.0318,.0319]),)],
"ColumnStats":lambda:[(N(4,3),)],"LeakyIntegrator":lambda:[(N(5),U(1)),(N(1),U(1))],"WindowedEnergy":lambda:[(N(6),)],"RangeSigmoid":lambda:[(N(4),N(1),N(1))]}}
from paddle.autograd import PyLayer
def t(a,grad=False):
    if not isinstance(a,np.ndarray) and not isinstance(a,np.generic): return a
    a=np.asarray(a); x=paddle.to_tensor(a); x.stop_gradient=not(a.dtype==np.float64 and grad); return x
for m,d in S.items():
    mod=importlib.import_module(m)
    for n,f in vars(mod).items():
        if not(isinstance(f,type) and issubclass(f,PyLayer) and f is not PyLayer): continue
        if n not in d: print(m,n,'NOSPEC'); continue
        res=[]
        for rep in range(2):
          for args in d[n]():
            try:
                xs=[t(a,True) for a in args]
                out=f.apply(*xs); outs=out if isinstance(out,(tuple,list)) else [out]
                ct=[R.standard_normal(o.shape) for o in outs]
                paddle.autograd.backward(list(outs),[paddle.to_tensor(np.asarray(c)) for c in ct])
                bad=[]
                for i,x in enumerate(xs):
                    if not isinstance(x,paddle.Tensor) or x.stop_gradient: continue
                    x0=np.asarray(args[i]); num=np.zeros(x0.shape)
                    for k in np.ndindex(x0.shape):
                        for s in(1,-1):
                            y=x0.copy(); y[k]+=s*1e-6
                            q=[t(a) for a in args]; q[i]=t(y)
                            o=f.apply(*q); o=o if isinstance(o,(tuple,list)) else [o]
                            num[k]+=s*sum(float((np.asarray(u.numpy())*c).sum()) for u,c in zip(o,ct))/2e-6
                    gr=x.grad
                    if gr is None: bad.append(f'in{i}:None(num {np.abs(num).max():.1e})'); continue
                    gr=gr.numpy()
                    if gr.shape!=x0.shape: bad.append(f'in{i}:shape {gr.shape}')
                    e=np.max(np.abs(gr-num)/(1+np.abs(num)),initial=0)
                    if not e<1e-5: bad.append(f'in{i}:{e:.1e}')
                res.append(','.join(bad) or 'ok')
            except Exception as e: res.append('ERR '+str(e).strip()[-160:].replace('\n',' '))
        print(f'{m}::{n}\t{res}',flush=True)
