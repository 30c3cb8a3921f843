from functools import partial

import jax
import jax.numpy as jnp
from jax import lax


@jax.custom_vjp
def discounted(r, gamma):
    """R[t] = r[t] + gamma R[t + 1] along the first axis."""

    def step(c, x):
        c = x + gamma * c
        return c, c

    return lax.scan(step, jnp.zeros_like(r[0]), r, reverse=True)[1]


def _d_fwd(r, gamma):
    R = discounted(r, gamma)
    return R, (R, gamma)


def _d_bwd(res, g):
    R, gamma = res

    def step(c, x):
        c = x + gamma * c
        return c, c

    _, lam = lax.scan(step, jnp.zeros_like(g[0]), g)
    nxt = jnp.concatenate([R[1:], jnp.zeros_like(R[:1])])
    return lam, (lam * nxt).sum()


discounted.defvjp(_d_fwd, _d_bwd)


@jax.custom_vjp
def gae(rewards, values, cont, lam):
    """Advantages; values has one entry more than rewards, cont is 0 where an episode ends."""
    delta = rewards + 0.99 * cont * values[1:] - values[:-1]

    def step(a, x):
        d, c = x
        a = d + 0.99 * lam * c * a
        return a, a

    return lax.scan(step, jnp.zeros_like(delta[0]), (delta, cont), reverse=True)[1]


def _gae_fwd(rewards, values, cont, lam):
    adv = gae(rewards, values, cont, lam)
    return adv, (adv, cont, lam)


def _gae_bwd(res, g):
    adv, cont, lam = res

    def step(u, x):
        gt, cprev = x
        u = gt + 0.99 * lam * cprev * u
        return u, u

    cprev = jnp.concatenate([jnp.zeros_like(cont[:1]), cont[:-1]])
    _, d = lax.scan(step, jnp.zeros_like(g[0]), (g, cprev))
    z = jnp.zeros_like(d[:1])
    dv = jnp.concatenate([z, 0.99 * d]) - jnp.concatenate([d, z])
    dlam = (d[:-1] * 0.99 * cont[:-1] * adv[1:]).sum()
    return d, dv, None, dlam


gae.defvjp(_gae_fwd, _gae_bwd)


@jax.custom_vjp
def crf_logz(em, trans):
    """Log partition function of a linear chain: em (T, K), trans (K, K) from row to column."""

    def step(a, e):
        a = jax.nn.logsumexp(a[:, None] + trans, 0) + e
        return a, a

    return jax.nn.logsumexp(lax.scan(step, em[0], em[1:])[0])


def _crf_fwd(em, trans):
    return crf_logz(em, trans), (em, trans)


def _crf_bwd(res, g):
    em, trans = res

    def f(a, e):
        a2 = jax.nn.logsumexp(a[:, None] + trans, 0) + e
        return a2, a2

    def b(c, e):
        c2 = jax.nn.logsumexp(trans + (e + c)[None, :], 1)
        return c2, c2

    _, al = lax.scan(f, em[0], em[1:])
    al = jnp.concatenate([em[:1], al])
    z0 = jnp.zeros_like(em[0])
    _, be = lax.scan(b, z0, em[1:], reverse=True)
    be = jnp.concatenate([be, z0[None]])
    z = jax.nn.logsumexp(al[-1])
    dem = jnp.exp(al + be - z)
    pair = jnp.exp(al[:-1, :, None] + trans + (em + be)[1:, None, :] - z)
    return g * dem, g * pair.sum(0)


crf_logz.defvjp(_crf_fwd, _crf_bwd)


@jax.custom_vjp
def leaky_integrate(x, decay):
    """v[t] = sigmoid(decay) * v[t-1] + x[t]; decay has one entry for each column."""
    k = jax.nn.sigmoid(decay)

    def step(v, u):
        v = k * v + u
        return v, v

    return lax.scan(step, jnp.zeros_like(x[0]), x)[1]


def _li_fwd(x, decay):
    v = leaky_integrate(x, decay)
    return v, (v, decay)


def _li_bwd(res, g):
    v, decay = res
    k = jax.nn.sigmoid(decay)

    def step(c, u):
        c = k * c + u
        return c, c

    _, lam = lax.scan(step, jnp.zeros_like(g[0]), g, reverse=True)
    dk = (lam[1:] * v[:-1]).sum(0)
    return lam, dk


leaky_integrate.defvjp(_li_fwd, _li_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def segment_softmax(x, seg, num):
    """Softmax over the entries that share a segment number."""
    m = jax.ops.segment_max(x, seg, num)
    e = jnp.exp(x - m[seg])
    return e / jax.ops.segment_sum(e, seg, num)[seg]


def _ss_fwd(x, seg, num):
    p = segment_softmax(x, seg, num)
    return p, (p, seg)


def _ss_bwd(num, res, g):
    p, seg = res
    dot = jax.ops.segment_sum(p * g, seg, num)
    return p * (g - dot[seg]), None


segment_softmax.defvjp(_ss_fwd, _ss_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def topk_gate(logits, k=2):
    """Softmax over the k largest of the last axis; the others are 0 (mixture of experts)."""
    kth = jnp.sort(logits, -1)[..., -k, None]
    return jax.nn.softmax(jnp.where(logits >= kth, logits, -jnp.inf), -1)


def _tg_fwd(logits, k):
    p = topk_gate(logits, k)
    return p, p


def _tg_bwd(k, p, g):
    return (p * (g - (p * g).sum(-1, keepdims=True)),)


topk_gate.defvjp(_tg_fwd, _tg_bwd)
