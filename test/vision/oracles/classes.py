"""What torch makes of logits: softmax along each axis, and the best classes.

python3 classes.py   writes classes.json.gz; needs numpy, torch. The logits are those of test/vision/classes.test.ts.
"""

import gzip
import json
import pathlib

import numpy as np
import torch
from mulberry import Random

SHAPES = [[7], [1], [3, 5], [2, 1000], [2, 3, 4], [2, 3, 2, 5], [0, 4], [3, 1]]


def main():
    answers = {"versions": {"torch": torch.__version__, "numpy": np.__version__}, "softmax": [], "best": []}
    for seed, shape in enumerate(SHAPES):
        # from ordinary to far beyond what exp takes
        spread = [4, 40, 400, 4000][seed % 4]
        logits = torch.tensor((Random(seed).next(int(np.prod(shape))) * 2 - 1) * spread).float().reshape(shape)
        for axis in range(-len(shape), len(shape)):
            values = torch.softmax(logits.double(), axis).flatten().tolist()
            answers["softmax"].append({"seed": seed, "shape": shape, "spread": spread, "axis": axis, "values": [float(f"{v:.8g}") for v in values]})
    for seed in range(100, 140):
        count = 1 + seed % 40 * 25
        # whole and half numbers: ties
        logits = torch.tensor((Random(seed).below(40, count) - 20) / 2).float()
        order = torch.sort(logits, descending=True, stable=True).indices[: 1 + seed % 7].tolist()
        scores = {
            "softmax": torch.softmax(logits.double(), 0)[order].tolist(),
            "sigmoid": torch.sigmoid(logits.double())[order].tolist(),
            "none": logits[order].tolist(),
        }
        answers["best"].append({"seed": seed, "count": count, "k": 1 + seed % 7, "order": order, "scores": scores})
    path = pathlib.Path(__file__).with_name("classes.json.gz")
    path.write_bytes(gzip.compress(json.dumps(answers, separators=(",", ":")).encode(), mtime=0))
    print(path.stat().st_size, "bytes")


main()
