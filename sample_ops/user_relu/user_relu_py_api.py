"""How a job calls user_relu."""

import oneflow as flow


def user_relu_forward(x, name=None):
    """max(x, 0), elementwise.

    Args:
        x: any dtype, any shape.
        name: name of the op in the job, unique; made up where left out.

    Returns:
        shaped as x, of its dtype.
    """
    return (
        flow.user_op_builder(name if name is not None else flow.util.unique_str("user_relu_"))
        .Op("user_relu_forward")
        .Input("in", [x])
        .Output("out")
        .Build()
        .InferAndTryRun()
        .SoleOutputBlob()
    )
