"""Blob: a text for scripts and the definition language, with parts for code that must know what it is."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from opkit.spec import Blob
from tests.spec.test_grads import INPUTS, NEW, OLD
from tests.spec.texts import compiled

PARTS = [
    (Blob("in", "x", 0), "in:x_0"),
    (Blob("out", "y_1", 2), "out:y_1_2"),
    (Blob("dout", "y", 0), "dout:y_0"),
    (Blob("made", "dx", 1, "fw/grad"), "fw/grad/dx_1"),
    (Blob("foreign", "other/out_0", 0), "other/out_0"),
]


@pytest.mark.parametrize(("blob", "text"), PARTS)
def test_text(blob: Blob, text: str) -> None:
    """A blob is its text: equal, hashed, written and read as such."""
    assert (blob, hash(blob), json.loads(json.dumps(blob)), f"{blob}") == (text, hash(text), text, text)


@pytest.mark.parametrize("blob", [blob for blob, _ in PARTS])
def test_copies(blob: Blob) -> None:
    """Copies and pickles keep the parts."""
    for made in (copy.copy(blob), copy.deepcopy(blob), pickle.loads(pickle.dumps(blob))):
        assert (made, made.kind, made.arg, made.place, made.op) == (blob, blob.kind, blob.arg, blob.place, blob.op)


@pytest.mark.parametrize("text", [OLD, NEW], ids=["old", "new"])
def test_blobs_of_a_graph(text: str) -> None:
    """Every blob of a gradient graph has its parts, and inputs are named by (argument, index)."""
    graph = compiled(text).grads["f"].build(INPUTS)
    step = graph.ops[0]
    parts = [(blob.kind, blob.arg, blob.place, blob.op) for blobs in step.inputs.values() for blob in blobs]
    assert parts == [("dout", "y", 0, ""), ("in", "x", 0, "")]
    assert graph.gradients == {("x", 0): "fw_grad/dx_0"}
    assert graph.gradients["x", 0] is step.outputs["dx"][0]
    assert (graph.gradients["x", 0].kind, graph.gradients["x", 0].op) == ("made", "fw_grad")


@pytest.mark.parametrize(
    ("written", "kind", "arg"),
    [
        ('std::string("in:") + "x_0"', "in", "x"),
        ('std::string("out:") + "y_0"', "out", "y"),
        ('std::string("dout:y_") + "0"', "dout", "y"),
        ('std::string("other/") + "out_0"', "foreign", "other/out_0"),
        ('op.input("x", 0) + "_like"', "foreign", "in:x_0_like"),
    ],
)
def test_strings_that_a_definition_puts_together(written: str, kind: str, arg: str) -> None:
    """A string that names a blob of the graph is that blob, any other a foreign one."""
    text = OLD.replace('.Input("x", op.input("x", 0))', f'.Input("x", {written})')
    blob = compiled(text).grads["f"].build(INPUTS).ops[0].inputs["x"][0]
    assert (blob.kind, blob.arg) == (kind, arg)


def test_a_made_blob_that_a_definition_spells_out() -> None:
    """The output of a backward op is found by its text, too."""
    text = OLD.replace('grad_op.output("dx", 0), "x", 0', 'std::string("fw_grad") + "/dx_0", "x", 0')
    graph = compiled(text).grads["f"].build(INPUTS)
    assert graph.gradients["x", 0] is graph.ops[0].outputs["dx"][0]
