"""Functions of packages, and what is true of each: established before opkit saw it.

``right`` is what ``torch.autograd.gradcheck`` takes on the cases of its check file in float64. ``surrogate`` is a step
or the identity whose gradient is another one on purpose, by reading. ``low`` is a function that computes in float32, right
against the reference in its check file. ``bounded`` is right on what its cases show, and not elsewhere. ``wrong`` has another derivative than its forward, or breaks a rule of torch's.
"""

from __future__ import annotations

from typing import NamedTuple


class Listed(NamedTuple):
    """One Function of a package."""

    check: str  #: the package, as in ``check_PACKAGE.py``
    module: str
    name: str  #: in the check file
    truth: str
    why: str = ""
    holder: str = ""  #: the class or function that it is inside

    @property
    def installed(self) -> str:
        """Its target without a check file."""
        return f"{self.module}::{self.holder + '.' if self.holder else ''}{self.name}"


def _of(check: str, module: str, truth: str, names: str, why: str = "", holder: str = "") -> list[Listed]:
    return [Listed(check, module, name, truth, why, holder) for name in names.split()]


_SPIKING = "spikingjelly.activation_based"
_PROTOTYPE = "torchao.prototype"
FUNCTIONS = [
    *_of("entmax", "entmax.activations", "right", "SparsemaxFunction Entmax15Function"),
    *_of(
        "entmax", "entmax.root_finding", "right", "EntmaxBisectFunction SparsemaxBisectFunction NormmaxBisectFunction"
    ),
    *_of("entmax", "entmax.root_finding", "right", "BudgetBisectFunction"),
    *_of("entmax", "entmax.losses", "right", "SparsemaxLossFunction Entmax15LossFunction"),
    *_of("pytorch_tabnet", "pytorch_tabnet.sparsemax", "right", "Entmax15Function Entmoid15"),
    *_of("pytorch_tabnet", "pytorch_tabnet.sparsemax", "wrong", "SparsemaxFunction", "changes its input, unmarked"),
    *_of("timm", "timm.layers.activations_me", "right", "SwishAutoFn MishAutoFn HardSigmoidAutoFn HardSwishAutoFn"),
    *_of("timm", "timm.layers.activations_me", "right", "HardMishAutoFn"),
    *_of("efficientnet_pytorch", "efficientnet_pytorch.utils", "right", "SwishImplementation"),
    *_of("monai", "monai.networks.blocks.activation", "right", "SwishImplementation"),
    *_of("monai", "monai.visualize.gradient_based", "wrong", "_AutoGradReLU", "drops negative gradients, as is meant"),
    *_of("gpytorch", "gpytorch.functions.rbf_covariance", "right", "RBFCovariance"),
    *_of("gpytorch", "gpytorch.functions.matern_covariance", "right", "MaternCovariance"),
    *_of("gpytorch", "gpytorch.variational.large_batch_variational_strategy", "bounded", "QuadFormDiagonal", "of symmetric matrices"),
    *_of("gpytorch", "gpytorch.functions._log_normal_cdf", "wrong", "LogNormalCDF", "off by about 0.5 % just below -1"),
    *_of(
        "gpytorch",
        "gpytorch.variational.natural_variational_distribution",
        "wrong",
        "_NaturalToMuVarSqrt",
        "a natural gradient, as is meant",
    ),
    *_of("linear_operator", "linear_operator.functions._matmul", "right", "Matmul"),
    *_of("kornia", "kornia.losses.focal", "right", "_TargetLogSoftmax"),
    *_of("kymatio", "kymatio.backend.torch_backend", "bounded", "ModulusStable", "reads two of the last axis alone"),
    *_of("memcnn", "memcnn.models.additive", "right", "AdditiveBlockFunction AdditiveBlockFunction2"),
    *_of(
        "memcnn",
        "memcnn.models.affine",
        "wrong",
        "AffineBlockFunction2",
        "a factor is missing in the second half's gradient",
    ),
    *_of("revtorch", "revtorch.revtorch", "right", "_ReversibleModuleFunction"),
    *_of(
        "memory_efficient_attention_pytorch",
        "memory_efficient_attention_pytorch.flash_attention",
        "low",
        "FlashAttentionFunction",
    ),
    *_of("tslearn", "tslearn.metrics.soft_dtw_loss_pytorch", "low", "_SoftDTWLossPyTorch"),
    *_of("pytorch_revgrad", "pytorch_revgrad.functional", "surrogate", "RevGrad"),
    *_of("pyro", "pyro.ops.special", "right", "_SafeLog"),
    *_of("pyro", "pyro.distributions.relaxed_straight_through", "surrogate", "QuantizeCategorical QuantizeBernoulli"),
    *_of("pytorch_wavelets", "pytorch_wavelets.dwt.lowlevel", "right", "AFB1D"),
    *_of(
        "pytorch_wavelets", "pytorch_wavelets.dwt.lowlevel", "wrong", "AFB2D", "symmetric padding has another adjoint"
    ),
    *_of(
        "pytorch_wavelets",
        "pytorch_wavelets.dwt.lowlevel",
        "wrong",
        "SFB1D",
        "no gradient of high where low needs none",
    ),
    *_of(
        "pytorch_wavelets",
        "pytorch_wavelets.scatternet.lowlevel",
        "wrong",
        "SmoothMagFn",
        "raises where only y needs one",
    ),
    *_of("roma", "roma.mappings", "right", "_ProcrustesManualDerivatives _HornEigenvectorManualDerivatives"),
    *_of("roma", "roma.mappings", "wrong", "_ProcrustesRegularization", "adds a penalty's gradient, as is meant"),
    *_of("snntorch", "snntorch.surrogate", "surrogate", "StraightThroughEstimator Triangular FastSigmoid ATan Sigmoid"),
    *_of("snntorch", "snntorch.surrogate", "surrogate", "SparseFastSigmoid"),
    *_of("snntorch", "snntorch.surrogate", "wrong", "LeakySpikeOperator", "one gradient for two inputs"),
    *_of("snntorch", "snntorch.functional.quant", "surrogate", "StateQuant"),
    *_of("snntorch", "snntorch.functional.loss", "surrogate", "Tolerance", holder="SpikeTime"),
    *_of("spikingjelly", f"{_SPIKING}.surrogate", "surrogate", "sigmoid atan rect s2nn piecewise_leaky_relu"),
    *_of("spikingjelly", f"{_SPIKING}.quantize", "surrogate", "RoundATGF KBitQuantizeATGF"),
    *_of("spikingjelly", f"{_SPIKING}.quantize", "right", "ClampATGF"),
    *_of("spikingjelly", f"{_SPIKING}.layer.online_learning", "surrogate", "ReplaceforGrad"),
    *_of("brevitas", "brevitas.ops.autograd_ste_ops", "right", "AbsBinarySignGradFn"),
    *_of("brevitas", "brevitas.ops.autograd_ste_ops", "surrogate", "RoundSteFn CeilSteFn BinarySignSteFn"),
    *_of("brevitas", "brevitas.ops.autograd_ste_ops", "surrogate", "ScalarClampSteFn TensorClampSteFn"),
    *_of("norse", "norse.torch.functional.threshold", "surrogate", "HeaviErfc HeaviTanh HeaviCirc Triangle Logistic"),
    *_of("norse", "norse.torch.functional.superspike", "surrogate", "SuperSpike"),
    *_of("sinabs", "sinabs.activation.quantize", "surrogate", "Quantize"),
    *_of("sinabs", "sinabs.activation.spike_generation", "surrogate", "SingleSpike"),
    *_of("bitorch", "bitorch.quantizations.approx_sign", "surrogate", "ApproxSignFunction"),
    *_of("bitorch", "bitorch.quantizations.dorefa", "surrogate", "InputDoReFaFunction"),
    *_of("bitorch", "bitorch.layers.qactivation", "surrogate", "GradientCancellation"),
    *_of("bitorch", "bitorch.layers.pact", "surrogate", "PactActFn"),
    *_of(
        "pypose",
        "pypose.lietensor.operation",
        "wrong",
        "SO3_Act SO3_Inv so3_Exp",
        "gradients on the manifold, as is meant",
    ),
    *_of("zuko", "zuko.utils", "right", "Bisection GaussLegendre"),
    *_of("torch_struct", "torch_struct.semirings.sample", "wrong", "_SampledLogSumExp", "a drawn gradient, as is meant"),
    *_of("torch_struct", "torch_struct.semirings.sparse_max", "wrong", "_SimplexProject", "the norm is not squared"),
    *_of("torch_struct", "torch_struct.semirings.sparse_max", "surrogate", "_SparseMaxGrad"),
    *_of("torchdiffeq", "torchdiffeq._impl.misc", "surrogate", "_StitchGradient"),
    *_of("torchdiffeq", "torchdiffeq._impl.rk_common", "wrong", "_UncheckedAssign", "a write that torch does not see"),
    *_of("pytorchcv", "pytorchcv.models.isqrtcovresnet", "right", "CovPool NewtonSchulzSqrt Triuvec"),
    *_of("pytorchcv", "pytorchcv.models.revnet", "right", "ReversibleBlockFunction"),
    *_of("pytorchcv", "pytorchcv.models.shakedropresnet_cifar", "wrong", "ShakeDrop", "a drawn gradient, as is meant"),
    *_of("pytorchcv", "pytorchcv.models.shakeshakeresnet_cifar", "wrong", "ShakeShake", "a drawn gradient, as is meant"),
    *_of("pytorchcv", "pytorchcv.models.wrn1bit_cifar", "surrogate", "Binarize"),
    *_of("pytorch_spiking", "pytorch_spiking.functional", "surrogate", "SpikingActivation"),
    *_of("rockpool", "rockpool.nn.modules.torch.lif_torch", "surrogate", "StepPWL"),
    *_of("rockpool", "rockpool.nn.modules.torch.lif_torch", "wrong", "PeriodicExponential", "raises where the threshold is a number"),
    *_of("rockpool", "rockpool.nn.modules.torch.lif_bitshift_torch", "bounded", "Bitshift", "where tau is what dash says"),
    *_of("xitorch", "xitorch._impls.linalg.symeig", "bounded", "degen_symeig", "of symmetric matrices"),
    *_of("echoAI", "echoAI.Activation.Torch.brelu", "right", "BReLU"),
    *_of("echoAI", "echoAI.Activation.Torch.maxout", "right", "Maxout"),
    *_of("echoAI", "echoAI.Activation.Torch.apl", "wrong", "apl_function", "hinges are not where forward has them"),
    *_of("torchao", "torchao.quantization.quant_primitives", "surrogate", "_Round"),
    *_of("torchao", f"{_PROTOTYPE}.paretoq.models.utils_quant", "surrogate", "LsqBinaryTernaryExtension StretchedElasticQuant"),
    *_of("torchao", "torchao.sparsity.supermask", "surrogate", "GetSubnet"),
    *_of("torchao", "torchao.sparsity.supermask", "wrong", "ApplyMask", "the other factor is left out, as is meant"),
    *_of("torchlie", "torchlie.functional.so3_impl", "right", "Exp Hat Vee Compose TransformFrom"),
    *_of("torch_geometric", "torch_geometric.utils.cross_entropy", "right", "SparseCrossEntropy"),
    *_of("e3nn", "e3nn.math._soft_unit_step", "right", "_SoftUnitStep"),
    *_of("fla", "fla.modules.l2warp", "surrogate", "L2Wrap"),
    *_of("liger_kernel", "liger_kernel.ops.relu_squared", "low", "LigerReLUSquaredFunction"),
    *_of("diffsptk", "diffsptk.modules.quantize", "surrogate", "Floor Round"),
    *_of("diffsptk", "diffsptk.modules.magic_intpl", "wrong", "MagicNumberInterpolationImpl", "gaps give no gradient, as is meant"),
    *_of("torchaudio", "torchaudio.functional.filtering", "right", "DifferentiableFIR"),
    *_of("torchaudio", "torchaudio.functional.filtering", "wrong", "DifferentiableIIR", "its loop in Python changes its input, unmarked"),
    *_of("torchaudio", "torchaudio.models.wav2vec2.components", "surrogate", "GradMultiply"),
    *_of("speechbrain", "speechbrain.nnet.quaternion_networks.q_ops", "wrong", "QuaternionLinearCustomBackward", "gives nothing where r_weight needs none"),
    *_of("speechbrain", "speechbrain.lobes.models.PIQ", "surrogate", "VectorQuantizationStraightThrough"),
    *_of("torchkbnufft", "torchkbnufft._autograd.interp", "right", "KbSpmatInterpForward KbSpmatInterpAdjoint"),
    *_of("reformer_pytorch", "reformer_pytorch.reversible", "right", "_ReversibleFunction"),
    *_of("revlib", "revlib.core", "wrong", "_ReplaceGrad _ReversibleHalfResidualSwapFn", "values as gradients, as is meant"),
    *_of("pytorch_adapt", "pytorch_adapt.layers.gradient_reversal", "surrogate", "_GradientReversal"),
    *_of("geomloss", "geomloss._legacy.kernel_samples", "surrogate", "DoubleGrad"),
    *_of("ot", "ot.backend", "right", "MatrixSqrtFunction", holder="TorchBackend.__init__.<locals>"),
    *_of("ot", "ot.backend", "surrogate", "ValFunction", holder="TorchBackend.__init__.<locals>"),
    *_of("normflows", "normflows.flows.residual", "wrong", "MemoryEfficientLogDetEstimator", "the first row's weight for all"),
    *_of("nncf", "nncf.torch.functions", "surrogate", "STThreshold"),
    *_of("nncf", "nncf.torch.quantization.quantize_functions", "wrong", "TuneRange", "the identity's gradient, as is meant"),
    *_of(
        "torch_einops_utils",
        "torch_einops_utils.stable_softmax",
        "right",
        "_SoftTargetCrossEntropy _CategoricalKL _SoftTargetBinaryCrossEntropy",
    ),
    *_of("deepinv", "deepinv.models.deal", "right", "LinearSplineFunc QuadraticSplineFunc"),
    *_of("deepinv", "deepinv.models.deal", "wrong", "LinearSplineDerivativeFunc", "the incoming gradient is not used"),
    *_of("deepinv", "deepinv.models.mmse", "right", "MMSEFunction"),
    *_of("deepinv", "deepinv.optim.linear.least_squares", "wrong", "LeastSquaresSolver", "1e-8 in what it divides by: off by 2.6e-5"),
    *_of("torch_harmonics", "torch_harmonics.utils", "right", "_EnsureContiguous"),
    *_of("botorch", "botorch.utils.rounding", "surrogate", "RoundSTE OneHotArgmaxSTE"),
    *_of("compressai", "compressai.layers.layers", "surrogate", "QReLU"),
    *_of("compressai", "compressai.ops.bound_ops", "wrong", "LowerBoundFunction", "negative gradients go through, as is meant"),
    *_of("fairscale", "fairscale.nn.pipe.dependency", "right", "Fork Join"),
    *_of("hqq", "hqq.core.quantize", "right", "HQQMatmulNoCacheDeq HQQMatmulNoCacheMul HQQMatmulCachedDeq"),
    *_of("optimum", "optimum.quanto.tensor.function", "right", "QuantizedLinearFunction"),
    *_of("pytorch_optimizer", "pytorch_optimizer.loss.bi_tempered", "right", "ComputeNormalization"),
    *_of("sparsemax", "sparsemax.sparsemax", "right", "SparsemaxFunction"),
    *_of("torchsparsegradutils", "torchsparsegradutils.sparse_matmul", "right", "SparseMatMul"),
    *_of("torchsparsegradutils", "torchsparsegradutils.sparse_solve", "right", "SparseTriangularSolve"),
    *_of("lava", "lava.lib.dl.slayer.spike.spike", "surrogate", "Spike"),
    *_of("lava", "lava.lib.dl.slayer.utils.quantize", "surrogate", "_quantize _floor"),
    *_of("lava", "lava.lib.dl.slayer.utils.int_utils", "surrogate", "Q2Zero"),
    *_of("lava", "lava.lib.dl.slayer.utils.filter.conv", "right", "_conv _corr"),
    *_of("lava", "lava.lib.dl.slayer.axon.delay", "right", "_delayFunctionNoGradient"),
    *_of("unit_scaling", "unit_scaling.scale", "wrong", "_ScaledGrad", "another scale, as is meant"),
]
