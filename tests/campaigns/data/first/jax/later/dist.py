import jax
import jax.numpy as jnp
from jax.scipy.special import digamma, gammaln


@jax.custom_jvp
def gamma_logpdf(x, a, b):
    """Shape a, rate b."""
    return a * jnp.log(b) - gammaln(a) + (a - 1) * jnp.log(x) - b * x


@gamma_logpdf.defjvp
def _(primals, tangents):
    x, a, b = primals
    dx, da, db = tangents
    y = gamma_logpdf(x, a, b)
    return y, ((a - 1) / x - b) * dx + (jnp.log(b) - digamma(a) + jnp.log(x)) * da + (a / b - x) * db


@jax.custom_vjp
def dirichlet_logpdf(x, alpha):
    return gammaln(alpha.sum(-1)) - gammaln(alpha).sum(-1) + ((alpha - 1) * jnp.log(x)).sum(-1)


def _dp_fwd(x, alpha):
    return dirichlet_logpdf(x, alpha), (x, alpha)


def _dp_bwd(res, g):
    x, alpha = res
    g = g[..., None]
    return g * (alpha - 1) / x, g * (-digamma(alpha) + jnp.log(x))


dirichlet_logpdf.defvjp(_dp_fwd, _dp_bwd)


@jax.custom_vjp
def mog_logpdf(x, logits, mu, logsig):
    """Mixture of K normals for each x (N,); logits, mu, logsig (K,)."""
    z = (x[:, None] - mu) * jnp.exp(-logsig)
    c = jax.nn.log_softmax(logits) - 0.5 * z * z - logsig - 0.9189385332046727
    return jax.nn.logsumexp(c, -1)


def _mg_fwd(x, logits, mu, logsig):
    return mog_logpdf(x, logits, mu, logsig), (x, logits, mu, logsig)


def _mg_bwd(res, g):
    x, logits, mu, logsig = res
    inv = jnp.exp(-logsig)
    z = (x[:, None] - mu) * inv
    r = jax.nn.softmax(jax.nn.log_softmax(logits) - 0.5 * z * z - logsig, -1)
    gr = g[:, None] * r
    return (
        -(gr * z * inv).sum(1),
        (gr - g[:, None] * jax.nn.softmax(logits)).sum(0),
        (gr * z * inv).sum(0),
        (gr * (z * z - 1)).sum(0),
    )


mog_logpdf.defvjp(_mg_fwd, _mg_bwd)


@jax.custom_jvp
def gumbel_logpdf(x, loc, scale):
    z = (x - loc) / scale
    return -z - jnp.exp(-z) - jnp.log(scale)


@gumbel_logpdf.defjvp
def _(primals, tangents):
    x, loc, scale = primals
    dx, dl, ds = tangents
    z = (x - loc) / scale
    e = jnp.exp(-z)
    dz = (dx - dl) / scale
    return -z - e - jnp.log(scale), (e - 1) * dz - ds / scale


@jax.custom_vjp
def kl_diag(mu_p, ls_p, mu_q, ls_q):
    """KL(N(mu_p, exp ls_p) || N(mu_q, exp ls_q)), summed over the last axis."""
    d = mu_p - mu_q
    return (ls_q - ls_p + 0.5 * (jnp.exp(2 * (ls_p - ls_q)) + d * d * jnp.exp(-2 * ls_q)) - 0.5).sum(-1)


def kd_fwd(mu_p, ls_p, mu_q, ls_q):
    return kl_diag(mu_p, ls_p, mu_q, ls_q), (mu_p - mu_q, ls_p, ls_q)


def kd_bwd(res, g):
    d, lp, lq = res
    g = g[..., None]
    v = jnp.exp(2 * (lp - lq))
    iq = jnp.exp(-2 * lq)
    dm = g * d * iq
    return dm, g * (v - 1), -dm, g * (1 - v - d * d * jnp.exp(-2 * lp))


kl_diag.defvjp(kd_fwd, kd_bwd)
