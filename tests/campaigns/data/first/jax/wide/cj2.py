import numpy as np, jax, jax.numpy as jnp, j4, j5
from cj1 import R, U, I, A, B
def spd(n): a = R(n, n); return a @ a.T + np.eye(n)
Lw = lambda n: np.tril(R(n, n)) + 2 * np.eye(n)
CASES = {
"j4.py::spd_sqrt": (j4.spd_sqrt, {"a": lambda: (spd(3),), "b": lambda: (np.stack([spd(2), spd(2)]),)}),
"j4.py::chol_quad": (j4.chol_quad, {"v": lambda: (Lw(3), R(3)), "m": lambda: (Lw(3), R(3, 2))}),
"j4.py::hmm_loglik": (j4.hmm_loglik, {"a": lambda: (R(3), R(3, 3), R(4, 3)), "1": lambda: (R(3), R(3, 3), R(1, 3))}),
"j4.py::dilated_diff": (j4.dilated_diff, {"a": lambda: (R(2, 5), R(2))}),
"j4.py::dilated_diff[2]": (lambda x, w: j4.dilated_diff(x, w, 2), {"d2": lambda: (R(2, 5), R(2))}),
"j4.py::emb_maxnorm": (j4.emb_maxnorm, {"a": lambda: (R(5, 2), jnp.array([0, 1, 1, 3])),}),
"j4.py::huber_tv": (j4.huber_tv, {"all": lambda: (R(2, 5), A(.5)), "below": lambda: (R(2, 5), A(9.))}),
"j4.py::circ_corr": (j4.circ_corr, {"a": lambda: (R(2, 5), R(2, 5))}),
"j4.py::smooth_max2": (j4.smooth_max2, {"a": lambda: (R(3), R(3), A(2.))}),
"j4.py::log_ndtr_diff": (j4.log_ndtr_diff, {"a": lambda: (A([-.5, 0.]), A([.1, 1.]))}),
"j4.py::norm2": (j4.norm2, {"a": lambda: (R(2, 3),)}),
"j5.py::triplet_cos": (j5.triplet_cos, {"a": lambda: (R(5, 3), R(5, 3), R(5, 3))}),
"j5.py::gat_score": (j5.gat_score, {"a": lambda: (R(4, 2), R(4), I(4, 6), I(4, 6))}),
"j5.py::soft_bins": (j5.soft_bins, {"a": lambda: (A([-.5, .3, .8, 2.]),)}),
"j5.py::soft_bins[0,2]": (lambda x: j5.soft_bins(x, 0., 2.), {"a": lambda: (R(5),)}),
"j5.py::layer_scale_res": (j5.layer_scale_res, {"a": lambda: (R(3, 4), R(3, 4), R(4)), "f": lambda: (R(3, 4), R(3, 4), R(3, 4)), "1": lambda: (R(3, 4), R(3, 4), R(1)), "s": lambda: (R(3), R(3), A(.4))}),
"j5.py::slerp": (j5.slerp, {"a": lambda: (R(3, 4) * .3, R(3, 4) * .3, A(.3)),}),
"j5.py::kalman_gain": (j5.kalman_gain, {"a": lambda: (spd(3), R(2, 3), spd(2)), "gen": lambda: (R(3, 3), R(2, 3), R(2, 2) + 4 * np.eye(2))}),
"j5.py::gelu_erf_bias": (j5.gelu_erf_bias, {"a": lambda: (R(3, 4), R(4)), "b": lambda: (R(2, 3, 4), R(3, 4)), "c": lambda: (R(3), A(.3))}),
"j5.py::rank_pairs": (j5.rank_pairs, {"distinct": lambda: (R(4), jnp.array([3, 1, 0, 2])), "ties": lambda: (R(4), jnp.array([1, 1, 0, 2]))}),
"j5.py::window_attn": (j5.window_attn, {"a": lambda: (R(4, 3), R(4, 3)), "sq": lambda: (R(3, 3), R(3, 3))}),
"j5.py::corr_coef": (j5.corr_coef, {"a": lambda: (R(5), R(5))}),
}
