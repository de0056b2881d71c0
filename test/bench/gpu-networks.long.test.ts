// The networks of bench gpu on onnxruntime, and the INT8 model that its first row builds, with the ranges of a kit.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { gpuRows } from '../../bench/support/gpu-rows.js'
import { mobileNetV2, type NetworkWriter, resnet50, segmentation, unet } from '../../bench/support/networks.js'
import { packageRoot } from '../../lib/base/package.js'
import { Engine, Tensor } from '../../lib/index.js'
import { Calibration, quantize } from '../../lib/quantization/index.js'
import { runNode } from '../support/children.js'
import { temporaryFolder } from '../support/folders.js'
import { cosine } from '../support/values.js'

const size = 64

async function outputOf(model: Uint8Array): Promise<Tensor> {
  await using engine = await Engine.load(model, { backend: 'cpu' })
  const x = Tensor.zeros('float32', [1, 3, size, size])
  for (let i = 0; i < x.data.length; i++) x.data[i] = Math.sin(i / 7 + Math.floor(i / size) / 5)
  return (await engine.infer({ x }))['y']!
}

const networks: readonly (readonly [NetworkWriter, readonly number[]])[] = [
  [unet, [1, 2, size, size]],
  [resnet50, [1, 1000]],
  [mobileNetV2, [1, 1000]],
  [segmentation, [1, 1, size, size]],
]
for (const [write, shape] of networks)
  t.test(`${write.name} gives values that FP16 can hold`, async (t) => {
    const { data, shape: received } = await outputOf(write(size))
    const magnitudes = Array.from(data as Float32Array, Math.abs)
    t.same(received, shape)
    t.ok(
      magnitudes.every((value) => value < 100),
      `at most ${magnitudes.reduce((one, other) => Math.max(one, other))}`,
    )
    t.ok(magnitudes.filter((value) => value > 0.01).length > magnitudes.length / 2, 'most of them are no zeros')
  })

t.test('the ranges of a kit make an INT8 model that computes nearly the same', async (t) => {
  const folder = temporaryFolder(t)
  const program = join(packageRoot(), 'dist', 'bench', 'support', 'gpu-ranges.js')
  const { code, stderr } = await runNode([program, folder])
  t.equal(code, 0, stderr)
  const int8 = gpuRows.filter(({ precision }) => precision === 'int8')
  t.same(readdirSync(folder), [...new Set(int8.map(({ model }) => `${model}.ranges`))])
  const exact = unet(size)
  const quantized = await quantize(exact, await Calibration.load(join(folder, 'UNet.ranges')))
  const { model, report } = quantized
  t.same(
    report.layers.filter(({ quantized }) => !quantized),
    [],
  )
  t.equal(report.layers.length, 23)
  t.ok((model.graph?.node ?? []).some(({ opType }) => opType === 'DequantizeLinear'))
  const [ours, theirs] = [await outputOf(quantized.toBytes()), await outputOf(exact)]
  const similarity = cosine(ours.data as Float32Array, theirs.data as Float32Array)
  t.ok(similarity > 0.98 && similarity < 1, `cosine ${similarity}`)
})
