"""Train the LeNet of network.py and save it: opkit run train.py [CHECKPOINT_FOLDER]."""

import sys

import network
import numpy as np
import oneflow as flow
import oneflow.typing as tp

EPOCHS = 15


@flow.global_function(type="train")
def train_job(
    images: tp.Numpy.Placeholder((network.BATCH, 1, 8, 8), dtype=flow.float),
    labels: tp.Numpy.Placeholder((network.BATCH,), dtype=flow.int32),
) -> tp.Numpy:
    with flow.scope.placement("cpu", "0:0"):
        logits = network.lenet(images)
        loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits, name="loss")
    schedule = flow.optimizer.CosineScheduler(0.1, steps=14 * EPOCHS, alpha=0.01)
    flow.optimizer.SGD(schedule, momentum=0.9).minimize(loss)
    return loss


if __name__ == "__main__":
    images, labels, _, _ = network.digits()
    for epoch in range(EPOCHS):
        order = np.random.RandomState(epoch).permutation(len(images))
        losses = []
        for start in range(0, len(images), network.BATCH):
            batch = order[start : start + network.BATCH]
            losses.append(train_job(images[batch], labels[batch]).mean())
        print(f"epoch {epoch + 1:2d}: loss {np.mean(losses):.4f}")
    folder = sys.argv[1] if len(sys.argv) > 1 else "./lenet_digits_model"
    flow.checkpoint.save(folder)
    print("saved", folder)
