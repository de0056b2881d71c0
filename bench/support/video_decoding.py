"""How many frames a second OpenCV reads: a line of JSON for each line, { path } -> { perSecond }."""

import json
import sys
import time

import cv2

print(json.dumps({"about": f"OpenCV {cv2.__version__}"}), flush=True)
for line in sys.stdin:
    path = json.loads(line)["path"]
    begun = time.perf_counter()
    capture = cv2.VideoCapture(path)
    count = 0
    while capture.read()[0]:
        count += 1
    capture.release()
    print(json.dumps({"perSecond": count / (time.perf_counter() - begun)}), flush=True)
