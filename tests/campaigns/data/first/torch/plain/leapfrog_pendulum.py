import torch


class LeapfrogPendulum(torch.autograd.Function):
    """n kick-drift-kick steps of q'' = -w2 sin q."""

    @staticmethod
    def forward(ctx, q, p, w2, dt=0.1, steps=4):
        traj = []
        for _ in range(steps):
            qa = q
            p = p - 0.5 * dt * w2 * torch.sin(q)
            q = q + dt * p
            traj.append((qa, q))
            p = p - 0.5 * dt * w2 * torch.sin(q)
        ctx.traj, ctx.dt = traj, dt
        ctx.save_for_backward(w2)
        return q, p

    @staticmethod
    def backward(ctx, gq, gp):
        (w2,) = ctx.saved_tensors
        dt = ctx.dt
        gw = torch.zeros_like(w2)
        for qa, qb in reversed(ctx.traj):
            gq = gq - 0.5 * dt * w2 * torch.cos(qb) * gp
            gw = gw - 0.5 * dt * torch.sin(qb) * gp
            gp = gp + dt * gq
            gq = gq - 0.5 * dt * w2 * torch.cos(qa) * gp
            gw = gw - 0.5 * dt * torch.sin(qa) * gp
        return gq, gp, gw, None, None
