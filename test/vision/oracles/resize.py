"""What PIL, OpenCV and torchvision make of pictures of noise, at some pixels of each: resize.json.gz.

    pip install Pillow opencv-python-headless torch torchvision numpy
    python test/vision/oracles/resize.py
"""
import gzip
import json
import math
import os

import cv2
import numpy as np
import PIL
import torch
import torchvision
from mulberry import Random
from PIL import Image
from torchvision.transforms import v2

CASES = 1000
SAMPLES = 8
PILLOW = {"triangle": Image.BILINEAR, "cubic": Image.BICUBIC, "lanczos": Image.LANCZOS, "nearest": Image.NEAREST}


def noise(random, width, height):
    return random.bytes(width * height * 3).reshape(height, width, 3)


def side(random, most):
    """By its logarithm, so that small ones are as frequent."""
    return math.floor(math.exp(random.next() * math.log(most))) or 1


def sampled(random, values):
    """Some values of [height, width, 3], each by its place in memory."""
    flat = values.reshape(-1)
    return [flat[random.below(flat.size)].item() for _ in range(SAMPLES)]


def columns_first(image, size, filter):
    """As Pillow up to 12 resizes; Pillow 13 takes rows first where that is less work, which with weights below 0 gives other pixels."""
    if filter == Image.NEAREST:
        return image.resize(size, filter)
    return image.resize((size[0], image.height), filter).resize(size, filter)


def case(seed):
    random = Random(seed)
    width, height, to_width, to_height = (side(random, most) for most in (300, 300, 120, 120))
    picture = noise(random, width, height)
    image = Image.fromarray(picture)
    size = (to_width, to_height)
    tensor = torch.from_numpy(picture).permute(2, 0, 1).contiguous()
    results = {name: np.asarray(columns_first(image, size, filter)) for name, filter in PILLOW.items()}
    results["linear"] = cv2.resize(picture, size, interpolation=cv2.INTER_LINEAR)
    results["linear32"] = cv2.resize(picture.astype(np.float32), size, interpolation=cv2.INTER_LINEAR)
    torch_size = [to_height, to_width]
    try:
        results["torch"] = v2.functional.resize(tensor, torch_size, antialias=True).permute(1, 2, 0).numpy()
    except RuntimeError:
        pass  # torch 2.15 fails by an assertion of its own where one side stays as it is
    if to_width > 1:  # torch 2.15's answer for one column is up to 127 from its own for uint8, and from PIL's
        results["torch32"] = v2.functional.resize(tensor.float(), torch_size, antialias=True).permute(1, 2, 0).numpy()
    return {name: [round(value, 3) for value in sampled(Random(seed + 100_000), values)] for name, values in results.items()}


def preset(seed):
    """torchvision's own transforms of a ResNet-50, on a PIL picture."""
    random = Random(seed)
    width, height = 100 + random.below(500), 100 + random.below(500)
    image = Image.fromarray(noise(random, width, height))
    weights = torchvision.models.ResNet50_Weights
    transforms = {"v1": weights.IMAGENET1K_V1, "v2": weights.IMAGENET1K_V2}
    results = {name: each.transforms()(image).permute(1, 2, 0).contiguous().numpy() for name, each in transforms.items()}
    return {name: [round(value, 6) for value in sampled(Random(seed + 100_000), values)] for name, values in results.items()}


def turned(seed):
    """A part of a picture turned and scaled about its middle, black outside, by torch's grid_sample."""
    random = Random(seed)
    width, height = 20 + random.below(80), 20 + random.below(80)
    picture = noise(random, width, height)
    degrees, scale = random.next() * 720 - 360, 0.3 + random.next() * 2
    cos, sin = math.cos(math.radians(degrees)) * scale, math.sin(math.radians(degrees)) * scale
    size = 16
    y, x = np.meshgrid(np.arange(size) + 0.5 - size / 2, np.arange(size) + 0.5 - size / 2, indexing="ij")
    places = np.stack([(cos * x - sin * y) * 2 / width, (sin * x + cos * y) * 2 / height], axis=-1)
    tensor = torch.from_numpy(picture).permute(2, 0, 1)[None].double()
    result = torch.nn.functional.grid_sample(tensor, torch.from_numpy(places)[None], align_corners=False)
    return [round(value, 3) for value in sampled(Random(seed + 100_000), result[0].permute(1, 2, 0).contiguous().numpy())]


def yuv(seed):
    random = Random(seed)
    width, height = 2 * (1 + random.below(30)), 2 * (1 + random.below(30))
    data = random.bytes(width * height * 3 // 2)
    # below 16 there is no Y in video; OpenCV takes it for 16
    data[: width * height] = np.maximum(data[: width * height], 16)
    planes = data.reshape(height * 3 // 2, width)
    results = {"i420": cv2.cvtColor(planes, cv2.COLOR_YUV2RGB_I420), "nv12": cv2.cvtColor(planes, cv2.COLOR_YUV2RGB_NV12)}
    return {name: sampled(Random(seed + 100_000), values) for name, values in results.items()}


def main():
    versions = {"Pillow": PIL.__version__, "opencv": cv2.__version__, "torch": torch.__version__, "torchvision": torchvision.__version__}
    document = {
        "versions": versions,
        "samples": SAMPLES,
        "cases": [case(seed) for seed in range(1, CASES + 1)],
        "presets": [preset(seed) for seed in range(2001, 2041)],
        "turned": [turned(seed) for seed in range(4001, 4101)],
        "yuv": [yuv(seed) for seed in range(3001, 3041)],
    }
    with open(os.path.join(os.path.dirname(__file__), "resize.json.gz"), "wb") as file:
        file.write(gzip.compress(json.dumps(document, separators=(",", ":")).encode(), mtime=0))


main()
