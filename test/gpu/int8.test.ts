// Needs a GPU and a TensorRT that builds and runs there: npm run test:gpu, with TENSORRT_PATH where it is not on the
// loader's path. The ways to INT8 (TensorRT's own calibration, our ranges as its cache, Q/DQ in the model) on a
// ResNet-50 and a UNet, with photographs: what the engines are made of, and how near they come to FP32. What they take:
// npm run bench -- int8.
import t, { type Test } from 'tap'
import { Engine } from '../../lib/index.js'
import { temporaryFolder } from '../support/folders.js'
import { account, type Model, modelsOfOurs, outputsOfCpu } from './rig.js'
import { int8Layers, parts, waysTo, worstCosine } from './ways.js'

async function checkModel(t: Test, model: Model): Promise<void> {
  const ways = await waysTo(model, await parts(model, 8, 7))
  const others = await parts(model, 4, 99)
  const expected = await outputsOfCpu(model, others)
  for (const { name, plan } of ways) {
    await using engine = await Engine.load(plan)
    const cosine = await worstCosine(engine, others, expected)
    const audit = await engine.layers()
    const int8 = int8Layers(audit)
    t.comment(`${name}: ${int8} of ${audit.count} layers in INT8`)
    for (const line of account(audit)) t.comment(`  ${line}`)
    t.ok(cosine >= (name.startsWith('INT8') ? 0.98 : 0.999), `${name}: cosine ${cosine.toFixed(5)}`)
    t.equal(int8 > 0, name.startsWith('INT8'), `${name}: layers in INT8`)
  }
}

const models = await modelsOfOurs(temporaryFolder(t))
for (const model of [models.resnet50, models.unet]) await t.test(model.name, (t) => checkModel(t, model))
