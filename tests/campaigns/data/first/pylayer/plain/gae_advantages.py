import paddle
from paddle.autograd import PyLayer


class GAE(PyLayer):
    """rewards (T,), values (T+1,) -> advantages (T,)"""

    @staticmethod
    def forward(ctx, rewards, values, gamma=0.99, lam=0.95):
        T = rewards.shape[0]
        delta = rewards + gamma * values[1:] - values[:-1]
        adv, run = [], paddle.zeros([], dtype=rewards.dtype)
        for t in range(T - 1, -1, -1):
            run = delta[t] + gamma * lam * run
            adv.append(run)
        ctx.gamma, ctx.lam, ctx.T = gamma, lam, T
        return paddle.stack(adv[::-1])

    @staticmethod
    def backward(ctx, g):
        d, run = [], paddle.zeros([], dtype=g.dtype)
        for t in range(ctx.T):
            run = g[t] + ctx.gamma * ctx.lam * run
            d.append(run)
        d = paddle.stack(d)
        gv = paddle.zeros([ctx.T + 1], dtype=g.dtype)
        gv[:-1] = gv[:-1] - d
        gv[1:-1] = gv[1:-1] + ctx.gamma * d[:-1]
        return d, gv
