"""What scripts ask of the framework's objects: kinds of tensors, parameters, executors, samplers, error classes.

Runs under Paddle 2.6.2 and under opkit; prints one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact.
"""

import copy
import importlib
import os
import tarfile
import tempfile

import paddle, numpy as np
from paddle import base, static
from shown_facts import show


def graph(fact):
    """Ask for a fact in static mode, within fresh programs."""

    def within():
        paddle.enable_static()
        try:
            with static.program_guard(static.Program(), static.Program()), static.scope_guard(static.Scope()):
                return fact()
        finally:
            paddle.disable_static()

    return within


# ---- kinds
def named(path):
    """Return what stands at a path below ``paddle``."""
    item = paddle
    for name in path.split("."):
        item = getattr(item, name)
    return item


KINDS = (
    "Tensor", "base.framework.Variable", "static.Variable", "base.Variable", "base.framework.Parameter", "base.framework.EagerParamBase",
    "base.core.eager.Tensor", "framework.core.eager.Tensor", "base.core.LoDTensor", "base.core.Tensor",
)


def kinds(item):
    return [path for path in KINDS if isinstance(item, named(path))]


class Own(static.Variable):
    pass


show("kinds Tensor", lambda: kinds(paddle.ones([2])))
show("kinds parameter", lambda: kinds(paddle.create_parameter([2], "float32")))
show("kinds layer's weight", lambda: kinds(paddle.nn.Linear(2, 2).weight))
show("kinds number", lambda: kinds(1.0))
show("kinds array", lambda: kinds(np.ones(2)))
show("kinds static data", graph(lambda: kinds(static.data("x", [2]))))
show("kinds static result", graph(lambda: kinds(static.data("x", [2]) + 1)))
show("kinds static parameter", graph(lambda: kinds(paddle.create_parameter([2], "float32"))))
show("kinds static weight", graph(lambda: kinds(paddle.nn.Linear(2, 2).weight)))
show("kinds subclass", lambda: (isinstance(paddle.ones([2]), Own), issubclass(Own, static.Variable)))
show("is_tensor static", graph(lambda: paddle.is_tensor(static.data("x", [2]))))
show("is_tensor", lambda: (paddle.is_tensor(paddle.ones([2])), paddle.is_tensor(np.ones(2))))
show("kinds Tensor in a graph", lambda: (lambda x, p: graph(lambda: (kinds(x), kinds(p)))())(paddle.ones([2]), paddle.nn.Linear(2, 2).weight))
show("kinds Variable beside", lambda: (lambda pair: (kinds(pair[0]), kinds(pair[1])))(graph(lambda: (static.data("x", [2]), paddle.create_parameter([2], "float32")))()))
show("type Tensor", lambda: (str(paddle.ones([2]).type), int(paddle.ones([2]).type)))
show("type Variable", graph(lambda: str(static.data("x", [2]).type)))
show("type names", lambda: [str(getattr(base.core.VarDesc.VarType, name)) for name in ("LOD_TENSOR", "SELECTED_ROWS", "FP32", "INT64", "BOOL")])
show("type same", lambda: paddle.ones([2]).type == base.core.VarDesc.VarType.LOD_TENSOR)
show("dtype is VarType", lambda: paddle.ones([2]).dtype == base.core.VarDesc.VarType.FP32)

# ---- parameters
for label, shape in {
    "[2, 3]": [2, 3], "(2,)": (2,), "[]": [], "[2.5]": [2.5], "[2.0]": [2.0], "['2']": ["2"], "[None]": [None], "[-1, 2]": [-1, 2], "[0]": [0], "2": 2,
    "2.5": 2.5, "'2'": "2", "[True]": [True], "np.int64": [np.int64(2)], "np.int32": [np.int32(2)], "array": np.array([2, 3]), "np.float": [np.float64(2)],
    "tensor": paddle.to_tensor([2, 3]), "[[2]]": [[2]], "[tensor]": [paddle.to_tensor(2)], "None": None,
}.items():
    show(f"create_parameter {label}", lambda: list(paddle.create_parameter(shape, "float32").shape))
    show(f"create_parameter static {label}", graph(lambda: list(paddle.create_parameter(shape, "float32").shape)))
    show(f"Layer.create_parameter {label}", lambda: list(paddle.nn.Layer().create_parameter(shape).shape))
show("create_parameter dtype", lambda: paddle.create_parameter([2], "floatx"))
show("create_parameter int", lambda: str(paddle.create_parameter([2], "int32").dtype))
show("create_parameter int8", lambda: str(paddle.create_parameter([2], "int8").dtype))
show("create_parameter attr", lambda: paddle.create_parameter([2], "float32", attr=1.5))
show("create_parameter name", lambda: paddle.create_parameter([2], "float32", name=3).name)
show("create_parameter default", lambda: paddle.create_parameter([2], "float32", default_initializer=2.0))
show("EagerParamBase None", lambda: base.framework.EagerParamBase(None, "float32"))
show("EagerParamBase dtype None", lambda: base.framework.EagerParamBase([2, 3], None))
show("EagerParamBase []", lambda: list(base.framework.EagerParamBase([], "float32").shape))
show("EagerParamBase -1", lambda: base.framework.EagerParamBase([-1, 2], "float32"))


def of_block(**options):
    main, start = static.default_main_program(), static.default_startup_program()
    made = main.global_block().create_parameter(name="w", shape=[2], dtype="float32", **options)
    exe = static.Executor()
    exe.run(start)
    before = static.global_scope().find_var("w") is None
    y = made * 2.0
    got = [exe.run(main, fetch_list=[y])[0].tolist()]
    static.global_scope().find_var("w").get_tensor().set(np.array([7.0, 8.0], "float32"), paddle.CPUPlace())
    got.append(exe.run(main, fetch_list=[y])[0].tolist())
    grads = static.gradients(paddle.sum(y * y), [made])
    got.append(exe.run(main, fetch_list=grads)[0].tolist())
    return before, got, made.trainable, made.stop_gradient, made.persistable, [op.type for op in start.global_block().ops]


show("Block.create_parameter array", graph(lambda: of_block(initializer=paddle.nn.initializer.Assign(np.array([3.0, 4.0], "float32")))))
show("Block.create_parameter constant", graph(lambda: of_block(initializer=paddle.nn.initializer.Constant(2.5))))
show("Block.create_parameter frozen", graph(lambda: of_block(initializer=paddle.nn.initializer.Constant(2.5), trainable=False)))


def without():
    main = static.default_main_program()
    made = main.global_block().create_parameter(name="w", shape=[2], dtype="float32")
    return len(static.default_startup_program().global_block().ops), made.name, kinds(made)


show("Block.create_parameter bare", graph(without))


def on_startup():
    start = static.default_startup_program()
    start.global_block().create_parameter(name="w", shape=[2], dtype="float32", initializer=paddle.nn.initializer.Constant(2.5))
    static.Executor().run(start)
    return np.asarray(static.global_scope().find_var("w").get_tensor()).tolist(), "w" in static.default_main_program().global_block().vars


show("startup's Block.create_parameter", graph(on_startup))
for label, shape in {"None": None, "[0, 2]": [0, 2], "[-1]": [-1], "[]": []}.items():
    show(f"Block.create_parameter {label}", graph(lambda: list(static.default_main_program().global_block().create_parameter(name="w", shape=shape, dtype="float32").shape)))
show("Block.create_parameter dtype", graph(lambda: static.default_main_program().global_block().create_parameter(name="w", shape=[2], dtype=None)))


def create_var():
    made = static.default_main_program().global_block().create_var(name="v", shape=[2], dtype="float32", persistable=True, initializer=paddle.nn.initializer.Constant(3.0))
    static.Executor().run(static.default_startup_program())
    held = static.global_scope().find_var("v")
    return made.persistable, held is not None and np.asarray(held.get_tensor()).tolist()


show("Block.create_var initializer", graph(create_var))

def attributes(item):
    names = ("optimize_attr", "regularizer", "do_model_average", "need_clip", "is_distributed", "trainable", "stop_gradient", "name")
    return [type(getattr(item, name)).__name__ if name == "regularizer" else getattr(item, name) for name in names]


ATTR = paddle.ParamAttr("weight", None, 0.5, paddle.regularizer.L2Decay(0.1), False, False, False)
show("attributes", lambda: attributes(paddle.nn.Linear(2, 2, weight_attr=ATTR).weight))
show("attributes copied", lambda: attributes(copy.deepcopy(paddle.nn.Linear(2, 2, weight_attr=paddle.ParamAttr("twin", None, 0.5, None, True, False, False)).weight)))
show("attributes bare", lambda: attributes(paddle.nn.Linear(2, 2, weight_attr="other").weight))
show("attributes static", graph(lambda: attributes(paddle.create_parameter([2], "float32", attr=ATTR))))
show("create_parameter default array", lambda: paddle.create_parameter([2], "float32", default_initializer=np.ones(2)))
show("create_parameter default zero", lambda: paddle.create_parameter([2], "float32", default_initializer=0))


def tracer():
    return base.framework._dygraph_tracer()


def recorded():
    held = tracer()
    held._has_grad = False
    x = paddle.ones([1])
    x.stop_gradient = False
    found = paddle.is_grad_enabled(), (x * 2).stop_gradient
    held._has_grad = True
    with paddle.no_grad():
        return *found, tracer()._has_grad


def within(**options):
    with paddle.amp.auto_cast(**options):
        return str(tracer()._amp_level), tracer()._amp_dtype, tracer()._amp_level == base.core.AmpLevel.O0


show("tracer", lambda: (tracer()._has_grad, str(tracer()._amp_level), tracer()._amp_dtype, tracer()._train_mode))
show("tracer records", recorded)
show("tracer in auto_cast", lambda: (within(), within(level="O2", dtype="bfloat16")))
show("tracer static", graph(tracer))
show("expected place", lambda: [str(place()) for place in (base.framework._current_expected_place, paddle.framework._current_expected_place)])


# ---- a Tensor's own tensor


def changed(change):
    x = paddle.to_tensor([[1.0, 2.0]])
    y = x
    change(x.value().get_tensor())
    return x.tolist(), y.tolist(), x.shape


def parts(x):
    t = x.value().get_tensor()
    return t.shape(), np.asarray(t).tolist(), str(t._dtype()), t._is_initialized(), t.lod()


show("get_tensor", lambda: parts(paddle.to_tensor([[1.0, 2.0]])))
show("get_tensor direct", lambda: paddle.to_tensor([[1.0, 2.0]]).get_tensor().shape())
show("get_tensor set", lambda: changed(lambda t: t.set(np.array([[5.0, 6.0]], "float32"), paddle.CPUPlace())))
show("get_tensor set shape", lambda: changed(lambda t: t.set(np.array([5.0, 6.0, 7.0], "float32"), paddle.CPUPlace())))
show("get_tensor set dtype", lambda: changed(lambda t: t.set(np.array([[5, 6]], "int64"), paddle.CPUPlace())))
show("value is", lambda: (lambda x: (x.value() is x, type(x.value()).__name__))(paddle.ones([2])))

# ---- readers
from paddle.base.reader import DataLoader as OldLoader

show("loader paths", lambda: (OldLoader.from_generator.__name__, base.io.DataLoader.from_generator.__name__))


def generated():
    loader = base.io.DataLoader.from_generator(capacity=2, return_list=True)
    loader.set_batch_generator(lambda: iter([[np.array([1.0], "float32")], [np.array([2.0], "float32")]]), places=paddle.CPUPlace())
    return [[item.tolist() for item in batch] for batch in loader]


show("base.io.DataLoader", generated)
from paddle.batch import batch

show("batch module", lambda: [list(item) for item in batch(lambda: iter(range(5)), 2)()])
show("batch function", lambda: [list(item) for item in paddle.batch(lambda: iter(range(5)), 2, drop_last=True)()])
for label, arguments in {
    "0": ([1.0, 2.0], 0), "1.5": ([1.0, 2.0], 1.5), "no": ([1.0, 2.0], 1, "no"), "negative": ([-1.0, 2.0], 1), "zeros": ([0.0, 0.0], 1),
    "two rows": ([[1.0, 2.0]], 1), "too many": ([1.0, 2.0], 3, False), "positive few": ([1.0, 0.0], 2, False), "text": (["a"], 1), "number": (1.0, 1),
    "empty": ([], 1), "tuple": ((1.0, 2.0), 1), "array": (np.array([1.0, 2.0]), 1), "Tensor": (paddle.to_tensor([1.0, 2.0]), 1),
}.items():
    show(f"weighted make {label}", lambda: type(paddle.io.WeightedRandomSampler(*arguments)).__name__)
    show(f"weighted draw {label}", lambda: len([*iter(paddle.io.WeightedRandomSampler(*arguments).__iter__())]))
show("weighted weights", lambda: type(paddle.io.WeightedRandomSampler([1.0, 2.0], 1).weights).__name__)

# ---- Executor


def fed(make):
    x = static.data("x", [2])
    y = x * 2
    exe = static.Executor(paddle.CPUPlace())
    return [item.tolist() for item in exe.run(feed=make(np.array([1.0, 2.0], "float32")), fetch_list=[y])]


show("feed dict", graph(lambda: fed(lambda a: {"x": a})))
show("feed list", graph(lambda: fed(lambda a: [{"x": a}])))
show("feed tuple", graph(lambda: fed(lambda a: ({"x": a},))))
show("feed two", graph(lambda: fed(lambda a: [{"x": a}, {"x": a}])))
show("feed arrays", graph(lambda: fed(lambda a: [a])))
show("feed array", graph(lambda: fed(lambda a: a)))
show("feed empty list", graph(lambda: fed(lambda a: [])))
show("place", graph(lambda: str(static.Executor().place)))
show("place given", graph(lambda: str(static.Executor(paddle.CPUPlace()).place)))
show("place text", graph(lambda: str(static.Executor("cpu").place)))
show("place gpu", graph(lambda: static.Executor("gpu:0")))
show("place number", graph(lambda: static.Executor(3)))
show("cpu_places", lambda: (len(static.cpu_places(3)), str(static.cpu_places(2))))
show("closed", graph(lambda: (lambda exe: (exe.close(), exe.run(feed={}))[0])(static.Executor())))

# ---- error classes
for label, fact in {
    "set_device gpu:0": lambda: paddle.set_device("gpu:0"),
    "set_device gpu": lambda: paddle.set_device("gpu"),
    "set_device xpu": lambda: paddle.set_device("xpu"),
    "set_device abc": lambda: paddle.set_device("abc"),
    "set_device cpu1": lambda: paddle.set_device("cpu1"),
    "set_device 3": lambda: paddle.set_device(3),
    "set_device None": lambda: paddle.set_device(None),
    "set_device place": lambda: str(paddle.set_device(paddle.CPUPlace())),
    "is_float16_supported cpu": lambda: paddle.amp.is_float16_supported("cpu"),
    "is_float16_supported": lambda: paddle.amp.is_float16_supported(),
    "is_float16_supported xxx": lambda: paddle.amp.is_float16_supported("xxx"),
    "is_bfloat16_supported xxx": lambda: paddle.amp.is_bfloat16_supported("xxx"),
    "increment list": lambda: paddle.increment([1, 2, 3]),
    "increment two": lambda: paddle.increment(paddle.ones([2])),
    "increment int": lambda: paddle.increment(paddle.to_tensor([1]), 2).tolist(),
    "to abc": lambda: paddle.ones([1]).to("abc"),
    "to_tensor place": lambda: paddle.to_tensor([1.0], place="gpu:0"),
    "to_tensor abc": lambda: paddle.to_tensor([1.0], place="abc"),
}.items():
    show(label, fact)
for device in ("cpu", "gpu", "gpu:0", "gpu:all", "cpu:0", "cpu1", "xpu:0", "abc", 1, None):

    def guarded():
        with static.device_guard(device):
            return (static.data("x", [2]) + 1).op.attr("op_device")

    show(f"device_guard {device}", graph(guarded))


def scoped():
    x = static.data("x", [1])
    with static.name_scope("s1"):
        y = x + 1
        with static.name_scope("s2"):
            z = y * 2
            u = paddle.nn.Linear(1, 1)(z)
        with static.name_scope("s2"):
            w = u - 1
    with static.name_scope("s1"):
        v = w + 1
    return [item.op.attr("op_namescope") for item in (y, z, u, w, v)]


show("op_namescope", graph(scoped))
show("name_scope without a name", graph(lambda: static.name_scope().__enter__()))
show("op_namescope none", graph(lambda: (static.data("x", [1]) + 1).op.attr("op_namescope")))
show("name_scope dynamic", lambda: static.name_scope("a").__enter__())


def clipped():
    x = static.data("x", [2])
    return paddle.nn.utils.clip_grad_norm_([x], 1.0)


show("clip_grad_norm_ static", graph(clipped))
show("clip_grad_value_ static", graph(lambda: paddle.nn.utils.clip_grad_value_([static.data("x", [2])], 1.0)))


# ---- saving
def saved(feeds, fetches):
    x, z = static.data("x", [2]), static.data("z", [2])
    y = x * 2
    names = {"x": x, "z": z, "y": y}
    exe = static.Executor(paddle.CPUPlace())
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m")
        static.save_inference_model(path, [names.get(k, k) for k in feeds], [names.get(k, k) for k in fetches], exe)
        program, feed, fetch = static.load_inference_model(path, exe)
        return feed, len(fetch), sorted(os.listdir(folder))


show("save_inference_model", graph(lambda: saved("x", "y")))
show("save_inference_model useless", graph(lambda: saved("xz", "y")))
show("save_inference_model only useless", graph(lambda: saved("z", "y")))
show("save_inference_model no feed", graph(lambda: saved("", "y")))
show("save_inference_model text", graph(lambda: saved([1], "y")))
show("save_inference_model no fetch", graph(lambda: saved("x", "")))
show("save_inference_model feed fetched", graph(lambda: saved("x", "x")))
show("save_inference_model executor", graph(lambda: static.save_inference_model("/nonexistent/m", [static.data("x", [2])], [static.data("x", [2]) * 2], None)))

# ---- InputSpec, and Variables at an index
S = static.InputSpec
for a in (([None, 2],), ((2,), "int32"), ([2], "float32", "n"), ([2], "float32", "n", True), ([],), ([-1],), ([2.5],), (["a"],), (3,), (np.array([2, 3]),), ([2], "abc")):
    show(f"spec {a}", lambda: str(S(*a)))
show("spec Tensor size", lambda: S([paddle.to_tensor(3)]))
show("spec dtype", lambda: (S([2], "int32").dtype == paddle.int32, type(S([2]).shape).__name__))
show("spec eq", lambda: (S([2]) == S([2]), S([2]) == S([3]), S([2], name="a") == S([2], name="b"), S([2]) != S([2]), S([2]) == 3, S([2], stop_gradient=True) == S([2]), len({S([2]), S([2])})))
show("spec batch", lambda: (str(S([2]).batch(3)), (lambda s: s.batch(2) is s)(S([1]))))
for size in ([3, 4], "a", None):
    show(f"spec batch {size}", lambda: S([2]).batch(size))
show("spec from", lambda: [str(S.from_tensor(paddle.ones([2, 3]), "x")), str(S.from_numpy(np.ones((2, 2)), "n"))])
show("spec from 3", lambda: S.from_tensor(3))


def at_index():
    x, v = static.data("x", [2, 2]), static.data("v", [2])
    x.stop_gradient = v.stop_gradient = False
    h = x * 1.0
    y, z = static.setitem(h, (0,), 5.0), static.setitem(h, (slice(None), 1), v)
    grads = static.gradients(paddle.sum(y * y) + paddle.sum(z * z), [x, v])
    feed = {"x": np.arange(4.0).reshape(2, 2).astype("float32"), "v": np.array([7, 8], "float32")}
    return [item.tolist() for item in static.Executor().run(feed=feed, fetch_list=[y, z, h, *grads])], y is h


show("setitem", graph(at_index))
show("assigned at an index", graph(lambda: static.data("x", [2]).__setitem__(0, 1.0)))
show("cpu and cuda", graph(lambda: (static.data("x", [2]).cpu().shape, static.data("x", [2]).cuda().shape)))

# ---- in place in graphs


def written(build):
    x = static.data("x", [2, 2])
    x.stop_gradient = False
    h = x * 1.0
    y = build(h)
    exe = static.Executor(paddle.CPUPlace())
    loss = paddle.sum(y * y)
    grads = static.gradients(loss, x)
    got = exe.run(feed={"x": np.array([[0.3, -0.4], [0.5, 0.6]], "float32")}, fetch_list=[y, h, *grads])
    return [np.round(item.astype("float64"), 4).tolist() for item in got], y is h


for label, build in {
    "add_": lambda h: h.add_(h), "subtract_": lambda h: h.subtract_(h * 2), "multiply_": lambda h: h.multiply_(h), "scale_": lambda h: h.scale_(2.0),
    "exp_": lambda h: h.exp_(), "tanh_": lambda h: h.tanh_(), "reshape_": lambda h: h.reshape_([4]), "clip_": lambda h: h.clip_(0.0, 1.0),
    "sqrt_": lambda h: (h * h).sqrt_(), "squeeze_": lambda h: h.unsqueeze_(0).squeeze_(0), "fill_": lambda h: h.fill_(1.0), "zero_": lambda h: h.zero_(),
    "uniform_": lambda h: h.uniform_(), "flatten_": lambda h: h.flatten_(), "F.relu_": paddle.nn.functional.relu_,
    "F.elu_": paddle.nn.functional.elu_, "paddle.tanh_": paddle.tanh_, "paddle.add_": lambda h: paddle.tensor.add_(h, h), "paddle.reshape_": lambda h: paddle.reshape_(h, [4]),
    "ceil_": lambda h: h.ceil_(), "remainder_": lambda h: h.remainder_(h), "lerp_": lambda h: h.lerp_(h, 0.5), "normal_": lambda h: paddle.normal_(h) * 0.0,
    "fill_diagonal_": lambda h: h.fill_diagonal_(1.0), "copy_": lambda h: h.copy_(h, True), "set_value": lambda h: paddle.assign(h, h),
    "masked_fill_": lambda h: h.masked_fill_(h > 0, 1.0), "index_add_": lambda h: h.index_add_(paddle.to_tensor([0]), 0, h[:1]), "transpose_": lambda h: h.transpose_([1, 0]),
}.items():
    show(f"graph {label}", graph(lambda: written(build)))

# ---- older paths
for path in (
    "tensor.fill_constant", "tensor.creation.fill_constant", "tensor.math.add", "tensor.creation.to_tensor", "tensor.manipulation.concat", "tensor.linalg.matmul", "tensor.logic.equal",
    "tensor.search.topk", "tensor.stat.mean", "tensor.random.rand", "tensor.attribute.shape", "tensor.ops.exp", "tensor.einsum.einsum", "tensor.to_string.set_printoptions",
    "tensor.creation.create_parameter", "tensor.creation.assign", "tensor.math.increment", "tensor.manipulation.reshape_",
    "nn.utils.spectral_norm_hook.spectral_norm", "nn.utils.weight_norm_hook.weight_norm", "nn.utils.clip_grad_norm_",
    "nn.layer.layers.Layer",
):

    def found():
        item = named(path)
        return type(item).__name__ if not callable(item) else getattr(item, "__name__", "?")

    show(f"path {path}", found)
show("fill_constant", lambda: (lambda x: (x.shape, str(x.dtype), x.tolist()))(paddle.tensor.fill_constant([2], "float32", 1.5)))
show("fill_constant int", lambda: (lambda x: (x.shape, str(x.dtype), x.tolist()))(paddle.tensor.fill_constant(shape=[1], dtype="int64", value=3)))
show("fill_constant out", lambda: (lambda o: (paddle.tensor.fill_constant([2], "float32", 1.5, out=o) is o, o.tolist()))(paddle.zeros([2])))
show("fill_constant static", graph(lambda: static.Executor().run(fetch_list=[paddle.tensor.fill_constant([2], "int32", 7)])[0].tolist()))


def from_address(decompress):
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, "src", "things"))
        with open(os.path.join(folder, "src", "things", "a.txt"), "w") as file:
            file.write("a")
        with tarfile.open(os.path.join(folder, "things.tar.gz"), "w:gz") as archive:
            archive.add(os.path.join(folder, "src", "things"), "things")
        found = paddle.utils.download.get_path_from_url("https://example.invalid/things.tar.gz", folder, decompress=decompress)
        return os.path.relpath(found, folder), sorted(os.listdir(folder))


show("unpacks", lambda: from_address(True))
show("does not unpack", lambda: from_address(False))
