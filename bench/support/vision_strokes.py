"""OpenCV as it is used for hiding faces and drawing boxes: the peer of bench/support/vision-strokes.ts.

Says first what it is, a line of JSON; then, for each line { what, width, height, boxes, sigma? }, the milliseconds of one such picture, the copy of it included.
"""

import json
import sys
import time

import cv2
import numpy

pictures = {}


def picture_of(width, height):
    if (width, height) not in pictures:
        pictures[width, height] = numpy.random.default_rng(1).integers(0, 256, (height, width, 3), dtype=numpy.uint8)
    return pictures[width, height]


def blur(image, boxes, sigma):
    """Shrink, blur, enlarge, and the ellipse of it laid on the picture; as small as is done here, too."""
    result = image.copy()
    for x, y, w, h in boxes:
        face = result[y : y + h, x : x + w]
        factor = max(1, int(sigma / 4))
        small = cv2.resize(face, (max(1, w // factor), max(1, h // factor)), interpolation=cv2.INTER_AREA)
        small = cv2.GaussianBlur(small, (0, 0), sigma / factor)
        large = cv2.resize(small, (w, h), interpolation=cv2.INTER_LINEAR)
        mask = numpy.zeros((h, w), numpy.uint8)
        cv2.ellipse(mask, (w // 2, h // 2), (w // 2, h // 2), 0, 0, 360, 255, -1)
        cv2.copyTo(large, mask, face)
    return result


def draw(image, boxes, width=13):
    result = image.copy()
    for i, (x, y, w, h) in enumerate(boxes):
        cv2.rectangle(result, (x, y), (x + w, y + h), (255, 64, 64), width)
        cv2.putText(result, f"face {i}", (x, y - 10), cv2.FONT_HERSHEY_SIMPLEX, 2, (255, 255, 255), 3)
    return result


def measured(what, width, height, boxes, sigma=0):
    image = picture_of(width, height)
    begun = time.perf_counter()
    blur(image, boxes, sigma) if what == "blur" else draw(image, boxes)
    return (time.perf_counter() - begun) * 1000


def say(answer):
    print(json.dumps(answer), flush=True)


cv2.setNumThreads(1)
say({"about": f"OpenCV {cv2.__version__}, one thread"})
for line in sys.stdin:
    try:
        say({"ms": measured(**json.loads(line))})
    except Exception as error:  # told to who asked
        say({"error": f"{type(error).__name__}: {error}"})
