import paddle
from paddle.autograd import PyLayer


class GCNPropagate(PyLayer):
    """D_r^{-1/2} (A + I) D_c^{-1/2} H with row and column degrees; the degrees are treated as functions of A"""

    @staticmethod
    def forward(ctx, A, H):
        At = A + paddle.eye(A.shape[0], dtype=A.dtype)
        dr = At.sum(1, keepdim=True)
        dc = At.sum(0, keepdim=True)
        S = At / paddle.sqrt(dr * dc)
        ctx.save_for_backward(At, S, dr, dc, H)
        return paddle.matmul(S, H)

    @staticmethod
    def backward(ctx, g):
        At, S, dr, dc, H = ctx.saved_tensor()
        gS = paddle.matmul(g, H, transpose_y=True)
        gH = paddle.matmul(S, g, transpose_x=True)
        w = gS * S
        gA = gS / paddle.sqrt(dr * dc)
        gA = gA - 0.5 * w.sum(1, keepdim=True) / dr
        gA = gA - 0.5 * w.sum(0, keepdim=True) / dr
        return gA, gH
