"""Areas under a curve in graphs: overall and over windows of batches, with their counts; names and lists that graphs take.

Runs under Paddle 2.6.2 and under opkit; prints one ``#@ label -> value`` or ``#@ label !! ErrorClass`` per fact.
"""

import paddle, numpy as np
from paddle import static
from shown_facts import show
def areas(steps=1, thresholds=4095, curve="ROC", width=2, kind="float32", batches=5, binary=True):
    paddle.enable_static()
    try:
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            x = static.data("x", [None, width], kind)
            y = static.data("y", [None, 1], "int64")
            overall, recent, counts = static.auc(x, y, curve, thresholds, slide_steps=steps)
        exe = static.Executor()
        exe.run(startup)
        draw = np.random.RandomState(0)
        got = []
        for _ in range(batches):
            found = exe.run(main, {"x": draw.rand(6, width).astype(kind), "y": draw.randint(0, 2 if binary else 3, (6, 1))}, [overall, recent, *counts])
            got.append([np.round(item, 6).tolist() for item in found[:2]] + [item.shape for item in found[:2]] + [[int(item.sum()), item.shape, str(item.dtype)] for item in found[2:]])
        return got
    finally:
        paddle.disable_static()


for steps in (0, 1, 2, 3):
    show(f"auc {steps}", lambda: areas(steps))
show("auc bins", lambda: areas(2, 3))
show("auc PR", lambda: areas(curve="PR"))
show("auc one column", lambda: areas(width=1))
show("auc double", lambda: areas(kind="float64"))
show("auc labels", lambda: areas(binary=False))

for thresholds in (1, 2, 7):
    for steps in (0, 1, 4):
        show(f"auc of {thresholds} and {steps}", lambda: areas(steps, thresholds, batches=6))


def named():
    """Programs by the names of the arguments."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main_program=main, startup_program=startup):
        return static.default_main_program() is main, static.default_startup_program() is startup


show("program_guard", named)
show("use_pir_api", lambda: (paddle.framework.use_pir_api(), paddle.framework.in_pir_mode()))
show("auc curve", lambda: areas(curve="XY"))


def fetched(*fetches):
    """What is fetched by lists within the list."""
    paddle.enable_static()
    try:
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            x = static.data("x", [2], "float32")
            known = {"y": x + 1, "z": x * 2, "x": x}
        pick = lambda item: [known[one] for one in item] if isinstance(item, list) else known[item]
        feed = {"x": np.array([1.0, 2.0], "float32")}
        exe = static.Executor()
        return [[item.tolist() for item in exe.run(main, feed, [pick(item) for item in fetches])] for _ in range(2)]
    finally:
        paddle.disable_static()


show("fetch lists", lambda: fetched("y", ["z", "y"]))
show("fetch an empty list", lambda: fetched("y", []))
show("fetch one list", lambda: fetched(["z"]))
