// `trt inspect` of plans, on the fakes: their layers, timed and drawn.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { PlanInspection } from '../../lib/index.js'
import { useFakes } from '../native/fakes.js'
import { elementsOf, parsedMarkup } from '../support/markup.js'
import { oneNode } from '../support/models.js'
import { trt } from './rig.js'

const { fakes } = await useFakes()
const folder = t.testdir({})
const file = (name: string): string => join(folder, name)
writeFileSync(file('relu.onnx'), oneNode('Relu'))

t.test('layers of a plan, in tables and in a drawing', async (t) => {
  const place = ['--tensorrt', fakes.trt10]
  const build = ['build', file('relu.onnx'), '-o', file('relu.plan'), '--quiet', ...place]
  t.match(await trt([...build, '--profiling-verbosity', 'detailed']), { code: 0 })
  const { code, stdout, stderr } = await trt([
    'inspect',
    file('relu.plan'),
    '--layers',
    '--draw',
    file('relu.svg'),
    '--quiet',
    ...place,
  ])
  t.same([code, stderr], [0, ''])
  t.notMatch(stdout, 'inputFormats', 'what is empty is not told')
  t.match(stdout, /known by +its sidecar[^]*precision +layers +of the time[^]*slowest layers/)
  const kinds = elementsOf(parsedMarkup(readFileSync(file('relu.svg'), 'utf8')), 'g', 'box').map((box) =>
    box.getAttribute('class'),
  )
  t.ok(kinds.includes('box input') && kinds.includes('box output') && kinds.length === 3, kinds.join(', '))
  const found = JSON.parse(
    (await trt(['inspect', file('relu.plan'), '--layers', '--json', ...place])).stdout,
  ) as PlanInspection
  t.match(found, { kind: 'plan', source: 'sidecar', engine: { layers: { count: 1, layers: [{}] } } })
  t.match(await trt([...build, '--profiling-verbosity', 'layerNames']), { code: 0 })
  t.match(await trt(['inspect', file('relu.plan'), '--draw', file('names.svg'), ...place]), {
    code: 1,
    stdout: '',
    stderr: /detailed/,
  })
})

t.test('settings that have names of their own', async (t) => {
  const exec = ['exec', `--onnx=${file('relu.onnx')}`, `--tensorrt=${fakes.trt10}`, '--skipInference']
  const built = await trt([...exec, '--inputIOFormats=fp16:chw+hwc8', `--saveEngine=${file('formats.plan')}`])
  t.equal(built.code, 0, built.stderr)
  const { stdout } = await trt(['inspect', file('formats.plan')])
  t.match(stdout, / inputFormats: x \(dtype float16, formats .+, .+\)\n/)
  t.notMatch(stdout, 'object')
})
