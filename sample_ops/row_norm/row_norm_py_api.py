"""How a job calls row_norm."""

import oneflow as flow


def row_norm_forward(x, name=None):
    """y = sqrt(sum(x ** 2)) over the last axis.

    Args:
        x: float32 or float64, at least one axis.
        name: name of the op in the job, unique; made up where left out.

    Returns:
        y, shaped as x without its last axis.
    """
    return (
        flow.user_op_builder(name if name is not None else flow.util.unique_str("row_norm_"))
        .Op("row_norm_forward")
        .Input("x", [x])
        .Output("y")
        .Build()
        .InferAndTryRun()
        .SoleOutputBlob()
    )
