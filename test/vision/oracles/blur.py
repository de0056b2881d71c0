"""What OpenCV's gaussian blur makes of regions of a picture.

python3 blur.py   writes blur.json.gz; needs numpy, opencv-python-headless. The picture is that of test/vision/blur.test.ts, by the same formula.
"""

import base64
import gzip
import json
import pathlib

import cv2
import numpy as np

WIDTH, HEIGHT = 240, 200
# box, strength: from a sigma of 3, at which nothing is made smaller, to one of 36; in the middle and in corners
CASES = [
    [[90, 70, 60, 50], 0.05],
    [[60, 40, 110, 100], 0.1],
    [[70, 60, 90, 80], 0.4],
    [[0, 0, 80, 90], 0.12],
    [[150, 120, 90, 80], 0.15],
]


def picture():
    """Squares, slopes, and a little noise that is the same everywhere it is computed."""
    y, x, c = np.meshgrid(np.arange(HEIGHT, dtype=np.uint32), np.arange(WIDTH, dtype=np.uint32), np.arange(3, dtype=np.uint32), indexing="ij")
    with np.errstate(over="ignore"):
        noise = (x * np.uint32(73856093) ^ y * np.uint32(19349663) ^ c * np.uint32(83492791)) >> np.uint32(8) & np.uint32(31)
    return (((x >> 4 ^ y >> 4) & 1) * 120 + x * (c + 1) % 97 + noise).astype(np.uint8)


def main():
    image = picture()
    answers = {"versions": {"opencv": cv2.__version__, "numpy": np.__version__}, "checksum": int(image.astype(np.uint64).sum()), "cases": []}
    for (x, y, w, h), strength in CASES:
        blurred = cv2.GaussianBlur(image, (0, 0), max(w, h) * strength, borderType=cv2.BORDER_REPLICATE)
        # every third pixel says enough
        part = blurred[y : y + h : 3, x : x + w : 3]
        answers["cases"].append({"box": [x, y, w, h], "strength": strength, "data": base64.b64encode(part.tobytes()).decode()})
    path = pathlib.Path(__file__).with_name("blur.json.gz")
    path.write_bytes(gzip.compress(json.dumps(answers, separators=(",", ":")).encode(), mtime=0))
    print(path.stat().st_size, "bytes")


main()
