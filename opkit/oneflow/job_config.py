"""``flow.FunctionConfig``: a job's settings (v0.4), and the older way to name an optimizer in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opkit.errors import MissingNameError, UsageError, unknown
from opkit.ir import canonical_dtype
from opkit.oneflow.semantics import schedules
from opkit.oneflow.semantics.training import UpdateRecipe
from opkit.oneflow.session import session

#: Settings whose effect does not exist on one CPU; they are remembered and change nothing.
_WITHOUT_EFFECT = (
    "all_reduce_fp16",
    "all_reduce_group_min_mbyte",
    "all_reduce_group_num",
    "all_reduce_group_size_warmup",
    "all_reduce_lazy_ratio",
    "concurrency_width",
    "cudnn_buf_limit_mbyte",
    "cudnn_conv_enable_pseudo_half",
    "cudnn_conv_enable_true_half",
    "cudnn_conv_force_bwd_data_algo",
    "cudnn_conv_force_bwd_filter_algo",
    "cudnn_conv_force_fwd_algo",
    "cudnn_conv_heuristic_search_algo",
    "cudnn_conv_use_deterministic_algo_only",
    "default_initializer_conf",
    "disable_all_reduce_sequence",
    "enable_all_reduce_group",
    "enable_auto_mixed_precision",
    "enable_cudnn",
    "enable_cudnn_conv_pseudo_half",
    "enable_float_compute_for_half_gemm",
    "enable_fuse_add_to_output",
    "enable_fuse_cast_scale",
    "enable_fuse_model_update_ops",
    "enable_gradients_stats_aggregation",
    "enable_inplace",
    "enable_inplace_in_reduce_struct",
    "enable_keep_header_only",
    "enable_nccl",
    "enable_non_distributed_optimizer",
    "enable_quantization_aware_training",
    "enable_qat",
    "enable_reuse_mem",
    "enable_true_half_config_when_conv",
    "exp_run_conf",
    "indexed_slices_optimizer_conf",
    "non_distributed_optimizer_group_size_mbyte",
    "num_gradient_accumulation_steps",
    "optimizer_placement_optimization_mode",
    "optimizer_placement_optimization_threshold",
    "prune_cast_to_static_shape_ops",
    "prune_parallel_cast_ops",
    "static_mem_alloc_algo_white_list",
    "static_mem_alloc_policy_white_list",
    "tensorrt",
    "use_boxing_v2",
    "use_memory_allocation_algorithm_v2",
    "use_nccl_inter_node_communication",
    "use_tensorrt",
    "use_xla_jit",
)
#: Settings of several devices, which the job reads: its view (under its older name too) and its placement.
_OF_DEVICES = ("default_distribute_strategy", "default_logical_view", "default_placement_scope")
_RULES = {"naive_conf": "sgd", "momentum_conf": "momentum", "adam_conf": "adam", "rmsprop_conf": "rmsprop"}
_DEFAULTS: dict[str, dict[str, Any]] = {
    "sgd": {},
    "momentum": {"beta": 0.9},
    "adam": {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "do_bias_correction": False},
    "rmsprop": {"decay_rate": 0.99, "epsilon": 1e-8, "centered": False},
}


class _Train:
    """``config.train``: learning rate and model update of jobs that call ``flow.losses.add_loss``."""

    def __init__(self) -> None:
        self.rate: float | None = None
        self.rule = "sgd"
        self.hyper: dict[str, Any] = {}

    def primary_lr(self, value: float) -> None:
        """Set the learning rate."""
        self.rate = float(value)

    def secondary_lr(self, value: float) -> None:
        """Accept a second learning rate; biases use the first one here as in OneFlow's later versions."""

    def model_update_conf(self, value: Mapping[str, Mapping[str, Any]]) -> None:
        """Choose the update: ``{"momentum_conf": {"beta": 0.9}}`` and the like.

        Raises:
            UsageError: there is no such update.
        """
        for name, hyper in value.items():
            if name not in _RULES:
                raise unknown("config.train.model_update_conf: no update", name, _RULES).error(UsageError)
            self.rule, self.hyper = _RULES[name], dict(hyper)


class FunctionConfig:
    """A job's settings; each is set by calling it: ``config.default_data_type(flow.float)``."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.train = _Train()

    @property
    def is_train(self) -> bool:
        """Whether the older ``config.train.primary_lr`` made it the settings of a train job."""
        return self.train.rate is not None

    def default_data_type(self, value: Any) -> None:
        """Set the default dtype of blobs.

        Raises:
            TypeError: it is not a dtype.
        """
        self.values["default_data_type"] = canonical_dtype(value)

    @property
    def function_desc(self) -> FunctionDesc:
        """The settings, to be read: ``config.function_desc.enable_inplace``."""
        return FunctionDesc(self, self.is_train)

    def recipe(self, job: str) -> UpdateRecipe:
        """Return the optimizer that ``config.train`` describes.

        Raises:
            UsageError: no learning rate was set.
        """
        if self.train.rate is None:
            raise UsageError(
                f"job {job!r} calls flow.losses.add_loss but its FunctionConfig has no learning rate",
                help="call flow.optimizer.SGD(...).minimize(loss) instead, or config.train.primary_lr(rate)",
            )
        schedule = schedules.PiecewiseConstantScheduler([], [self.train.rate])
        return UpdateRecipe(self.train.rule, schedule, {**_DEFAULTS[self.train.rule], **self.train.hyper})

    def __getattr__(self, name: str) -> Any:
        if name in _WITHOUT_EFFECT or name in _OF_DEVICES:
            return lambda *args: self.values.__setitem__(name, args[0] if args else True)
        if name.startswith("__"):
            raise AttributeError(name)
        known = [*_WITHOUT_EFFECT, *_OF_DEVICES, "default_data_type", "train"]
        raise unknown("FunctionConfig has no setting", name, known).error(MissingNameError)


class FunctionDesc:
    """A job's settings as they can be read: each is an attribute.

    Args:
        config: the settings.
        is_trainable: whether the job is a train job.
    """

    def __init__(self, config: FunctionConfig, is_trainable: bool) -> None:
        self._config = config
        self._is_trainable = is_trainable

    def IsTrainable(self) -> bool:
        """Return whether the job is a train job."""
        return self._is_trainable

    def __getattr__(self, name: str) -> Any:
        """Return a setting, False where it was not set.

        Raises:
            MissingNameError: there is no such setting.
        """
        if name not in self._config.values:
            getattr(self._config, name)  # refuses what is not a setting, and names the nearest
        return self._config.values.get(name, False)


def current_global_function_desc() -> FunctionDesc:
    """Return the settings of the job that is being built.

    Raises:
        OutsideJobError: there is none.
    """
    job = session().current_job("flow.current_global_function_desc")
    return FunctionDesc(job.config, job.kind == "train")
