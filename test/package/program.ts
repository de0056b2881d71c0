// One program, as an app has it: loads, infers, batches, detects, hides, counts and closes, with the groups of both
// runtimes, and asks nowhere what runs it. Whoever runs it, and wherever, it tells the same.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { transform } from 'esbuild'
import { Tensor } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'

const text = `import { Engine, Tensor, TensorRTError } from 'node-tensorrt'
import { Detector, FaceBlur } from 'node-tensorrt/tasks'

const options = {
  tensorrt: {
    device: 0,
    builder: { precision: 'fp16', optimizationLevel: 3 },
    cudaGraph: true,
    memoryLimit: 2 ** 30,
    profile: 0,
    priority: 'high',
    wait: 'block',
    plugins: [],
    hostCode: false,
  },
  cpu: { threads: 1, optimization: 'all', deterministic: false, config: { 'session.disable_prepacking': '1' } },
}
const rows = { ...options, shapes: { x: { min: [1, 3], opt: [2, 3], max: [8, 3] } } }
const pictures = { ...options, preset: 'dbnet', shapes: { x: { min: [1, 3, 32, 32], opt: [1, 3, 32, 32], max: [1, 3, 64, 64] } } }
const row = (value) => Tensor.from(Float32Array.of(value, -value, 2), [1, 3])
const rounded = ({ box }) => box.map(Math.round)

/** What each part gives, or the code with which it is refused. */
export async function program() {
  const told = {}
  const part = async (name, body) => {
    try {
      told[name] = await body()
    } catch (error) {
      if (!(error instanceof TensorRTError)) throw error
      told[name] = error.code
    }
  }
  const engine = await Engine.load('rows.onnx', rows)
  await part('infer', async () => [...(await engine.infer({ x: row(1) })).y.data])
  await part('stats', () => engine.stats().completed)
  await engine.close()
  await part('closed', () => engine.infer({ x: row(1) }))

  await part('batch', async () => {
    const engine = await Engine.load('rows.onnx', { ...rows, batching: { maxBatch: 4, maxDelayMs: 1000, holdUntil: 4 } })
    const results = await Promise.all([1, 2, 3, 4].map((value) => engine.infer({ x: row(value) })))
    const { batches } = engine.stats()
    await engine.close()
    return [results.map(({ y }) => y.data[0]), batches]
  })

  const picture = { width: 32, height: 32, channels: 3, data: new Uint8Array(32 * 32 * 3) }
  for (let y = 8; y < 20; y++) picture.data.fill(255, (y * 32 + 6) * 3, (y * 32 + 26) * 3)
  const detector = await Detector.load('bright.onnx', pictures)
  await part('detect', async () => (await detector.detect(picture)).map(rounded))
  await detector.close()

  const faces = await FaceBlur.load('bright.onnx', { ...pictures, blur: { grow: 1, method: 'fill', color: [1, 2, 3] } })
  await part('blur', async () => {
    const { image, regions } = await faces.blur(picture)
    return [regions.map(rounded), [...image.data.subarray((14 * 32 + 16) * 3).subarray(0, 3)]]
  })
  await faces.close()
  return { backend: engine.backend, idle: engine.backendReason?.match(/ (tensorrt|cpu)\\./g)?.length ?? 0, ...told }
}
`

/** What it tells on the CPU; on TensorRT `idle` counts the other group. */
const told = {
  infer: [3, 0, 5],
  stats: 1,
  closed: 'ERR_TRT_CLOSED',
  batch: [[3, 5, 7, 9], 1],
  detect: [[1, 3, 29, 21]],
  blur: [[[1, 3, 29, 21]], [1, 2, 3]],
}
/** Options of the group that does not count are named in `engine.backendReason`. */
export const onCpu = { backend: 'cpu', idle: 9, ...told }
export const onTensorRT = { backend: 'tensorrt', idle: 4, ...told }
/** Without the addon: two lines of it are refused, as docs/design/running.md lists them. */
export const withoutAddon = { ...onCpu, stats: 'ERR_TRT_UNSUPPORTED', batch: 'ERR_TRT_UNSUPPORTED' }

const number = (value: number): Tensor => Tensor.from(Float32Array.of(value), [1])

/** y = relu(2 x + 1), of as many rows as there are. */
function rowsModel(): Uint8Array {
  const g = new GraphBuilder({ name: 'rows' })
  const twice = g.node('Mul', [g.input('x', 'float32', ['N', 3]), g.constant('two', number(2))])
  const y = g.node('Relu', [g.node('Add', [twice, g.constant('one', number(1))])], {}, { output: 'y' })
  g.output(y, 'float32', ['N', 3])
  return writeModel(g.toModel())
}

/** A map of what is bright, as DBNet gives one of text. */
function brightModel(): Uint8Array {
  const g = new GraphBuilder({ name: 'bright', opset: 17 })
  const grey = g.node('ReduceMean', [g.input('x', 'float32', [1, 3, 32, 32])], { axes: [1], keepdims: 1 })
  g.output(g.node('Sigmoid', [g.node('Mul', [grey, g.constant('four', number(4))])]), 'float32', [1, 1, 32, 32])
  return writeModel(g.toModel())
}

/** Writes it, as program.mjs and program.cjs, and the models that it loads from the current folder. */
export async function writeProgram(folder: string): Promise<void> {
  writeFileSync(join(folder, 'rows.onnx'), rowsModel())
  writeFileSync(join(folder, 'bright.onnx'), brightModel())
  writeFileSync(join(folder, 'program.mjs'), text)
  writeFileSync(join(folder, 'program.cjs'), (await transform(text, { format: 'cjs' })).code)
}
