import torch


class DiscountedReturns(torch.autograd.Function):
    """R_t = r_t + gamma * (1 - done_t) * R_{t+1}, time first"""

    @staticmethod
    def forward(ctx, rewards, done, gamma=0.99):
        out = torch.zeros_like(rewards)
        acc = torch.zeros_like(rewards[0])
        for t in reversed(range(rewards.shape[0])):
            acc = rewards[t] + gamma * (1 - done[t]) * acc
            out[t] = acc
        ctx.save_for_backward(done)
        ctx.gamma = gamma
        return out

    @staticmethod
    def backward(ctx, g):
        (done,) = ctx.saved_tensors
        gr = torch.zeros_like(g)
        acc = torch.zeros_like(g[0])
        for t in range(g.shape[0]):
            acc = g[t] + (ctx.gamma * (1 - done[t]) * acc if t else 0)
            gr[t] = acc
        return gr, None, None
