"""Facts: the parameters and defaults of layers, functions, optimizers and schedules, as ``help()`` shows them."""

import inspect

import paddle

NAMES = {
    "nn": """
        AdaptiveAvgPool1D AdaptiveAvgPool2D AdaptiveAvgPool3D AdaptiveMaxPool1D AdaptiveMaxPool2D
        AdaptiveMaxPool3D AvgPool1D AvgPool2D AvgPool3D BCELoss BCEWithLogitsLoss BatchNorm
        BatchNorm1D BatchNorm2D BatchNorm3D BiRNN Bilinear ClipGradByGlobalNorm
        ClipGradByNorm ClipGradByValue Conv1D Conv1DTranspose Conv2D Conv2DTranspose Conv3D Conv3DTranspose
        CosineSimilarity CrossEntropyLoss Dropout Dropout2D Dropout3D ELU Embedding Flatten
        GELU GLU GRU GRUCell GroupNorm Hardshrink Hardsigmoid Hardswish Hardtanh
        Identity InstanceNorm1D InstanceNorm2D InstanceNorm3D KLDivLoss L1Loss LSTM LSTMCell
        Layer LayerDict LayerList LayerNorm LeakyReLU Linear LogSigmoid LogSoftmax MSELoss
        MarginRankingLoss MaxPool1D MaxPool2D MaxPool3D Mish MultiHeadAttention
        NLLLoss PReLU Pad1D Pad2D Pad3D PairwiseDistance ParameterList PixelShuffle
        PixelUnshuffle RNN RNNCellBase ReLU ReLU6 SELU Sequential Sigmoid Silu
        SmoothL1Loss Softmax Softplus Softsign SpectralNorm
        Swish SyncBatchNorm Tanh Transformer TransformerDecoder
        TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer
        Unfold Upsample UpsamplingBilinear2D UpsamplingNearest2D
       
    """,
    "nn.functional": """
        adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
        adaptive_max_pool3d affine_grid avg_pool1d avg_pool2d avg_pool3d batch_norm bilinear
        binary_cross_entropy binary_cross_entropy_with_logits conv1d conv1d_transpose
        conv2d conv2d_transpose conv3d conv3d_transpose cosine_similarity cross_entropy
        diag_embed dropout dropout2d dropout3d elu elu_ embedding fold gelu glu
        grid_sample gumbel_softmax hardshrink hardsigmoid hardswish hardtanh
        instance_norm interpolate kl_div l1_loss label_smooth layer_norm leaky_relu leaky_relu_ linear
        log_loss log_sigmoid log_softmax margin_ranking_loss max_pool1d max_pool2d
        max_pool3d mish mse_loss nll_loss normalize
        one_hot pad pairwise_distance pixel_shuffle pixel_unshuffle prelu relu relu6
        relu_ scaled_dot_product_attention selu sequence_mask sigmoid sigmoid_focal_loss silu
        smooth_l1_loss soft_margin_loss softmax softmax_with_cross_entropy softplus softshrink softsign
        square_error_cost swish tanh tanh_ tanhshrink temporal_shift thresholded_relu
        unfold upsample
    """,
    "optimizer": """
        Adadelta Adagrad Adam AdamW Adamax Lamb Momentum Optimizer RMSProp SGD
    """,
    "optimizer.lr": """
        CosineAnnealingDecay CyclicLR ExponentialDecay InverseTimeDecay LRScheduler
        LambdaDecay LinearWarmup MultiStepDecay NoamDecay
        OneCycleLR PiecewiseDecay PolynomialDecay ReduceOnPlateau StepDecay
    """,
}


def shown(function):
    parameters = inspect.signature(function).parameters.values()
    return [p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in parameters]


for path, names in NAMES.items():
    module = paddle
    for part in path.split("."):
        module = getattr(module, part)
    for name in names.split():
        value = getattr(module, name)
        print(f"#@ {path}.{name} ->", shown(value))
        if hasattr(value, "forward"):
            print(f"#@ {path}.{name}.forward ->", shown(value.forward))
