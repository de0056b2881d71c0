/** What models mean, beside torchvision on the CPU: suppression of 3,000 boxes. */
import { type Candidates, nonMaxSuppression, suppress } from '../../lib/vision/index.js'
import { Random } from '../../test/support/random.js'
import { interleaved, median } from './measure.js'
import { PythonPeer, required } from './python.js'
import { roundsOf } from './quick.js'
import { row, type Row } from './report.js'

const boxCount = 3000
const rounds = roundsOf(15)
const calls = 20

/** Boxes by chance in a picture of 640 x 640. */
function candidates(classes: number): Candidates & { readonly classes: Int32Array } {
  const random = new Random(9)
  const column = (factor: number, least = 0): number[] =>
    Array.from({ length: boxCount }, () => least + random.next() * factor)
  const columns = [column(560), column(560), column(120, 8), column(120, 8)]
  const scores = Float32Array.from(column(1))
  const boxes = Float32Array.from({ length: boxCount * 4 }, (_, i) => columns[i % 4]?.[i >> 2] as number)
  return { boxes, scores, classes: Int32Array.from({ length: boxCount }, () => random.below(classes)) }
}

/** Milliseconds, the median of calls one after another. */
function milliseconds(work: () => unknown): number {
  const times: number[] = []
  for (let i = 0; i < calls; i++) {
    const begun = performance.now()
    work()
    times.push(performance.now() - begun)
  }
  return median(times)
}

async function rowsOf(torchvision: PythonPeer, classes: number): Promise<Row[]> {
  const typed = candidates(classes)
  const { boxes, scores, classes: labels } = typed
  const objects = Array.from(scores, (score, i) => {
    return {
      box: [...boxes.subarray(i * 4, i * 4 + 4)] as unknown as [number, number, number, number],
      score,
      classIndex: labels[i] as number,
    }
  })
  const ask = async (): Promise<{ ms: number; kept: number }> =>
    (await torchvision.ask({ classes, count: calls })) as never
  const kept = suppress(typed).length
  const theirs = (await ask()).kept
  if (Math.abs(kept - theirs) > 1) throw new Error(`${kept} boxes are kept here, ${theirs} by torchvision`)
  const ms = await interleaved(rounds, {
    typed: () => milliseconds(() => suppress(typed)),
    objects: () => milliseconds(() => nonMaxSuppression(objects)),
    peer: async () => (await ask()).ms,
  })
  const what = `NMS of ${boxCount} boxes, ${classes === 1 ? 'agnostic' : `${classes} classes`}`
  const about = `${torchvision.about}, one thread; ${kept} kept; ${rounds} rounds of ${calls}`
  const goal = { of: 'ratio', sign: '<=', value: 1 } as const
  return [
    row(`${what}, typed arrays`, 'ms', ms.typed, ms.peer, goal, about),
    row(`${what}, objects`, 'ms', ms.objects, ms.peer, goal, about),
  ]
}

/** Needs Python with torchvision: `TRT_BENCH_PYTHON`. */
export async function* answersRows(): AsyncGenerator<Row, void> {
  const torchvision = await PythonPeer.start(required('TRT_BENCH_PYTHON'), 'vision_answers.py')
  try {
    yield* await rowsOf(torchvision, 80)
    yield* await rowsOf(torchvision, 1)
  } finally {
    torchvision.end()
  }
}
