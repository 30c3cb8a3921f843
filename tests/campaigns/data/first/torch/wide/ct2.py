import torch, t5, t6
from ct1 import R, I, C, const, spd
B = lambda *s: torch.rand(*s) > 0.4
CASES = {
"t5.py::AddCMul": (t5.AddCMul.apply, {"a": lambda: (R(3, 4), R(4), R(3, 1), .7), "b": lambda: (R(1), R(2, 3), R(3))}),
"t5.py::EntropyFromLogits": (t5.EntropyFromLogits.apply, {"a": lambda: (R(2, 3),), "b": lambda: (R(4),)}),
"t5.py::Rodrigues": (t5.Rodrigues.apply, {"a": lambda: (R(3, 3),), "small": lambda: (1e-3 * R(3, 3),)}),
"t5.py::WhitenZCA": (t5.WhitenZCA.apply, {"a": lambda: (spd(3),), "eye": lambda: (2 * torch.eye(3, dtype=torch.float64),)}),
"t5.py::MaxMarginPairs": (t5.MaxMarginPairs.apply, {"a": lambda: (R(4, 4),), "all": lambda: (R(3, 3), 50.)}),
"t5.py::NormalisedLaplacian": (t5.NormalisedLaplacian.apply, {"a": lambda: (R(3, 3).abs() + .1,)}),
"t5.py::GradReverseMasked": (t5.GradReverseMasked.apply, {"a": lambda: (R(5), B(5))}),
"t5.py::PSNR": (t5.PSNR.apply, {"v": lambda: (R(5), R(5)), "m": lambda: (R(2, 3), R(2, 3), 2.0)}),
"t5.py::StackNorms": (t5.StackNorms.apply, {"a": lambda: (R(3), R(2, 2), R(1)),}),
"t5.py::EdgeSoftAgg": (t5.EdgeSoftAgg.apply, {"a": lambda: (R(4, 2), R(5), I(4, 5), I(4, 5)), "loops": lambda: (R(4, 2), R(3), torch.tensor([0, 1, 1]), torch.tensor([0, 1, 1]))}),
"t6.py::BiasDropScaleAdd": (t6.BiasDropScaleAdd.apply, {"a": lambda: (R(2, 3), R(2, 3)), "b": lambda: (R(2, 3), R(2, 3), R(3), 2.0)}),
"t6.py::StridedConv1d": (t6.StridedConv1d.apply, {"a": lambda: (R(2, 2, 8), R(3, 2, 3)), "b": lambda: (R(1, 2, 7), R(2, 2, 2), 3, 0), "c": lambda: (R(1, 1, 5), R(2, 1, 3), 1, 2)}),
"t6.py::StridedPool": (t6.StridedPool.apply, {"a": lambda: (R(1, 2, 7),), "p0": lambda: (R(1, 2, 7), 3, 2, 0)}),
"t6.py::ChannelShuffle": (t6.ChannelShuffle.apply, {"4/2": lambda: (R(2, 4, 2),), "6/2": lambda: (R(2, 6, 2),), "6/3": lambda: (R(2, 6), 3)}),
"t6.py::Lerp3": (t6.Lerp3.apply, {"a": lambda: (R(3), R(3), R(3))}),
"t6.py::VarMean": (t6.VarMean.apply, {"a": lambda: (R(2, 4),), "b": lambda: (R(2, 3, 4), (0, 2), 0)}),
"t6.py::WrapAngle": (t6.WrapAngle.apply, {"near": lambda: (.1 * R(4), .1 * R(4)), "far": lambda: (R(4), R(4)), "1": lambda: (R(4), R(4), 1.0)}),
"t6.py::HistMatch": (t6.HistMatch.apply, {"a": lambda: (torch.rand(6).double(),), "out": lambda: (2 * R(2, 3), 3)}),
"t6.py::ExpScan": (t6.ExpScan.apply, {"a": lambda: (R(3, 5), B(3, 5)), "never": lambda: (R(3, 5), torch.zeros(3, 5, dtype=torch.bool))}),
"t6.py::CTCLikeForward": (t6.CTCLikeForward.apply, {"a": lambda: (R(5, 3),), "sq": lambda: (R(3, 3),), "1": lambda: (R(4, 1),)}),
}
