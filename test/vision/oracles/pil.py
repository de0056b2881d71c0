"""What PIL makes of pictures of noise, all pixels of each as a hash: pil.json.gz.

    pip install Pillow numpy
    python test/vision/oracles/pil.py
"""
import gzip
import hashlib
import json
import os

import numpy as np
import PIL
from mulberry import Random
from PIL import Image

FILTERS = {"triangle": Image.BILINEAR, "cubic": Image.BICUBIC, "lanczos": Image.LANCZOS}
# from, to: whole factors, where halves are frequent, others, larger, one direction only, a single row and column
SIZES = [
    ((64, 48), (32, 24)),
    ((96, 64), (24, 16)),
    ((63, 42), (21, 14)),
    ((160, 120), (20, 15)),
    ((61, 40), (32, 28)),
    ((23, 52), (32, 17)),
    ((301, 199), (96, 97)),
    ((31, 33), (62, 99)),
    ((17, 19), (224, 225)),
    ((50, 40), (50, 13)),
    ((50, 40), (23, 40)),
    ((1, 1), (7, 5)),
    ((90, 1), (7, 3)),
    ((9, 70), (1, 1)),
    ((640, 427), (336, 224)),
]


def columns_first(image, size, filter):
    """As Pillow up to 12. Pillow 13 takes rows first where the height shrinks by more than twice as many pixels as the width, which gives other pixels."""
    return image.resize((size[0], image.height), filter).resize(size, filter)


def main():
    cases, differing = [], 0
    for seed, ((width, height), size) in enumerate(SIZES, 1):
        image = Image.fromarray(Random(seed).bytes(width * height * 3).reshape(height, width, 3))
        hashes = {}
        for name, filter in FILTERS.items():
            result = columns_first(image, size, filter)
            differing += result.tobytes() != image.resize(size, filter).tobytes()
            hashes[name] = hashlib.sha256(result.tobytes()).hexdigest()
        cases.append({"from": [width, height], "to": size, "hashes": hashes})
    print(f"{differing} of {len(SIZES) * len(FILTERS)} are not what this Pillow gives in one call")
    document = {"versions": {"Pillow": PIL.__version__, "numpy": np.__version__}, "cases": cases}
    with open(os.path.join(os.path.dirname(__file__), "pil.json.gz"), "wb") as file:
        file.write(gzip.compress(json.dumps(document, separators=(",", ":")).encode(), mtime=0))


main()
