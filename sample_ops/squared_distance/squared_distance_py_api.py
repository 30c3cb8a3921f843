"""How a job calls squared_distance."""

import oneflow as flow


def squared_distance_forward(a, b, name=None):
    """y = (a - b) ** 2, elementwise.

    Args:
        a: float32 or float64, any shape.
        b: shape and dtype of a.
        name: name of the op in the job, unique; made up where left out.

    Returns:
        y, shaped as a.
    """
    return (
        flow.user_op_builder(name if name is not None else flow.util.unique_str("squared_distance_"))
        .Op("squared_distance_forward")
        .Input("a", [a])
        .Input("b", [b])
        .Output("y")
        .Build()
        .InferAndTryRun()
        .SoleOutputBlob()
    )
