// The list of operators that TensorRT lacks, against the parser of the real TensorRT-RTX, for each operator of ONNX.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { unsupportedOperators } from '../../lib/building/tensorrt-operators.js'
import { Builder } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { root } from '../fake/build.js'
import { messageOf } from '../../lib/base/kinds.js'
import { rtxPath, skipWithoutRtx } from '../support/tensorrt.js'

t.test('each operator of ONNX', { skip: skipWithoutRtx }, async (t) => {
  const { operators } = JSON.parse(readFileSync(join(root, 'test/facts/schemas.json'), 'utf8')) as { operators: object }
  const names = Object.keys(operators).filter((name) => !name.includes('.'))
  t.ok(names.length > 150, `${names.length} operators`)
  await using builder = new Builder({ tensorrt: { library: rtxPath } })
  const lacking: string[] = []
  for (const name of names) {
    const g = new GraphBuilder({ name: 'one', opset: 22 })
    g.output(g.node(name, [g.input('x', 'float32', [1, 3, 4, 4])], {}, { output: 'y' }), 'float32', [1, 3, 4, 4])
    // what else is wrong with such a node is said otherwise
    const said = await builder.parse(writeModel(g.toModel())).then(() => '', messageOf)
    if (said.includes(`TensorRT has no operator ${name}`)) lacking.push(name)
  }
  // TensorRT 10.15 has a plugin for it, TensorRT-RTX none
  const ofRtx = ['DeformConv']
  const known = names.filter((name) => unsupportedOperators.has(name))
  t.same(lacking.sort(), [...known, ...ofRtx].sort())
})
