"""How a job calls swish."""

import oneflow as flow


def swish_forward(x, beta=1.0, name=None):
    """y = x / (1 + exp(-beta * x)), elementwise.

    Args:
        x: float32 or float64, any shape.
        beta: attribute, float.
        name: name of the op in the job, unique; made up where left out.

    Returns:
        y, shaped as x.
    """
    return (
        flow.user_op_builder(name if name is not None else flow.util.unique_str("swish_"))
        .Op("swish_forward")
        .Input("x", [x])
        .Output("y")
        .Attr("beta", beta)
        .Build()
        .InferAndTryRun()
        .SoleOutputBlob()
    )
