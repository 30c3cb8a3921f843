"""A job that predicts with row_softmax: `opkit run row_softmax_job.py`."""

import os

import numpy as np
import oneflow as flow
import oneflow.typing as tp

here = os.path.dirname(os.path.abspath(__file__))
op = flow.experimental.custom_op_module("row_softmax", here)
op.py_api().cpp_def().py_kernel().build_load()


@flow.global_function(type="predict")
def predict(x: tp.Numpy.Placeholder((2, 2), dtype=flow.float32)) -> tp.Numpy:
    with flow.scope.placement("cpu", "0:0"):
        return op.api.row_softmax_forward(x)


if __name__ == "__main__":
    x = np.array([[0, 1], [2, -1]], dtype=np.float32)
    print(x)
    print(predict(x))
