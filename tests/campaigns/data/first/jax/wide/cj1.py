import numpy as np, jax, jax.numpy as jnp, j1, j2, j3
rng = np.random.default_rng(0)
R = lambda *s: np.asarray(rng.normal(size=s))
U = lambda *s: np.asarray(rng.uniform(.1, 1, size=s))
I = lambda hi, *s: jnp.asarray(rng.integers(0, hi, size=s))
A = np.asarray
B = lambda *s: jnp.asarray(rng.integers(0, 2, size=s) > 0)
CASES = {
"j1.py::masked_pool": (j1.masked_pool, {"a": lambda: (R(2, 3, 4), B(2, 3)), "none": lambda: (R(1, 3, 2), jnp.zeros((1, 3), bool))}),
"j1.py::plane_rotate": (j1.plane_rotate, {"a": lambda: (R(3), R(3, 2)), "b": lambda: (R(), R(2))}),
"j1.py::ridge_solve": (j1.ridge_solve, {"v": lambda: (R(5, 3), R(5)), "m": lambda: (R(5, 3), R(5, 2)), "wide": lambda: (R(2, 3), R(2), ), "lam": lambda: ((R(3, 3), R(3)))}),
"j1.py::ema": (j1.ema, {"a": lambda: (R(2, 5), A(0.3)), "v": lambda: (R(5), A(0.9)), "alpha vec": lambda: (R(3, 5), U(3))}),
"j1.py::sas": (j1.sas, {"a": lambda: (R(3, 2), A(.3), A(1.4)), "s": lambda: (R(), A(-.3), A(.4))}),
"j1.py::log_matmul": (j1.log_matmul, {"a": lambda: (R(2, 3), R(3, 4))}),
"j1.py::cum_lse": (j1.cum_lse, {"a": lambda: (R(4),), "1": lambda: (R(3, 1),)}),
"j1.py::prior_nll": (j1.prior_nll, {"a": lambda: (R(4, 3), I(3, 4), R(3)), "flat prior": lambda: (R(4, 3), I(3, 4), np.zeros(3))}),
"j2.py::segment_softmax": (j2.segment_softmax, {"a": lambda: (R(6), jnp.array([0, 0, 3, 1, 0, 3]))}),
"j2.py::pnorm": (j2.pnorm, {"a": lambda: (R(3, 4),), "b": lambda: (R(3),), "zero": lambda: (np.zeros((2, 3)),)}),
"j2.py::pnorm[p=1.5,axis=0]": (lambda x: j2.pnorm(x, 1.5, 0), {"a": lambda: (R(3, 4),)}),
"j2.py::spring_energy": (j2.spring_energy, {"distinct first": lambda: (R(4, 2), jnp.array([[0, 1], [2, 3]]), R(2), R(2)), "repeat": lambda: (R(4, 2), jnp.array([[0, 1], [0, 3]]), R(2), R(2))}),
"j2.py::log1mexp": (j2.log1mexp, {"a": lambda: (U(4) * 3,)}),
"j2.py::safe_arccos": (j2.safe_arccos, {"a": lambda: (A([.3, -.9, 1.4, -2.]),)}),
"j2.py::kepler_residual_root": (j2.kepler_residual_root, {"a": lambda: (R(4), U(4) * .9), "s": lambda: (R(4), A(.5))}),
"j2.py::avg_pool2": (j2.avg_pool2, {"a": lambda: (R(2, 5, 4),), "b": lambda: (R(3, 3),)}),
"j2.py::mean_and_std": (j2.mean_and_std, {"a": lambda: (R(3, 4),)}),
"j2.py::conv1d_same": (j2.conv1d_same, {"1": lambda: (R(2, 2, 6), R(3, 2, 3)), "even": lambda: (R(1, 2, 6), R(3, 2, 4))}),
"j2.py::conv1d_same[stride=2]": (lambda x, w: j2.conv1d_same(x, w, 2), {"2": lambda: (R(2, 2, 6), R(3, 2, 3))}),
"j2.py::sinkhorn_row": (j2.sinkhorn_row, {"a": lambda: (R(3, 4), A(.7))}),
"j2.py::ste_free_round_scale": (j2.ste_free_round_scale, {"a": lambda: (R(5) * 3, A(.7)), "neg": lambda: (R(5) * 3, A(-.3))}),
"j2.py::unit": (lambda v: j2.unit(v, 1e-3), {"a": lambda: (R(3, 4),), "0": lambda: (np.zeros((2, 3)),)}),
"j3.py::gaussian_kl": (j3.gaussian_kl, {"a": lambda: (R(3), R(3), R(3), R(3)), "b": lambda: (R(2, 2), R(2, 2), R(2, 2), R(2, 2))}),
"j3.py::topk_mask": (j3.topk_mask, {"a": lambda: (R(3, 4),)}),
"j3.py::topk_mask[fill=-1]": (lambda x: j3.topk_mask(x, 2, -1.0), {"a": lambda: (R(3, 4),)}),
"j3.py::cubic_interp": (j3.cubic_interp, {"a": lambda: (R(5, 2), U(6) * 4), "1": lambda: (R(1, 2), R(3)), "out": lambda: (R(4, 1), R(3) * 5)}),
"j3.py::leapfrog": (j3.leapfrog, {"a": lambda: (R(3), R(3), A(1.3), A(.1))}),
"j3.py::eig_weighted": (j3.eig_weighted, {"a": lambda: (R(4, 4), R(4))}),
"j3.py::bump": (j3.bump, {"w=1": lambda: (U(4) * .8, A(1.0)), "w=2": lambda: (R(4), A(2.0))}),
"j3.py::shifted_relu_sq": (j3.shifted_relu_sq, {"a": lambda: (R(3, 4), R(4)), "b=0": lambda: (R(3, 4), np.zeros(4))}),
"j3.py::roll_diff": (j3.roll_diff, {"a": lambda: (R(5),), "2": lambda: (R(2, 2),)}),
}
