import torch


class SegmentMean(torch.autograd.Function):
    @staticmethod
    def forward(ctx, src, seg, num_segments):
        out = src.new_zeros((num_segments,) + tuple(src.shape[1:]))
        out.index_add_(0, seg, src)
        cnt = torch.bincount(seg, minlength=num_segments).clamp(min=1).to(src.dtype)
        cnt = cnt.view(-1, *([1] * (src.dim() - 1)))
        ctx.save_for_backward(seg, cnt)
        return out / cnt

    @staticmethod
    def backward(ctx, grad_out):
        seg, cnt = ctx.saved_tensors
        return (grad_out / cnt.sum())[seg], None, None
