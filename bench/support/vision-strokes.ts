/** Hiding three faces and drawing five boxes in 12 megapixels, beside OpenCV: rows of the bench vision. */
import { blurRegions, type Box, drawBoxes, type Image } from '../../lib/vision/index.js'
import { interleaved } from './measure.js'
import { PythonPeer, required } from './python.js'
import { roundsOf } from './quick.js'
import { note, row, type Row } from './report.js'

const [width, height] = [4000, 3000]
const rounds = roundsOf(25)

/** Squares of a sixth of the width. */
const side = Math.round(width / 6)
const faces: readonly Box[] = [
  [300, 400, side, side],
  [1700, 1100, side, side],
  [2900, 2000, side, side],
]
const boxes: readonly Box[] = [...faces, [100, 1800, 900, 1000], [2500, 200, 500, 1200]]

function picture(): Image {
  const data = new Uint8Array(width * height * 3)
  for (let i = 0; i < data.length; i++) data[i] = Math.imul(i, 2654435761) >>> 24
  return { width, height, channels: 3, data }
}

async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

/** Python with OpenCV is that of TRT_BENCH_PYTHON. */
export async function strokesRows(): Promise<Row[]> {
  note('hiding faces, drawing boxes …')
  const image = picture()
  const peer = await PythonPeer.start(required('TRT_BENCH_PYTHON'), 'vision_strokes.py')
  const asked = async (question: object): Promise<number> =>
    ((await peer.ask({ width, height, ...question })) as { ms: number }).ms
  try {
    const time = await interleaved(rounds, {
      blur: () => milliseconds(() => blurRegions(image, faces)),
      blurPeer: () => asked({ what: 'blur', boxes: faces, sigma: side / 10 }),
      draw: () =>
        milliseconds(() =>
          drawBoxes(
            image,
            boxes.map((box, i) => ({ box, label: `face ${i}` })),
          ),
        ),
      drawPeer: () => asked({ what: 'draw', boxes }),
    })
    const about = `peer: ${peer.about}; ${width} x ${height}, the copy of the picture included; median of ${rounds} rounds`
    return [
      row(
        'three faces hidden in 12 MP',
        'ms',
        time.blur,
        time.blurPeer,
        { of: 'ratio', sign: '<=', value: 1.5 },
        `shrink, blur, enlarge; ${about}`,
      ),
      row(
        'five boxes with labels drawn in 12 MP',
        'ms',
        time.draw,
        time.drawPeer,
        { of: 'ratio', sign: '<=', value: 2 },
        about,
      ),
    ]
  } finally {
    peer.end()
  }
}
