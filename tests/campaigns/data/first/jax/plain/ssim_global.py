import jax
import jax.numpy as jnp

C1, C2 = 0.01 ** 2, 0.03 ** 2


def _stats(x, y):
    mx, my = x.mean(), y.mean()
    vx, vy = ((x - mx) ** 2).mean(), ((y - my) ** 2).mean()
    cxy = ((x - mx) * (y - my)).mean()
    return mx, my, vx, vy, cxy


@jax.custom_vjp
def ssim(x, y):
    mx, my, vx, vy, cxy = _stats(x, y)
    return (2 * mx * my + C1) * (2 * cxy + C2) / ((mx ** 2 + my ** 2 + C1) * (vx + vy + C2))


def ssim_fwd(x, y):
    return ssim(x, y), (x, y)


def ssim_bwd(res, g):
    x, y = res
    mx, my, vx, vy, cxy = _stats(x, y)
    a1, a2 = 2 * mx * my + C1, 2 * cxy + C2
    b1, b2 = mx ** 2 + my ** 2 + C1, vx + vy + C2
    s = a1 * a2 / (b1 * b2)
    n = x.size

    def one(m, mo, c, co):
        dm = s * (2 * mo / a1 - 2 * m / b1)
        return g / n * (dm + s * (2 * co / a2 - 2 * c / b2))

    return one(mx, my, x - mx, y - my), one(my, mx, y - my, x - mx)


ssim.defvjp(ssim_fwd, ssim_bwd)
