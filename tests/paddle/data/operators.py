"""Operators, indexing, to_tensor, printing.

Runs under Paddle 2.6.2 and under opkit; prints one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact.
"""

import paddle, numpy as np
from shown_facts import show

T = paddle.to_tensor
m = T(np.arange(12).reshape(3, 4).astype("float32"))
for s in [
    "m[0]",
    "m[-1]",
    "m[0,1]",
    "m[:,1]",
    "m[1:,::2]",
    "m[::-1]",
    "m[...,0]",
    "m[None]",
    "m[[0,2]]",
    "m[T([0,2])]",
    "m[T([0,2]),T([1,3])]",
    "m[T(1)]",
    "m[m>5]",
    "m[:, [0,1]]",
    "m[np.array([0,1])]",
    "m[3]",
    "m[0,0,0]",
    "m[:,4]",
    "m['a']",
    "m[1.5]",
    "m[True]",
    "m[T([True,False,True])]",
    "m[[True,False,True]]",
    "m[5:]",
    "m[[0,5]]",
    "m[1:2,[0,1]]",
    "m[:,T([[0,1],[2,3]])]",
]:
    show(s, lambda: (lambda r: (r.shape, r.numpy().tolist()))(eval(s)))


def st(code):
    m = T(np.arange(12).reshape(3, 4).astype("float32"))

    def f():
        exec(code, dict(m=m, T=T, paddle=paddle, np=np))
        return m.numpy().tolist(), m.inplace_version

    show(code, f)


for c in [
    "m[0]=1",
    "m[0]=1.5",
    "m[:,1]=T([1.,2.,3.])",
    "m[m>5]=0",
    "m[[0,1]]=T([[1.,1.,1.,1.]])",
    "m[0]=np.ones(4)",
    "m[0]=T([1,2,3,4])",
    "m[0]=T([1,2,3])",
    "m[0,0]=T(5.)",
    "m[0]=[1,2,3,4]",
    "m[0]=None",
    "m[0]+=1",
]:
    st(c)
i = T([1, 2, 3])


def f():
    i[0] = 1.7
    return i


show("int set float", f)
for e in [
    "T([1,2])+1",
    "T([1,2])+1.5",
    "T([1,2])/T([2,2])",
    "T([1,2])/2",
    "T([1,2])//2",
    "T([1.,2.])//2",
    "T([1,2])**2",
    "T([1,2])**0.5",
    "T([1.,2.])**T([2.,2.])",
    "2**T([1.,2.])",
    "2-T([1,2])",
    "2/T([1,2])",
    "T([5,-5])%3",
    "T([5.,-5.])%3",
    "-T([1,2])",
    "abs(T([-1,2]))",
    "~T([True,False])",
    "T([True])&T([False])",
    "T([1,2])&T([3,1])",
    "T([1,2])@T([3,4])",
    "T([1,2])>1",
    "T([1.])+T([1],dtype='int64')",
    "T(np.float64(1))+T([1.])",
    "T([1.])+np.ones(1)",
    "np.ones(1)+T([1.])",
    "np.ones(1,'float32')*T([1.])",
    "T([1.])*np.float64(2)",
    "np.float64(2)*T([1.])",
    "T([1])+T([True])",
    "T([True])+T([True])",
    "T([True])+1",
    "T([1],dtype='int32')+T([1])",
    "T([1.],dtype='float16')+T([1.])",
    "T([1.])=='a'",
    "T([1.])+'a'",
    "T([1.])+None",
    "T([1.])+[1.]",
    "T([1.,2.])+T([1.,2.,3.])",
    "T([[1.,2.]])@T([1.,2.,3.])",
    "T([1.,2.]).matmul(T([1.,2.]))",
    "T([1,2]).mean()",
    "T([1,2]).sum()",
    "T([1,2],dtype='int32').sum().dtype",
    "T([True,False]).sum()",
    "T([1.,2.]).sum(0)",
    "T([1.,2.]).sum(axis=5)",
    "T([1.,2.]).max()",
    "T([1.,5.]).argmax()",
    "T([1.,2.]).std()",
    "T([1.,2.]).var()",
    "paddle.to_tensor([[1,2],[3]])",
    "paddle.to_tensor('a')",
    "paddle.to_tensor(None)",
    "T([1,2.5])",
    "T([True,2])",
    "T(1)",
    "T(1.)",
    "T(True)",
    "T(1+2j)",
    "T(np.float32(1))",
    "T(np.array([1,2],'int8'))",
    "T([np.float64(1.)])",
    "T((1,2))",
    "T([])",
    "T(T([1.]))",
    "T([T([1.]),T([2.])])",
    "T(range(3))",
    "T(3,dtype='float32')",
    "T([1,2],stop_gradient=False)",
    "paddle.exp(T([1,2]))",
    "paddle.tanh(T([1,2]))",
    "paddle.sqrt(T([4,9]))",
    "paddle.tanh(1.0)",
    "paddle.tanh(np.ones(2))",
    "paddle.add(T([1.]),1)",
    "paddle.multiply(T([1.]),2.)",
    "T([1.,2.]).reshape([3])",
    "T([1.,2.]).reshape(2,1)",
    "T([1.,2.]).transpose([1,0])",
    "T([1.5,2.5]).round()",
    "T([-1.5]).astype('int32')",
    "T([1.]).astype(paddle.float64).dtype",
    "T([1.]).cast('bool')",
    "T([1.,2.]).item()",
    "T([1.]).item()",
    "T([1.,2.]).item(1)",
    "T([1.,2.]).tolist()",
    "T([1.]).shape.append(3)",
    "round(T([1.5]))",
    "divmod(T([5]),3)",
    "T([1.]).__rsub__(3)",
    "T([3.]).abs_()",
    "T([1.,2.])<T([2.])",
    "T([1.,2.])!=1",
    "int(T(3))",
    "float(T(3))",
    "complex(T(3.))",
    "T([2.]).pow(2)",
    "T([1.,2.]) in [1]",
    "1. in T([1.,2.])",
    "T([1.,float('nan')])",
    "T([1.,float('inf'),-1])",
    "T([1e10,1e-10])",
    "T([0.1,100000.123])",
    "T([1,-20,300])",
    "T([-1.5,2.25])",
    "T([True,False])",
    "T([[1.]])",
    "T(np.zeros((0,3),'float32'))",
    "T(np.arange(2000).astype('float32'))",
    "T(np.arange(8.).reshape(2,2,2))",
    "T(np.ones((1001,2)))",
    "T([1.5],dtype='float16')",
    "T([1+2j])",
    "T(np.random.RandomState(0).randn(3,20).astype('float32'))",
]:
    show(e, lambda: eval(e))
