"""torchvision on the CPU: the peer of bench/support/vision-answers.ts.

Says first what it is, a line of JSON; then, for each line { classes, count }, the median milliseconds of so many suppressions of the same 3,000 boxes, in one thread, and how many are kept.
"""

import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "test" / "vision" / "oracles"))

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torchvision  # noqa: E402
from mulberry import Random  # noqa: E402

torch.set_num_threads(1)
sets = {}


def set_of(classes):
    """As `candidates` of vision-answers.ts."""
    random = Random(9)
    x, y, width, height, scores = (random.next(3000) for _ in range(5))
    boxes = torch.tensor(np.stack([x * 560, y * 560, 8 + width * 120, 8 + height * 120], 1))
    boxes[:, 2:] += boxes[:, :2]
    return boxes.float(), torch.tensor(scores).float(), torch.tensor(random.below(classes, 3000))


def measured(classes, count):
    if classes not in sets:
        sets[classes] = set_of(classes)
    boxes, scores, labels = sets[classes]
    times, kept = [], []
    for _ in range(count):
        begun = time.perf_counter()
        if classes > 1:
            kept = torchvision.ops.batched_nms(boxes, scores, labels, 0.45)
        else:
            kept = torchvision.ops.nms(boxes, scores, 0.45)
        times.append((time.perf_counter() - begun) * 1000)
    return {"ms": sorted(times)[count // 2], "kept": len(kept)}


def say(answer):
    print(json.dumps(answer), flush=True)


say({"about": f"torchvision {torchvision.__version__}, torch {torch.__version__}"})
for line in sys.stdin:
    try:
        say(measured(**json.loads(line)))
    except Exception as error:  # told to who asked
        say({"error": f"{type(error).__name__}: {error}"})
