"""A job that predicts with user_relu: `opkit run user_relu_job.py`."""

import os

import numpy as np
import oneflow as flow
import oneflow.typing as tp

here = os.path.dirname(os.path.abspath(__file__))
op = flow.experimental.custom_op_module("user_relu", here)
op.py_api().cpp_def().py_kernel().build_load()


@flow.global_function(type="predict")
def predict(x: tp.Numpy.Placeholder((5,), dtype=flow.float32)) -> tp.Numpy:
    with flow.scope.placement("cpu", "0:0"):
        return op.api.user_relu_forward(x)


if __name__ == "__main__":
    x = np.array([-2, -1, 0, 1, 2], dtype=np.float32)
    print(x)
    print(predict(x))
