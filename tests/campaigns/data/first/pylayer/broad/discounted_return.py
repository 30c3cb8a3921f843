"""Reward-to-go for policy gradients."""
import paddle
from paddle.autograd import PyLayer


class DiscountedReturn(PyLayer):
    """G_t = r_t + gamma * G_{t+1} along the last axis, bootstrapped with ``final_value``.

    final_value has the shape of rewards without its last axis.
    """

    @staticmethod
    def forward(ctx, rewards, final_value, gamma=0.99):
        if list(final_value.shape) != list(rewards.shape[:-1]):
            raise ValueError("final_value must be rewards.shape[:-1]")
        steps = paddle.unbind(rewards, axis=-1)
        g = final_value
        out = []
        for r in reversed(steps):
            g = r + gamma * g
            out.append(g)
        ctx.gamma = gamma
        return paddle.stack(out[::-1], axis=-1)

    @staticmethod
    def backward(ctx, dret):
        carry = None
        out = []
        for d in paddle.unbind(dret, axis=-1):
            carry = d if carry is None else d + ctx.gamma * carry
            out.append(carry)
        return paddle.stack(out, axis=-1), ctx.gamma * carry
