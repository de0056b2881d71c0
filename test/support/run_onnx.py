"""Runs ONNX with Python's onnxruntime: jobs as JSON on stdin, what came of them as JSON on stdout.

A job: {"model": base64, "inputs": {name: {"type": number in ONNX, "shape": [...], "data": base64}}}
Of each: {"outputs": {name: the same}}, or {"error": what onnxruntime said}.
Values are made by type and shape and filled as bytes, since numpy lacks half of the types.
"""

import base64
import ctypes
import json
import sys

import onnxruntime

onnxruntime.set_default_logger_severity(4)


def value_of(given):
    data = base64.b64decode(given["data"])
    value = onnxruntime.OrtValue.ortvalue_from_shape_and_type(given["shape"], given["type"])
    size = value.tensor_size_in_bytes()
    if size != len(data):
        raise ValueError(f"expected {size} bytes but received {len(data)}")
    if size > 0:
        ctypes.memmove(value.data_ptr(), data, size)
    return value


def told(value):
    size = value.tensor_size_in_bytes()
    data = ctypes.string_at(value.data_ptr(), size) if size > 0 else b""
    return {"type": value.element_type(), "shape": list(value.shape()), "data": base64.b64encode(data).decode()}


def run(job):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(base64.b64decode(job["model"]), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    inputs = {name: value_of(given) for name, given in job["inputs"].items()}
    outputs = session.run_with_ort_values(names, inputs)
    return dict(zip(names, map(told, outputs)))


def answer(job):
    try:
        return {"outputs": run(job)}
    except Exception as error:  # onnxruntime's have no class in common
        return {"error": str(error)}


json.dump([answer(job) for job in json.load(sys.stdin)], sys.stdout)
