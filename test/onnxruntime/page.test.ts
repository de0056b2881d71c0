// The guide names each option that a session reads, so that people find it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sessionOptionNames } from '../../lib/onnxruntime/options.js'
import { tensorrtOptionNames } from '../../lib/onnxruntime/tensorrt-options.js'
import { root } from '../package/support.js'

t.test('docs/guides/from-onnxruntime-node.md names each option', (t) => {
  const page = readFileSync(join(root, 'docs', 'guides', 'from-onnxruntime-node.md'), 'utf8')
  const named = new Set(Array.from(page.matchAll(/`(\w+)/g), ([, name]) => name))
  const missing = [...sessionOptionNames, ...tensorrtOptionNames].filter((name) => !named.has(name))
  t.same(missing, [])
  t.end()
})
