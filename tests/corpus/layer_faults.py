"""Single faults planted in the right PyLayers, by class; and a few faulty PyLayers of their own."""

from __future__ import annotations

from tests.corpus.bounded_layers import BOUNDED_FAULTY
from tests.corpus.layer_model import Fault, Layer, planted
from tests.corpus.layers import LAYERS
from tests.corpus.meant_layers import MEANT_FAULTY
from tests.corpus.mixed_layers import MIXED_FAULTY
from tests.corpus.plain_layers import PLAIN_FAULTY
from tests.corpus.told_layers import TOLD_FAULTY

__all__ = ["FAULTY"]

F = Fault
_HERE = 'yield {"x": rng.normal(size=(4, 3))}'

GROSS = (
    F("Tanh", "TanhSign", "gross", "a sign", "1 - y * y", "1 + y * y"),
    F("Cube", "CubeFactor", "gross", "a factor", "3 * x", "2 * x"),
    F("Exp", "ExpForgotten", "gross", "the derivative is left out", "return dy * y", "return dy * 1"),
    F("Reciprocal", "ReciprocalSign", "gross", "a sign", "return -dy", "return dy"),
    F("Log", "LogInverse", "gross", "multiplied instead of divided", "dy / x", "dy * x"),
    F("SineCosine", "SineSign", "gross", "a sign", "- dc * s", "+ dc * s"),
    F("Softmax", "SoftmaxDiagonal", "gross", "the rows' coupling is left out", "y * (dy - (dy * y).sum(axis=ctx.axis, keepdim=True))", "y * (1 - y) * dy"),
    F("Inverse", "InversePlain", "gross", "transposes left out", "paddle.matmul(paddle.matmul(y.T, dy), y.T)", "paddle.matmul(paddle.matmul(y, dy), y)"),
    F("Decay", "DecayForward", "gross", "the recursion runs the wrong way", "dy.numpy()[::-1]:", "dy.numpy():"),
    F("CumSum", "CumSumSame", "gross", "the sum runs the wrong way", "dy.numpy() if ctx.reverse else dy.numpy()[..., ::-1]", "dy.numpy()[..., ::-1] if ctx.reverse else dy.numpy()"),
    F("Attention", "AttentionScale", "gross", "the square root of the width is forgotten", "keepdims=True)) / math.sqrt(q.shape[1])", "keepdims=True))"),
    F("Conv1d", "ConvFlipped", "gross", "the filter is not flipped", 'np.convolve(g, w, "full")', 'np.correlate(g, w, "full")'),
    F("Relu6", "Relu6Below", "gross", "the lower bound is forgotten", "(x.numpy() > 0) & (x.numpy() < 6)", "x.numpy() < 6"),
    F("Roll", "RollAgain", "gross", "rolled the same way", "-ctx.shift", "ctx.shift"),
    F("SortRow", "SortTaken", "gross", "the permutation instead of its inverse", "np.put_along_axis(dx, ctx.order, dy.numpy(), axis=-1)", "dx[...] = np.take_along_axis(dy.numpy(), ctx.order, axis=-1)"),
    F("Transpose", "TransposeAgain", "gross", "the permutation instead of its inverse", "[ctx.perm.index(axis) for axis in range(dy.ndim)]", "ctx.perm"),
    F("SquaredDistances", "DistancesSign", "gross", "a sign of one input", "-g.sum(axis=0)", "g.sum(axis=0)"),
    F("Checked", "SigmoidSlope", "gross", "a factor is forgotten", "dy * s * (1 - s)", "dy * s"),
)
SUBTLE = (
    F("GeluTanh", "GeluThird", "subtle", "a factor 3 within the chain", "0.134145", "0.044715"),
    F("GeluTanh", "GeluDigits", "subtle", "a constant has five digits", "0.7978845608 * (1 +", "0.79788 * (1 +"),
    F("Mish", "MishChain", "subtle", "a factor of the chain is forgotten", "(1 - t * t) * F.sigmoid(x)", "(1 - t * t)"),
    F("LayerNorm", "LayerNormMean", "subtle", "the mean's part is forgotten", "g - g.mean(axis=-1, keepdim=True) - h", "g - h"),
    F("LayerNorm", "LayerNormSpread", "subtle", "the variance's part is forgotten", " - h * (g * h).mean(axis=-1, keepdim=True)", ""),
    F("RmsNorm", "RmsNormPower", "subtle", "a power", "r * r * r * x", "r * r * x"),
    F("CosineSimilarity", "CosineNorms", "subtle", "the wrong norm", "s * b / (nb * nb)", "s * b / (na * nb)"),
    F("LogSoftmax", "LogSoftmaxLog", "subtle", "the logarithm in place of the probability", "paddle.exp(y)", "y"),
    F("CrossEntropy", "CrossEntropySum", "subtle", "the mean is forgotten", "dy.numpy() / len(dx)", "dy.numpy() / 1"),
    F("FocalLoss", "FocalHalf", "subtle", "one of two terms", " - (1 - q) ** ctx.gamma / q", ""),
    F("RowVariance", "VarianceUnbiased", "subtle", "n - 1 for n", "/ c.shape[1]", "/ max(c.shape[1] - 1, 1)"),
    F("LstmPoint", "LstmGate", "subtle", "a gate's slope", "d * c * sf * (1 - sf)", "d * c * sf"),
    F("LowRank", "LowRankScale", "subtle", "the scale is forgotten in one of three gradients", "paddle.matmul(h.T, g)", "paddle.matmul(h.T, dy)"),
    F("Polynomial", "PolynomialPower", "subtle", "off by one", "slope * ctx.x + n * ctx.coef[n]", "slope * ctx.x + (n + (n > 1)) * ctx.coef[n]"),
    F("Huber", "HuberRound", "subtle", "clipped a little too high", "-ctx.delta, ctx.delta)", "-ctx.delta, ctx.delta * 1.001)"),
    F("SeededDropout", "DropoutUnscaled", "subtle", "the kept part is not scaled up", "return paddle.to_tensor(dy.numpy() * ctx.factor)", "return paddle.to_tensor(dy.numpy() * (ctx.factor > 0))"),
)
REGION = (
    F("Relu6", "Relu6Open", "region", "x < 6 is forgotten", "(x.numpy() > 0) & (x.numpy() < 6)", "x.numpy() > 0", witness="given([-1.0, 3.0, 7.0])", beyond=True),
    F("Huber", "HuberOpen", "region", "the linear part is forgotten", "np.clip(ctx.x, -ctx.delta, ctx.delta)", "(1 * ctx.x)"),
    F("HardTanh", "HardTanhOpen", "region", "the upper bound is forgotten", "(x.numpy() > low) & (x.numpy() < high)", "x.numpy() > low"),
    F("BceLogits", "BceNegative", "region", "negative logits", "np.where(ctx.z >= 0, 1 / (1 + e), e / (1 + e))", "1 / (1 + e)"),
    F("Tanh", "TanhTail", "region", "zero for x < -2.65", "dy * (1 - y * y)", "dy * (1 - y * y) * (y > -0.99).astype(y.dtype)", witness="given([-4.0, 0.5])", beyond=True),
    F("Exp", "ExpClipped", "region", "the saved output is clipped", "return dy * y", "return dy * paddle.clip(y, max=20.0)", witness="given([3.5, 0.0])", beyond=True),
    F("Cube", "CubeNegative", "region", "negative x", "3 * x * x", "3 * x * paddle.abs(x)"),
    F("MaxPool", "PoolOfMagnitudes", "region", "the largest magnitude", "parts.argmax(-1)", "np.abs(parts).argmax(-1)"),
    F("MaxRow", "MaxOfPositive", "region", "rows without a positive element", "np.argmax(x.numpy(), axis=-1)", "np.argmax(np.maximum(x.numpy(), 0), axis=-1)", cases="", call="given([[1.0, 2.0, -1.0], [0.5, -2.0, 0.3]])", witness="given([[-2.0, -1.0]])", beyond=True),
    F("Derived", "DerivedFar", "region", "a short cut beyond 30", "2 * x / (1 + x * x)", "paddle.where(x > 30, 2 / x, 2 * x / (1 + x * x))", witness="given([31.0, 40.0])", beyond=True),
    F("Gauss", "GaussPositive", "region", "only for positive x", "return -2 * x * NAME.bell(x)", "return -2 * np.abs(x) * NAME.bell(x)"),
)
OPTION = (
    F("Scale", "ScaleForgotten", "attribute", "the option is ignored", "dy * ctx.k", "dy * 1", witness="leaf(3, 4), 2.5", beyond=True),
    F("Scale", "ScaleSeen", "attribute", "the option is ignored", "dy * ctx.k", "dy * 1", call="leaf(3, 4), 2.5"),
    F("Affine", "AffineDefault", "attribute", "the default in place of the option", "dy * ctx.scale", "dy * 2.0"),
    F("Affine", "AffineUnseen", "attribute", "the default in place of the option", "dy * ctx.scale", "dy * 2.0", call="leaf(3, 4)", witness="leaf(3, 4), scale=3.0", beyond=True),
    F("Swish", "SwishBeta", "attribute", "beta within the chain", "ctx.beta * x * s", "x * s", witness="leaf(3, 4), 2.0", beyond=True),
    F("Wave", "WavePhase", "attribute", "the phase", "paddle.cos(ctx.w * x + ctx.phase)", "paddle.cos(ctx.w * x)", witness="leaf(3), 2.0, 0.5", beyond=True),
    F("LeakyRelu", "LeakyDefault", "attribute", "the default in place of the option", "ctx.slope * dy", "0.1 * dy", witness="leaf(3, 4), 0.3", beyond=True),
    F("LeakyRelu", "LeakyTypical", "attribute", "the default in place of the option", "ctx.slope * dy", "0.1 * dy", call="leaf(3, 4), 0.01"),
    F("Elu", "EluAlpha", "attribute", "alpha also for positive x", "np.where(ctx.x > 0, 1, ctx.alpha * np.exp(np.minimum(ctx.x, 0)))", "ctx.alpha * np.exp(np.minimum(ctx.x, 0))", witness="leaf(3, 4), 0.5", beyond=True),
    F("Softplus", "SoftplusBeta", "attribute", "beta in the slope", "F.sigmoid(paddle.to_tensor(ctx.x) * ctx.beta)", "F.sigmoid(paddle.to_tensor(ctx.x))", witness="leaf(3, 4), 3.0", beyond=True),
    F("IntPower", "PowerEven", "attribute", "even powers", "x ** (ctx.n - 1)", "paddle.abs(x) ** (ctx.n - 1)", witness="leaf(3, 4), 2", beyond=True),
    F("ClipOpen", "ClipHigh", "attribute", "one bound is forgotten", "keep &= y <= high", "pass"),
    F("ClipOpen", "ClipLow", "attribute", "the bound that is off by default", "keep &= y >= low", "pass", cases="", witness="leaf(3, 4), -0.5", beyond=True),
    F("SumAxis", "SumKept", "attribute", "keepdim", "dy if ctx.keepdim else paddle.unsqueeze(dy, ctx.axis)", "paddle.unsqueeze(dy, ctx.axis)", cases="", witness="leaf(3, 4), -1, True", beyond=True),
    F("SumAxis", "SumLast", "attribute", "the axis", "paddle.unsqueeze(dy, ctx.axis)", "paddle.unsqueeze(dy, -1)"),
    F("SumAxis", "SumPositive", "attribute", "negative axes", "paddle.unsqueeze(dy, ctx.axis)", "paddle.unsqueeze(dy, max(ctx.axis, 0))", call="leaf(3, 3), 1", cases="", witness="leaf(3, 3), -1", beyond=True),
    F("LogSumExp", "LogSumLast", "attribute", "the axis", "np.expand_dims(dy.numpy(), ctx.axis)", "dy.numpy()[..., None]"),
    F("Softmax", "SoftmaxLast", "attribute", "the axis", "axis=ctx.axis", "axis=-1", witness="leaf(3, 4), 0", beyond=True),
    F("MatMulT", "MatMulFlag", "attribute", "the flag", "if ctx.transpose_b:", "if False:"),
    F("WeightedError", "ErrorSum", "attribute", "the sum is treated as the mean", 'if ctx.reduction == "mean":', 'if ctx.reduction != "none":'),
    F("WeightedError", "ErrorSumUnseen", "attribute", "the sum is treated as the mean", 'if ctx.reduction == "mean":', 'if ctx.reduction != "none":', cases="", witness="leaf(3, 2), leaf(3, 2), 'sum'", beyond=True),
    F("Activation", "ActivationExp", "attribute", "one of the kinds", "return dy * y\n", "return dy * 1\n", witness="leaf(3), 'exp'", beyond=True),
    F("Polynomial", "PolynomialCubic", "attribute", "coefficients after the third", "range(len(ctx.coef) - 1, 0, -1)", "range(min(len(ctx.coef), 3) - 1, 0, -1)", cases='yield {"x": rng.normal(size=3), "coef": (1.0, 2.0, 0.5, 0.3)}'),
    F("Pad", "PadEdge", "attribute", "the mode", 'if ctx.mode == "edge":', "if False:"),
    F("Pad", "PadLeft", "attribute", "the width on the left", "g[ctx.left : ctx.left + ctx.n]", "g[1 : 1 + ctx.n]", cases="", witness="leaf(4), 0, 2", beyond=True),
    F("UpperTriangle", "TriangleMain", "attribute", "the diagonal", "return paddle.to_tensor(dy.numpy() * ctx.keep)", "return paddle.to_tensor(np.triu(dy.numpy()))", witness="leaf(3, 4), 1", beyond=True),
    F("Roll", "RollOne", "attribute", "the shift", "-ctx.shift", "-1", witness="leaf(4), 2", beyond=True),
    F("Decay", "DecayRate", "attribute", "the rate", "ctx.rate * state", "0.9 * state", cases=_HERE, witness="leaf(4, 3), 0.5", beyond=True),
    F("MapList", "MapFirst", "attribute", "only the first of a list", "float(np.prod(ctx.steps))", "float(ctx.steps[0] if ctx.steps else 1.0)"),
    F("Recompute", "RecomputeTanh", "attribute", "another function", "ctx.function = function", "ctx.function = paddle.tanh", named=False),
    F("CumSum", "CumSumFlag", "attribute", "the flag", "a = dy.numpy() if ctx.reverse else dy.numpy()[..., ::-1]\ndx = np.cumsum(a, axis=-1)\nreturn paddle.to_tensor(np.ascontiguousarray(dx if ctx.reverse else dx[..., ::-1]))", "dx = np.cumsum(dy.numpy()[..., ::-1], axis=-1)\nreturn paddle.to_tensor(np.ascontiguousarray(dx[..., ::-1]))", cases="", witness="leaf(4), True", beyond=True),
)
INCOMING = (
    F("CrossEntropy", "CrossEntropyAlone", "dy", "the incoming gradient is ignored", "(dy.numpy() / len(dx)).astype(dx.dtype)", "dx.dtype.type(1 / len(dx))"),
    F("MseTo", "MseAlone", "dy", "the incoming gradient is ignored", "ctx.diff.size * dy * ctx.diff", "ctx.diff.size * ctx.diff"),
    F("Magnitude", "MagnitudeAbs", "dy", "its magnitude", "dy * paddle.sign(x)", "paddle.abs(dy) * paddle.sign(x)"),
    F("Conv1d", "ConvNormed", "dy", "it is normed", "g = dy.numpy()", "g = dy.numpy() / np.abs(dy.numpy()).max()"),
    F("LogSoftmax", "LogSoftmaxOneHot", "dy", "its rows are taken to sum to -1", "dy.sum(axis=-1, keepdim=True)", "-1.0"),
    F("Recompute", "RecomputeOnes", "dy", "the incoming gradient is ignored", "paddle.grad(y, again, dy)", "paddle.grad(y, again)"),
    F("LogSumExp", "LogSumMean", "dy", "its mean", "np.expand_dims(dy.numpy(), ctx.axis)", "dy.numpy().mean()"),
    F("Outer", "OuterClipped", "dy", "it is clipped", "g = dy.numpy()", "g = np.clip(dy.numpy(), -1, 1)"),
)
ACCUMULATION = (
    F("GatherRows", "GatherSet", "accumulation", "repeated rows", "np.add.at(dx, ctx.index, dy.numpy())", "dx[ctx.index] = dy.numpy()"),
    F("GatherRows", "GatherUnseen", "accumulation", "repeated rows", "np.add.at(dx, ctx.index, dy.numpy())", "dx[ctx.index] += dy.numpy()", call="leaf(4, 3), ints([3, 0, 2])", cases="", witness="leaf(4, 3), ints([2, 0, 2])", beyond=True, named=False),
    F("Embedding", "EmbeddingOnce", "accumulation", "repeated ids", "np.add.at(dw, ctx.ids.ravel(), g)", "dw[ctx.ids.ravel()] += g"),
    F("ScatterAdd", "ScatterOnce", "accumulation", "repeated rows in forward", "np.add.at(y, ctx.index, updates.numpy())", "y[ctx.index] += updates.numpy()"),
    F("SegmentSum", "SegmentOnce", "accumulation", "repeated segments in forward", "np.add.at(y, ctx.segment, x.numpy())", "y[ctx.segment] += x.numpy()"),
    F("AddBias", "BiasFirst", "accumulation", "one row in place of their sum", "dy.reshape([-1, dy.shape[-1]]).sum(axis=0)", "dy.reshape([-1, dy.shape[-1]])[0]"),
    F("AddBias", "BiasMatrix", "accumulation", "3-D arrays", "dy.reshape([-1, dy.shape[-1]]).sum(axis=0)", "dy.sum(axis=0)", cases="", witness="leaf(2, 3, 4), leaf(4)", beyond=True),
    F("Product", "ProductPlain", "accumulation", "no sum over broadcast axes", "return NAME.reduced(dy * b, a), NAME.reduced(dy * a, b)", "return dy * b, dy * a"),
    F("Product", "ProductUnseen", "accumulation", "no sum over broadcast axes", "return NAME.reduced(dy * b, a), NAME.reduced(dy * a, b)", "return dy * b, dy * a", call="leaf(3, 4), leaf(3, 4)", witness="leaf(3, 4), leaf(4)", beyond=True),
    F("Product", "ProductOnes", "accumulation", "axes of size 1", " or like.shape[axis - extra] == 1 != g.shape[axis]]", "]", witness="leaf(3, 4), leaf(3, 1)", beyond=True),
    F("Tile", "TileMean", "accumulation", "the mean in place of the sum", "dy.sum(axis=0)", "dy.mean(axis=0)"),
    F("RmsNorm", "RmsMatrix", "accumulation", "3-D arrays", "axis=list(range(dy.ndim - 1))", "axis=0", witness="leaf(2, 3, 4), leaf(4)", beyond=True),
    F("Linear", "LinearBias", "accumulation", "the mean of the rows", "dy.sum(axis=0)", "dy.mean(axis=0)"),
)
WIRING = (
    F("MatMul", "MatMulSwapped", "wiring", "gradients in the wrong order", "paddle.matmul(dy, b.T), paddle.matmul(a.T, dy)", "paddle.matmul(a.T, dy), paddle.matmul(dy, b.T)", call="leaf(3, 3), leaf(3, 3)"),
    F("MatMul", "MatMulTurned", "wiring", "a gradient is transposed", "paddle.matmul(a.T, dy)", "paddle.matmul(dy.T, a)", call="leaf(3, 3), leaf(3, 3)"),
    F("Stack", "StackSwapped", "wiring", "gradients in the wrong order", "dy[0], dy[1]", "dy[1], dy[0]"),
    F("Halves", "HalvesSwapped", "wiring", "gradients in the wrong order", "[dleft, dright]", "[dright, dleft]"),
    F("LstmPoint", "LstmSwapped", "wiring", "two gates change places", "return d * tg * si * (1 - si), d * c * sf * (1 - sf)", "return d * c * sf * (1 - sf), d * tg * si * (1 - si)"),
    F("LstmPoint", "LstmState", "wiring", "an output's gradient is not read", "d = dnew + dh * (1 - t * t)", "d = dh * (1 - t * t)"),
    F("SineCosine", "SineOnly", "wiring", "an output's gradient is not read", "return ds * c - dc * s", "return ds * c"),
    F("Larger", "LargerSwapped", "wiring", "the mask of the other input", "return dy * ctx.first, dy * (1 - ctx.first)", "return dy * (1 - ctx.first), dy * ctx.first"),
    F("Join", "JoinReversed", "wiring", "sizes in the wrong order", "paddle.split(dy, ctx.sizes, axis=ctx.axis)", "paddle.split(dy, ctx.sizes[::-1], axis=ctx.axis)"),
    F("CosineSimilarity", "CosineSaved", "wiring", "the wrong Tensor is saved", "ctx.save_for_backward(a, b, na, nb, s)", "ctx.save_for_backward(a, a, na, nb, s)"),
    F("GeluTanh", "GeluSaved", "wiring", "the wrong Tensor is saved", "ctx.save_for_backward(x, t)", "ctx.save_for_backward(t, t)"),
    F("WeightedError", "ErrorBoth", "wiring", "the second gradient is the first", "return g, -g", "return g, g"),
    F("Blend", "BlendSwapped", "wiring", "weights change places", "return da, db, dweight", "return db, da, dweight"),
    F("Blend", "BlendFrozen", "wiring", "None for an input that needs a gradient", "is_frozen = True", "is_frozen = 1", call="leaf(3), leaf(3), leaf(3)", cases=""),
    F("Linear", "LinearNoBias", "wiring", "None for the optional input", "if ctx.has_bias:", "if False:"),
    F("Embedding", "EmbeddingSlots", "wiring", "the gradient goes to the integer input", "return None, paddle.to_tensor(dw)", "return paddle.to_tensor(dw), None"),
    F("Quadratic", "QuadraticSymmetric", "wiring", "the matrix is taken to be symmetric", "paddle.matmul(m + m.T, x)", "2 * paddle.matmul(m, x)"),
)
IMPURE = (
    F("Scale", "ScaleInPlace", "impurity", "forward empties its argument", "return x * k", "y = x * k\nx.zero_()\nreturn y"),
    F("Cube", "CubeEmptied", "impurity", "backward empties what was saved", "return 3 * x * x * dy", "dx = 3 * x * x * dy\nx.zero_()\nreturn dx"),
    F("Tanh", "TanhTaken", "impurity", "backward writes to the incoming gradient", "return dy * (1 - y * y)", "dx = dy * (1 - y * y)\ndy.zero_()\nreturn dx"),
    F("Exp", "ExpScaled", "impurity", "backward writes to the output", "return dy * y", "dx = dy * y\ny.scale_(2.0)\nreturn dx"),
    F("Derived", "DerivedCounts", "impurity", "each call differs a little", "return 2 * x / (1 + x * x)", "NAME_CALLS.append(1)\n    return 2 * x / (1 + x * x) * (1 + 1e-6 * len(NAME_CALLS))\n\n\nNAME_CALLS = []"),
    F("Sigmoid", "SigmoidNoise", "impurity", "noise", "return dy * y * (1 - y)", "return dy * y * (1 - y) * (1 + 1e-5 * float(np.random.standard_normal()))"),
    F("SeededDropout", "DropoutUnseeded", "impurity", "forward is random", "np.random.RandomState(seed)", "np.random"),
    F("Counted", "CountedThird", "impurity", "every third call differs", "return x * x * 0.5", "return x * x * (0.5 if NAME.calls % 3 else 0.75)"),
    F("Join", "JoinReverses", "impurity", "the caller's list is reversed", "return paddle.concat(list(parts), axis=axis)", "y = paddle.concat(list(parts), axis=axis)\nparts.reverse()\nreturn y"),
    F("MapList", "MapSorts", "impurity", "the caller's list is sorted", "ctx.steps = steps", "ctx.steps = list(steps)\nsteps.sort()", cases='yield {"x": rng.normal(size=3), "steps": [2.0, -0.5]}'),
    F("Wave", "WaveGrows", "impurity", "backward changes ctx, so that a second one differs", "return dy * ctx.w * paddle.cos(ctx.w * x + ctx.phase)", "ctx.w, w = ctx.w + 0.1, ctx.w\nreturn dy * w * paddle.cos(w * x + ctx.phase)"),
    Layer("KeptOnClass", "x", "NAME.x = x\nreturn x * x", "return 2 * NAME.x * dy", fault="impurity", why="the class holds what ctx should"),
    Layer("StaleMask", "x", "mask = NAME.masks.setdefault(tuple(x.shape), x > 0)\nctx.mask = mask\nreturn F.relu(x)",
          "return dy * ctx.mask.astype(dy.dtype)", methods="masks = {}", fault="impurity", why="the first call's mask is kept"),
    Layer("OneBuffer", "x", "return x * 2", """
        if NAME.buffer is None or NAME.buffer.shape != dy.shape or NAME.buffer.dtype != dy.dtype:
            NAME.buffer = dy * 2
        else:
            NAME.buffer.set_value(dy * 2)
        return NAME.buffer
        """, methods="buffer = None", fault="impurity", why="each gradient overwrites the last"),
    Layer("Remembered", "x", """
        key = (tuple(x.shape), round(float(x.sum()), 6))
        if key not in NAME.known:
            NAME.known[key] = paddle.sin(x)
        ctx.save_for_backward(x)
        return NAME.known[key] * 1
        """, "(x,) = ctx.saved_tensor()\nreturn dy * paddle.cos(x)", methods="known = {}", fault="impurity",
          why="results are remembered by the sum of x", witness="given([1.0, 2.0])"),
)
CONTRACT = (
    F("Tanh", "TanhSingle", "contract", "float32 for a float64 input", "return dy * (1 - y * y)", "return (dy * (1 - y * y)).astype('float32')", call='leaf(3, 4, dtype="float64")'),
    F("Cube", "CubeDouble", "contract", "float64 for a float32 input", "return x * x * x", "return (x * x * x).astype('float64')", call='leaf(3, 4, dtype="float32")'),
    F("MeanAll", "MeanScalar", "contract", "a scalar for a matrix", "paddle.full(ctx.shape, 1 / max(math.prod(ctx.shape), 1), dtype=dy.dtype) * dy", "dy / math.prod(ctx.shape)"),
    F("MaxRow", "MaxFlat", "contract", "a flat gradient", "return paddle.to_tensor(dx)", "return paddle.to_tensor(dx.reshape(-1))"),
    F("RowNorm", "NormNoAxis", "contract", "a missing axis", "dy.unsqueeze(-1) * x / n", "dy * x / n"),
    F("RowNorm", "NormSquare", "contract", "a missing axis, which broadcasts for square x", "dy.unsqueeze(-1) * x / n", "dy * x / n", call="leaf(4, 4)", cases='yield {"x": rng.normal(size=(3, 3))}'),
    F("SquaredDistances", "DistancesWide", "contract", "a missing sum", "paddle.to_tensor(g.sum(axis=1))", "paddle.to_tensor(g)"),
    F("Product", "ProductNone", "contract", "None for an input that needs a gradient", "NAME.reduced(dy * a, b)", "None"),
    F("AveragePairs", "PairsArray", "contract", "an array for a Tensor", "paddle.to_tensor(np.repeat(dy.numpy() / 2, 2, axis=-1))", "np.repeat(dy.numpy() / 2, 2, axis=-1)"),
    F("Exp", "ExpNoReturn", "contract", "no return", "return dy * y", "dy * y"),
    F("Cube", "CubePair", "contract", "two gradients for one input", "return 3 * x * x * dy", "return 3 * x * x * dy, None"),
    F("Outer", "OuterColumn", "contract", "a column for a vector", "paddle.to_tensor(g @ ctx.b)", "paddle.to_tensor((g @ ctx.b)[:, None])"),
    F("MatMul", "MatMulShape", "contract", "a transposed gradient", "paddle.matmul(a.T, dy)", "paddle.matmul(dy.T, a)"),
    F("Join", "JoinTuple", "contract", "a gradient is lost", "return list(paddle.split(dy, ctx.sizes, axis=ctx.axis))", "return list(paddle.split(dy, ctx.sizes, axis=ctx.axis))[:1]"),
    F("Stack", "StackMisspelt", "contract", "a name of another framework", "return dy[0], dy[1]", "return dy.unbind_all()"),
)
PRECISION = (
    F("GeluTanh", "GeluSingle", "precision", "float32 within float64", "t = paddle.tanh(0.7978845608 * (x + 0.044715 * x * x * x))", "t = paddle.tanh((0.7978845608 * (x + 0.044715 * x * x * x)).astype('float32')).astype(x.dtype)", call='leaf(3, 4, dtype="float64")'),
    F("Tanh", "TanhThroughSingle", "precision", "float32 within float64", "return dy * (1 - y * y)", "return dy * (1 - y * y).astype('float32').astype(dy.dtype)", call='leaf(3, 4, dtype="float64")'),
    F("Attention", "AttentionSingle", "precision", "float32 within float64", "ctx.p = e / e.sum(axis=1, keepdims=True)", "ctx.p = (e / e.sum(axis=1, keepdims=True)).astype('float32').astype(e.dtype)"),
    F("Softplus", "SoftplusOverflow", "precision", "overflows for large x", "F.sigmoid(paddle.to_tensor(ctx.x) * ctx.beta)", "paddle.to_tensor(np.exp(ctx.beta * ctx.x) / (1 + np.exp(ctx.beta * ctx.x)))", witness="given([800.0, 0.5])", beyond=True),
    F("LogSumExp", "LogSumOverflow", "precision", "overflows for large x", "ctx.p, ctx.axis = e / e.sum(axis=axis, keepdims=True), axis", "ctx.p, ctx.axis = np.exp(x.numpy()) / np.exp(x.numpy()).sum(axis=axis, keepdims=True), axis", cases="", witness="given([[800.0, 0.0, 1.0]])", beyond=True),
    F("Mish", "MishOverflow", "precision", "overflows for large x", "(1 - t * t) * F.sigmoid(x)", "(1 - t * t) * (paddle.exp(x) / (1 + paddle.exp(x)))", witness="given([800.0, 0.5])", beyond=True),
    F("RowVariance", "VarianceCancels", "precision", "digits cancel far from 0", "return paddle.mean(c * c, axis=1)", "return paddle.mean(x * x, axis=1) - paddle.mean(x, axis=1) ** 2", cases="", witness="given([[1e7, 1e7 + 1.5, 1e7 + 3.25]])", beyond=True),
    F("Polynomial", "PolynomialHalf", "precision", "float16 within", "slope = slope * ctx.x + n * ctx.coef[n]", "slope = (slope * ctx.x + n * ctx.coef[n]).astype('float16').astype(ctx.x.dtype)"),
)
EDGE = (
    F("Magnitude", "MagnitudeZero", "edge", "NaN at zero", "dy * paddle.sign(x)", "dy * x / paddle.abs(x)", witness="given([0.0, 1.0])", beyond=True),
    F("Magnitude", "MagnitudeKink", "edge", "outside of both slopes at the kink", "dy * paddle.sign(x)", "dy * (paddle.sign(x) + 1.5 * (x == 0).astype(x.dtype))", witness="given([0.0, 1.0])", beyond=True),
    F("IntPower", "PowerQuotient", "edge", "NaN at zero", "ctx.n * x ** (ctx.n - 1)", "ctx.n * x**ctx.n / x", witness="given([0.0, 1.0])", beyond=True),
    F("Exp", "ExpEmpty", "edge", "raises for an empty array", "return dy * y", "return dy * y * (1 + 0 * float(np.max(y.numpy())))", witness="leaf(0, 3)", beyond=True),
    F("MatMul", "MatMulSqueezed", "edge", "axes of size 1 are lost", "paddle.matmul(a.T, dy)", "paddle.matmul(a.T, dy).squeeze()", witness="leaf(3, 1), leaf(1, 2)", beyond=True),
    F("Tanh", "TanhScalar", "edge", "0-d arrays become 1-d", "return dy * (1 - y * y)", "return (dy * (1 - y * y)).reshape(y.shape or [1])", witness="given(0.5)", beyond=True),
    F("RowVariance", "VarianceRow", "edge", "one column", "return 2 * c * dy.unsqueeze(1) / c.shape[1]", "return 2 * c * dy.unsqueeze(1) / c.shape[1] if c.shape[1] > 1 else c + 1", cases="", witness="leaf(3, 1)", beyond=True),
    F("LogSoftmax", "LogSoftmaxBatch", "edge", "a batch of one", "return dy - paddle.exp(y)", "return dy * (dy.shape[0] > 1) - paddle.exp(y)", witness="leaf(1, 4)", beyond=True),
    Layer("NormAtZero", "x", "n = paddle.sqrt((x * x).sum(axis=-1, keepdim=True))\nctx.save_for_backward(x, n)\nreturn n.squeeze(-1)",
          "x, n = ctx.saved_tensor()\nreturn dy.unsqueeze(-1) * x / n", fault="edge", why="NaN for a row of zeros",
          witness="given([[0.0, 0.0], [1.0, 2.0]])", beyond=True),
    Layer("MaxShared", "x", "y = x.max(axis=-1, keepdim=True)\nctx.mask = (x == y).astype(x.dtype)\nreturn y.squeeze(-1)",
          "return ctx.mask * dy.unsqueeze(-1)", fault="edge", why="each of several largest gets the whole gradient",
          witness="given([[1.0, 1.0, 0.0]])", beyond=True),
    Layer("ProductQuotient", "x", "y = paddle.prod(x, axis=-1)\nctx.save_for_backward(x, y)\nreturn y",
          "x, y = ctx.saved_tensor()\nreturn (dy * y).unsqueeze(-1) / x", fault="edge", why="divides by zero",
          witness="given([[2.0, 0.0, 3.0]])", beyond=True),
)


def _made() -> dict[str, Layer]:
    rows = (*GROSS, *SUBTLE, *REGION, *OPTION, *INCOMING, *ACCUMULATION, *WIRING, *IMPURE, *CONTRACT)
    made = [row if isinstance(row, Layer) else planted(row, LAYERS[row.of]) for row in (*rows, *PRECISION, *EDGE)]
    return {row.name: row for row in made}


#: By name.
FAULTY: dict[str, Layer] = {**_made(), **PLAIN_FAULTY, **MEANT_FAULTY, **MIXED_FAULTY, **BOUNDED_FAULTY, **TOLD_FAULTY}
