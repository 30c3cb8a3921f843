import torch


class LinearScan(torch.autograd.Function):
    """h_t = a_t * h_{t-1} + b_t over dim 1"""

    @staticmethod
    def forward(ctx, a, b, h0):
        hs = [h0]
        for t in range(a.shape[1]):
            hs.append(a[:, t] * hs[-1] + b[:, t])
        hs = torch.stack(hs, 1)
        ctx.save_for_backward(a, hs)
        return hs[:, 1:].contiguous()

    @staticmethod
    def backward(ctx, gh):
        a, hs = ctx.saved_tensors
        da, db = torch.empty_like(a), torch.empty_like(a)
        carry = torch.zeros_like(hs[:, 0])
        T = a.shape[1]
        for t in range(T - 1, -1, -1):
            carry = carry + gh[:, t]
            db[:, t] = carry
            da[:, t] = carry * hs[:, t]
            carry = carry * a[:, min(t + 1, T - 1)]
        return da, db, carry
