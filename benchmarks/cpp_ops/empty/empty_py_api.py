"""Op builder of empty."""

import oneflow as flow


def empty_forward(x):
    return (
        flow.user_op_builder(flow.util.unique_str("empty_"))
        .Op("empty_forward")
        .Input("x", [x])
        .Output("y")
        .Build()
        .InferAndTryRun()
        .SoleOutputBlob()
    )
