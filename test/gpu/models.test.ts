import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { packageRoot } from '../../lib/base/package.js'
import { Builder, capabilities, Engine, type Plan, type ProfileShapes, type TensorRecord } from '../../lib/index.js'
import { intersectionOverUnion } from '../../lib/vision/index.js'
import { modelsToBuild } from '../support/real-models.js'
import { cosine, randomTensor } from '../support/values.js'

// Needs a GPU and a TensorRT that builds and runs there: npm run test:gpu, with TENSORRT_PATH where it is not on the
// loader's path.

const { gpus, tensorrt } = await capabilities()
t.ok(gpus.length > 0, 'there is a GPU')
t.comment(JSON.stringify({ gpus, tensorrt }))

/** Numbers from -1 to 1, the same each time. */
for (const { name, source, shapes } of modelsToBuild) {
  await t.test(name, async (t) => {
    const model = await source()
    const [input = '', range] = Object.entries(shapes)[0] ?? []
    const shape = Array.isArray(range) ? (range as number[]) : (range as ProfileShapes).opt
    const plan: Plan = await new Builder({ tf32: false }).build(model, { shapes })
    await using cpu = await Engine.load(model, { backend: 'cpu' })
    const inputs = Array.from({ length: 8 }, (_, i) => ({ [input]: randomTensor(shape, i + 1) }))
    const expected = await Promise.all(inputs.map((each) => cpu.infer(each)))

    let serial: TensorRecord[] = []
    for (const lanes of [1, 2, 8]) {
      await using engine = await Engine.load(plan.bytes, { lanes })
      await engine.warmup()
      if (serial.length === 0) {
        for (const each of inputs) serial = [...serial, await engine.infer(each)]
        serial.forEach((outputs, i) => {
          for (const [output, tensor] of Object.entries(outputs))
            t.ok(
              cosine(tensor.data as Float32Array, expected[i]?.[output]?.data as Float32Array) >= 0.9999,
              `${output} of input ${i}`,
            )
        })
      }
      const concurrent = await Promise.all(inputs.map((each) => engine.infer(each)))
      t.same(concurrent, serial, `8 at once on ${lanes} lanes: bit-equal to one after another`)
      const [first] = inputs
      if (first !== undefined) t.same(engine.inferSync(first), serial[0], 'inferSync')
    }
  })
}

await t.test('the demo runs on the GPU, and its boxes are those of the CPU', async (t) => {
  interface Result {
    backend: string
    faces: { score: number; box: [number, number, number, number] }[]
  }
  const demo = async (env: Record<string, string>): Promise<Result[]> => {
    const args = [join(packageRoot(), 'dist/examples/blur-faces.js'), '--json', '--out', t.testdir()]
    const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...env } })
    return JSON.parse(stdout) as Result[]
  }
  const gpu = await demo({})
  const cpu = await demo({ NODE_TENSORRT_LIBCUDA: '/nonexistent/libcuda.so.1' })
  t.ok(gpu.every((result) => result.backend === 'tensorrt'))
  t.ok(cpu.every((result) => result.backend === 'cpu'))
  gpu.forEach(({ faces }, i) => {
    t.equal(faces.length, cpu[i]?.faces.length)
    faces.forEach(({ box }, k) => t.ok(intersectionOverUnion(box, cpu[i]?.faces[k]?.box ?? [0, 0, 0, 0]) >= 0.95))
  })
})
