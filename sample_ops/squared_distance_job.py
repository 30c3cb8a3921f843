"""A job that predicts with squared_distance: `opkit run squared_distance_job.py`."""

import os

import numpy as np
import oneflow as flow
import oneflow.typing as tp

here = os.path.dirname(os.path.abspath(__file__))
op = flow.experimental.custom_op_module("squared_distance", here)
op.py_api().cpp_def().py_kernel().build_load()


@flow.global_function(type="predict")
def predict(
    a: tp.Numpy.Placeholder((3,), dtype=flow.float32), b: tp.Numpy.Placeholder((3,), dtype=flow.float32)
) -> tp.Numpy:
    with flow.scope.placement("cpu", "0:0"):
        return op.api.squared_distance_forward(a, b)


if __name__ == "__main__":
    a = np.array([1, 2, 3], dtype=np.float32)
    b = np.array([1, 0, -1], dtype=np.float32)
    print(a, b)
    print(predict(a, b))
