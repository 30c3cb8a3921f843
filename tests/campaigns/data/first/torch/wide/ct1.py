import torch, t1, t2, t3, t4
R = lambda *s: torch.randn(*s, dtype=torch.float64)
I = lambda hi, *s: torch.randint(0, hi, s)
C = lambda *s: torch.randn(*s, dtype=torch.complex128)
def const(t): t._nograd = True; return t
def spd(n):
    a = R(n, n); return a @ a.T + torch.eye(n, dtype=torch.float64)
CASES = {
"t1.py::SmoothedCE": (t1.SmoothedCE.apply, {"a": lambda: (R(4, 3), I(3, 4)), "ign": lambda: (R(4, 3), torch.tensor([0, -100, 2, 1]), 0.3), "opt": lambda: (R(2, 5), torch.tensor([0, 2]), 0.0, 2)}),
"t1.py::GNorm": (t1.GNorm.apply, {"a": lambda: (R(2, 4, 3),), "b": lambda: (R(2, 6), 3), "c": lambda: (R(1, 4, 2, 2), 4, 0.1)}),
"t1.py::QuatRotate": (t1.QuatRotate.apply, {"a": lambda: (R(2, 4), R(2, 3)), "b": lambda: (R(4), R(3)), "c": lambda: (R(2, 2, 4), R(2, 2, 3))}),
"t1.py::RMSScale": (t1.RMSScale.apply, {"a": lambda: (R(2, 4), R(4)), "sq": lambda: (R(4, 4), R(4))}),
"t1.py::BagSum": (t1.BagSum.apply, {"a": lambda: (R(6, 3), torch.tensor([[0, 1], [2, 3]])), "rep": lambda: (R(6, 3), torch.tensor([[0, 1], [0, 3]])), "rep-in-bag": lambda: (R(6, 3), torch.tensor([[0, 0], [2, 3]]))}),
"t1.py::LSE": (t1.LSE.apply, {"last": lambda: (R(3, 4),), "dim0": lambda: (R(4, 4), 0), "t": lambda: (R(3, 4), -1, 2.0)}),
"t2.py::CholeskyLogDet": (t2.CholeskyLogDet.apply, {"a": lambda: (spd(3),), "b": lambda: (torch.stack([spd(2), spd(2)]), 0.3)}),
"t2.py::segment_mean": (t2.segment_mean.apply, {"a": lambda: (R(5, 2), torch.tensor([0, 0, 2, 1, 0]), 4), "b": lambda: (R(3), torch.tensor([1, 1, 0]), 2)}),
"t2.py::FirstOrderScan": (t2.FirstOrderScan.apply, {"a": lambda: (R(2, 4, 3), R(2, 4, 3), R(2, 3)), "1": lambda: (R(2, 1, 3), R(2, 1, 3), R(2, 3))}),
"t2.py::PinballHuber": (t2.PinballHuber.apply, {"a": lambda: (3 * R(5), R(5)), "b": lambda: (R(2, 3), R(2, 3), 0.8, 0.2)}),
"t2.py::MaxPool1dIdx": (t2.MaxPool1dIdx.apply, {"overlap": lambda: (R(2, 2, 9),), "disjoint": lambda: (R(2, 2, 9), 2, 2)}),
"t2.py::TriSolve": (t2.TriSolve.apply, {"lower": lambda: (R(3, 3).tril() + 3 * torch.eye(3, dtype=torch.float64), R(3, 2)), "upper": lambda: (R(3, 3).triu() + 3 * torch.eye(3, dtype=torch.float64), R(3, 2), True)}),
"t2.py::SwiGLU": (t2.SwiGLU.apply, {"a": lambda: (R(2, 6),)}),
"t2.py::TripletActive": (t2.TripletActive.apply, {"a": lambda: (R(6, 3), R(6, 3), R(6, 3)), "all active": lambda: (R(6, 3), R(6, 3), R(6, 3), 99.0)}),
"t3.py::sqdist": (t3.sqdist, {"a": lambda: (R(3, 2), R(4, 2)), "b": lambda: (R(1, 3), R(1, 3))}),
"t3.py::wmean": (t3.wmean, {"a": lambda: (R(3, 4), R(3, 4).abs() + .1)}),
"t3.py::RotaryHalf": (t3.RotaryHalf.apply, {"a": lambda: (R(2, 3, 4), const(R(3, 2)), const(R(3, 2)))}),
"t3.py::UpLinear1d": (t3.UpLinear1d.apply, {"a": lambda: (R(2, 4),), "b": lambda: (R(5), 3), "1": lambda: (R(2, 1), 4)}),
"t3.py::PhaseOf": (t3.PhaseOf.apply, {"a": lambda: (C(3),)}),
"t3.py::MagSquaredWindowed": (t3.MagSquaredWindowed.apply, {"even": lambda: (R(2, 6), R(6)), "odd": lambda: (R(2, 5), R(5)), "v": lambda: (R(4), R(4))}),
"t4.py::SoftCapSign": (t4.SoftCapSign.apply, {"a": lambda: (R(4),), "b": lambda: (5 * R(4), 0.3)}),
"t4.py::ReflectPadLast": (t4.ReflectPadLast.apply, {"a": lambda: (R(2, 5),), "max": lambda: (R(4), 3), "0": lambda: (R(4), 0)}),
"t4.py::AttnScores": (t4.AttnScores.apply, {"a": lambda: (R(2, 3, 4), R(2, 3, 4)), "causal": lambda: (R(3, 4), R(3, 4), True)}),
}
