"""Op builder of decay."""

import oneflow as flow


def decay_forward(x):
    return (
        flow.user_op_builder(flow.util.unique_str("decay_"))
        .Op("decay_forward")
        .Input("x", [x])
        .Output("y")
        .Build()
        .InferAndTryRun()
        .SoleOutputBlob()
    )
