import paddle
from paddle.autograd import PyLayer

class LayerScaleAdd(PyLayer):
    @staticmethod
    def forward(ctx, residual, branch, gamma):
        ctx.save_for_backward(branch, gamma)
        return residual + gamma * branch
    @staticmethod
    def backward(ctx, g):
        branch, gamma = ctx.saved_tensor()
        c = gamma.shape[0]
        return g, g * gamma, (g * branch).reshape([-1, c]).sum(0)
