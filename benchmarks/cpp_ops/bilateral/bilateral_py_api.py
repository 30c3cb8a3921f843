"""Op builder of bilateral."""

import oneflow as flow


def bilateral_forward(x):
    return (
        flow.user_op_builder(flow.util.unique_str("bilateral_"))
        .Op("bilateral_forward")
        .Input("x", [x])
        .Output("y")
        .Build()
        .InferAndTryRun()
        .SoleOutputBlob()
    )
