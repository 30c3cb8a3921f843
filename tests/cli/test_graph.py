"""``opkit graph JOB.py``: the static graphs that a script builds, in every form."""

import json
from pathlib import Path

import pytest

from opkit.cli import graphs
from opkit.project import assemble, discover
from tests.cli.test_commands import opkit
from tests.project.opdir import write_op

RELU = Path(__file__).resolve().parents[2] / "sample_ops" / "user_relu"
TRAIN = """
import numpy as np
import oneflow as flow
import oneflow.typing as tp

@flow.global_function(type="train")
def train(x: tp.Numpy.Placeholder((5, 3), dtype=flow.float32)) -> tp.Numpy:
    w = flow.get_variable("w", (3, 2), initializer=flow.ones_initializer())
    loss = flow.math.reduce_mean(flow.matmul(x, w))
    flow.optimizer.SGD(flow.optimizer.PiecewiseConstantScheduler([], [0.1])).minimize(loss)
    return loss

@flow.global_function()
def never_called(x: tp.Numpy.Placeholder((2,), dtype=flow.float32)) -> tp.Numpy:
    return flow.math.tanh(x)

print("loss", train(np.ones((5, 3), np.float32)))
"""
PADDLE = """
import sys
import numpy as np
import paddle

paddle.enable_static()
mine = paddle.static.Program()
with paddle.static.program_guard(mine):
    x = paddle.static.data(name='a "b"', shape=[2], dtype="float32")
    y = paddle.tanh(x)
    z = paddle.exp(x)
exe = paddle.static.Executor()
for fetch in sys.argv[1:]:
    exe.run(mine, feed={'a "b"': np.zeros(2, "float32")}, fetch_list=[{"y": y, "z": z}[fetch]])
"""


def job(folder: Path, text: str) -> Path:
    """Write a script and return its folder."""
    (folder / "job.py").write_text(text)
    return folder


def programs(folder: Path, *argv: str) -> list[dict]:
    """Return the graphs of a script as data."""
    return json.loads(opkit(folder, "graph", "--format", "json", "job.py", *argv).stdout)["programs"]


def test_a_job_op_by_op(tmp_path: Path) -> None:
    """Inputs, variables, ops with the user's lines, updates and the plan; the script's output is not data."""
    ran = opkit(job(tmp_path, TRAIN), "graph", "job.py")
    lines = [line.strip() for line in ran.stdout.splitlines()]
    assert ran.returncode == 0, ran.stderr
    assert lines[:2] == ["job train(x: float32[5, 3])", "holds w: float32[3, 2]"]
    assert any(line.startswith("matmul_0.tmp_0: float32[5, 2] = matmul(x, w) ") for line in lines)
    assert "# job.py:9" in ran.stdout
    assert lines.index("# backward") < lines.index("# update", lines.index("# backward"))
    assert any(line.startswith("# plan: ") and line.endswith(" fed x, for these sizes") for line in lines)
    assert "def run(s, h, b):" in lines
    assert ran.stderr == "loss [3.]\n"


def test_a_job_that_is_never_called_is_traced(tmp_path: Path) -> None:
    """It has a graph, whose ops stand in the user's lines, and no plan."""
    _, never = programs(job(tmp_path, TRAIN))
    assert (never["title"], never["plans"]) == ("job never_called", [])
    assert [(op["type"], op["where"]) for op in never["ops"]] == [("tanh", {"file": "job.py", "line": 15})]


def test_a_job_that_cannot_be_traced_is_told_with_its_line(tmp_path: Path) -> None:
    """The others are shown all the same; the status is 1."""
    ran = opkit(job(tmp_path, TRAIN.replace("flow.math.tanh(x)", "flow.matmul(x, x)")), "graph", "job.py")
    assert ran.returncode == 1
    assert ran.stdout.startswith("job train(")
    assert "job 'never_called' cannot be traced: flow.matmul takes two or more axes" in ran.stderr
    assert "job.py:13" in ran.stderr


def test_a_program_has_the_scripts_name_for_it_and_a_plan_per_fetch(tmp_path: Path) -> None:
    """What stands after the script are its arguments."""
    (graph,) = programs(job(tmp_path, PADDLE), "y", "z", "y")
    assert graph["title"] == "program mine"
    assert graph["inputs"] == {'a "b"': "float32[2]"}
    assert [len(plan["returns"]) for plan in graph["plans"]] == [1, 1]
    assert graph["returns"] == [plan["returns"][0] for plan in graph["plans"]]
    assert [plan["ops"] for plan in graph["plans"]] == [1, 1]
    assert "def run(" in graph["plans"][0]["source"]


@pytest.mark.parametrize(
    ("form", "start", "node"),
    [
        ("mermaid", "flowchart LR\n", '  data0(["a #quot;b#quot;<br>float32[2]"])\n'),
        ("dot", 'digraph "program mine" {\n', '  data0 [shape=ellipse, label="a \\"b\\"\\nfloat32[2]"];\n'),
    ],
)
def test_a_program_as_a_drawing(form: str, start: str, node: str, tmp_path: Path) -> None:
    """Quotes in names are escaped as the form wants it."""
    drawn = opkit(job(tmp_path, PADDLE), "graph", "--format", form, "job.py", "y").stdout
    assert drawn.startswith(start)
    assert node in drawn
    assert "op0 -" in drawn


def test_a_script_without_a_graph_says_what_to_do(tmp_path: Path) -> None:
    """Ops that ran one by one leave none: status 5 and the next step."""
    ran = opkit(job(tmp_path, "import paddle\npaddle.ones([2])\n"), "graph", "job.py")
    assert (ran.returncode, ran.stdout) == (5, "")
    assert "job.py built no static graph" in ran.stderr
    assert "opkit run --profile job.py" in ran.stderr


def test_a_script_that_fails_has_its_traceback_and_the_graphs_so_far(tmp_path: Path) -> None:
    """The status is 1."""
    ran = opkit(job(tmp_path, TRAIN + "1 / 0\n"), "graph", "job.py")
    assert ran.returncode == 1
    assert "ZeroDivisionError" in ran.stderr
    assert "job train(" in ran.stdout


def test_shapes_are_for_op_directories(tmp_path: Path) -> None:
    """A script says itself what it runs: --shape is a usage error before anything runs."""
    ran = opkit(job(tmp_path, TRAIN), "graph", "job.py", "--shape", "x=3")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "--shape is for op directories" in ran.stderr


def test_a_job_on_two_devices(tmp_path: Path) -> None:
    """Its ops have their signature and devices, what lies otherwise is exchanged, with the bytes that move."""
    job = tmp_path / "job.py"
    job.write_text(
        "import oneflow as flow\nimport oneflow.typing as tp\n\nflow.config.cpu_device_num(2)\n\n\n"
        "@flow.global_function()\ndef job(x: tp.Numpy.Placeholder((4, 3))) -> tp.Numpy:\n"
        "    return flow.math.reduce_sum(flow.math.relu(x), axis=0)\n"
    )
    text = opkit(tmp_path, "graph", "job.py").stdout
    assert "  # on 2 devices; 72 bytes move in a run where devices share no memory\n" in text
    assert "  x: B on the script's process => S(0) on 0:0-1  # 48 bytes\n  relu_0.tmp_0 = relu: S(0) -> S(0) on 0:0-1\n" in text
    assert "reduce_sum: S(0) -> P on 0:0-1" in text
    drawn = opkit(tmp_path, "graph", "job.py", "--format", "mermaid").stdout
    assert 'S(0) -> S(0) on 0:0-1"]' in drawn
    (program,) = json.loads(opkit(tmp_path, "graph", "job.py", "--format", "json").stdout)["programs"]
    (on_devices,) = program["on_devices"]
    assert on_devices["devices"] == ["0:0", "0:1"]
    assert [change["bytes"] for stage in on_devices["stages"] for change in stage["changes"]] == [48, 24]


def test_looking_for_shapes_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A definition that takes its time to refuse each of thousands of shapes."""
    slow = "int64_t n = 0; FOR_RANGE(int64_t, i, 0, 20000) { n += i; } CHECK_EQ_OR_RETURN(n, 1);"
    text = (RELU / "user_relu_cpp_def.cpp").read_text().replace("user_relu", "slow")
    text = text.replace('.Input("in")', '.Input("in").Input("a").Input("b").Input("c").Input("d")', 1)
    text = text.replace("*ctx->Shape4ArgNameAndIndex", f"{slow}\n*ctx->Shape4ArgNameAndIndex", 1)
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow" / "slow_cpp_def.cpp").write_text(text)
    monkeypatch.setattr(graphs, "_PATIENCE", 0.05)
    loaded = [assemble(item, runs_python=False) for item in discover([tmp_path])]
    found, (trouble,) = graphs.graphs_of(loaded, {}, "float32")
    assert found == []
    assert "no shapes that its definitions accept were found in 0.05 s" in trouble


def test_an_op_without_a_definition_does_not_hide_the_others(tmp_path: Path) -> None:
    """Its gradient is registered, its definition did not compile: it is named, and the other directory is drawn."""
    text = (RELU / "user_relu_cpp_def.cpp").read_text()
    for name in ("broken", "good"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}_cpp_def.cpp").write_text(text.replace("user_relu", name))
    loaded = [assemble(item, runs_python=False) for item in discover([tmp_path])]
    object.__setattr__(loaded[0].ops["broken_forward"], "compiled", None)
    found, troubles = graphs.graphs_of(loaded, {}, "float32")
    assert [graph.op.name for graph in found] == ["good_forward"]
    assert troubles == ["broken_forward: its registration has errors"]


def test_where_shapes_are_given_others_are_asked_for(tmp_path: Path) -> None:
    """Or another dtype; not the shapes, again."""
    done = opkit(write_op(tmp_path), "graph", "--shape", "x=3,4", "--dtype", "float16")
    assert "give other shapes, or another --dtype" in done.stderr


def test_an_unknown_dtype_is_a_mistake_of_usage(tmp_path: Path) -> None:
    """With the dtypes that there are."""
    done = opkit(tmp_path, "graph", str(RELU), "--dtype", "flaot32")
    assert done.returncode == 2
    assert done.stderr.startswith("error: --dtype: not a dtype that opkit has: 'flaot32' (known: bool, ")
