"""What torch makes of a segmentation model's values: without the padding, resized (bilinear, half-pixel), then decided; and the parts of the masks as OpenCV finds them.

python3 masks.py   writes masks.json.gz; needs numpy, torch, cv2. The values and frames are those of test/vision/masks.test.ts.
"""

import gzip
import json
import math
import pathlib

import cv2
import numpy as np
import torch
from mulberry import Random

KINDS = ["letterbox", "stretch", "padToSquare", "crop"]


def case_of(seed):
    random = Random(seed)
    kind, channels = KINDS[seed % 4], [1, 2, 1, 5][seed // 4 % 4]
    w, h, mw, mh, bx, by, bw, bh = (int(each) for each in np.floor(random.next(8) * [70, 70, 20, 20, 30, 30, 60, 60]))
    width, height, map_width, map_height = w + 8, h + 8, mw + 4, mh + 4
    source = (0, 0, width, height)
    if kind == "padToSquare":
        map_height = map_width
        source = (0, 0, max(width, height), max(width, height))
    if kind == "crop":
        source = (bx - 10, by - 10, bw + 1, bh + 1)
    target = (0, 0, map_width, map_height)
    if kind == "letterbox":
        scale = min(map_width / width, map_height / height)
        tw, th = (max(1, math.floor(side * scale + 0.5)) for side in (width, height))
        target = ((map_width - tw) // 2, (map_height - th) // 2, tw, th)
    values = random.next(channels * map_height * map_width).astype(np.float32).reshape(channels, map_height, map_width)
    return values, (width, height), source, target


def mask_of(values, size, source, target, threshold):
    left, top, width, height = target
    shown = torch.tensor(values[:, top : top + height, left : left + width]).double()[None]
    shown = torch.nn.functional.interpolate(shown, size=(source[3], source[2]), mode="bilinear", align_corners=False)[0]
    answer = (shown[0] > threshold if len(values) == 1 else shown.argmax(0)).numpy().astype(np.uint8)
    mask = np.zeros((size[1], size[0]), np.uint8)
    x, y = max(0, source[0]), max(0, source[1])
    right, bottom = min(size[0], source[0] + source[2]), min(size[1], source[1] + source[3])
    if right > x and bottom > y:
        mask[y:bottom, x:right] = answer[y - source[1] : bottom - source[1], x - source[0] : right - source[0]]
    return mask


def parts_of(mask, connectivity):
    """Area, box and centroid of each part, sorted; the first that cv2 tells is the background."""
    _, _, stats, centroids = cv2.connectedComponentsWithStats((mask > 0).astype(np.uint8), connectivity=connectivity)
    rows = np.concatenate([stats[1:, [4, 0, 1, 2, 3]].astype(float), centroids[1:]], 1)
    return sorted([round(number, 6) for number in row] for row in rows.tolist())


def main():
    answers = {"versions": {"torch": torch.__version__, "cv2": cv2.__version__, "numpy": np.__version__}, "masks": []}
    for seed in range(240):
        values, size, source, target = case_of(seed)
        threshold = [0.5, 0.45, 0.62][seed % 3]
        mask = mask_of(values, size, source, target, threshold)
        one = {"seed": seed, "threshold": threshold, "size": size, "mask": "".join(map(str, mask.flatten()))}
        if seed % 3 == 0:
            one["parts"] = {connectivity: parts_of(mask, connectivity) for connectivity in (4, 8)}
        answers["masks"].append(one)
    path = pathlib.Path(__file__).with_name("masks.json.gz")
    path.write_bytes(gzip.compress(json.dumps(answers, separators=(",", ":")).encode(), mtime=0))
    print(path.stat().st_size, "bytes")


main()
