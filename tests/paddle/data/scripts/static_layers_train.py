"""Layers of paddle.nn in static mode: two losses, gradients, several fetches, parameters read and written."""
import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import static

paddle.enable_static()
main, startup = static.Program(), static.Program()
with static.program_guard(main, startup):
    x = static.data("x", [-1, 1, 6, 6], "float32")
    x.stop_gradient = False
    label = static.data("label", [-1, 1], "int64")
    k = paddle.ParamAttr(name="k", initializer=paddle.nn.initializer.Assign((np.arange(18).reshape(2, 1, 3, 3) / 18 - 0.4).astype("float32")))
    conv = static.nn.conv2d(x, 2, 3, param_attr=k, act="relu") if False else paddle.nn.Conv2D(1, 2, 3, weight_attr=k)(x)
    pool = F.max_pool2d(F.relu(conv), 2)
    flat = paddle.flatten(pool, 1)
    w = paddle.create_parameter([8, 3], "float32", name="w", default_initializer=paddle.nn.initializer.Assign((np.arange(24).reshape(8, 3) % 5 / 10).astype("float32")))
    logits = paddle.matmul(flat, w)
    loss = F.cross_entropy(logits, label)
    reg = paddle.sum(w * w)
    total = loss + 0.01 * reg
    none = static.gradients([total], [w, label])
    grads = static.gradients([total], [w, x])
    opt = paddle.optimizer.Adam(0.05)
    opt.minimize(total)
exe = static.Executor()
exe.run(startup)
rng = np.random.RandomState(0)
xs, ys = rng.randn(9, 1, 6, 6).astype("float32"), (np.arange(9) % 3).reshape(-1, 1).astype("int64")
for i in range(5):
    l, r, gw, gx = exe.run(main, feed={"x": xs, "label": ys}, fetch_list=[loss, reg, grads[0], grads[1]])
    print(i, np.round(float(np.mean(l)), 5), np.round(float(r), 5), np.round(np.abs(gw).sum(), 4), gx.shape, np.round(np.abs(gx).sum(), 4))
print(len(none), none[1] is None)
scope = static.global_scope()
print(np.array(scope.find_var("w").get_tensor()).round(4).tolist()[:2])
scope.find_var("w").get_tensor().set(np.zeros((8, 3), "float32"), paddle.CPUPlace())
print(np.round(exe.run(main.clone(for_test=True) if False else main, feed={"x": xs, "label": ys}, fetch_list=[loss])[0], 5))
print(sorted(p.name for p in main.all_parameters())[:2])
