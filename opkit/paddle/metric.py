"""``paddle.metric``: accuracy, precision, recall, the area under a curve."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import UsageError
from opkit.ops.core.types import Ints, Name
from opkit.paddle.semantics import builders as ops
from opkit.shim.missing import guard

__all__ = ["Accuracy", "Auc", "Metric", "Precision", "Recall", "accuracy"]


def _array(item: Any) -> ndarray:
    return np.asarray(item.numpy() if hasattr(item, "numpy") else item)


class Metric(ABC):
    """Base of metrics: ``compute`` runs on tensors, ``update`` collects, ``accumulate`` returns the metric."""

    @abstractmethod
    def reset(self) -> None:
        """Start again."""

    @abstractmethod
    def update(self, *args: Any) -> Any:
        """Take in a batch."""

    @abstractmethod
    def accumulate(self) -> Any:
        """Return the metric of all batches since the last reset."""

    @abstractmethod
    def name(self) -> Any:
        """Return the name, or one per number that accumulate returns."""

    def compute(self, *args: Any) -> Any:
        """Return what ``update`` takes, from outputs and labels."""
        return args


class Accuracy(Metric):
    """The share of samples whose label is among the k most likely classes.

    Args:
        topk: the ks.
        name: shown name, "acc" where left out.
    """

    def __init__(self, topk: Ints = (1,), name: Name = None, *args: Any, **kwargs: Any) -> None:
        self.topk, self.maxk = topk, max(topk)
        base = name or "acc"
        self._name = [base] if self.maxk == 1 else [f"{base}_top{k}" for k in topk]
        self.reset()

    def compute(self, pred: Any, label: Any, *args: Any) -> Any:
        """Return (samples, maxk) ones where the k-th most likely class is the label's; labels may be one-hot."""
        places = ops.topk(pred, self.maxk, -1)[1]
        if label.ndim == 1 or (label.ndim == 2 and label.shape[-1] == 1):
            label = ops.reshape(label, [-1, 1])
        elif label.shape[-1] != 1:
            label = ops.argmax(label, -1, True)
        return ops.cast(ops.equal(places, label), "float32")

    def update(self, correct: Any, *args: Any) -> Any:
        """Take in what ``compute`` returned; return the accuracy of this batch."""
        hits = _array(correct)
        count = int(np.prod(hits.shape[:-1]))
        found = []
        for i, k in enumerate(self.topk):
            right = float(hits[..., :k].sum())
            found.append(right / count)
            self.total[i] += right
            self.count[i] += count
        return found[0] if len(self.topk) == 1 else found

    def reset(self) -> None:
        """Start again."""
        self.total = [0.0] * len(self.topk)
        self.count = [0] * len(self.topk)

    def accumulate(self) -> Any:
        """Return the accuracy of all batches, a list where there are several ks."""
        found = [total / count if count else 0.0 for total, count in zip(self.total, self.count)]
        return found[0] if len(self.topk) == 1 else found

    def name(self) -> list[str]:
        """Return one name per k."""
        return self._name


class _Binary(Metric):
    def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
        self._name = name
        self.reset()

    def reset(self) -> None:
        """Start again."""
        self.tp = self.fp = self.fn = 0

    def update(self, preds: Any, labels: Any) -> None:
        """Take in probabilities, which are rounded, and labels 0 or 1."""
        chosen = self._round(_array(preds).reshape(-1)) == 1
        is_true = _array(labels).reshape(-1) == 1
        self.tp += int((chosen & is_true).sum())
        self.fp += int((chosen & ~is_true).sum())
        self.fn += int((~chosen & is_true).sum())

    @staticmethod
    def _round(chances: ndarray) -> Any:
        raise NotImplementedError

    def name(self) -> str:
        """Return the name."""
        return self._name


class Precision(_Binary):
    """The share of true samples among those classified as true; one half counts as true."""

    def __init__(self, name: str = "precision", *args: Any, **kwargs: Any) -> None:
        super().__init__(name)

    @staticmethod
    def _round(chances: ndarray) -> Any:
        return np.floor(chances + 0.5)

    def accumulate(self) -> float:
        """Return the precision of all batches."""
        count = self.tp + self.fp
        return self.tp / count if count else 0.0


class Recall(_Binary):
    """The share of the true samples that are classified as true; one half does not count as true."""

    def __init__(self, name: str = "recall", *args: Any, **kwargs: Any) -> None:
        super().__init__(name)

    @staticmethod
    def _round(chances: ndarray) -> Any:
        return np.rint(chances)

    def accumulate(self) -> float:
        """Return the recall of all batches."""
        count = self.tp + self.fn
        return self.tp / count if count else 0.0


class Auc(Metric):
    """The area under the receiver operating characteristic, from a histogram of the probabilities.

    Args:
        curve: "ROC".
        num_thresholds: bins of the histogram, less one.
        name: shown name.
    """

    def __init__(
        self, curve: str = "ROC", num_thresholds: int = 4095, name: str = "auc", *args: Any, **kwargs: Any
    ) -> None:
        self._curve, self._count, self._name = curve, num_thresholds, name
        self.reset()

    def reset(self) -> None:
        """Start again."""
        self._positive = np.zeros(self._count + 1)
        self._negative = np.zeros(self._count + 1)

    def update(self, preds: Any, labels: Any) -> None:
        """Take in probabilities (samples, 2), or of class 1 alone, and labels 0 or 1."""
        chances, is_true = _array(preds), _array(labels).reshape(-1) != 0
        of_one = chances[:, 1] if chances.ndim == 2 and chances.shape[1] > 1 else chances.reshape(-1)
        bins = (of_one * self._count).astype(np.int64)
        if bins.size and (bins.min() < 0 or bins.max() > self._count):
            raise UsageError("Auc: probabilities are between 0 and 1")
        np.add.at(self._positive, bins[is_true], 1.0)
        np.add.at(self._negative, bins[~is_true], 1.0)

    def accumulate(self) -> float:
        """Return the area for all batches; 0 where all samples are of one class."""
        true = np.concatenate([[0.0], np.cumsum(self._positive[::-1])])
        false = np.concatenate([[0.0], np.cumsum(self._negative[::-1])])
        whole = true[-1] * false[-1]
        area = float((np.diff(false) * (true[1:] + true[:-1]) / 2).sum())
        return area / float(whole) if whole else 0.0

    def name(self) -> str:
        """Return the name."""
        return self._name


def accuracy(input: Any, label: Any, k: int = 1, correct: Any = None, total: Any = None, name: Name = None) -> Any:
    """Return, as a tensor, the share of samples whose label (samples, 1) is among the k most likely classes."""
    places = ops.topk(input, k, -1)[1]
    column = ops.reshape(label, [-1, 1])
    hit = ops.reduce_any(ops.equal(places, ops.cast(column, "int64")), -1)
    return ops.reduce_mean(ops.cast(hit, "float32"))


__getattr__ = guard(globals())
