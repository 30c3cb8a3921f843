"""Op builder of segmax."""

import oneflow as flow


def segmax_forward(x, segment):
    return (
        flow.user_op_builder(flow.util.unique_str("segmax_"))
        .Op("segmax_forward")
        .Input("x", [x])
        .Input("segment", [segment])
        .Output("y")
        .Build()
        .InferAndTryRun()
        .SoleOutputBlob()
    )
