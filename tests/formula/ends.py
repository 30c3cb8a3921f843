"""Formulas at the ends of floats: those that overflow or cancel as they are written, and what they must become."""

from __future__ import annotations

#: text -> what the forward kernel says, in part.
UNSTABLE: dict[str, str] = {
    "log1p(exp(x))": "np.logaddexp(x, 0)",
    "x*tanh(log1p(exp(x)))": "np.logaddexp(x, 0)",
    "log(exp(x) + 1) - x": "np.logaddexp(-x, 0)",
    "x + log(1 + exp(-x))": "np.logaddexp(x, 0)",
    "-log(1 - sigmoid(x))": "np.logaddexp(x, 0)",
    "exp(x) / (1 + exp(x))**2": "sigmoid(-x) * sigmoid(x)",
    "1 / cosh(x)": "sech(x)",
    "1 / (exp(x) + exp(2*x))": "np.exp(-np.logaddexp(",
    "sinh(x) / cosh(x)": "np.tanh(x)",
    "x / expm1(x)": "bose(x)",
    "log(exp(x) - 1)": "log1mexp(-x)",
    "exp(x) * exp(-x*x)": "np.exp(x - x ** 2)",
    "cosh(x) * exp(-x*x)": "np.exp(size - x ** 2)",
    "log((exp(x) + exp(-x)) / 2)": "logcosh(x)",
    "exp(x) / (exp(x) + exp(y))": "sigmoid(x - y)",
    "1 / (exp(x) - 1)": "inverse_expm1(x)",
    "(exp(x) - 1) / x": "exprel(x)",
    "exp(x) / (exp(x) - 1)": "-inverse_expm1(-x)",
    "log(1 - exp(-x))": "log1mexp(-x)",
    "log(x + sqrt(x**2 + 1))": "np.arcsinh(x)",
    "log(sqrt(1 + x*x) - x)": "np.arcsinh(-x)",
    "sqrt(x**2 + 1) - 1": "np.tanh(np.arcsinh(x) / 2)",
    "sqrt(x**2 + 1) - x": "np.exp(np.arcsinh(-x))",
    "2*x + 2*sqrt(x*x + 1)": "2 * np.exp(np.arcsinh(x))",
    "exp(x) * sigmoid(-x)": "sigmoid(x)",
    "log1p(-exp(-x))": "log1mexp(-x)",
    "log((1 + x) / (1 - x)) / 2": "np.arctanh(x)",
    "1 - sqrt(1 - x**2)": "x ** 2 / (1 + ",
    "x**2 * exp(-abs(x))": "* x * x",
    "(1 - 2*x*x) * exp(-x*x)": "* e * x * x",
}
#: Names of formulas that are right as they are written, or are rewritten elsewhere.
STABLE = (
    "swish", "logistic", "softplus_beta", "softsign_op", "tanh_op", "tanh_by_exp", "gelu_erf", "gelu_tanh", "mish_op",
    "elu_op", "selu_op", "celu_op", "leaky_relu_op", "hard_swish", "relu_squared", "softshrink", "bent_identity",
    "gaussian", "log_sigmoid", "glu", "softmax_op", "log_softmax_op", "logsumexp_op", "squared_error",
    "absolute_error", "huber", "log_cosh", "bce_with_logits", "hinge", "quantile", "additive_gate", "sinc_op",
)  # fmt: skip
