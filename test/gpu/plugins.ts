// NVIDIA's own plugins, which exist only once initLibNvInferPlugins() was called.
import { Builder, Engine } from '../../lib/index.js'
import { readReference } from './cases.js'
import { runProgram } from './check.js'

await runProgram('plugins', async ({ check, references }) => {
  await check('builds and loads EfficientNMS_TRT', ['classes', 'confidence', 'count', 'kept'], async () => {
    const { model, shapes } = readReference(references, 'efficient-nms')
    await using builder = new Builder()
    const { bytes } = await builder.build(model, { shapes })
    await using engine = await Engine.load(bytes)
    return [...engine.outputNames].sort()
  })
})
