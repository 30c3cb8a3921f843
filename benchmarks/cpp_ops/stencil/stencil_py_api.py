"""Op builder of stencil."""

import oneflow as flow


def stencil_forward(x):
    return (
        flow.user_op_builder(flow.util.unique_str("stencil_"))
        .Op("stencil_forward")
        .Input("x", [x])
        .Output("y")
        .Build()
        .InferAndTryRun()
        .SoleOutputBlob()
    )
