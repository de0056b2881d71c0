"""What the libraries that models come from make of their outputs.

python3 decoders.py   writes decoders.json.gz; needs numpy, torch, torchvision, effdet, ultralytics, retinaface-pytorch, deface, rapidocr, opencv-python-headless.
The outputs are those of test/vision/decoders-oracles.test.ts, from the same seeds. ultralytics is run, nothing of it is here.
"""

import gzip
import json
import math
import os
import pathlib

os.environ.update(YOLO_AUTOINSTALL="false", YOLO_OFFLINE="true")

import importlib.metadata as metadata

import cv2
import effdet.anchors
import effdet.bench
import numpy as np
import torch
from deface.centerface import CenterFace
from mulberry import Random
from rapidocr.ch_ppocr_det.utils import DBPostProcess
from rapidocr.ch_ppocr_rec.utils import CTCLabelDecode
from retinaface.box_utils import decode, decode_landm
from retinaface.prior_box import priorbox
from torchvision.models.detection._utils import BoxCoder
from ultralytics.utils.nms import non_max_suppression

PACKAGES = ["numpy", "torch", "torchvision", "effdet", "ultralytics", "retinaface-pytorch", "deface", "rapidocr", "opencv-python-headless", "pyclipper"]


def spread(random, shape, low, high):
    return (low + random.many(math.prod(shape)) * (high - low)).astype(np.float32).reshape(shape)


def rounded(values, digits=4):
    return [round(float(value), digits) for value in np.asarray(values).reshape(-1)]


def detections(boxes, scores, classes):
    return {"boxes": rounded(boxes), "scores": rounded(scores, 7), "classes": [int(value) for value in np.asarray(classes).reshape(-1)]}


def efficientdet(seed, height, width, aspects, scale, classes, keep):
    random = Random(seed)
    anchors = effdet.anchors.Anchors(3, 7, 3, aspects, scale, (height, width))
    sizes = [anchors.feat_sizes[level] for level in range(3, 8)]
    logits = [torch.tensor(spread(random, (1, 9 * classes, *size), -8, 3)) for size in sizes]
    offsets = [torch.tensor(spread(random, (1, 36, *size), -1, 1)) for size in sizes]
    best, boxes, indices, labels = effdet.bench._post_process(logits, offsets, 5, classes, keep)
    candidates = effdet.anchors.decode_box_outputs(boxes[0], anchors.boxes[indices[0]], output_xyxy=True)
    kept = effdet.anchors.generate_detections(best[0], boxes[0], anchors.boxes, indices[0], labels[0], None, None, 100, False)
    kept = kept[kept[:, 4] > 0]  # rows of zeros make it 100
    return {
        "seed": seed, "size": {"width": width, "height": height}, "aspects": aspects, "anchorScale": scale, "classes": classes, "maxCandidates": keep,
        "candidates": detections(candidates, best[0].sigmoid(), labels[0]),
        "kept": detections(kept[:, :4], kept[:, 4], kept[:, 5] - 1),
    }  # fmt: skip


def yolo(seed, classes, extra, boxes, multi_label):
    random = Random(seed)
    places, sides = spread(random, (2, boxes), 0, 640), spread(random, (2, boxes), 8, 200)
    scores, coefficients = spread(random, (classes, boxes), 0, 0.5), spread(random, (extra, boxes), -1, 1)
    prediction = torch.tensor(np.concatenate([places, sides, scores, coefficients])[None])
    found = non_max_suppression(prediction, 0.25, 0.7, multi_label=multi_label, nc=classes, max_time_img=60)[0]
    answer = {"seed": seed, "classes": classes, "coefficients": extra, "boxes": boxes, "multiLabel": multi_label}
    return {**answer, "kept": {**detections(found[:, :4], found[:, 4], found[:, 5]), "coefficients": rounded(found[:, 6:])}}


def retinaface(seed, height, width):
    random = Random(seed)
    priors = priorbox([[16, 32], [64, 128], [256, 512]], [8, 16, 32], False, (height, width))
    count = len(priors)
    offsets, logits = spread(random, (count, 4), -2, 2), spread(random, (count, 2), -3, 3)
    points = spread(random, (count, 10), -3, 3)
    scores = torch.softmax(torch.tensor(logits), 1)[:, 1]
    order = torch.argsort(scores, descending=True, stable=True)[: (scores > 0.9).sum()]
    boxes = decode(torch.tensor(offsets), priors, [0.1, 0.2])[order] * torch.tensor([width, height] * 2)
    landmarks = decode_landm(torch.tensor(points), priors, [0.1, 0.2])[order] * torch.tensor([width, height] * 5)
    answer = {**detections(boxes, scores[order], [0] * len(order)), "landmarks": rounded(landmarks)}
    return {"seed": seed, "size": {"width": width, "height": height}, "count": count, "candidates": answer}


def centerface(seed, height, width, threshold):
    random = Random(seed)
    rows, columns = height // 4, width // 4
    heat = spread(random, (1, 1, rows, columns), 0, 1) ** np.float32(8)
    heat = np.round(heat * 4096).astype(np.float32) / np.float32(4096)  # a power is not the same everywhere
    scale, offset = spread(random, (1, 2, rows, columns), 0, 3), spread(random, (1, 2, rows, columns), -0.5, 0.5)
    points = spread(random, (1, 10, rows, columns), 0, 1)
    boxes, landmarks = CenterFace.decode(CenterFace, heat, scale, offset, points, (height, width), threshold=threshold)
    order = np.argsort(-boxes[:, 4], kind="stable")  # it has them in the order of cells
    answer = {**detections(boxes[order, :4], boxes[order, 4], [0] * len(order)), "landmarks": rounded(landmarks[order])}
    return {"seed": seed, "size": {"width": width, "height": height}, "scoreThreshold": threshold, "kept": answer}


def ssd(seed, count, classes, width, height):
    """torchvision's SSD: offsets times 10, 10, 5, 5; a softmax."""
    random = Random(seed)
    corners = spread(random, (count, 2), 0, 0.7)
    corners = np.concatenate([corners, corners + spread(random, (count, 2), 0.05, 0.3)], 1)
    offsets, logits = spread(random, (count, 4), -2, 2), spread(random, (count, classes), -3, 3)
    pixels = torch.tensor(corners) * torch.tensor([width, height, width, height])
    boxes = BoxCoder((10.0, 10.0, 5.0, 5.0)).decode_single(torch.tensor(offsets), pixels)
    scores = torch.softmax(torch.tensor(logits), -1)[:, 1:]
    rows, columns = torch.where(scores > 0.5)
    order = np.argsort(-scores[rows, columns].numpy(), kind="stable")
    answer = detections(boxes[rows][order], scores[rows, columns][order], columns[order])
    return {"seed": seed, "count": count, "classes": classes, "size": {"width": width, "height": height}, "candidates": answer}


def ctc(seed, steps, characters):
    random = Random(seed)
    values = spread(random, (3, steps, len(characters) + 1), 0, 1)
    values[:, :, 0] += spread(random, (3, steps), -0.4, 0.4)
    # each step is often like the one before
    again = random.many(3 * steps).reshape(3, steps) < 0.4
    for line in range(3):
        for step in range(1, steps):
            if again[line, step]:
                values[line, step] = values[line, step - 1]
    lines, _ = CTCLabelDecode(character=list(characters[:-1]))(values)
    return {"seed": seed, "steps": steps, "characters": characters, "lines": [{"text": text, "score": score} for text, score in lines]}


def text_map(seed, height, width):
    """Turned rectangles of probability on a plain ground."""
    random = Random(seed)
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    values = np.full((height, width), 0.05)
    for row in range(3):
        for column in range(2):
            n = random.many(5)
            cx, cy = (column + 0.5) * width / 2 + (n[0] - 0.5) * 20, (row + 0.5) * height / 3 + (n[1] - 0.5) * 10
            w, h, angle = 50 + n[2] * 60, 6 + n[3] * 22, (n[4] - 0.5) * 0.6
            along = (x - cx) * math.cos(angle) + (y - cy) * math.sin(angle)
            across = (y - cy) * math.cos(angle) - (x - cx) * math.sin(angle)
            inside = (np.abs(along) < w / 2) & (np.abs(across) < h / 2)
            values[inside] = [0.95, 0.6, 0.4][(row + column + seed) % 3]
    return values.astype(np.float32)


def dbnet(seed, height, width, options):
    values = text_map(seed, height, width)
    names = {"threshold": "thresh", "scoreThreshold": "box_thresh", "unclipRatio": "unclip_ratio", "dilate": "use_dilation"}
    post = DBPostProcess(**{names[name]: value for name, value in options.items()})
    boxes, scores = post(values[None, None], (height, width))
    return {"seed": seed, "width": width, "height": height, "options": options, "boxes": np.asarray(boxes).reshape(-1).tolist(), "scores": rounded(scores, 5)}


def rectangle(seed):
    random = Random(seed)
    count = 1 + random.below(30)
    points = spread(random, (count, 2), 0, 100)
    if seed % 2 == 0:
        points = np.floor(points / 10)  # many on a line
    _, (width, height), _ = cv2.minAreaRect(points)
    return {"seed": seed, "area": round(width * height, 3)}


def main():
    answers = {"versions": {name: metadata.version(name) for name in PACKAGES}}
    automl, pairs = [1.0, 2.0, 0.5], [[1.0, 1.0], [1.4, 0.7], [0.7, 1.4]]
    answers["efficientdet"] = [
        efficientdet(1, 128, 128, automl, 4.0, 3, 150),
        efficientdet(2, 128, 256, pairs, 4.0, 5, 200),
        efficientdet(3, 192, 128, automl, 3.0, 1, 100),
    ]
    answers["yolo"] = [yolo(11, 4, 0, 200, False), yolo(12, 4, 0, 100, True), yolo(13, 80, 32, 40, False), yolo(14, 1, 0, 150, False)]
    answers["retinaface"] = [retinaface(21, 64, 96), retinaface(22, 100, 75)]
    answers["centerface"] = [centerface(31, 64, 96, 0.5), centerface(32, 128, 96, 0.2)]
    answers["ssd"] = [ssd(41, 60, 4, 300, 300), ssd(42, 60, 3, 320, 200)]
    answers["ctc"] = [ctc(51, 40, "abcdefgh "), ctc(52, 12, "01 ")]
    answers["dbnet"] = [
        dbnet(61, 256, 320, {"threshold": 0.3, "scoreThreshold": 0.5, "unclipRatio": 1.6}),
        dbnet(62, 256, 320, {"threshold": 0.3, "scoreThreshold": 0.7, "unclipRatio": 2.0}),
        dbnet(63, 288, 352, {"threshold": 0.3, "scoreThreshold": 0.5, "unclipRatio": 1.6, "dilate": True}),
        dbnet(64, 256, 320, {"threshold": 0.5, "scoreThreshold": 0.5, "unclipRatio": 1.5}),
    ]
    answers["rectangles"] = [rectangle(seed) for seed in range(100, 200)]
    path = pathlib.Path(__file__).with_name("decoders.json.gz")
    path.write_bytes(gzip.compress(json.dumps(answers, separators=(",", ":")).encode(), mtime=0))
    print(path.stat().st_size, "bytes")


main()
