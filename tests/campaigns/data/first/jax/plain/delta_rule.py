import jax
import jax.numpy as jnp


@jax.custom_vjp
def delta_rule(k, v, beta):
    """S <- S + beta_t k_t (v_t - k_t S)^T ; returns the final memory S (dk, dv)"""
    S = jnp.zeros((k.shape[1], v.shape[1]), v.dtype)
    for t in range(k.shape[0]):
        S = S + beta[t] * jnp.outer(k[t], v[t] - k[t] @ S)
    return S


def delta_fwd(k, v, beta):
    S = jnp.zeros((k.shape[1], v.shape[1]), v.dtype)
    tape = []
    for t in range(k.shape[0]):
        tape.append(S)
        S = S + beta[t] * jnp.outer(k[t], v[t] - k[t] @ S)
    return S, (k, v, beta, jnp.stack(tape))


def delta_bwd(res, G):
    k, v, beta, tape = res
    gk, gv, gb = [], [], []
    for t in range(k.shape[0] - 1, -1, -1):
        S = tape[t]
        e = v[t] - k[t] @ S
        kG = k[t] @ G
        gb.append(kG @ e)
        ge = beta[t] * kG
        gv.append(ge)
        gk.append(beta[t] * (G @ e) - S @ ge)
        G = G - jnp.outer(k[t], ge)
    rev = lambda l: jnp.stack(l[::-1])
    return rev(gk), rev(gv), rev(gb)


delta_rule.defvjp(delta_fwd, delta_bwd)
