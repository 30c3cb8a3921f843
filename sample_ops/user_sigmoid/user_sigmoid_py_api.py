"""How a job calls user_sigmoid."""

import oneflow as flow


def user_sigmoid_forward(x, name=None):
    """y = 1 / (1 + exp(-x)), elementwise.

    Args:
        x: float32 or float64, any shape.
        name: name of the op in the job, unique; made up where left out.

    Returns:
        y, shaped as x.
    """
    return (
        flow.user_op_builder(name if name is not None else flow.util.unique_str("user_sigmoid_"))
        .Op("user_sigmoid_forward")
        .Input("x", [x])
        .Output("y")
        .Build()
        .InferAndTryRun()
        .SoleOutputBlob()
    )
