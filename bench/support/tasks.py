"""Tasks from files to answers as Python does them: torchvision's preset with onnxruntime, and deface. The peer of bench/tasks.ts.

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
import torch
import torchvision
from deface.centerface import CenterFace

preset = torchvision.models.MobileNet_V2_Weights.IMAGENET1K_V1.transforms()
state = {}


def open_classifier(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    state["classifier"] = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def classify(paths, **_):
    session = state["classifier"]
    name = session.get_inputs()[0].name
    best = []
    for path in paths:
        tensor = preset(PIL.Image.open(path).convert("RGB")).unsqueeze(0).numpy()
        logits = torch.from_numpy(session.run(None, {name: tensor})[0])
        scores, classes = torch.softmax(logits, 1).topk(5)
        best.append([[int(c), float(s)] for c, s in zip(classes[0], scores[0])])
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


torch.set_grad_enabled(False)
torch.set_num_threads(1)
versions = f"Pillow {PIL.__version__}, torchvision {torchvision.__version__}, onnxruntime {onnxruntime.__version__}, OpenCV {cv2.__version__}"
say({"about": f"{versions}, NumPy {numpy.__version__}"})
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
