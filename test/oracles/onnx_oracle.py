"""What ONNX itself says of models: its checker, and its reference evaluator, which rounds after each node. Jobs as JSON
on stdin, an answer for each on stdout, in their order.

A job: {"model": base64} has {"valid": null, or why it is not}; with {"inputs": {name: tensor}} also {"outputs": {name: tensor}}, or {"failed": why}.
What a node gives is rounded to its type, also where numpy multiplies bfloat16 to float32.
A tensor: {"type": number in ONNX, "shape": [...], "data": base64}. Outputs of 16 bits come as float32, which holds them.
"""

import base64
import json
import sys
import warnings

import ml_dtypes
import numpy
import onnx
import onnx.checker
import onnx.reference
import onnx.shape_inference

# what overflows is what is looked for
warnings.filterwarnings("ignore")

HALVES = (numpy.dtype(numpy.float16), numpy.dtype(ml_dtypes.bfloat16))
TYPES = {number: numpy.dtype(onnx.helper.tensor_dtype_to_np_dtype(number)) for number in (1, 2, 3, 6, 7, 9, 10, 11, 16)}


def array_of(given):
    data = numpy.frombuffer(base64.b64decode(given["data"]), TYPES[given["type"]])
    return data.reshape(given["shape"])


def told(array):
    wide = numpy.asarray(array)
    if wide.dtype in (numpy.float16, ml_dtypes.bfloat16):
        wide = wide.astype(numpy.float32)
    number = onnx.helper.np_dtype_to_tensor_dtype(wide.dtype)
    return {"type": number, "shape": list(wide.shape), "data": base64.b64encode(wide.tobytes()).decode()}


def rounding(run, types):
    """The outputs of a node's run in the types that they have in the model."""

    def rounded(*inputs, **more):
        outputs = run(*inputs, **more)
        return tuple(
            value.astype(wanted) if wanted in HALVES and isinstance(value, numpy.ndarray) and value.dtype != wanted else value
            for value, wanted in zip(outputs, types)
        )

    return rounded


def evaluated(model, inputs):
    evaluator = onnx.reference.ReferenceEvaluator(model)
    graph = onnx.shape_inference.infer_shapes(model).graph
    types = {info.name: TYPES.get(info.type.tensor_type.elem_type) for info in [*graph.value_info, *graph.output]}
    for node in evaluator.rt_nodes_:
        node.run = rounding(node.run, [types.get(name) for name in node.output])
    return dict(zip(evaluator.output_names, evaluator.run(None, inputs)))


def answer(job):
    model = onnx.load_from_string(base64.b64decode(job["model"]))
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:  # its own and those of protobuf
        return {"valid": str(error)}
    if "inputs" not in job:
        return {"valid": None}
    try:
        outputs = evaluated(model, {name: array_of(given) for name, given in job["inputs"].items()})
        return {"valid": None, "outputs": {name: told(value) for name, value in outputs.items()}}
    except Exception as error:  # of numpy, for the most part
        return {"valid": None, "failed": f"{type(error).__name__}: {error}"}


json.dump([answer(job) for job in json.load(sys.stdin)], sys.stdout)
