"""What effdet and ultralytics make of their models' outputs for a picture, as their own code uses them: from raw outputs to boxes of the picture.

python3 presets.py   writes presets.json.gz; needs numpy, torch, torchvision, effdet, ultralytics.
The outputs are those of test/tasks/recorded.test.ts, from the same seeds. ultralytics is run, nothing of it is here.
"""

import gzip
import json
import math
import os
import pathlib

os.environ.update(YOLO_AUTOINSTALL="false", YOLO_OFFLINE="true")

import importlib.metadata as metadata

import effdet.anchors
import effdet.bench
import numpy as np
import torch
from effdet.config import get_efficientdet_config
from mulberry import Random
from ultralytics.utils.nms import non_max_suppression
from ultralytics.utils.ops import scale_boxes

PACKAGES = ["numpy", "torch", "torchvision", "effdet", "ultralytics"]
SIDE = 128


def spread(random, shape, low, high):
    return torch.tensor((low + random.many(math.prod(shape)) * (high - low)).astype(np.float32).reshape(shape))


def found(boxes, scores, classes):
    rounded = lambda values, digits: [round(float(value), digits) for value in values.reshape(-1)]
    return {"boxes": rounded(boxes, 3), "scores": rounded(scores, 7), "classes": [int(value) for value in classes]}


def efficientdet(name, seed, width, height, classes):
    """As DetBenchPredict with what ResizePad says of the picture."""
    config = get_efficientdet_config(name)
    config.image_size = (SIDE, SIDE)
    random = Random(seed)
    anchors = effdet.anchors.Anchors.from_config(config)
    sizes = [anchors.feat_sizes[level] for level in range(config.min_level, config.max_level + 1)]
    logits = [spread(random, (1, 9 * classes, *size), -8, 3) for size in sizes]
    offsets = [spread(random, (1, 36, *size), -1, 1) for size in sizes]
    best, boxes, indices, labels = effdet.bench._post_process(logits, offsets, len(sizes), classes, config.max_detection_points)
    scale = torch.tensor(1 / min(SIDE / width, SIDE / height))
    kept = effdet.anchors.generate_detections(
        best[0], boxes[0], anchors.boxes, indices[0], labels[0], scale, torch.tensor([width, height]), config.max_det_per_image, config.soft_nms
    )  # fmt: skip
    return {"preset": name.removeprefix("tf_").replace("_", "-"), "seed": seed, "width": width, "height": height, "classCount": classes, **found(kept[:, :4], kept[:, 4], kept[:, 5] - 1)}  # fmt: skip


def yolo(preset, seed, width, height, classes):
    """As DetectionPredictor: suppressed with the default thresholds, then back to the picture."""
    random = Random(seed)
    cells = sum((SIDE // stride) ** 2 for stride in (8, 16, 32))
    places, sides = spread(random, (2, cells), 0, SIDE), spread(random, (2, cells), 4, 60)
    prediction = torch.cat([places, sides, spread(random, (classes, cells), 0, 0.6)])[None]
    return {"preset": preset, "seed": seed, "width": width, "height": height, "classCount": classes, **scaled(prediction, width, height, nc=classes)}


def ended(preset, seed, width, height, classes):
    random = Random(seed)
    rows = 300
    corners = spread(random, (2, rows), 0, SIDE)
    ends = corners + spread(random, (2, rows), 4, 60)
    scores = spread(random, (1, rows), 0, 1)
    labels = torch.floor(spread(random, (1, rows), 0, classes))
    # such a model gives the best first
    prediction = torch.cat([corners, ends, scores, labels]).T
    prediction = prediction[torch.argsort(-prediction[:, 4], stable=True)][None]
    return {"preset": preset, "seed": seed, "width": width, "height": height, "classCount": classes, **scaled(prediction, width, height, end2end=True)}


def scaled(prediction, width, height, **options):
    kept = non_max_suppression(prediction, 0.25, 0.7, max_time_img=60, **options)[0]
    return found(scale_boxes((SIDE, SIDE), kept[:, :4].clone(), (height, width)), kept[:, 4], kept[:, 5])


def main():
    answers = {"versions": {name: metadata.version(name) for name in PACKAGES}, "side": SIDE}
    answers["efficientdet"] = [
        efficientdet("tf_efficientdet_d0", 51, 128, 128, 3),
        efficientdet("tf_efficientdet_d1", 52, 200, 150, 4),
        efficientdet("tf_efficientdet_d7", 53, 300, 400, 2),
    ]
    answers["yolo"] = [yolo("yolov8", 61, 128, 128, 4), yolo("yolo11", 62, 333, 250, 6), yolo("yolov8", 63, 90, 275, 3)]
    answers["ended"] = [ended("yolov10", 71, 200, 150, 5), ended("yolo26", 72, 275, 90, 5)]
    path = pathlib.Path(__file__).with_name("presets.json.gz")
    path.write_bytes(gzip.compress(json.dumps(answers, separators=(",", ":")).encode(), mtime=0))
    print(path.stat().st_size, "bytes")


main()
