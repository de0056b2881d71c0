"""What both programs that ask with NVIDIA's tritonclient send, and how they look at what came."""

import ml_dtypes
import numpy as np
from tritonclient.utils import InferenceServerException

arrays = {
    "BOOL": np.array([[True, False, True]]),
    "UINT8": np.array([[0, 1, 255]], np.uint8),
    "UINT16": np.array([[0, 1, 65535]], np.uint16),
    "UINT32": np.array([[0, 1, 2**32 - 1]], np.uint32),
    "UINT64": np.array([[0, 2**53, 2**64 - 1]], np.uint64),
    "INT8": np.array([[-128, 0, 127]], np.int8),
    "INT16": np.array([[-32768, 0, 32767]], np.int16),
    "INT32": np.array([[-(2**31), 0, 2**31 - 1]], np.int32),
    "INT64": np.array([[-(2**63), 2**53 + 1, 2**63 - 1]], np.int64),
    "FP16": np.array([[1.5, -2, 65504]], np.float16),
    "FP32": np.arange(6, dtype=np.float32).reshape(2, 3) / 4,
    "FP64": np.array([[0.1, -1e300]], np.float64),
    "BF16": np.array([[1.5, -2, 3e38]], ml_dtypes.bfloat16),
    "BYTES": np.array([[b"word", b"", "gr\u00fcn \U0001f600".encode(), b"a\0b"]], np.object_),
}
# JSON has no numbers for the half-wide types, and those from 2^53 on would lose digits in most parsers
as_json = {name: array for name, array in arrays.items() if name not in ("FP16", "BF16")} | {
    "UINT64": np.array([[0, 2**53 - 1]], np.uint64),
    "INT64": np.array([[1 - 2**53, 2**53 - 1]], np.int64),
}
floats = arrays["FP32"]


def model_of(datatype):
    return f"ident_{datatype.lower()}"


def same(answer, array):
    got = answer.as_numpy("OUTPUT0")
    if array.dtype == np.object_:  # JSON has texts
        elements = [each if isinstance(each, bytes) else each.encode() for each in got.flatten()]
        return bool(got.shape == array.shape and elements == array.flatten().tolist())
    return bool(got.dtype == array.dtype and got.shape == array.shape and got.tobytes() == array.tobytes())


def error_of(call):
    try:
        return {"value": repr(call())}
    except InferenceServerException as error:
        return {"status": error.status(), "message": error.message()}
