"""``paddle.distributed`` on one process: rank 0 of 1; more of them is an error."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
import opkit.paddle.distributed as dist
from opkit.errors import UnsupportedError, UsageError
from opkit.paddle.distributed import fleet
from opkit.paddle.distributed.fleet.utils import recompute


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """No group is left over."""
    yield
    dist.destroy_process_group()


def _x() -> Any:
    return paddle.to_tensor([1.0, 2.0])


# ---- who there is ----------------------------------------------------------------------------------------------------
def test_this_is_rank_0_of_1() -> None:
    """Rank, number of processes and device, as functions and as an environment."""
    assert (dist.get_rank(), dist.get_world_size()) == (0, 1)
    env = dist.ParallelEnv()
    assert (env.rank, env.local_rank, env.nranks, env.world_size, env.device_type) == (0, 0, 1, 1, "cpu")
    assert len(env.trainer_endpoints) == 1


def test_initialised_after_init() -> None:
    """init_parallel_env begins, destroy_process_group ends."""
    assert not dist.is_initialized()
    dist.init_parallel_env()
    assert dist.is_initialized()
    dist.destroy_process_group()
    assert not dist.is_initialized()


def test_an_environment_of_more_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A launcher that announces other processes gets a clear error."""
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "4")
    with pytest.raises(UnsupportedError, match="4 processes, and opkit runs one"):
        dist.init_parallel_env()


# ---- collectives -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("call", [dist.all_reduce, lambda x: dist.broadcast(x, 0), lambda x: dist.reduce(x, 0)])
def test_reducing_leaves_the_tensor(call: Callable[[Any], Any]) -> None:
    """The sum of one rank's Tensor is the Tensor; the task has ended."""
    x = _x()
    task = call(x)
    assert task.wait()
    assert x.tolist() == [1.0, 2.0]


def test_gathering_appends_a_copy() -> None:
    """What is gathered does not share memory, and has no graph."""
    x = _x()
    x.stop_gradient = False
    for gather in (dist.all_gather, dist.gather, lambda found, x: dist.alltoall([x], found)):
        found: list[Any] = []
        gather(x, found) if gather is dist.gather else gather(found, x)
        assert len(found) == 1
        assert found[0].stop_gradient
        assert not np.shares_memory(found[0].numpy(), x.numpy())
        assert found[0].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "fill",
    [
        lambda y, x: dist.all_gather([y], x),
        lambda y, x: dist.get_group().process_group.all_gather(x, y).wait(),
        lambda y, x: dist.get_group().process_group.alltoall(x, y).wait(),
        lambda y, x: dist.communication.stream.all_gather(y, x, use_calc_stream=True),
        lambda y, x: dist.communication.stream.reduce_scatter(y, x),
        lambda y, x: dist.scatter(y, [x]),
        lambda y, x: dist.reduce_scatter(y, [x]),
        lambda y, x: dist.alltoall_single(x, y),
    ],
)
def test_scattering_fills_the_tensor(fill: Callable[[Any, Any], Any]) -> None:
    """The part of this rank is all."""
    y = paddle.zeros([2])
    fill(y, _x())
    assert y.tolist() == [1.0, 2.0]


def test_objects_are_copied() -> None:
    """Gathered objects are equal and not the same."""
    given = {"a": [1]}
    found: list[Any] = []
    dist.all_gather_object(found, given)
    assert found == [given]
    assert found[0] is not given
    dist.broadcast_object_list(found, src=0)
    assert found == [given]


def test_another_rank_does_not_exist() -> None:
    """A source or destination other than 0 is refused, and so is a list of other length."""
    with pytest.raises(UsageError, match="no such rank"):
        dist.broadcast(_x(), 1)
    with pytest.raises(UsageError, match="one rank exchanges one item"):
        dist.scatter(_x(), [_x(), _x()])
    with pytest.raises(UsageError, match="of shape"):
        dist.scatter(paddle.zeros([3]), [_x()])
    with pytest.raises(TypeError, match="takes a Tensor"):
        dist.all_reduce(3)


def test_groups() -> None:
    """A new group of rank 0 is found by its number; of others it is refused."""
    group = dist.new_group([0])
    assert dist.get_group(group.id) is group
    assert (group.nranks, group.rank, group.get_group_rank(0), group.get_group_rank(5)) == (1, 0, 0, -1)
    dist.all_reduce(_x(), group=group)
    with pytest.raises(UnsupportedError, match="runs one"):
        dist.new_group([0, 1])
    dist.destroy_process_group(group)
    with pytest.raises(UsageError, match="no group"):
        dist.get_group(group.id)


# ---- starting processes ----------------------------------------------------------------------------------------------
def test_spawn_calls_the_function_here() -> None:
    """The one process is this one; an error of the function comes through."""
    seen: list[Any] = []
    context = dist.spawn(lambda *args: seen.append(args), args=(1, 2), nprocs=1)
    assert seen == [(1, 2)]
    assert context.join()
    dist.spawn(seen.clear)
    assert seen == []
    with pytest.raises(ZeroDivisionError):
        dist.spawn(lambda: 1 / 0)


@pytest.mark.parametrize("options", [{"nprocs": 2}, {"gpus": "0,1"}])
def test_spawn_refuses_more(options: dict[str, Any]) -> None:
    """Two processes are an error, however they are asked for."""
    with pytest.raises(UnsupportedError, match="2 processes"):
        dist.spawn(lambda: None, **options)


def test_launch_runs_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The script behind the launcher's options runs with its own arguments; more devices are refused."""
    script = tmp_path / "train.py"
    script.write_text("import sys, pathlib\npathlib.Path(sys.argv[1]).write_text(' '.join(sys.argv[1:]))\n")
    out = tmp_path / "out"
    monkeypatch.setattr(sys, "argv", ["launch", "--gpus", "0", str(script), str(out), "--lr", "1"])
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    dist.launch()
    assert out.read_text() == f"{out} --lr 1"
    monkeypatch.setattr(sys, "argv", ["launch", "--gpus", "0,1", str(script)])
    with pytest.raises(UnsupportedError, match="2 processes"):
        dist.launch()


# ---- DataParallel ----------------------------------------------------------------------------------------------------
def test_data_parallel_is_the_network() -> None:
    """Values, gradients and the state dict are the network's; parameters' names begin with _layers."""
    net = paddle.nn.Linear(2, 3)
    wrapped = paddle.DataParallel(net)
    with wrapped.no_sync():
        loss = wrapped.scale_loss(wrapped(paddle.ones([1, 2])).sum())
    loss.backward()
    wrapped.apply_collective_grads()
    assert net.weight.grad.tolist() == [[1.0] * 3] * 2
    assert list(wrapped.state_dict()) == ["weight", "bias"]
    assert [name for name, _ in wrapped.named_parameters()] == ["_layers.weight", "_layers.bias"]
    assert wrapped.set_state_dict(net.state_dict()) == ([], [])
    assert not hasattr(wrapped, "weight")


def test_data_parallel_takes_a_layer() -> None:
    """Anything else is a TypeError."""
    with pytest.raises(TypeError, match="takes a Layer"):
        paddle.DataParallel(3)


# ---- fleet -----------------------------------------------------------------------------------------------------------
def test_fleet_is_one_worker() -> None:
    """One worker, the first, and no server."""
    assert fleet.init(is_collective=True) is fleet.fleet
    assert (fleet.worker_num(), fleet.worker_index(), fleet.rank(), fleet.nranks()) == (1, 0, 0, 1)
    assert fleet.is_first_worker()
    assert fleet.is_worker()
    assert not fleet.is_server()
    assert fleet.server_num() == 0
    assert fleet.worker_endpoints(to_string=True).count(":") == 1
    fleet.init_worker()
    fleet.barrier_worker()
    fleet.stop_worker()
    with pytest.raises(UnsupportedError, match="no parameter server"):
        fleet.run_server()


def test_fleet_hands_back_what_it_gets() -> None:
    """Network, optimizer and scaler are the same objects, and train."""
    net = fleet.distributed_model(paddle.nn.Linear(2, 1))
    plain = paddle.optimizer.SGD(0.5, parameters=net.parameters())
    assert fleet.distributed_optimizer(plain, strategy=fleet.DistributedStrategy()) is plain
    before = net.weight.numpy()
    loss = net(paddle.ones([1, 2])).sum()
    loss.backward()
    fleet.minimize(loss)
    assert np.allclose(net.weight.numpy(), before - 0.5)
    with pytest.raises(TypeError, match="takes a Layer"):
        fleet.distributed_model(3)


def test_a_strategy_has_paddles_settings() -> None:
    """First values, groups of options that are merged, and errors for unknown names and more processes."""
    strategy = fleet.DistributedStrategy()
    assert strategy.amp is False
    strategy.amp = True
    strategy.hybrid_configs = {"mp_degree": 1}
    assert strategy.hybrid_configs["pp_degree"] == 1
    with pytest.raises(TypeError, match=r"no setting 'ampp'\n.*did you mean 'amp'"):
        strategy.ampp = True
    with pytest.raises(AttributeError, match="no setting 'ampp'"):
        strategy.ampp  # noqa: B018
    with pytest.raises(TypeError, match="is a dict"):
        strategy.amp_configs = 3
    strategy.hybrid_configs = {"dp_degree": 2}
    with pytest.raises(UnsupportedError, match=r"dp_degree.* 2 processes"):
        fleet.init(is_collective=True, strategy=strategy)


def test_groups_of_all_kinds_are_this_process() -> None:
    """Each kind of parallelism has rank 0 of 1."""
    groups = fleet.get_hybrid_communicate_group()
    for kind in ("data", "model", "pipe", "sharding", "sep"):
        assert getattr(groups, f"get_{kind}_parallel_rank")() == 0
        assert getattr(groups, f"get_{kind}_parallel_world_size")() == 1
        assert getattr(groups, f"get_{kind}_parallel_group")().nranks == 1
    assert groups.topology().get_dim_size("data") == 1
    with pytest.raises(UsageError, match="the topology has no"):
        groups.topology().get_dim_size("date")


def test_util_exchanges_with_itself() -> None:
    """Sums are the arrays, shards are all files."""
    assert fleet.util.all_reduce(np.array([1, 2]), "sum").tolist() == [1, 2]
    assert fleet.util.get_file_shard(["a", "b"]) == ["a", "b"]
    assert fleet.util.all_gather(3) == [3]
    with pytest.raises(UsageError, match="mode"):
        fleet.util.all_reduce(1, "mean")


def test_recompute_has_the_values_and_gradients_of_the_call() -> None:
    """Layers and functions; the options of recomputing are not passed on."""
    x = paddle.to_tensor([[1.0, 2.0]], stop_gradient=False)
    net = paddle.nn.Linear(2, 2)
    recompute(net, x, preserve_rng_state=False, use_reentrant=True).sum().backward()
    assert np.allclose(x.grad.numpy(), net.weight.numpy().sum(1))


def test_tensor_parallel_layers_are_whole() -> None:
    """Their parameters have the sizes and results of the plain layers'."""
    x = paddle.ones([1, 2])
    column = fleet.meta_parallel.ColumnParallelLinear(2, 3, has_bias=False, gather_output=False)
    assert column.weight.shape == [2, 3]
    assert column.bias is None
    row = fleet.meta_parallel.RowParallelLinear(3, 2, input_is_parallel=True)
    assert row(column(x)).shape == [1, 2]
    table = fleet.meta_parallel.VocabParallelEmbedding(5, 4)
    assert table(paddle.to_tensor([1])).shape == [1, 4]
    losses = fleet.meta_parallel.ParallelCrossEntropy()(paddle.zeros([2, 4]), paddle.to_tensor([[0], [1]]))
    assert np.allclose(losses.numpy(), np.log(4))


def test_named_random_states() -> None:
    """Draws within a named state leave the ordinary ones alone, and go on where they were."""
    tracker = fleet.meta_parallel.RNGStatesTracker()
    tracker.add("a", 3)
    paddle.seed(1)
    first = paddle.rand([2]).tolist()
    paddle.seed(1)
    with tracker.rng_state("a"):
        drawn = paddle.rand([2]).tolist()
    assert paddle.rand([2]).tolist() == first
    with tracker.rng_state("a"):
        assert paddle.rand([2]).tolist() != drawn
    with pytest.raises(UsageError, match="no state 'b'"), tracker.rng_state("b"):
        pass
    with pytest.raises(UsageError, match="already"):
        tracker.add("a", 4)


class _Words(fleet.MultiSlotDataGenerator):
    def generate_sample(self, line: str | None) -> Callable[[], Iterator[Any]]:
        """Yield one sample per line."""

        def read() -> Iterator[Any]:
            assert line is not None
            yield [("words", [int(word) for word in line.split()]), ("label", [0.5])]

        return read


def test_a_data_generator_writes_slots(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A line has each slot's number of values and the values (Paddle 2.6.2 gives the same text)."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("1 2\n3\n"))
    _Words().run_from_stdin()
    assert capsys.readouterr().out == "2 1 2 1 0.5\n1 3 1 0.5\n"
    assert fleet.MultiSlotStringDataGenerator()._gen_str([("a", ["1", "2"])]) == "2 1 2\n"


@pytest.mark.parametrize("sample", [3, [("a", [])], [("a", 1)], [("a", ["x"])]])
def test_a_malformed_sample_is_refused(sample: Any) -> None:
    """A sample is a list of (name, numbers)."""
    with pytest.raises(ValueError, match=r"slot|sample"):
        _Words()._gen_str(sample)


# ---- where it stands -------------------------------------------------------------------------------------------------
def test_old_paths_are_the_same_objects() -> None:
    """Paddle's longer paths give the same classes and functions."""
    assert paddle.distributed.parallel.DataParallel is paddle.DataParallel
    assert paddle.distributed.fleet.base.role_maker.Role is fleet.Role
    assert paddle.distributed.communication.group.Group is dist.Group


# ---- what older code calls -------------------------------------------------------------------------------------------
def test_streams_take_the_queue_by_place_or_by_name() -> None:
    """The last argument chooses a GPU's queue and has no effect."""
    x = _x()
    dist.stream.all_reduce(x, dist.ReduceOp.SUM, None, True, True)
    dist.stream.all_reduce(x, use_calc_stream=True)
    assert x.tolist() == [1.0, 2.0]
    with pytest.raises(TypeError):
        dist.stream.all_reduce(x, dist.ReduceOp.SUM, None, True, True, True)


@pytest.mark.parametrize("name", ["c_allgather", "c_allreduce_sum", "c_broadcast", "c_identity", "c_reducescatter"])
def test_generated_collectives_return_the_tensor(name: str) -> None:
    """They are identities of one rank, with a gradient, whatever options follow as pairs."""
    x = _x()
    x.stop_gradient = False
    y = getattr(paddle._C_ops, name)(x, "use_calc_stream", True, "ring_id", 0)
    (y * 3).sum().backward()
    assert (y.tolist(), x.grad.tolist()) == ([1.0, 2.0], [3.0, 3.0])


def test_the_ring_of_model_parallelism_is_this_process() -> None:
    """It goes from rank 0 to rank 0."""
    rings = fleet.get_hybrid_communicate_group().get_model_parallel_ring_group()
    assert rings["mp_0to0"].ranks == [0]
