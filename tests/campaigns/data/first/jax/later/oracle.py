"""Oracle for JAX: vjp of the decorated function against jax's own vjp of the undecorated one, float64.

``python oracle.py`` prints of each function the largest error of its right version (R) and the errors of what is checked (F).
"""

import importlib.util
import pathlib

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)

rng = None


def R(*s):
    return jnp.asarray(rng.standard_normal(s))


def U(*s):
    return jnp.asarray(rng.random(s) + 0.5)


def W(n, *s):
    return jnp.asarray(rng.integers(0, n, s))


def tril(n):
    return jnp.tril(R(n, n)) + 2 * jnp.eye(n)


def simplex(*s):
    return jax.nn.softmax(R(*s))


HERE = pathlib.Path(__file__).parent
INP = {
    "j_attn": {
        "softmax1": [lambda: (R(4, 5),), lambda: (R(4, 5), 0)],
        "linear_attention": [lambda: (R(5, 3), R(5, 3), R(5, 2))],
        "qk_norm": [lambda: (R(4, 3), R(5, 3), R())],
        "sparsemax": [lambda: (R(4, 5),)],
        "gated_rms": [lambda: (R(4, 5), R(4, 5), R(5))],
    },
    "j_act": {
        "mish": [lambda: (R(4, 5),)],
        "swish_beta": [lambda: (R(4, 5), R(4, 5)), lambda: (R(4), R())],
        "glu": [lambda: (R(4, 6),), lambda: (R(4, 5), 0)],
        "siren": [lambda: (R(4), R(4)), lambda: (R(4), R(4), 2.0)],
        "hard_swish": [lambda: (4 * R(5, 6),)],
        "bias_gelu": [lambda: (R(4, 5), R(5))],
    },
    "j_loss": {
        "poisson_nll": [lambda: (R(4, 5), U(4, 5)), lambda: (U(4, 5), U(4, 5), False)],
        "info_nce": [lambda: (R(4, 3), R(4, 3), R())],
        "dice_loss": [lambda: (U(3, 5), U(3, 5)), lambda: (U(3, 5, 2), U(3, 5, 2), 0.1)],
        "wing_loss": [lambda: (8 * R(5), R(5)), lambda: (R(5), R(5), 1.0, 0.5)],
        "cox_nll": [lambda: (R(6), jnp.asarray([1.0, 0, 1, 1, 0, 1]))],
        "multi_margin": [lambda: (R(5, 4), W(4, 5))],
    },
    "j_scan": {
        "discounted": [lambda: (R(6), R()), lambda: (R(6, 2), R())],
        "gae": [
            lambda: (R(6), R(7), jnp.asarray([1.0, 1, 0, 1, 1, 0]), U()),
            lambda: (R(5, 2), R(6, 2), W(2, 5, 2).astype(float), U()),
        ],
        "crf_logz": [lambda: (R(5, 3), R(3, 3))],
        "leaky_integrate": [lambda: (R(5, 3), R(3))],
        "segment_softmax": [lambda: (R(7), W(4, 7), 4), lambda: (R(7, 2), W(4, 7), 5)],
        "topk_gate": [lambda: (R(4, 6),), lambda: (R(4, 6), 3)],
    },
    "j_geo": {
        "quat_mul": [lambda: (R(5, 4), R(5, 4))],
        "safe_norm": [lambda: (R(4, 5),), lambda: (R(4, 5), 0, 0.1)],
        "tri_area": [lambda: (R(5, 3), R(5, 3), R(5, 3))],
        "sph2cart": [lambda: (R(5), R(5), R(5))],
        "reflect": [lambda: (R(5, 3), R(5, 3))],
    },
    "j_sig": {
        "fir": [lambda: (R(3, 8), R(3)), lambda: (R(9), R(4))],
        "lap1d": [lambda: (R(3, 6),), lambda: (R(3, 6), False)],
        "haar": [lambda: (R(3, 6),)],
        "frame": [lambda: (R(10),), lambda: (R(11), 5, 3)],
        "quad_form": [lambda: (R(4, 3), R(3, 3))],
        "mat_inv": [lambda: (R(3, 3),), lambda: (R(2, 3, 3),)],
        "mahalanobis": [lambda: (R(5, 3), R(3), tril(3))],
    },
    "j_dist": {
        "gamma_logpdf": [lambda: (U(5), U(5), U(5))],
        "dirichlet_logpdf": [lambda: (simplex(4, 3), U(4, 3))],
        "mog_logpdf": [lambda: (R(6), R(3), R(3), R(3))],
        "gumbel_logpdf": [lambda: (R(5), R(5), U(5))],
        "kl_diag": [lambda: tuple(R(4, 3) for _ in range(4))],
    },
}
CONST = {"cox_nll": {1}, "gae": {2}}


def load(p):
    sp = importlib.util.spec_from_file_location("m", p)
    m = importlib.util.module_from_spec(sp)
    sp.loader.exec_module(m)
    return m


res = {}
for mod, fs in INP.items():
    for d in ("right", ""):
        m = load(HERE / d / f"{mod[2:]}.py")
        for name, draws in fs.items():
            f = getattr(m, name)
            es = []
            for seed in range(3):
                rng = np.random.default_rng(seed)
                for dr in draws:
                    a = dr()
                    c = CONST.get(name, set())
                    fl = [
                        i
                        for i, x in enumerate(a)
                        if hasattr(x, "dtype") and jnp.issubdtype(x.dtype, jnp.floating) and i not in c
                    ]

                    def call(fn):
                        def h(*x, a=a, fl=fl):
                            b = list(a)
                            for i, v in zip(fl, x):
                                b[i] = v
                            return fn(*b)

                        return h

                    o1, v1 = jax.vjp(call(f), *[a[i] for i in fl])
                    o2, v2 = jax.vjp(call(f.fun), *[a[i] for i in fl])
                    for x, y in zip(jax.tree.leaves(o1), jax.tree.leaves(o2)):
                        assert jnp.allclose(x, y, rtol=1e-10, atol=1e-10), name
                    w = jax.tree.map(lambda o: R(*o.shape), o1)
                    es.append(max(float(jnp.abs(x - y).max() / (1 + jnp.abs(y).max())) for x, y in zip(v1(w), v2(w))))
            res.setdefault(name, {})[d] = es
for n, r in res.items():
    print(
        n,
        "R {:.1e}".format(max(r["right"])),
        "F " + " ".join(f"{e:.1e}" for e in r[""]) if max(r[""]) > 1e-6 else "(right)",
        "" if max(r["right"]) < 1e-6 else "<<<<<<",
    )
