"""A static program with py_func as an activation, trained with an Executor."""
import numpy as np
import paddle
import paddle.static as static

paddle.enable_static()


def tanh(x):
    return np.tanh(x)


def tanh_grad(x, y, dy):
    return np.array(dy) * (1 - np.square(np.array(y)))


def debug(x):
    pass


main, startup = static.Program(), static.Program()
with static.program_guard(main, startup):
    x = static.data("x", [None, 4], "float32")
    y = static.data("y", [None, 1], "int64")
    w_attr = paddle.ParamAttr(initializer=paddle.nn.initializer.Assign((np.arange(20).reshape(4, 5) / 20 - 0.5).astype("float32")))
    h = static.nn.fc(x, 5, weight_attr=w_attr)
    act = main.current_block().create_var(name="act", shape=h.shape, dtype=h.dtype)
    act = static.py_func(func=tanh, x=h, out=act, backward_func=tanh_grad)
    static.py_func(func=debug, x=act, out=None)
    w2 = paddle.ParamAttr(initializer=paddle.nn.initializer.Constant(0.1))
    logits = static.nn.fc(act, 3, weight_attr=w2)
    loss = paddle.mean(paddle.nn.functional.cross_entropy(logits, y))
    acc = static.accuracy(paddle.nn.functional.softmax(logits), y)
    paddle.optimizer.SGD(0.5).minimize(loss)
exe = static.Executor(paddle.CPUPlace())
exe.run(startup)
rng = np.random.RandomState(0)
xs = rng.randn(30, 4).astype("float32")
ys = (xs[:, :3].argmax(1)).reshape(-1, 1).astype("int64")
for i in range(12):
    lo = (i * 10) % 30
    out = exe.run(main, feed={"x": xs[lo:lo + 10], "y": ys[lo:lo + 10]}, fetch_list=[loss, acc])
    if i % 3 == 0:
        print("step", i, np.round(float(out[0]), 5), np.round(float(out[1]), 3))
test = main.clone(for_test=True)
out = exe.run(test, feed={"x": xs, "y": ys}, fetch_list=[loss.name, acc.name])
print("test", np.round(float(out[0]), 5), np.round(float(out[1]), 3))
print(len(main.all_parameters()), [p.shape for p in main.all_parameters()])
