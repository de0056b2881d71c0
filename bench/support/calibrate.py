"""Calibrates an ONNX model with onnxruntime's own Python tools: the peer of bench/quantize.ts.

calibrate.py MODEL FOLDER BINS: the ranges of all float tensors, by entropy, as `quantize_static` has them measured (it passes no number of bins on, so
its calibrator is called here). FOLDER has the inputs, each a file `*.f32` of [1, 3, 320, 320].
A line of JSON: what it took without the start of Python, the largest memory that the process ever had, and how many ranges there are.
"""

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod
from onnxruntime.quantization.calibrate import create_calibrator

onnxruntime.set_default_logger_severity(4)


class Files(CalibrationDataReader):
    def __init__(self, folder, name):
        self.name = name
        self.files = iter(sorted(Path(folder).glob("*.f32")))

    def get_next(self):
        file = next(self.files, None)
        return None if file is None else {self.name: np.fromfile(file, dtype=np.float32).reshape(1, 3, 320, 320)}


def calibrate(model, folder, bins):
    [name] = [each.name for each in onnx.load(model).graph.input]
    with tempfile.TemporaryDirectory() as temporary:
        calibrator = create_calibrator(
            model,
            augmented_model_path=str(Path(temporary) / "augmented.onnx"),
            calibrate_method=CalibrationMethod.Entropy,
            extra_options={"num_bins": int(bins), "num_quantized_bins": 128, "symmetric": True},
        )
        calibrator.collect_data(Files(folder, name))
        return calibrator.compute_data()


begun = time.perf_counter()
ranges = len(calibrate(*sys.argv[1:]).data)
ms = (time.perf_counter() - begun) * 1000
about = f"onnxruntime {onnxruntime.__version__}, onnx {onnx.__version__}, numpy {np.__version__}, Python {sys.version.split()[0]}"
kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"ms": ms, "peakKiB": kilobytes, "ranges": ranges, "about": about}))
