import torch, t7, t8
from ct1 import R, I, C, const, spd
B = lambda *s: torch.rand(*s) > 0.4
CASES = {
"t7.py::ChunkedCE": (t7.ChunkedCE.apply, {"a": lambda: (R(4, 3), I(3, 4)), "block2": lambda: (R(5, 3), I(3, 5), 2), "40 rows": lambda: (R(40, 2), I(2, 40))}),
"t7.py::PairedSort": (t7.PairedSort.apply, {"a": lambda: (R(2, 5),), "2": lambda: (R(2, 2),)}),
"t7.py::EmbedPad": (t7.EmbedPad.apply, {"a": lambda: (R(5, 2), I(5, 3, 2)), "pad": lambda: (R(5, 2), torch.tensor([0, 1, 1, 4]), 1)}),
"t7.py::BilinearForm": (t7.BilinearForm.apply, {"a": lambda: (R(3, 2), R(3, 4), R(2, 2, 4), R(2)), "w const": lambda: (R(3, 2), R(3, 4), const(R(2, 2, 4)), R(2))}),
"t7.py::ComplexMatmul": (t7.ComplexMatmul.apply, {"a": lambda: (C(2, 3), C(3, 2))}),
"t7.py::ComplexModLeaky": (t7.ComplexModLeaky.apply, {"a": lambda: (C(5),), "b": lambda: (C(5), 1.0)}),
"t7.py::StochasticDepthDet": (t7.StochasticDepthDet.apply, {"a": lambda: (R(5, 2),), "b": lambda: (R(5), .5)}),
"t7.py::DCT2": (t7.DCT2.apply, {"a": lambda: (R(2, 5),), "b": lambda: (R(1),)}),
"t7.py::Float32Inside": (t7.Float32Inside.apply, {"a": lambda: (R(4), R(4))}),
"t7.py::TopPairMargin": (t7.TopPairMargin.apply, {"a": lambda: (R(3, 4),)}),
"t7.py::BlockPrefixSum": (t7.BlockPrefixSum.apply, {"20": lambda: (R(20),), "40": lambda: (R(40),)}),
"t8.py::clip_norm_rows": (t8.clip_norm_rows, {"a": lambda: (R(4, 3),), "b": lambda: (R(4, 3), 2.0)}),
"t8.py::unfold_sum": (t8.unfold_sum, {"a": lambda: (R(2, 8),), "b": lambda: (R(7), 2, 3), "c": lambda: (R(7), 4, 1)}),
"t8.py::masked_logsumexp": (t8.masked_logsumexp, {"a": lambda: (R(2, 5), torch.tensor([[1, 0, 1, 1, 0], [1, 1, 1, 0, 0]]).bool())}),
"t8.py::cross_rows": (t8.cross_rows, {"a": lambda: (R(2, 3), R(2, 3))}),
"t8.py::SymEigRecon": (t8.SymEigRecon.apply, {"a": lambda: (R(4, 4),), "b": lambda: (R(3, 3), .5)}),
"t8.py::LUSolveBoth": (t8.LUSolveBoth.apply, {"a": lambda: (spd(3), R(2, 2), R(3, 2))}),
"t8.py::PopStack": (t8.PopStack.apply, {"a": lambda: (R(3, 2), R(2, 4), R(4, 2))}),
"t8.py::GradClipPass": (t8.GradClipPass.apply, {"a": lambda: (R(3),)}),
"t8.py::ConcatLinear": (t8.ConcatLinear.apply, {"a": lambda: (R(3, 2), R(3, 1), R(3, 4)), "b": lambda: (R(2, 3, 2), R(2, 3, 1), R(3, 4))}),
"t8.py::StudentTNLL": (t8.StudentTNLL.apply, {"a": lambda: (R(4), R(4), R(4)), "b": lambda: (R(2, 2), R(2, 2), R(2, 2), 8.0)}),
"t8.py::TiedMaxAll": (t8.TiedMaxAll.apply, {"a": lambda: (R(3, 4),), "b": lambda: (R(3, 4), 0)}),
"t8.py::MultiLabelMargin": (t8.MultiLabelMargin.apply, {"a": lambda: (R(4, 3), I(3, 4))}),
}
