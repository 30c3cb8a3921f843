import numpy as np, p3, p4
from paddle_oracle import K
from cp1 import R, U, I, A
B = lambda *s: np.random.default_rng(4).uniform(size=s) > .4
CASES = {
"p3.py::LinearCrossEntropy": (p3.LinearCrossEntropy.apply, {"a": lambda: (R(3, 2), R(2, 4), I(4, 3))}),
"p3.py::InstanceNorm2D": (p3.InstanceNorm2D.apply, {"a": lambda: (R(2, 2, 2, 3),)}),
"p3.py::BatchNormTrain": (p3.BatchNormTrain.apply, {"a": lambda: (R(4, 2), R(2), R(2)), "b": lambda: (R(2, 2, 3), R(2), R(2))}),
"p3.py::MatMulRelPos": (p3.MatMulRelPos.apply, {"a": lambda: (R(3, 2), R(3, 2), R(5, 2))}),
"p3.py::MaxPool2x2": (p3.MaxPool2x2.apply, {"a": lambda: (R(1, 2, 4, 4),), "odd": lambda: (R(1, 2, 5, 3),)}),
"p3.py::WeightedBCELogits": (p3.WeightedBCELogits.apply, {"mean": lambda: (R(4), K(B(4) * 1.)), "none": lambda: (R(4), K(B(4) * 1.), 2.0, "none"), "sum": lambda: (R(4), K(B(4) * 1.), 2.0, "sum")}),
"p3.py::LeakyClampGate": (p3.LeakyClampGate.apply, {"up": lambda: (np.abs(R(5)) * 2,), "all": lambda: (A([-3., -1.5, .2, 4.]),)}),
"p3.py::Depthwise3": (p3.Depthwise3.apply, {"a": lambda: (R(2, 5), R(3)), "sym": lambda: (R(2, 5), A([.3, 1., .3]))}),
"p3.py::GumbelHardless": (p3.GumbelHardless.apply, {"1": lambda: (R(2, 3), R(2, 3)), "2": lambda: (R(2, 3), R(2, 3), 2.)}),
"p3.py::DotProductPool": (p3.DotProductPool.apply, {"a": lambda: (R(2, 3, 4), R(4))}),
"p4.py::cus_cumprod": (p4.cus_cumprod.apply, {"a": lambda: (R(2, 4),), "zero": lambda: (A([1., 0., 2.]),)}),
"p4.py::logdet_solve": (p4.logdet_solve.apply, {"a": lambda: (R(3, 3), R(3)), "sym": lambda: (A([[2., 1.], [1., 3.]]), R(2))}),
"p4.py::quantile_mean": (p4.quantile_mean.apply, {"a": lambda: (R(2, 4),), "b": lambda: (R(5), 3)}),
"p4.py::fft_lowpass": (p4.fft_lowpass.apply, {"even": lambda: (R(2, 6),), "odd": lambda: (R(2, 5),)}),
"p4.py::lennard_jones": (p4.lennard_jones.apply, {"a": lambda: (A([[0, 0, 0], [1.1, 0, .1], [0, 1.2, .3.__float__()]]), .9, 1.3)}),
"p4.py::masked_fill_mean": (p4.masked_fill_mean.apply, {"a": lambda: (R(2, 5), A([[1, 1, 0, 0, 1], [1, 0, 0, 0, 0]], bool)), "full": lambda: (R(2, 3), np.ones((2, 3), bool))}),
"p4.py::stack_mix": (p4.stack_mix.apply, {"a": lambda: (R(2), R(2), R(2), R(3))}),
"p4.py::accum_hist": (p4.accum_hist.apply, {"a": lambda: (R(6), I(4, 6)), "zero": lambda: (A([1., 0., 2.]), A([0, 0, 1]))}),
"p4.py::norm_clip": (p4.norm_clip.apply, {"short": lambda: (.1 * R(3),), "long": lambda: (3 * R(3),)}),
"p4.py::theta_step": (p4.theta_step.apply, {"a": lambda: (R(3, 3), R(3)), "b": lambda: (R(3, 3), R(3, 2), .3)}),
"p4.py::tensor_norm_rows": (p4.tensor_norm_rows.apply, {"a": lambda: (R(2, 3),)}),
"p4.py::tensor_norm_rows[two calls]": (lambda x, y: p4.tensor_norm_rows.apply(x) + p4.tensor_norm_rows.apply(y), {"two": lambda: (R(2, 3), R(2, 3))}),
}
