import paddle
from paddle.autograd import PyLayer


class ContrastBrightness(PyLayer):
    """(B, H, W) images: mean + exp(c) * (x - mean) + b, one c and b per image"""

    @staticmethod
    def forward(ctx, img, log_contrast, brightness):
        m = img.mean([1, 2], keepdim=True)
        k = paddle.exp(log_contrast).reshape([-1, 1, 1])
        ctx.save_for_backward(img - m, k)
        return m + k * (img - m) + brightness.reshape([-1, 1, 1])

    @staticmethod
    def backward(ctx, g):
        d, k = ctx.saved_tensor()
        gi = k * g + (1 - k) * g.mean([1, 2], keepdim=True)
        gk = (g * d * k).sum([1, 2])
        return gi, gk, g.sum([1, 2])
