"""What to use instead of the parts of a framework that opkit leaves out, by the first parts of their paths."""

from __future__ import annotations

#: path of a module or name -> the nearest that opkit has, for it and all below it
_INSTEAD = {
    "oneflow.data": "read the data with numpy and feed it to the job",
    "paddle.Model": "write the loop over paddle.io.DataLoader yourself: loss.backward(), optimizer.step()",
    "paddle._C_ops": "call the public function of the same name, such as paddle.matmul",
    "paddle._legacy_C_ops": "call the public function of the same name, such as paddle.matmul",
    "paddle.audio": "compute the features with numpy before the network",
    "paddle.callbacks": "write the loop over paddle.io.DataLoader yourself",
    "paddle.distribution": "draw with paddle.normal, paddle.uniform, paddle.rand; a log-probability is a formula",
    "paddle.fft": "compute the transform with numpy.fft in a paddle.autograd.PyLayer",
    "paddle.geometric": "use paddle.gather, paddle.scatter and paddle.index_add",
    "paddle.hapi": "write the loop over paddle.io.DataLoader yourself",
    "paddle.incubate": "use the layers and functions of paddle.nn that it is composed of",
    "paddle.inference": "load the network with paddle.jit.load or paddle.static.load_inference_model",
    "paddle.nn.quant": "write the rounding as a paddle.autograd.PyLayer",
    "paddle.onnx": "export a custom op with `opkit export`",
    "paddle.quantization": "write the rounding as a paddle.autograd.PyLayer whose backward passes the gradient on",
    "paddle.signal": "compute the transform with numpy in a paddle.autograd.PyLayer",
    "paddle.sparse": "use dense tensors",
    "paddle.text": "read the data with numpy into a paddle.io.Dataset",
    "paddle.utils.cpp_extension": "write the op as a directory (`opkit new`) or as a paddle.autograd.PyLayer",
    "paddle.vision": "build the network of paddle.nn's layers and read pictures into a paddle.io.Dataset with numpy",
}


def instead_of(path: str) -> str:
    """Return the advice for a path, that of its longest part with one; "" where there is none."""
    while path:
        if path in _INSTEAD:
            return _INSTEAD[path]
        path = path.rpartition(".")[0]
    return ""
