import { clipBox, drawBoxes, suppress } from '../../lib/vision/index.js'
import type { Box, Decoded, Frame, Image, Point, SuppressOptions } from '../../lib/vision/index.js'
import type { Answer } from './program.js'

/** What stands in a picture. */
export interface Found {
  readonly box: Box
  readonly score: number
  readonly classIndex: number
  readonly label?: string
  readonly landmarks?: readonly Point[]
}

export interface FoundOptions {
  readonly suppression: SuppressOptions
  /** What is suppressed first and shown only above this. */
  readonly showAbove?: number
  readonly labels?: readonly string[] | undefined
  /** At most so many; 100 when not given. */
  readonly most?: number
}

/** The boxes that stay, in pixels of the picture and within it. */
export function foundOf(decoded: Decoded, frame: Frame, { suppression, showAbove = 0, labels, most = 100 }: FoundOptions): Found[] {
  const stays = Array.from(suppress(decoded, suppression)).filter((index) => decoded.scores[index]! > showAbove)
  return stays.slice(0, most).map((index) => {
    const [left, top, right, bottom] = decoded.boxes.subarray(index * 4, index * 4 + 4) as unknown as [number, number, number, number]
    const classIndex = decoded.classes[index]!
    const label = labels?.[classIndex]
    return {
      box: clipBox(frame.toImage([left, top, right - left, bottom - top]), frame.image),
      score: decoded.scores[index]!,
      classIndex,
      ...(label === undefined ? {} : { label }),
      ...(decoded.landmarks === undefined
        ? {}
        : { landmarks: pointsOf(decoded.landmarks, index, stays.length === 0 ? 1 : decoded.scores.length, frame) }),
    }
  })
}

function pointsOf(landmarks: Float32Array, index: number, count: number, frame: Frame): Point[] {
  const each = landmarks.length / count
  return Array.from({ length: each / 2 }, (_, i) =>
    frame.pointToImage([landmarks[index * each + i * 2]!, landmarks[index * each + i * 2 + 1]!]),
  )
}

/** Drawn on the picture, listed for `--json`, counted for the table. */
export async function shown(image: Image, found: readonly Found[], what: string): Promise<Answer> {
  const name = ({ label, classIndex, score }: Found) =>
    `${label ?? (what === 'faces' ? '' : `class ${classIndex}`)} ${score.toFixed(2)}`.trim()
  const picture = await drawBoxes(
    image,
    found.map((one) => ({ box: one.box, label: name(one), ...(one.landmarks === undefined ? {} : { landmarks: one.landmarks }) })),
  )
  return { found: { [what]: found }, cells: [found.length, found.slice(0, 5).map(name).join(', ')], picture }
}
