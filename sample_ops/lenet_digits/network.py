"""A small LeNet for 8x8 digits whose activation is the op directory user_relu, and the data it learns from."""

import os
from typing import Any

import numpy as np
import oneflow as flow

BATCH = 100
OPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir)

user_relu = flow.experimental.custom_op_module("user_relu", OPS)
user_relu.py_api().cpp_def().py_kernel().build_load()


def activation(x: Any, name: str = "") -> Any:
    """The custom op, with the signature that flow.layers expects of an activation."""
    return user_relu.api.user_relu_forward(x)


def lenet(images: Any) -> Any:
    """Return the logits (BATCH, 10) of images (BATCH, 1, 8, 8)."""
    init = flow.kaiming_initializer
    conv1 = flow.layers.conv2d(
        images, 16, 3, padding="SAME", activation=activation, kernel_initializer=init((16, 1, 3, 3)), name="conv1"
    )
    pool1 = flow.nn.max_pool2d(conv1, ksize=2, strides=2, padding="SAME", data_format="NCHW")
    conv2 = flow.layers.conv2d(
        pool1, 32, 3, padding="SAME", activation=activation, kernel_initializer=init((32, 16, 3, 3)), name="conv2"
    )
    pool2 = flow.nn.max_pool2d(conv2, ksize=2, strides=2, padding="SAME", data_format="NCHW")
    flat = flow.reshape(pool2, [pool2.shape[0], -1])
    hidden = flow.layers.dense(flat, 64, activation=activation, kernel_initializer=init((64, 128)), name="dense1")
    return flow.layers.dense(hidden, 10, kernel_initializer=init((10, 64)), name="dense2")


def digits() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return 1,400 images and labels to train on and 300 to test on (UCI's optical digits, from scikit-learn)."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as problem:
        raise SystemExit("this job reads the digits that scikit-learn ships: pip install scikit-learn") from problem
    data = load_digits()
    order = np.random.RandomState(0).permutation(1700)
    images = (data.images[order] / 16.0).astype(np.float32).reshape(-1, 1, 8, 8)
    labels = data.target[order].astype(np.int32)
    return images[:1400], labels[:1400], images[1400:], labels[1400:]
