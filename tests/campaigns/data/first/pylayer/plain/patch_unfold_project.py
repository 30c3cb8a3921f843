import paddle
from paddle.autograd import PyLayer


class PatchEmbed(PyLayer):
    """(B, H, W) image -> non-overlapping ph x pw patches @ weight"""

    @staticmethod
    def forward(ctx, img, weight, ph=2, pw=3):
        B, H, W = img.shape
        p = img.reshape([B, H // ph, ph, W // pw, pw]).transpose([0, 1, 3, 2, 4])
        p = p.reshape([B, (H // ph) * (W // pw), ph * pw])
        ctx.save_for_backward(p, weight)
        ctx.dims = (B, H, W, ph, pw)
        return paddle.matmul(p, weight)

    @staticmethod
    def backward(ctx, g):
        p, weight = ctx.saved_tensor()
        B, H, W, ph, pw = ctx.dims
        gw = paddle.einsum('bnk,bnd->kd', p, g)
        gp = paddle.matmul(g, weight, transpose_y=True)
        gp = gp.reshape([B, H // ph, W // pw, ph, pw]).transpose([0, 1, 3, 2, 4])
        return gp.reshape([B, H, W]), gw
