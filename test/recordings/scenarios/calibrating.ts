// Calibrators of TensorRT 10: in which order it asks, what it takes, and the lines of its cache. Other versions refuse
// them.
import { Builder, type CalibrationSource } from '../../../lib/index.js'
import { dense, quantized, rows } from '../models.js'
import type { Place, Scenario } from './scenario.js'

type Algorithm = 'entropy' | 'minmax'

/** What it is asked, in order. */
interface Asked extends CalibrationSource {
  readonly asked: string[]
  text?: string
}

function calibrator(algorithm: Algorithm, batches: number, cache?: string): Asked {
  const asked: string[] = []
  const source: Asked = {
    algorithm,
    asked,
    async *batches() {
      for (let i = 0; i < batches; i++) {
        asked.push('batch')
        yield { x: rows(2) }
      }
      asked.push('no more')
    },
    readCache: () => {
      asked.push('readCache')
      return cache
    },
    writeCache: (text) => {
      asked.push('writeCache')
      source.text = text
    },
  }
  return source
}

/** One calibration; gives the text of its cache. */
async function calibrate(place: Place, what: string, model: Uint8Array, source: Asked): Promise<string | undefined> {
  const { recorder, tensorrt } = place
  await recorder.observe('Builder.build', { calibrator: what, algorithm: source.algorithm ?? '' }, async () => {
    await using builder = new Builder({ tensorrt: { library: tensorrt }, precision: 'int8' })
    const shapes = { x: { min: [1, 3], opt: [2, 3], max: [4, 3] } }
    const { info } = await builder.build(model, { shapes, calibrator: source })
    return { calibration: info.calibration, precision: info.settings.precision }
  })
  await recorder.observe('calibrator', { calibrator: what }, () => source.asked)
  return source.text
}

/**
 * Its header, and the scale of the input: eight hexadecimal digits. Which other values have a line, depends on what
 * TensorRT fuses.
 */
function partsOf(text: string): unknown {
  const [header = '', ...lines] = text.trimEnd().split('\n')
  const [, scale = ''] = lines.find((line) => line.startsWith('x: '))?.split(': ') ?? []
  return { header: header.replace(/\d+/, 'VERSION'), isScale: /^[0-9a-f]{8}$/.test(scale), scale, text }
}

export const calibrating: readonly Scenario[] = [
  {
    name: 'calibrators',
    play: async (place) => {
      const { kind, version, recorder } = place
      const calibrates = kind === 'full' && version[0] === 10 && place.gpu
      for (const algorithm of ['entropy', 'minmax'] as const) {
        const text = await calibrate(place, 'of two batches', dense(), calibrator(algorithm, 2))
        if (!calibrates) continue
        await recorder.observe('calibration cache', { algorithm }, () => partsOf(text ?? ''))
        await calibrate(place, 'with the cache', dense(), calibrator(algorithm, 2, text))
        await calibrate(place, 'with a text that is none', dense(), calibrator(algorithm, 2, 'none\n'))
      }
      await calibrate(place, 'without batches', dense(), calibrator('entropy', 0))
      await calibrate(place, 'of a model with quantizing layers', quantized(), calibrator('entropy', 1))
    },
  },
]
