// docs/guides/errors.md is what lib/errors.ts and lib/base/remedies.ts make, and has each code with its text.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { errorCodes } from '../../lib/errors.js'
import { packageRoot } from '../../lib/base/package.js'
import { runNode } from '../support/children.js'
import { sectionsOf } from './sections.js'

t.test('the page is made of the sources', async (t) => {
  const { code, stderr } = await runNode([join(packageRoot(), 'scripts', 'error-page.mjs'), '--check'], packageRoot())
  t.equal(code, 0, stderr)
})

t.test('each code has its text, and no other is there', (t) => {
  const sections = sectionsOf(readFileSync(join(packageRoot(), 'docs', 'guides', 'errors.md'), 'utf8'))
  t.same([...sections.keys()], Object.keys(errorCodes))
  for (const [code, { text, message, remedies }] of sections) {
    const meaning = errorCodes[code as keyof typeof errorCodes]
    t.match(text.toLowerCase(), meaning.toLowerCase(), `${code}: its meaning`)
    t.ok(
      text.length > meaning.length + 20 && message.length > 10 && remedies.every((remedy) => remedy.length > 20),
      code,
    )
    t.ok(remedies.length > 0, `${code}: what mends it`)
  }
  t.end()
})
