import numpy as np, p1, p2
from paddle_oracle import K
rng = np.random.default_rng(0)
R = lambda *s: np.asarray(rng.normal(size=s))
U = lambda *s: np.asarray(rng.uniform(.1, 1, size=s))
I = lambda hi, *s: rng.integers(0, hi, size=s)
A = np.asarray
CASES = {
"p1.py::DiceLoss": (p1.DiceLoss.apply, {"a": lambda: (U(2, 3), I(2, 2, 3)), "b": lambda: (U(2, 2, 2), I(2, 2, 2, 2), .1)}),
"p1.py::RowStandardise": (p1.RowStandardise.apply, {"a": lambda: (R(2, 4),), "b": lambda: (R(3), .1)}),
"p1.py::PixelShuffleNp": (p1.PixelShuffleNp.apply, {"a": lambda: (R(1, 4, 2, 3),), "b": lambda: (R(1, 9, 2, 1), 3)}),
"p1.py::ScatterAddRows": (p1.ScatterAddRows.apply, {"a": lambda: (R(4, 2), A([0, 2, 0]), R(3, 2))}),
"p1.py::FocalWithLogits": (p1.FocalWithLogits.apply, {"a": lambda: (R(5), A([0, 1, 1, 0, 1])), "b": lambda: (R(2, 2), A([[0, 1], [1, 1]]), .6, 1.0), "soft labels": lambda: (R(5), K(U(5)))}),
"p1.py::TVLoss": (p1.TVLoss.apply, {"a": lambda: (R(1, 2, 3, 4),)}),
"p1.py::CosineRows": (p1.CosineRows.apply, {"a": lambda: (R(3, 4), R(3, 4)), "broadcast": lambda: (R(3, 4), R(4))}),
"p1.py::ClippedLogRatio": (p1.ClippedLogRatio.apply, {"inside": lambda: (.05 * R(6), K(.05 * R(6)), K(R(6))), "far": lambda: (R(6), K(R(6)), K(R(6)))}),
"p2.py::ChannelAffine": (p2.ChannelAffine.apply, {"a": lambda: (R(2, 3, 2, 2), R(3), R(3))}),
"p2.py::SoftThreshold": (p2.SoftThreshold.apply, {"a": lambda: (R(5), A([.3])), "0": lambda: (R(2, 3), A(.3))}),
"p2.py::Gather2d": (p2.Gather2d.apply, {"distinct": lambda: (R(3, 4), A([0, 1]), A([1, 2])), "repeat": lambda: (R(3, 4), A([0, 0, 1]), A([1, 1, 2]))}),
"p2.py::RunningCov": (p2.RunningCov.apply, {"a": lambda: (R(5, 3),), "b": lambda: (R(4, 2), 0)}),
"p2.py::LayerNormAffine": (p2.LayerNormAffine.apply, {"a": lambda: (R(3, 4), R(4), R(4)), "v": lambda: (R(4), R(4), R(4), .1)}),
"p2.py::FakeQuantPerTensor": (p2.FakeQuantPerTensor.apply, {"a": lambda: (R(5), A([.2])), "one": lambda: (R(1), A([.2]))}),
"p2.py::MishVariant": (p2.MishVariant.apply, {"a=1": lambda: (R(5),), "a=2": lambda: (R(5), 2.0)}),
"p2.py::Affinity": (p2.Affinity.apply, {"a": lambda: (R(3, 2), R(4, 2)), "g": lambda: (R(2, 2), R(2, 2), .1)}),
"p2.py::LiftPoints": (p2.LiftPoints.apply, {"a": lambda: (R(3, 3), R(2), R(2))}),
"p2.py::PolyHorner": (p2.PolyHorner.apply, {"a": lambda: (R(3, 2), R(4)), "1": lambda: (R(3), R(1))}),
}
