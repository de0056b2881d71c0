// Which optimization profile a request runs with, by its shapes and by the values of its shape tensors; and what none
// takes.
import t from 'tap'
import { Tensor } from '../../lib/index.js'
import { failureOf } from '../support/errors.js'
import { range } from '../support/values.js'
import { families, leftovers, load, older, rows, rowsPlan, type Spec, wanted } from './rig.js'

type Whole = 'int32' | 'int64'
const x = Tensor.from(Float32Array.from({ length: 12 }, (_, i) => i - 5))
const shapeTensor = (dtype: Whole, ...values: readonly number[]): Tensor =>
  Tensor.from(dtype === 'int32' ? Int32Array.from(values) : BigInt64Array.from(values, BigInt))

/** y = x of the shape s; one profile takes up to four rows, one five to twelve. */
const reshape = (dtype: Whole): Spec => ({
  inputs: [
    { name: 'x', shape: [12] },
    { name: 's', shape: [2], dtype, host: true },
  ],
  outputs: [{ name: 'y', shape: [-1, -1] }],
  ops: [{ type: 'reshape', inputs: ['x', 's'], output: 'y' }],
  profiles: [{ values: { s: range([1, 1], [3, 4], [4, 12]) } }, { values: { s: range([5, 1], [6, 2], [12, 12]) } }],
})

const all = [...families, older()]

for (const family of all) {
  await t.test(family.fullName, async (t) => {
    for (const dtype of ['int32', 'int64'] as const) {
      await t.test(`values of ${dtype} decide`, async (t) => {
        const spec = reshape(dtype)
        await using engine = await load(family, spec)
        const s = engine.allocate('s', [2])
        for (const [rows, columns] of [
          [3, 4],
          [6, 2],
          [12, 1],
          [1, 12],
          [6, 2],
          [4, 3],
        ] as const) {
          const given = shapeTensor(dtype, rows, columns)
          for (const shape of [given, s]) {
            ;(shape.data as NodeJS.TypedArray).set(given.data as never)
            const { y } = (await engine.infer({ x, s: shape })) as { y: Tensor }
            t.same([y.shape, y.data], [[rows, columns], x.data], `${rows} rows`)
          }
        }
        t.match(await failureOf(() => engine.infer({ x, s: shapeTensor(dtype, 13, 1) })), {
          code: 'ERR_TRT_SHAPE',
          message: "No optimization profile of the engine takes 'x' [12], 's' [2] of 13, 1 together",
        })
        for (const [profile, given, told] of [
          [1, [3, 4], 'from [5, 1] to [12, 12]'],
          [0, [6, 2], 'from [1, 1] to [4, 12]'],
        ] as const) {
          await using fixed = await load(family, spec, { tensorrt: { profile } })
          t.match(await failureOf(() => fixed.infer({ x, s: shapeTensor(dtype, ...given) })), {
            code: 'ERR_TRT_SHAPE',
            message: `Expected values ${told} for input 's', which optimization profile ${profile} takes, but received [${given.join(', ')}]`,
          })
          const [right, columns] = profile === 1 ? [12, 1] : [2, 6]
          t.same(
            ((await fixed.infer({ x, s: shapeTensor(dtype, right, columns) })) as { y: Tensor }).y.data,
            x.data,
            'and goes on',
          )
        }
      })
    }

    await t.test('what contradicts itself, which TensorRT refuses when it infers the shapes', async (t) => {
      await using engine = await load(family, reshape('int64'))
      t.match(await failureOf(() => engine.infer({ x, s: shapeTensor('int64', 4, 4) })), {
        code: 'ERR_TRT_SHAPE',
        message: `${family.fullName} refused 'x' [12], 's' [2] with optimization profile 0`,
      })
      t.same(
        ((await engine.infer({ x, s: shapeTensor('int64', 4, 3) })) as { y: Tensor }).y.data,
        x.data,
        'and the next one runs',
      )
    })

    await t.test('a shape that a fixed profile does not take', async (t) => {
      const two = rowsPlan(3, 4, {
        profiles: [{ dims: { x: range([1, 3], [2, 3], [4, 3]) } }, { dims: { x: range([2, 3], [8, 3], [16, 3]) } }],
      })
      for (const [profile, count, told] of [
        [0, 5, 'from [1, 3] to [4, 3]'],
        [1, 1, 'from [2, 3] to [16, 3]'],
      ] as const) {
        await using engine = await load(family, two, { tensorrt: { profile } })
        for (let i = 0; i < 2; i++)
          t.match(await failureOf(() => engine.infer(rows(1, count))), {
            code: 'ERR_TRT_SHAPE',
            message: `Expected a shape ${told} for input 'x', which optimization profile ${profile} takes, but received [${count}, 3]`,
          })
        t.same((await engine.infer(rows(1, 3))).data, wanted(rows(1, 3).data))
      }
    })

    await t.test('a shape that TensorRT refuses later than we do', async (t) => {
      await using engine = await load(family, rowsPlan())
      family.control.failNth('VExecutionContext.inferShapes', 1)
      t.match(await failureOf(() => engine.infer(rows(1, 2))), {
        code: 'ERR_TRT_SHAPE',
        message: `${family.fullName} refused 'x' [2, 3] with optimization profile 0`,
      })
      t.same((await engine.infer(rows(1, 2))).data, wanted(rows(1, 2).data))
    })
  })
}

t.test('nothing is left', (t) => {
  t.same(leftovers(), {})
  for (const { control } of all) t.match(control.stats(), { live: { engines: 0, contexts: 0 }, misuse: {}, traps: [] })
  t.end()
})
