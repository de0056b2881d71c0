import type { LabelledBox } from '../vision/index.js'
import type { Found } from './found.js'

/** A keypoint with a lower score is not drawn: ultralytics, utils/plotting.py: Annotator.kpts. */
const leastSeen = 0.25

/** What was found, as `drawBoxes` draws it: with its label and score, its landmarks or keypoints, or its corners. */
export function labelledBox({ box, label = '', score, landmarks, keypoints, corners }: Found): LabelledBox {
  const seen = keypoints?.filter((point) => point.score >= leastSeen).map(({ x, y }) => [x, y] as const)
  return { box, label: `${label} ${score.toFixed(2)}`.trim(), landmarks: landmarks ?? seen, corners }
}
