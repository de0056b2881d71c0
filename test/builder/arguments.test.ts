import t from 'tap'
import { checkedBytes } from '../../lib/building/options.js'
import { Builder } from '../../lib/index.js'
import { failureOf } from '../support/errors.js'
import { oneNode } from './models.js'

const model = oneNode('Relu', ['N', 4])

t.test('options that cannot be are refused, by name', async (t) => {
  const rows: [string, unknown, RegExp][] = [
    ['an unknown option', { workspce: 1 }, /Unknown option "workspce".*did you mean workspace/],
    ['workspace of no unit', { workspace: '2 parsecs' }, /workspace but received string "2 parsecs"/],
    ['negative workspace', { workspace: -1 }, /workspace but received number -1/],
    ['level 6', { optimizationLevel: 6 }, /integer from 0 to 5 for optimizationLevel/],
    ['tf32 of text', { tf32: 'no' }, /true or false for tf32/],
    ['device 1.5', { device: 1.5 }, /number of a GPU for device/],
    ['a path that is none', { tensorrt: 5 }, /a path for tensorrt/],
    ['options that are none', 7, /an object for the options of Builder/],
  ]
  for (const [name, options, message] of rows) {
    t.match(await failureOf(() => new Builder(options as never)), { code: 'ERR_TRT_INVALID_ARGUMENT', message }, name)
  }
})

t.test('what is built, and for which shapes, is checked before TensorRT is asked', async (t) => {
  const builder = new Builder({ tensorrt: '/no/such/folder' })
  const rows: [string, unknown[], string, RegExp][] = [
    ['no model', [undefined], 'ERR_TRT_INVALID_ARGUMENT', /source but received undefined/],
    ['shapes of text', [model, { shapes: 'x:1x4' }], 'ERR_TRT_INVALID_ARGUMENT', /shapes by input/],
    ['a profile of text', [model, { shapes: ['x'] }], 'ERR_TRT_INVALID_ARGUMENT', /shapes by input/],
    ['a shape of text', [model, { shapes: { x: '1x4' } }], 'ERR_TRT_INVALID_ARGUMENT', /the shapes of 'x'/],
    ['no max', [model, { shapes: { x: { min: [1, 4], opt: [1, 4] } } }], 'ERR_TRT_SHAPES_REQUIRED', /no max shape/],
    [
      'a misspelled max',
      [model, { shapes: { x: { min: [1, 4], opt: [1, 4], mx: [1, 4] } } }],
      'ERR_TRT_INVALID_ARGUMENT',
      /did you mean max/,
    ],
    ['a fraction', [model, { shapes: { x: [1.5, 4] } }], 'ERR_TRT_SHAPE', /1\.5/],
    ['a dimension of -1', [model, { shapes: { x: [-1, 4] } }], 'ERR_TRT_SHAPE', /-1/],
    ['nine dimensions', [model, { shapes: { x: [1, 1, 1, 1, 1, 1, 1, 1, 1] } }], 'ERR_TRT_SHAPE', /at most 8/],
    ['a listener that is none', [model, { onProgress: 1 }], 'ERR_TRT_INVALID_ARGUMENT', /a function for onProgress/],
    ['a signal that is none', [model, { signal: {} }], 'ERR_TRT_INVALID_ARGUMENT', /an AbortSignal for signal/],
    ['a path with no TensorRT', [model, { shapes: { x: [1, 4] } }], 'ERR_TRT_NO_LIBRARY', /no such file or folder/],
  ]
  for (const [name, args, code, message] of rows) {
    t.match(await failureOf(() => builder.build(...(args as [never, never]))), { code, message }, name)
  }
})

t.test('amounts of memory', (t) => {
  const rows: [unknown, number][] = [
    [1024, 1024],
    ['1024', 1024],
    ['2GiB', 2 ** 31],
    ['1.5 MiB', 1.5 * 2 ** 20],
    ['3kb', 3000],
  ]
  for (const [text, bytes] of rows) t.equal(checkedBytes(text, 'workspace'), bytes)
  for (const text of ['', '0', 'MiB', '1e3', 2 ** 60, Number.NaN, null, '5 toString'])
    t.throws(() => checkedBytes(text, 'workspace'), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  t.end()
})
