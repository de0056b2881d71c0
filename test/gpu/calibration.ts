// INT8 by the calibrators of TensorRT 10: the text of their caches, and what the engine computes.
import { Builder, type CalibrationSource, Engine } from '../../lib/index.js'
import { readReference } from './cases.js'
import { runProgram } from './check.js'
import { leastCosine } from './compare.js'

const headers = { entropy: /^TRT-\d+-EntropyCalibration2$/, minmax: /^TRT-\d+-MinMaxCalibration$/ } as const

await runProgram('calibration', async ({ check, references }) => {
  const { model, shapes, cases } = readReference(references, 'calibration')
  const all = Object.values(cases)
  const build = async (
    algorithm: keyof typeof headers,
    cache?: string,
  ): Promise<{ bytes: Uint8Array; texts: string[]; fromCache?: boolean | undefined }> => {
    const texts: string[] = []
    const calibrator: CalibrationSource = {
      algorithm,
      async *batches() {
        for (const { inputs } of all) yield inputs
      },
      readCache: () => cache,
      writeCache: (text) => void texts.push(text),
    }
    await using builder = new Builder({ precision: 'int8' })
    const { bytes, info } = await builder.build(model, { shapes, calibrator })
    return { bytes, texts, fromCache: info.calibration?.fromCache }
  }
  const cosineOf = async (plan: Uint8Array): Promise<number> => {
    await using engine = await Engine.load(plan)
    const cosines = []
    for (const { inputs, outputs } of all) cosines.push(leastCosine(await engine.infer(inputs), outputs))
    return Math.min(...cosines)
  }
  for (const algorithm of ['entropy', 'minmax'] as const) {
    const built = await build(algorithm)
    const [text = ''] = built.texts
    const [header = '', ...lines] = text.trimEnd().split('\n')
    await check(
      `writes a cache of ${algorithm} calibration`,
      `${String(headers[algorithm])}, and scales as 8 hexadecimal digits`,
      () => ({ header, lines }),
      () =>
        headers[algorithm].test(header) && lines.length > 1 && lines.every((line) => /^.+: [0-9a-f]{8}$/.test(line)),
    )
    await check(`builds from a cache of ${algorithm} calibration`, { fromCache: true }, async () => ({
      fromCache: (await build(algorithm, text)).fromCache,
    }))
    await check(
      `computes in INT8 after ${algorithm} calibration`,
      'cosine 0.99 or more',
      () => cosineOf(built.bytes),
      (cosine) => cosine >= 0.99,
    )
  }
})
