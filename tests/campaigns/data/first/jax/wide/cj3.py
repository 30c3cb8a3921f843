import numpy as np, jax, jax.numpy as jnp, j6
from cj1 import R, U, I, A, B
Cx = lambda *s: R(*s) + 1j * R(*s)
CASES = {
"j6.py::pad_edges": (j6.pad_edges, {"zero": lambda: (R(2, 4),)}),
"j6.py::pad_edges[edge]": (lambda x: j6.pad_edges(x, "edge"), {"edge": lambda: (R(2, 4),)}),
"j6.py::pad_edges[wrap]": (lambda x: j6.pad_edges(x, "wrap"), {"wrap": lambda: (R(2, 4),)}),
"j6.py::mlp_block": (j6.mlp_block, {"a": lambda: (dict(w1=R(3, 4), b1=R(4), w2=R(4, 2)), R(2, 3))}),
"j6.py::viterbi_score": (j6.viterbi_score, {"a": lambda: (R(6, 2), R(2, 2)), "2": lambda: (R(2, 3), R(3, 3))}),
"j6.py::phase_mul": (j6.phase_mul, {"a": lambda: (Cx(3), R(3))}),
"j6.py::fisher_z": (j6.fisher_z, {"in": lambda: (A([-.9, .2]),), "out": lambda: (A([.3, 1.5]),)}),
"j6.py::moment": (j6.moment, {"2": lambda: (R(2, 4),)}),
"j6.py::moment[3]": (lambda x: j6.moment(x, 3, 0), {"3": lambda: (R(4, 2),)}),
"j6.py::barycentric": (j6.barycentric, {"a": lambda: (R(3, 2), R(2))}),
"j6.py::cumprod_safe": (j6.cumprod_safe, {"a": lambda: (R(2, 4),), "0": lambda: (A([1., 0., 2., 0.]),)}),
"j6.py::xlogy_safe": (j6.xlogy_safe, {"a": lambda: (R(3), U(3)), "0": lambda: (A([0., 1.]), U(2))}),
"j6.py::toeplitz_apply": (j6.toeplitz_apply, {"a": lambda: (R(4), R(4))}),
"j6.py::film_norm": (lambda a, b, c: j6.film_norm(a, b, c), {"a": lambda: (R(2, 3, 4), R(2, 4), R(2, 4))}),
"j6.py::pool_by_count": (j6.pool_by_count, {"a": lambda: (R(5, 2), jnp.array([0, 0, 3, 1, 0])), "distinct": lambda: (R(3, 2), jnp.array([0, 1, 2]))}),
"j6.py::gumbel_cdf_nll": (j6.gumbel_cdf_nll, {"a": lambda: (R(3), R(3), U(3))}),
"j6.py::poly_area": (j6.poly_area, {"a": lambda: (R(5, 2),)}),
"j6.py::depth_to_disp": (lambda d: j6.depth_to_disp(d, jnp.asarray(.1), jnp.asarray(10.)), {"a": lambda: (U(4) * 3,)}),
"j6.py::haversine": (j6.haversine, {"a": lambda: (R(3, 2), R(3, 2))}),
"j6.py::expm_sym_trace": (j6.expm_sym_trace, {"a": lambda: (R(3, 3),)}),
"j6.py::top1_gate": (j6.top1_gate, {"a": lambda: (R(3, 4), R(3, 4))}),
}
