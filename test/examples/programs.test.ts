// One example the whole way, in a process of its own, and what needs none. programs.slow.test.ts has all of them.
import { join } from 'node:path'
import t from 'tap'
import { targetsFor } from '../../examples/support/pictures.js'
import { packageRoot } from '../../lib/base/package.js'
import { photographs } from '../demo/variants.js'
import { runNode } from '../support/children.js'
import { cpu, example } from './running.js'

const [first = ''] = photographs

t.test('the one command: a name that is none names those that are, and one goes the whole way', async (t) => {
  const script = join(packageRoot(), 'scripts/example.mjs')
  const unknown = await runNode([script, 'clasify'])
  t.equal(unknown.code, 1)
  t.match(
    unknown.stderr,
    /classify, detect-faces, detect-objects, face-blur-unet, read-text, read-text-ocr-node, remove-background/,
  )
  const { code, stdout, stderr } = await runNode([
    script,
    'classify',
    first,
    '--size',
    '64',
    '--json',
    '--out',
    t.testdir(),
    ...cpu,
  ])
  t.equal(code, 0, stderr)
  t.match(JSON.parse(stdout), [{ photo: first, classes: [{ classIndex: Number, score: Number }] }])
})

t.test('each picture has a file of its own', (t) => {
  const targets = targetsFor(['a.jpg', 'there/a.png', 'a-2.jpg', 'A.webp'], 'blurred.jpg', 'out')
  t.strictSame(
    targets,
    ['a', 'a-2', 'a-2-2', 'A-3'].map((name) => join('out', `${name}-blurred.jpg`)),
  )
  t.end()
})

t.test('an option without effect is unknown', async (t) => {
  t.match(await example('read-text', ['--size', '320']), { code: 1, stderr: /unknown option '--size'/ })
})
