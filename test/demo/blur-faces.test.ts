import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { readImage } from '../../lib/vision/index.js'
import { type Ended, runNode } from '../support/children.js'
import { photographs } from './variants.js'

const program = fileURLToPath(new URL('../../examples/blur-faces.js', import.meta.url))

const blurFaces = (args: readonly string[]): Promise<Ended> => runNode([program, ...args])

const [first = '', second = ''] = photographs

t.test('JSON alone on stdout, a picture for each photo', async (t) => {
  const out = join(t.testdir(), 'a/b')
  const { code, stdout, stderr } = await blurFaces([second, second, '--out', out, '--json'])
  t.equal(code, 0, stderr)
  const results = JSON.parse(stdout) as object[]
  t.equal(results.length, 2)
  t.match(results[0], {
    photo: second,
    backend: /^(cpu|tensorrt)$/,
    faces: [{ score: Number, box: [Number, Number, Number, Number] }],
  })
  t.match(results[0], { ms: { read: Number, tensor: Number, infer: Number, decode: Number, blur: Number } })
  const [original, blurred] = [await readImage(second), await readImage(join(out, 'sample2-blurred.jpg'))]
  t.match(blurred, { width: original.width, height: original.height })
  t.match(
    await readImage(join(out, 'sample2-2-blurred.jpg')),
    { width: original.width },
    'a second photo of the same name has a file of its own',
  )
})

t.test('a table for people', async (t) => {
  const { code, stdout, stderr } = await blurFaces([first, '--out', t.testdir()])
  t.equal(code, 0, stderr)
  t.match(stdout, /picture .*faces .*scores .*backend/)
  t.match(stdout, /sample1\.jpg .*3 .*0\.78 0\.77 0\.72/)
  t.notOk(stderr.includes('\u001b'), 'no progress bar where stderr is no terminal')
})

t.test('a missing or broken photo is named, the others are done, and the exit code is 1', async (t) => {
  const bytes = await readFile(second)
  const folder = t.testdir({ 'broken.jpg': bytes.subarray(0, bytes.length / 2) })
  const { code, stdout, stderr } = await blurFaces([
    join(folder, 'missing.jpg'),
    join(folder, 'broken.jpg'),
    second,
    '--out',
    folder,
    '--json',
  ])
  t.equal(code, 1)
  t.equal((JSON.parse(stdout) as object[]).length, 1)
  t.match(stderr, /Cannot read .*missing\.jpg: there is no such file/)
  t.match(stderr, /Cannot read .*broken\.jpg: /)
  t.notMatch(stderr, /^ +at /m, 'no stack')
})

t.test('a folder that cannot be made is an error without a stack', async (t) => {
  const folder = t.testdir({ file: '' })
  const { code, stdout, stderr } = await blurFaces([second, '--out', join(folder, 'file/out')])
  t.equal(code, 1)
  t.equal(stdout, '')
  t.match(stderr, /ENOTDIR/)
  t.notMatch(stderr, /^ +at /m)
})
