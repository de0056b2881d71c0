"""OpenCV, and PIL with torchvision, as a model's input is made with them: the peer of bench/support/vision-tensor.ts.

Says first what it is, a line of JSON; then, for each line { what, path?, count }, the median milliseconds of so many calls, and some of the numbers that came out.
"""

import json
import sys
import time

import cv2
import numpy
import PIL.Image
import torch
import torchvision

noise = numpy.random.default_rng(1).integers(0, 256, (480, 640, 3), dtype=numpy.uint8)
preset = torchvision.models.ResNet50_Weights.IMAGENET1K_V1.transforms()


def letterbox(_):
    """As those do who have no torch: what ultralytics' LetterBox does, then blobFromImage."""
    size = 640
    height, width = noise.shape[:2]
    scale = min(size / height, size / width)
    w, h = round(width * scale), round(height * scale)
    resized = noise if (w, h) == (width, height) else cv2.resize(noise, (w, h), interpolation=cv2.INTER_LINEAR)
    left, top = (size - w) // 2, (size - h) // 2
    padded = cv2.copyMakeBorder(resized, top, size - h - top, left, size - w - left, cv2.BORDER_CONSTANT, value=(114, 114, 114))
    return cv2.dnn.blobFromImage(padded, 1 / 255, swapRB=False)


def classification(path):
    return preset(PIL.Image.open(path).convert("RGB")).numpy()


def median(work, path, count):
    times = []
    for _ in range(count):
        begun = time.perf_counter()
        result = work(path)
        times.append((time.perf_counter() - begun) * 1000)
    # every 1009th: enough to see that both made the same
    return {"ms": sorted(times)[len(times) // 2], "sample": [round(float(x), 5) for x in result.reshape(-1)[::1009]]}


def say(answer):
    print(json.dumps(answer), flush=True)


torch.set_grad_enabled(False)
say({"about": f"OpenCV {cv2.__version__}, Pillow {PIL.__version__}, torchvision {torchvision.__version__}"})
for line in sys.stdin:
    try:
        asked = json.loads(line)
        work = {"letterbox": letterbox, "classification": classification}[asked["what"]]
        say(median(work, asked.get("path"), asked["count"]))
    except Exception as error:  # told to who asked
        say({"error": f"{type(error).__name__}: {error}"})
