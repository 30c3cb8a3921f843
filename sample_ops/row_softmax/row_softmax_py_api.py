"""How a job calls row_softmax."""

import oneflow as flow


def row_softmax_forward(x, name=None):
    """y = exp(x) / sum(exp(x)) over the last axis.

    Args:
        x: float32 or float64, at least two axes.
        name: name of the op in the job, unique; made up where left out.

    Returns:
        y, shaped as x; each row sums to 1.
    """
    return (
        flow.user_op_builder(name if name is not None else flow.util.unique_str("row_softmax_"))
        .Op("row_softmax_forward")
        .Input("x", [x])
        .Output("y")
        .Build()
        .InferAndTryRun()
        .SoleOutputBlob()
    )
