// A device without free memory: tensors take all of it, in ever smaller pieces.
import { Builder, type DeviceTensor, Engine, Tensor } from '../../lib/index.js'
import { readReference } from './cases.js'
import { runProgram } from './check.js'
import { digestOf, largeInput } from './large-tensors.js'

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? String(error)

await runProgram('exhaustion', async ({ check, references }) => {
  const { model, shapes, cases } = readReference(references, 'large')
  await using builder = new Builder()
  const { bytes } = await builder.build(model, { shapes })
  await using engine = await Engine.load(bytes)
  const ballast: DeviceTensor[] = []
  await check('rejects what the device has no memory for', 'ERR_TRT_OUT_OF_MEMORY', async () => {
    let code = 'nothing was rejected'
    for (let size = 2 ** 30; size >= 2 ** 24; size /= 4) {
      const piece = Tensor.zeros('uint8', [size])
      for (code = ''; code === '';)
        await engine.upload(piece).then(
          (tensor) => ballast.push(tensor),
          (error: unknown) => (code = codeOf(error)),
        )
    }
    return code
  })
  await check('rejects an inference without memory', 'ERR_TRT_OUT_OF_MEMORY', () =>
    engine.infer({ x: largeInput(1) }).then(() => 'a result', codeOf),
  )
  for (const tensor of ballast) tensor.dispose()
  await check('runs once there is memory again', digestOf(cases['digest 1']?.outputs['y']), async () =>
    digestOf((await engine.infer({ x: largeInput(1) }))['y']),
  )
})
