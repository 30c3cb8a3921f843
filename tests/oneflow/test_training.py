"""Train jobs follow OneFlow v0.4's formulas: each optimizer equals the same steps written out in numpy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opkit.oneflow as flow
import opkit.oneflow.typing as tp
from opkit.errors import OpkitError, ShapeError, UsageError
from opkit.project import scaffold

F = np.float32
X = np.random.default_rng(1).normal(size=(6, 4)).astype(F)
T = np.random.default_rng(2).normal(size=(6, 3)).astype(F)
W0 = np.random.default_rng(3).normal(size=(4, 3)).astype(F)
STEPS = 50


def constant(rate: float = 0.05) -> Any:
    return flow.optimizer.PiecewiseConstantScheduler([], [rate])


def train_job(optimizer: Callable[[], Any], *, regularizer: Any = None, name: str = "w") -> Any:
    """Return a train job that fits ``X @ w`` to ``T``."""

    @flow.global_function(type="train")
    def job(x: tp.Numpy.Placeholder((6, 4)), t: tp.Numpy.Placeholder((6, 3))) -> tp.Numpy:
        w = flow.get_variable(name, shape=(4, 3), initializer=flow.constant_initializer(0), regularizer=regularizer)
        loss = flow.math.squared_difference(flow.matmul(x, w), t)
        optimizer().minimize(loss)
        return loss

    return job


def trained(optimizer: Callable[[], Any], steps: int = STEPS, **options: Any) -> np.ndarray:
    """Return the weights after some steps from W0."""
    job = train_job(optimizer, **options)
    name = options.get("name", "w")
    flow.load_variables({name: W0})
    for _ in range(steps):
        job(X, T)
    return flow.get_all_variables()[name].numpy()


def gradient(w: np.ndarray) -> np.ndarray:
    """Return the gradient of the mean loss (OneFlow divides by the loss's element count)."""
    return 2.0 * X.T.astype(float) @ (X @ w - T) / T.size


def by_hand(update: Callable[[np.ndarray, np.ndarray, int, dict[str, Any]], np.ndarray]) -> np.ndarray:
    w, state = W0.astype(float), {}
    for step in range(STEPS):
        w = update(w, gradient(w), step, state)
    return w


# ---- optimizers ------------------------------------------------------------------------------------------------------
def sgd(w: np.ndarray, g: np.ndarray, step: int, s: dict[str, Any]) -> np.ndarray:
    return w - 0.05 * g


def momentum(w: np.ndarray, g: np.ndarray, step: int, s: dict[str, Any]) -> np.ndarray:
    s["m"] = 0.9 * s.get("m", 0.0) - 0.05 * g
    return w + s["m"]


def decayed(w: np.ndarray, g: np.ndarray, step: int, s: dict[str, Any]) -> np.ndarray:
    return momentum(w, g, step, s) - 0.05 * 0.1 * w


def adam(
    w: np.ndarray, g: np.ndarray, step: int, s: dict[str, Any], corrected: bool = False, decay: float = 0.0
) -> np.ndarray:
    s["m"] = 0.9 * s.get("m", 0.0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0.0) + 0.001 * g * g
    rate = 0.05
    if corrected:
        rate *= np.sqrt(1 - 0.999 ** (step + 1)) / (1 - 0.9 ** (step + 1))
    return w - rate * (s["m"] / (np.sqrt(s["v"]) + 1e-8) + decay * w)


def rmsprop(w: np.ndarray, g: np.ndarray, step: int, s: dict[str, Any], centered: bool = False) -> np.ndarray:
    s["s"] = 0.99 * s.get("s", 0.0) + 0.01 * g * g
    s["g"] = 0.99 * s.get("g", 0.0) + 0.01 * g
    return w - 0.05 * g / np.sqrt(s["s"] - (s["g"] ** 2 if centered else 0.0) + 1e-8)


OPTIMIZERS = {
    "sgd": (lambda: flow.optimizer.SGD(constant(), momentum=0), sgd),
    "momentum": (lambda: flow.optimizer.SGD(constant()), momentum),
    "sgdw": (lambda: flow.optimizer.SGDW(constant(), weight_decay=0.1), decayed),
    "adam": (lambda: flow.optimizer.Adam(constant()), adam),
    "adam_corrected": (
        lambda: flow.optimizer.Adam(constant(), do_bias_correction=True),
        lambda *args: adam(*args, corrected=True),
    ),
    "adamw": (
        lambda: flow.optimizer.AdamW(constant(), do_bias_correction=True, weight_decay=0.01),
        lambda *args: adam(*args, corrected=True, decay=0.01),
    ),
    "rmsprop": (lambda: flow.optimizer.RMSProp(constant()), rmsprop),
    "rmsprop_centered": (
        lambda: flow.optimizer.RMSProp(constant(), centered=True),
        lambda *args: rmsprop(*args, centered=True),
    ),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("is_eager", [False, True])
def test_an_optimizer_equals_its_formula(name: str, is_eager: bool) -> None:
    """After 50 steps the weights are those of the formula in float64, to float32's precision."""
    flow.enable_eager_execution(is_eager)
    optimizer, update = OPTIMIZERS[name]
    if is_eager:
        train_job(optimizer)(X, T)  # eager variables exist once a job made them
        flow.load_variables({key: np.zeros(v.shape, v.numpy().dtype) for key, v in flow.get_all_variables().items()})
    np.testing.assert_allclose(trained(optimizer), by_hand(update), rtol=2e-4, atol=2e-5)


def test_gradient_descent_equals_numpy_to_1e_6() -> None:
    """Plain descent in float32 stays within 1e-6 of float64 over 50 steps."""
    np.testing.assert_allclose(trained(OPTIMIZERS["sgd"][0]), by_hand(sgd), atol=1e-6)


def test_regularizers_add_their_terms_to_the_gradient() -> None:
    """L1 adds ``l1 * sign(w)``, L2 adds ``l2 * w``."""
    terms = flow.regularizers.l1_l2(0.01, 0.02)
    found = trained(OPTIMIZERS["sgd"][0], regularizer=terms)
    expected = by_hand(lambda w, g, step, s: w - 0.05 * (g + 0.01 * np.sign(w) + 0.02 * w))
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("clip_norm", [0.1, 1.0, 100.0])
def test_clipping_scales_to_the_global_norm(clip_norm: float) -> None:
    """Gradients are multiplied by min(1, clip_norm / norm)."""
    clipping = flow.optimizer.grad_clipping.by_global_norm(clip_norm)
    found = trained(lambda: flow.optimizer.SGD(constant(), momentum=0, grad_clipping=clipping))
    expected = by_hand(lambda w, g, step, s: w - 0.05 * g * min(1.0, clip_norm / np.linalg.norm(g)))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_a_static_loss_scale_changes_nothing_but_rounding() -> None:
    """What the loss is scaled by, the gradients are divided by."""
    scaled = trained(lambda: flow.optimizer.SGD(constant(), momentum=0, loss_scale_factor=1024.0))
    np.testing.assert_allclose(scaled, by_hand(sgd), atol=1e-5)


def test_the_learning_rate_follows_its_schedule() -> None:
    """Step 0 uses the first value; the counter advances by one per call."""
    schedule = flow.optimizer.PiecewiseConstantScheduler([9, 29], [0.05, 0.02, 0.01])
    found = trained(lambda: flow.optimizer.SGD(schedule, momentum=0))
    rates = [0.05] * 10 + [0.02] * 20 + [0.01] * 20
    np.testing.assert_allclose(found, by_hand(lambda w, g, step, s: w - rates[step] * g), atol=1e-5)
    assert flow.get_all_variables()["System-Train-TrainStep-job"].numpy().tolist() == [STEPS]


def test_only_the_named_variables_are_trained() -> None:
    """An optimizer with ``variables`` leaves the others as they are."""

    @flow.global_function(type="train")
    def job(x: tp.Numpy.Placeholder((6, 4))) -> tp.Numpy:
        a = flow.get_variable("a", shape=(4,), initializer=flow.ones_initializer())
        b = flow.get_variable("b", shape=(4,), initializer=flow.ones_initializer())
        loss = flow.math.reduce_mean(x * a * b)
        flow.optimizer.SGD(constant(), momentum=0, variables=["b"]).minimize(loss)
        return loss

    job(X)
    held = flow.get_all_variables()
    assert (held["a"].numpy() == 1).all()
    assert (held["b"].numpy() != 1).any()


def test_watch_diff_sees_the_undivided_gradient() -> None:
    """The gradient is that of the sum of the loss, whatever its element count."""
    seen = []

    def handler(blob: tp.Numpy) -> None:
        seen.append(blob.copy())

    handler.__annotations__["blob"] = tp.Numpy

    @flow.global_function(type="train")
    def job(x: tp.Numpy.Placeholder((6, 4))) -> tp.Numpy:
        y = flow.math.multiply(x, flow.get_variable("v", shape=(4,), initializer=flow.ones_initializer()))
        loss = flow.math.square(y)
        flow.optimizer.SGD(constant(), momentum=0).minimize(loss)
        flow.watch_diff(y, handler)
        return loss

    job(X)
    np.testing.assert_allclose(seen[0], 2 * X, rtol=1e-6)


# ---- checkpoints -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["momentum", "adam_corrected", "rmsprop"])
def test_resumed_training_is_bit_equal(name: str, tmp_path: Path) -> None:
    """Optimizer state and step are saved: 20 + save + load + 30 steps are 50 steps."""
    optimizer = OPTIMIZERS[name][0]
    straight = trained(optimizer)
    flow.clear_default_session()
    job = train_job(optimizer)
    flow.load_variables({"w": W0})
    for _ in range(20):
        job(X, T)
    flow.checkpoint.save(tmp_path / "half")
    flow.clear_default_session()
    job = train_job(optimizer)
    flow.load_variables(flow.checkpoint.get(tmp_path / "half"))
    for _ in range(30):
        job(X, T)
    assert flow.get_all_variables()["w"].numpy().tobytes() == straight.tobytes()


def test_a_predict_job_shares_the_train_jobs_variables() -> None:
    """The same name is the same data."""
    job = train_job(OPTIMIZERS["sgd"][0])

    @flow.global_function()
    def predict(x: tp.Numpy.Placeholder((6, 4))) -> tp.Numpy:
        return flow.matmul(x, flow.get_variable("w", shape=(4, 3)))

    flow.load_variables({"w": W0})
    job(X, T)
    np.testing.assert_allclose(predict(X), X @ flow.get_all_variables()["w"].numpy(), rtol=1e-6)


def test_loading_a_value_of_another_shape_changes_nothing() -> None:
    """All values are checked before the first is written."""
    train_job(OPTIMIZERS["sgd"][0])
    flow.load_variables({"w": W0})
    with pytest.raises(ShapeError, match="'w'"):
        flow.load_variables({"w": np.zeros((3, 4), F)})
    assert (flow.get_all_variables()["w"].numpy() == W0).all()


def test_loading_an_unknown_name_is_an_error_on_request() -> None:
    """By default it is passed over, as in OneFlow."""
    train_job(OPTIMIZERS["sgd"][0])
    flow.load_variables({"ww": W0})
    with pytest.raises(OpkitError, match="did you mean 'w'"):
        flow.load_variables({"ww": W0}, ignore_mismatch=False)


# ---- mistakes --------------------------------------------------------------------------------------------------------
def assert_still_works() -> None:
    """Another job in the same process works."""
    flow.clear_default_session()
    np.testing.assert_allclose(trained(OPTIMIZERS["sgd"][0]), by_hand(sgd), atol=1e-6)


def test_a_train_job_without_minimize_is_refused() -> None:
    """It says what to add."""

    @flow.global_function(type="train")
    def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        return x

    with pytest.raises(UsageError, match="'job' is a train job but calls no minimize"):
        job(np.zeros(2, F))
    assert_still_works()


def test_minimize_in_a_predict_job_is_refused() -> None:
    """It names the job."""

    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        flow.optimizer.SGD(constant()).minimize(x)
        return x

    with pytest.raises(UsageError, match="'job' is a predict job"):
        job(np.zeros(2, F))
    assert_still_works()


def test_a_loss_that_depends_on_no_variable_is_refused() -> None:
    """It lists the job's variables."""

    @flow.global_function(type="train")
    def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        flow.get_variable("unused", shape=(2,))
        flow.optimizer.SGD(constant()).minimize(x)
        return x

    with pytest.raises(UsageError, match=r"depends on no trainable variable.*'unused'"):
        job(np.zeros(2, F))
    assert_still_works()


def test_a_variable_made_again_with_another_shape_is_refused() -> None:
    """Both descriptions are named."""

    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        flow.get_variable("v", shape=(2,))
        return x + flow.get_variable("v", shape=(3,))

    with pytest.raises(ShapeError, match=r"'v' exists as float32\[2\].*float32\[3\]"):
        job(np.zeros(2, F))
    assert_still_works()


def test_get_variable_outside_a_job_is_refused() -> None:
    """Variables live in jobs."""
    with pytest.raises(UsageError, match="outside a job"):
        flow.get_variable("v", shape=(1,))


def test_an_integer_loss_is_refused() -> None:
    """A loss has a gradient."""

    @flow.global_function(type="train")
    def job(x: tp.Numpy.Placeholder((2,), dtype=flow.int32)) -> tp.Numpy:
        flow.optimizer.SGD(constant()).minimize(x)
        return x

    with pytest.raises(UsageError, match="floating-point"):
        job(np.zeros(2, np.int32))


def test_an_unknown_name_offers_the_nearest() -> None:
    """Names that opkit lacks are AttributeErrors."""
    with pytest.raises(AttributeError, match=r"no flow\.get_varible[\s\S]*get_variable"):
        flow.get_varible  # noqa: B018
    with pytest.raises(AttributeError, match=r"no flow\.nn\.conv2[\s\S]*conv2d"):
        flow.nn.conv2  # noqa: B018
    with pytest.raises(AttributeError, match=r"no flow\.typing\.Nmpy[\s\S]*flow.typing.Numpy"):
        flow.typing.Nmpy  # noqa: B018
    with pytest.raises(AttributeError, match=r"no flow\.scope\.placment[\s\S]*flow.scope.placement"):
        flow.scope.placment  # noqa: B018


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("InferAndTryRun", r"call Build\(\) before InferAndTryRun\(\)"),
        ("Inputt", r"no 'Inputt'[\s\S]*did you mean 'Input'\?"),
    ],
)
def test_a_builder_says_what_it_lacks(name: str, words: str) -> None:
    """A forgotten Build() and a misspelt method are told apart."""
    with pytest.raises(AttributeError, match=words):
        getattr(flow.user_op_builder("r"), name)


def test_outputs_before_the_op_ran_are_refused_with_the_chain() -> None:
    """The help shows how the chain ends."""
    op = flow.user_op_builder("r").Op("relu").Input("in", [np.ones(2)]).Output("out").Build()
    with pytest.raises(UsageError, match=r"\.Build\(\)\.InferAndTryRun\(\)\.SoleOutputBlob\(\)"):
        op.SoleOutputBlob()


def test_a_misspelt_function_of_an_api_file_offers_the_nearest(tmp_path: Path) -> None:
    """The message names the op and its API file."""
    scaffold("t", tmp_path)
    module = flow.experimental.custom_op_module("t", tmp_path)
    module.py_api().cpp_def().py_kernel().build_load()
    with pytest.raises(AttributeError, match=r"t_py_api\.py\) defines no 't_foward'[\s\S]*'t_forward'"):
        module.api.t_foward  # noqa: B018


def test_a_job_that_forgets_to_return_is_told_so() -> None:
    """Its annotation promises a blob."""

    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2,), dtype=flow.float32)) -> tp.Numpy:
        flow.math.tanh(x)

    with pytest.raises(UsageError, match=r"returned nothing[\s\S]*end the job with a return statement"):
        job(np.ones(2, np.float32))


@pytest.mark.parametrize(("argument", "known"), [("Input", "in"), ("Output", "out")])
def test_a_misspelt_argument_of_a_built_in_op_offers_the_nearest(argument: str, known: str) -> None:
    """The unknown name is told before the one that is missing for its sake."""
    names = {"Input": "in", "Output": "out", argument: known + "n"}
    builder = flow.user_op_builder("r").Op("relu").Input(names["Input"], [np.ones(2)]).Output(names["Output"])
    with pytest.raises(UsageError, match=f"op 'relu' has no {argument.lower()} '{known}n'") as caught:
        builder.Build()
    assert caught.value.help == f"did you mean '{known}'?"


@pytest.mark.parametrize("is_eager", [False, True])
def test_a_loss_that_is_not_finite_is_told_once_with_its_step(is_eager: bool) -> None:
    """The job goes on, as in OneFlow; the warning names the step and how to find the op."""
    flow.enable_eager_execution(is_eager)
    job = train_job(lambda: flow.optimizer.SGD(constant(), momentum=0))
    job(X, T)
    with pytest.warns(UserWarning, match=r"job 'job': the loss is NaN at step 1;.*enable_debug_mode") as caught:
        job(X * np.float32("nan"), T)
    assert [Path(item.filename).name for item in caught] == ["test_training.py"]


@pytest.mark.parametrize("is_eager", [False, True])
def test_debug_mode_names_the_op_that_made_the_first_nan(is_eager: bool) -> None:
    """The op whose inputs were finite is named, with the line that added it."""
    flow.enable_eager_execution(is_eager)

    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:
        return flow.math.add(flow.math.log(x), 1.0)

    flow.config.enable_debug_mode(True)
    try:
        with pytest.raises(OpkitError, match=r"op 'log' made 1 NaN or infinite value of 3"):
            job(np.array([1, -1, 2], F))
    finally:
        flow.config.enable_debug_mode(False)
    with np.errstate(invalid="ignore"):
        assert np.isnan(job(np.array([1, -1, 2], F))).tolist() == [False, True, False]


def test_a_checkpoint_that_lacks_a_variable_is_told(tmp_path: Path) -> None:
    """The variable keeps its value, and the name that it may have in the checkpoint is offered."""
    train_job(OPTIMIZERS["sgd"][0], name="dense1-weight")
    flow.checkpoint.save(tmp_path / "a")
    flow.clear_default_session()
    train_job(OPTIMIZERS["sgd"][0], name="dense-weight")
    with pytest.warns(UserWarning, match=r"holds no 'dense-weight'.*may be its name for 'dense1-weight'"):
        flow.load_variables(flow.checkpoint.get(tmp_path / "a"))


def test_only_what_changes_a_variable_is_recorded_as_writing_it() -> None:
    """Of a train job's ops, the look at the loss and the learning rate read the step counter, and one op writes it."""
    job = train_job(lambda: flow.optimizer.SGD(constant(), momentum=0.5)).job
    job.prepare()
    ops = job.graph.program.global_block().ops
    writers = {op.type: [op.inputs[i].variable.name for i in op.writes] for op in ops if op.writes}
    assert writers == {"momentum_update": ["w", "w-momentum"], "count_step": ["System-Train-TrainStep-job"]}


# ---- what a job returns and is called with ---------------------------------------------------------------------------
@pytest.mark.parametrize("is_eager", [False, True])
def test_a_variable_that_a_train_job_returns_is_what_the_step_read(is_eager: bool) -> None:
    """The value from before the update comes back, as in v0.4; another job sees the value after it."""
    flow.enable_eager_execution(is_eager)

    @flow.global_function(type="train")
    def train(x: tp.Numpy.Placeholder((2,))) -> tuple[tp.Numpy, tp.Numpy]:
        w = flow.get_variable("w", shape=(2,), initializer=flow.constant_initializer(1))
        flow.optimizer.SGD(constant(0.5), momentum=0).minimize(w + x)
        return w, flow.reshape(w, (2, 1))

    @flow.global_function()
    def look() -> tp.Numpy:
        return flow.get_variable("w", shape=(2,))

    for before in (1.0, 0.75, 0.5):
        read, reshaped = train(np.zeros(2, F))
        assert read.tolist() == [before, before]
        assert reshaped.tolist() == [[before], [before]]
    assert look().tolist() == [0.25, 0.25]


def test_a_variable_may_be_named_like_an_argument() -> None:
    """The two stay apart: the argument is fed, the variable is trained."""

    @flow.global_function(type="train")
    def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        loss = x * flow.get_variable("x", shape=(2,), initializer=flow.constant_initializer(1))
        flow.optimizer.SGD(constant(0.5), momentum=0).minimize(loss)
        return loss

    assert job(np.array([2, 4], F)).tolist() == [2, 4]
    assert flow.get_all_variables()["x"].numpy().tolist() == [0.5, 0.0]


def test_every_size_of_a_list_placeholder_may_vary() -> None:
    """Sizes of any axis may differ, call by call, where there are no more elements than declared, as in v0.4."""

    @flow.global_function()
    def job(x: tp.ListNumpy.Placeholder((4, 6))) -> tp.ListNumpy:
        return flow.matmul(x, x, transpose_b=True)

    for shape in ((4, 6), (2, 6), (3, 5), (3, 8), (4, 1), (4, 6)):
        (found,) = job([np.ones(shape, F)])
        assert found.tolist() == np.full((shape[0], shape[0]), shape[1], F).tolist()


@pytest.mark.parametrize("rows", [4, 2, 3])
@pytest.mark.parametrize("grad_clipping", [None, 1e6])
def test_a_loss_of_a_varying_size_counts_the_elements_of_the_run(rows: int, grad_clipping: float | None) -> None:
    """A step with fewer rows than declared is the step of the mean over these rows."""

    @flow.global_function(type="train")
    def job(x: tp.ListNumpy.Placeholder((4, 4)), t: tp.ListNumpy.Placeholder((4, 3))) -> tp.ListNumpy:
        w = flow.get_variable("w", shape=(4, 3), initializer=flow.constant_initializer(0))
        loss = flow.math.squared_difference(flow.matmul(x, w), t)
        clipping = None if grad_clipping is None else flow.optimizer.grad_clipping.by_global_norm(grad_clipping)
        flow.optimizer.SGD(constant(0.1), momentum=0, grad_clipping=clipping).minimize(loss)
        return loss

    job([X[:4]], [T[:4]])
    flow.load_variables({"w": W0})
    job([X[:rows]], [T[:rows]])
    expected = W0 - 0.1 * 2.0 * X[:rows].T.astype(float) @ (X[:rows] @ W0 - T[:rows]) / (3 * rows)
    np.testing.assert_allclose(flow.get_all_variables()["w"].numpy(), expected, rtol=1e-5, atol=1e-6)


def test_a_loss_outside_a_job_is_the_error_that_oneflow_raises() -> None:
    """It is a NotImplementedError that says where it belongs."""
    with pytest.raises(NotImplementedError, match=r"flow.losses.add_loss was called outside a job"):
        flow.losses.add_loss(None)


def test_each_test_case_starts_with_an_empty_session() -> None:
    """``setUp`` of flow's TestCase forgets variables and ends eager execution."""
    train_job(OPTIMIZERS["sgd"][0])(X, T)
    assert "w" in flow.get_all_variables()
    flow.enable_eager_execution(True)
    flow.unittest.TestCase().setUp()
    assert flow.get_all_variables() == {}
    assert not flow.eager_execution_enabled()


def load_op_without_gradient(folder: Path) -> None:
    """Load an op directory of which only the forward op is left."""
    scaffold("user_nograd", folder)
    definition = folder / "user_nograd" / "user_nograd_cpp_def.cpp"
    text = definition.read_text()
    definition.write_text(text[: text.index("// dx")] + "}  // namespace\n}  // namespace oneflow\n")
    flow.experimental.custom_op_module("user_nograd", folder).py_api().cpp_def().py_kernel().build_load()


@pytest.mark.parametrize("is_eager", [False, True])
@pytest.mark.parametrize("has_another_way", [False, True])
def test_an_op_without_a_gradient_in_a_train_job_is_named(
    tmp_path: Path, has_another_way: bool, is_eager: bool
) -> None:
    """It is named, with the line that applies it, even where the variable reaches the loss on another way too."""
    load_op_without_gradient(tmp_path)
    flow.enable_eager_execution(is_eager)

    @flow.global_function(type="train")
    def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        w = flow.get_variable("w", shape=(2,), initializer=flow.constant_initializer(1))
        op = flow.user_op_builder("stop").Op("user_nograd_forward").Input("x", [w * x]).Output("y")
        y = op.Build().InferAndTryRun().SoleOutputBlob()
        loss = y + w if has_another_way else y
        flow.optimizer.SGD(constant(), momentum=0).minimize(loss)
        return loss

    with pytest.raises(
        UsageError, match=r"op 'user_nograd_forward' has no registered gradient[\s\S]*test_training.py:[0-9]"
    ):
        job(np.ones(2, F))


@pytest.mark.parametrize("is_eager", [False, True])
def test_an_op_without_a_gradient_beside_the_loss_does_no_harm(tmp_path: Path, is_eager: bool) -> None:
    """What the loss does not depend on, or what no variable reaches, needs no gradient."""
    load_op_without_gradient(tmp_path)
    flow.enable_eager_execution(is_eager)

    def stop(blob: Any) -> Any:
        op = flow.user_op_builder(flow.util.unique_str("stop")).Op("user_nograd_forward").Input("x", [blob])
        return op.Output("y").Build().InferAndTryRun().SoleOutputBlob()

    @flow.global_function(type="train")
    def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        w = flow.get_variable("w", shape=(2,), initializer=flow.constant_initializer(1))
        flow.optimizer.SGD(constant(1.0), momentum=0).minimize(w * stop(x))
        return stop(w)

    job(np.zeros(2, F))
    np.testing.assert_allclose(flow.get_all_variables()["w"].numpy(), 1 - np.log(2) / 2, rtol=1e-6)
