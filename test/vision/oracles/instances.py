"""Masks of instances as ultralytics' process_mask_native has them: prototypes times coefficients, without the padding, resized to the picture, cut to the box, then > 0.

python3 instances.py   writes instances.json.gz; needs numpy, torch. A transcription of what that function does; the numbers are those of test/vision/instance-masks.test.ts.
"""

import gzip
import json
import math
import pathlib

import numpy as np
import torch
from mulberry import Random

COUNT = 6


def case_of(seed):
    random = Random(seed)
    width, height, map_width, map_height = (int(each) for each in np.floor(random.next(4) * [80, 80, 20, 20]) + [8, 8, 6, 6])
    times, target = 4, (0, 0, map_width, map_height)
    if seed % 2 == 0:  # letterbox, the prototypes as large as the input
        scale = min(map_width / width, map_height / height)
        tw, th = (max(1, math.floor(side * scale + 0.5)) for side in (width, height))
        times, target = 1, ((map_width - tw) // 2, (map_height - th) // 2, tw, th)
    prototypes = (random.next(COUNT * map_height * map_width) * 2 - 1).astype(np.float32).reshape(COUNT, map_height, map_width)
    numbers = random.next(3 * (4 + COUNT)).reshape(3, 4 + COUNT)
    # a box may begin or end outside of the input
    scale = np.array([map_width, map_height, map_width, map_height]) * times
    boxes = ((numbers[:, :4] * [1, 1, 0.9, 0.9] - [0.3, 0.3, 0, 0]) * scale).astype(np.float32)
    return (width, height), times, target, prototypes, boxes, (numbers[:, 4:] * 2 - 1).astype(np.float32)


def masks_of(seed):
    (width, height), times, (left, top, across, down), prototypes, boxes, coefficients = case_of(seed)
    logits = torch.einsum("np,phw->nhw", torch.tensor(coefficients).double(), torch.tensor(prototypes).double())
    shown = logits[None, :, top : top + down, left : left + across]
    logits = torch.nn.functional.interpolate(shown, size=(height, width), mode="bilinear", align_corners=False)[0]
    x1, y1, w, h = boxes.astype(np.float64).T
    to_x, to_y = width / (across * times), height / (down * times)
    x1, y1 = (x1 - left * times) * to_x, (y1 - top * times) * to_y
    x2, y2 = x1 + w * to_x, y1 + h * to_y
    columns, rows = np.arange(width)[None, None], np.arange(height)[None, :, None]
    x1, y1, x2, y2 = (each[:, None, None] for each in (x1, y1, x2, y2))
    inside = (columns >= x1) & (columns < x2) & (rows >= y1) & (rows < y2)
    return ((logits.numpy() > 0) & inside).astype(np.uint8)


def main():
    answers = {"versions": {"torch": torch.__version__, "numpy": np.__version__}, "masks": []}
    for seed in range(60):
        masks = ["".join(map(str, mask.flatten())) for mask in masks_of(seed)]
        answers["masks"].append({"seed": seed, "masks": masks})
    path = pathlib.Path(__file__).with_name("instances.json.gz")
    path.write_bytes(gzip.compress(json.dumps(answers, separators=(",", ":")).encode(), mtime=0))
    print(path.stat().st_size, "bytes")


main()
