import type { LabelledBox } from '../vision/index.js'
import type { Found } from './found.js'

/** A keypoint with a lower score is not drawn: ultralytics, utils/plotting.py: Annotator.kpts. */
const leastSeen = 0.25

/** What was found, as `drawBoxes` draws it: label, score and class, landmarks or keypoints, or corners. */
export function labelledBox({ box, label = '', score, classIndex, landmarks, keypoints, corners }: Found): LabelledBox {
  const seen = keypoints?.filter((point) => point.score >= leastSeen).map(({ x, y }) => [x, y] as const)
  return { box, label: `${label} ${score.toFixed(2)}`.trim(), classIndex, landmarks: landmarks ?? seen, corners }
}
