"""Datasets, samplers, the DataLoader, metrics.

Runs under Paddle 2.6.2 and under opkit; prints one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact.
"""

import paddle, numpy as np
from paddle.io import *
class D(Dataset):
    def __init__(s,n=5): s.n=n
    def __getitem__(s,i): return np.array([i,i+1],'float32'), i
    def __len__(s): return s.n
def show(l,f):
    try: print('#@',l,'->',f(),flush=True)
    except BaseException as e: print('#@',l,'!!',','.join(k.__name__ for k in type(e).__mro__),flush=True)
def dump(b):
    if isinstance(b,(list,tuple)): return [type(b).__name__]+[dump(x) for x in b]
    if isinstance(b,dict): return {k:dump(v) for k,v in b.items()}
    if isinstance(b,paddle.Tensor): return ('T',b.shape,str(b.dtype),b.stop_gradient,b.tolist())
    return (type(b).__name__,b if not hasattr(b,'tolist') else b.tolist())
show('plain',lambda:[dump(b) for b in DataLoader(D(),batch_size=2)])
show('drop',lambda:[dump(b) for b in DataLoader(D(),batch_size=2,drop_last=True)])
def sh(seed,**k):
    np.random.seed(seed); return [b[1].tolist() for b in DataLoader(D(8),**k)]
show('shuffle',lambda:(sh(0,batch_size=3,shuffle=True),sh(1,batch_size=3,shuffle=True)))
show('none',lambda:[dump(b) for b in DataLoader(D(2),batch_size=None)])
show('collate',lambda:[dump(b) for b in DataLoader(D(4),batch_size=2,collate_fn=lambda x:[len(x),np.stack([a for a,_ in x])])])
class It(IterableDataset):
    def __iter__(s):
        for i in range(5): yield np.float32(i), {'a':i,'s':'x%d'%i}
show('iter',lambda:[dump(b) for b in DataLoader(It(),batch_size=2)])
show('iter drop',lambda:[dump(b) for b in DataLoader(It(),batch_size=2,drop_last=True)])
show('len',lambda:(len(DataLoader(D(),batch_size=2)),len(DataLoader(D(),batch_size=2,drop_last=True))))
show('E len',lambda:len(DataLoader(It(),batch_size=2)))
show('E shuffle iter',lambda:DataLoader(It(),batch_size=2,shuffle=True))
show('E bs',lambda:DataLoader(D(),batch_size=0))
show('sampler',lambda:[b[1].tolist() for b in DataLoader(D(),batch_sampler=BatchSampler(sampler=SequenceSampler(D()),batch_size=2))])
show('E both',lambda:DataLoader(D(),batch_sampler=BatchSampler(D()),shuffle=True))
show('bs',lambda:(list(BatchSampler(D(),batch_size=2)),list(BatchSampler(D(),batch_size=2,drop_last=True)),len(BatchSampler(D(),batch_size=2))))
show('E bs none',lambda:BatchSampler())
show('E bs both',lambda:BatchSampler(D(),sampler=SequenceSampler(D())))
def rs(**k):
    np.random.seed(3); s=RandomSampler(D(6),**k); return list(s),len(s)
show('rs',lambda:rs()); show('rs rep',lambda:rs(replacement=True)); show('rs n',lambda:rs(replacement=True,num_samples=4)); show('rs n2',lambda:rs(num_samples=4))
show('rs gen',lambda:rs(generator=iter([5,4,3,2,1,0])))
def ws(*a,**k):
    np.random.seed(3); s=WeightedRandomSampler(*a,**k); return list(s),len(s)
show('ws',lambda:ws([0.1,0.9,0.5],5)); show('ws no',lambda:ws([0.1,0.9,0.5],2,replacement=False)); show('E ws',lambda:ws([0.1],2,replacement=False)); show('E ws neg',lambda:ws([-0.1,1],2))
def srs():
    s=SubsetRandomSampler([4,7,9]); return sorted(s),len(s)
show('srs',srs)
show('td',lambda:dump(TensorDataset([paddle.to_tensor([[1.,2],[3,4]]),paddle.to_tensor([5,6])])[1]))
show('E td',lambda:TensorDataset([paddle.to_tensor([[1.,2]]),paddle.to_tensor([5,6])]))
show('td load',lambda:[dump(b) for b in DataLoader(TensorDataset([paddle.to_tensor([[1.,2],[3,4]]),paddle.to_tensor([5,6])]),batch_size=2)])
show('subset',lambda:(lambda s:(len(s),s[1][1]))(Subset(D(),[4,2])))
show('split',lambda:(lambda s:([len(x) for x in s],sorted(x[i][1] for x in s for i in range(len(x)))))(random_split(D(),[3,2])))
show('E split',lambda:random_split(D(),[3,3]))
show('concat',lambda:(lambda s:(len(s),s[6][1],s[-1][1]))(ConcatDataset([D(5),D(3)])))
show('worker',get_worker_info)
show('E get',lambda:Dataset()[0]); show('E dlen',lambda:len(Dataset())); show('E iget',lambda:It()[0]); show('E ilen',lambda:len(It()))
show('dbs',lambda:(list(DistributedBatchSampler(D(6),2,num_replicas=1,rank=0)),len(DistributedBatchSampler(D(7),2,num_replicas=2,rank=1)),list(DistributedBatchSampler(D(7),2,num_replicas=2,rank=1))))
def dsh():
    s=DistributedBatchSampler(D(6),2,num_replicas=1,rank=0,shuffle=True); a=list(s); s.set_epoch(3); return a,list(s)
show('dbs shuffle',dsh)
show('return_list',lambda:dump(next(iter(DataLoader(D(2),batch_size=2)))))
show('call',lambda:len(list(DataLoader(D(4),batch_size=2)())))
class Dict(Dataset):
    def __getitem__(s,i): return {'x':np.float64(i),'y':[i,float(i)],'t':paddle.to_tensor([i])}
    def __len__(s): return 3
show('dict',lambda:[dump(b) for b in DataLoader(Dict(),batch_size=2)])
class S(Dataset):
    def __getitem__(s,i): return np.int32(i)
    def __len__(s): return 3
show('single',lambda:[dump(b) for b in DataLoader(S(),batch_size=2)])
show('E type',lambda:list(DataLoader([1,2])))
show('list ds',lambda:[dump(b) for b in DataLoader([(1,2.0),(3,4.0)],batch_size=2)])
# metrics
from paddle.metric import *
m=Accuracy(topk=(1,2)); 
P=paddle.to_tensor([[0.1,0.2,0.7],[0.3,0.4,0.3],[0.5,0.2,0.3]]); L=paddle.to_tensor([[2],[0],[1]])
show('acc',lambda:(m.compute(P,L).tolist(),m.update(m.compute(P,L)),m.accumulate(),m.name(),m.reset(),m.accumulate()))
show('acc 1d',lambda:(lambda m:(m.compute(P,paddle.to_tensor([2,0,1])).tolist(),float(m.update(m.compute(P,paddle.to_tensor([2,0,1])))),m.name(),m.accumulate()))(Accuracy()))
show('acc onehot',lambda:Accuracy().compute(P,paddle.to_tensor([[0.,0,1],[1,0,0],[0,1,0]])).tolist())
show('acc named',lambda:(Accuracy(name='a').name(),Accuracy((1,2),name='a').name()))
show('precision',lambda:(lambda m:(m.update(np.array([0.1,0.5,0.6,0.7]),np.array([0,1,1,0])),m.accumulate(),m.name()))(Precision()))
show('precision t',lambda:(lambda m:(m.update(paddle.to_tensor([0.1,0.5,0.6,0.7]),paddle.to_tensor([0,1,1,0])),m.accumulate(),m.reset(),m.accumulate()))(Precision()))
show('recall',lambda:(lambda m:(m.update(np.array([0.1,0.5,0.6,0.7]),np.array([1,1,1,0])),m.accumulate(),m.name()))(Recall()))
def auc(**k):
    m=Auc(**k); m.update(np.array([[0.9,0.1],[0.4,0.6],[0.3,0.7],[0.8,0.2]]),np.array([[0],[1],[0],[1]])); a=m.accumulate(); m.update(paddle.to_tensor([[0.9,0.1],[0.1,0.9]]),paddle.to_tensor([[0],[1]])); return a,m.accumulate(),m.name()
show('auc',auc)
show('accuracy',lambda:dump(accuracy(P,L,k=1)))
show('accuracy2',lambda:dump(accuracy(P,L,k=2)))
show('E metric',lambda:Metric())
