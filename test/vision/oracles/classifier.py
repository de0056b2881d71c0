"""What torchvision's preset and onnxruntime say of face-api's six photographs, by the seeded MobileNetV2 of test/support/networks: labels and all probabilities.

npm run build && python3 classifier.py   writes classifier.json.gz; needs numpy, pillow, torch, torchvision, onnxruntime.
"""

import gzip
import hashlib
import importlib.metadata as metadata
import json
import pathlib
import subprocess

import numpy as np
import onnxruntime
import torch
import torchvision
from PIL import Image

ROOT = pathlib.Path(__file__).parents[3]
DEMO = ROOT / "node_modules/@vladmandic/face-api/demo"
PACKAGES = ["numpy", "pillow", "torch", "torchvision", "onnxruntime"]
MODEL = """
import { mobileNetV2 } from './dist/test/support/networks/index.js'
import { writeModel } from './dist/lib/onnx/index.js'
process.stdout.write(writeModel(mobileNetV2.modelOf()))
"""


def main():
    model = subprocess.run(["node", "--input-type=module", "-e", MODEL], cwd=ROOT, capture_output=True, check=True).stdout
    weights = torchvision.models.MobileNet_V2_Weights.IMAGENET1K_V1
    preset, categories = weights.transforms(), weights.meta["categories"]
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    answers = {"versions": {name: metadata.version(name) for name in PACKAGES}, "photographs": [], "categories": categories}
    for number in range(1, 7):
        name = f"sample{number}.jpg"
        picture = Image.open(DEMO / name).convert("RGB")
        tensor = preset(picture).unsqueeze(0).numpy()
        (logits,) = session.run(None, {"images": tensor})
        probabilities = torch.softmax(torch.from_numpy(logits), 1)[0]
        answers["photographs"].append(
            {
                "name": name,
                # of the decoded picture: whether another decoder gives the same
                "pixels": hashlib.sha256(np.asarray(picture).tobytes()).hexdigest(),
                "top": [categories[index] for index in probabilities.topk(5).indices],
                "probabilities": [round(float(value), 7) for value in probabilities],
            }
        )
    path = pathlib.Path(__file__).with_name("classifier.json.gz")
    path.write_bytes(gzip.compress(json.dumps(answers, separators=(",", ":")).encode(), mtime=0))
    print(path.stat().st_size, "bytes", [(p["top"], max(p["probabilities"])) for p in answers["photographs"]])


main()
