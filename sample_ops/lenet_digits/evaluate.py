"""Load what train.py saved and count how many test digits are recognised correctly: opkit run evaluate.py [FOLDER]."""

import sys

import network
import numpy as np
import oneflow as flow
import oneflow.typing as tp


@flow.global_function(type="predict")
def predict_job(images: tp.Numpy.Placeholder((network.BATCH, 1, 8, 8), dtype=flow.float)) -> tp.Numpy:
    with flow.scope.placement("cpu", "0:0"):
        return network.lenet(images)


if __name__ == "__main__":
    flow.load_variables(flow.checkpoint.get(sys.argv[1] if len(sys.argv) > 1 else "./lenet_digits_model"))
    _, _, images, labels = network.digits()
    right = 0
    for start in range(0, len(images), network.BATCH):
        logits = predict_job(images[start : start + network.BATCH])
        right += int(np.sum(np.argmax(logits, axis=1) == labels[start : start + network.BATCH]))
    print(f"accuracy: {100.0 * right / len(images):.1f}% of {len(images)} test digits")
