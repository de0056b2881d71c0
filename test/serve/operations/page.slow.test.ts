// docs/serving.md has all flags, fields, metrics and differences.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../lib/base/package.js'
import { fieldRules } from '../../../lib/serve/config/fields.js'
import { flagRules } from '../../../lib/serve/flags.js'
import { modelMetrics } from '../../../lib/serve/operations/metrics.js'
import { runNode } from '../../support/children.js'

t.test('the tables are made of the sources', async (t) => {
  const { code, stderr } = await runNode([join(packageRoot(), 'scripts', 'serving-page.mjs'), '--check'], packageRoot())
  t.equal(code, 0, stderr)
})

t.test('nothing is left out', (t) => {
  const page = readFileSync(join(packageRoot(), 'docs', 'serving.md'), 'utf8')
  const firstCells = new Set(page.split('\n').map((line) => /^\| `([^`]+)`/.exec(line)?.[1]))
  for (const { name } of flagRules) t.ok(firstCells.has(`--${name}`), name)
  for (const { path } of fieldRules) t.ok(firstCells.has(path), path)
  for (const { name } of modelMetrics) t.ok(firstCells.has(name), name)
  t.end()
})
