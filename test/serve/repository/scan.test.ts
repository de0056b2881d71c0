// Which models repositories have, which versions, and when they have changed.
import { mkdirSync, renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { scanModel, scanRepositories, withModel } from '../../../lib/serve/repository/scan.js'
import { failure } from '../../support/errors.js'
import { temporaryFolder } from '../../support/folders.js'
import { repository, write } from './rig.js'

async function fingerprintOf(folder: string, name = 'm'): Promise<string> {
  return (await scanRepositories([folder])).models.get(name)?.fingerprint ?? ''
}

t.test('each folder with versions is a model, and files beside them are none', async (t) => {
  const folder = repository(t, {
    'a/1/model.plan': '',
    'b/1/model.onnx': '',
    'b/3/': '',
    'notes.txt': 'x',
    '.git/1/x': '',
    '..data/1/x': '',
  })
  const { models, problems } = await scanRepositories([folder])
  t.strictSame([...models.keys()].sort(), ['a', 'b'])
  t.equal(problems.size, 0)
  t.strictSame(models.get('b')?.versions, ['1', '3'])
  t.equal(models.get('a')?.path, join(folder, 'a'))
})

t.test('versions are whole numbers without leading zeros, in the order of numbers', async (t) => {
  const names = [
    '10',
    '9',
    '1',
    '0',
    '007',
    '-1',
    '1.5',
    'x1',
    '1x',
    'warmup',
    '9223372036854775807',
    '9223372036854775808',
    '99999999999999999999',
  ]
  const folder = repository(t, { ...Object.fromEntries(names.map((name) => [`m/${name}/`, ''])), 'm/2': 'a file' })
  t.strictSame((await scanRepositories([folder])).models.get('m')?.versions, [
    '0',
    '1',
    '9',
    '10',
    '9223372036854775807',
  ])
})

t.test('a folder without versions is a problem that says what it needs', async (t) => {
  const folder = repository(t, { 'm/config.pbtxt': '' })
  const { models, problems } = await scanRepositories([folder])
  t.equal(models.size, 0)
  const text = (path: string): string =>
    `at least one version must be available under the version policy of model 'm': ${path} needs a folder such as 1 with model.plan, model.onnx or model.js`
  t.strictSame(problems.get('m'), { text: text('m'), withPaths: text(join(folder, 'm')) }, 'clients see no paths')
})

const problemOf = async (files: Readonly<Record<string, string>>, name: string): Promise<string> => {
  const folder = repository(t, files)
  const { text = '', withPaths = '' } = (await scanRepositories([folder])).problems.get(name) ?? {}
  t.equal(withPaths.replace(join(folder, name), name), text, 'the log has the same with the path of the folder')
  return text
}

t.test('a model folder without versions names the model file in it, and where it belongs', async (t) => {
  const cases: readonly (readonly [file: string, name: string, hint: string | RegExp])[] = [
    ['m/model.onnx', 'm', '; found model.onnx: move it to m/1/model.onnx'],
    ['m/best.engine', 'm', '; found best.engine: move it to m/1/model.plan'],
    ['m/model.js', 'm', '; found model.js: move it to m/1/model.js'],
    ['m/v1/model.onnx', 'm', '; found v1/model.onnx: versions are whole numbers, so rename v1 to 1'],
    ['1/model.onnx', '1', /; '1' has model\.onnx, and is named like a version: the repository is the folder that/],
  ]
  for (const [file, name, hint] of cases) {
    const text = await problemOf({ [file]: 'x' }, name)
    const [, end = ''] = text.split('model.plan, model.onnx or model.js')
    if (typeof hint === 'string') t.equal(end, hint, file)
    else t.match(end, hint, file)
  }
  t.notMatch(await problemOf({ 'm/notes.txt': '', 'm/docs/a.txt': '' }, 'm'), 'found')
})

t.test('notes name model files outside of model folders, and repositories without models', async (t) => {
  const notesOf = async (files: Readonly<Record<string, string>>): Promise<string> => {
    const folder = repository(t, files)
    const { notes } = await scanRepositories([folder])
    return notes.join('\n').replaceAll(folder, 'REPOSITORY')
  }
  const none =
    'REPOSITORY has no models: expected a folder for each model and version, such as resnet50/1/model.onnx, but'
  const cases: readonly (readonly [files: Readonly<Record<string, string>>, notes: string])[] = [
    [{}, `${none} it is empty`],
    [{ '.git/config': '', 'README.md': '' }, `${none} it has only .git, README.md`],
    [{ 'add.onnx': 'x' }, `${none} it has only add.onnx. To fix: move add.onnx to add/1/model.onnx`],
    [
      { 'net.tflite': '\0\0\0\0TFL3' },
      `${none} it has only net.tflite. To fix: net.tflite, a model of TFLite: python -m tf2onnx.convert --tflite FILE --output model.onnx, as net/1/model.onnx`,
    ],
    [{ 'net.pt': 'PK' }, `${none} it has only net.pt. To fix: net.pt: export the model to ONNX, as net/1/model.onnx`],
    [
      { 'a/1/model.onnx': '', 'b.engine': 'x', 'notes.txt': '' },
      'REPOSITORY has model files outside of model folders, which are not served. To fix: move b.engine to b/1/model.plan',
    ],
    [{ 'a/1/model.onnx': '', 'notes.txt': '', 'tools.js': '', '.x.onnx': '' }, ''],
    [{ 'a.onnx/1/model.onnx': '' }, ''],
  ]
  for (const [files, notes] of cases) t.equal(await notesOf(files), notes, Object.keys(files).join(' '))
  const many = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`m${i}.onnx`, 'x']))
  t.match(await notesOf(many), /m4\.onnx and 4 more\. To fix: .*m4\/1\/model\.onnx; the same for 4 more$/)
})

t.test('a model of one file is version 1, as long as the file is there', async (t) => {
  const folder = repository(t, { 'm.onnx': 'x', 'repository/other/1/': '' })
  const file = { name: 'm', path: join(folder, 'm.onnx') }
  const repositories = [join(folder, 'repository')]
  const before = (await scanRepositories(repositories, [file])).models.get('m')
  t.match(before, { name: 'm', path: folder, file: 'm.onnx', versions: ['1'], fingerprint: /./ })
  t.same((await scanModel(repositories, 'm', [file])).models.get('m'), before)
  t.equal((await scanModel(repositories, 'other', [file])).models.get('m'), undefined)
  utimesSync(file.path, 1, 1)
  t.not((await scanRepositories([], [file])).models.get('m')?.fingerprint, before?.fingerprint)
  const twice = { ...file, name: 'other' }
  t.match((await scanRepositories(repositories, [twice])).problems.get('other'), { text: /is in several repositories/ })
  rmSync(file.path)
  t.same([...(await scanRepositories(repositories, [file])).models.keys()], ['other'])
})

t.test('a name in two repositories is a problem of both, and other models are served', async (t) => {
  const [first, second] = [repository(t, { 'm/1/': '', 'a/1/': '' }), repository(t, { 'm/1/': '', 'b/1/': '' })]
  const { models, problems } = await scanRepositories([first, second])
  t.strictSame([...models.keys()].sort(), ['a', 'b'])
  const text = "model 'm' is in several repositories"
  t.strictSame([...problems], [['m', { text, withPaths: `${text}: ${join(first, 'm')}, ${join(second, 'm')}` }]])
})

t.test('a repository that is given twice is one', async (t) => {
  const folder = repository(t, { 'm/1/': '' })
  const { models, problems } = await scanRepositories([folder, `${folder}/`])
  t.strictSame([[...models.keys()], problems.size], [['m'], 0])
})

t.test('a repository that is no folder is an error', async (t) => {
  const folder = repository(t, { file: '' })
  await t.rejects(
    scanRepositories([join(folder, 'none')]),
    failure('ERR_TRT_FILE', /^Cannot read .*none: there is no such folder/),
  )
  await t.rejects(
    scanRepositories([join(folder, 'file')]),
    failure('ERR_TRT_FILE', /^Cannot read .*file: it is a file, and a folder is expected/),
  )
})

t.test('folders by links are models, and links in circles end', async (t) => {
  const elsewhere = repository(t, { 'v/model.onnx': 'x' })
  const folder = repository(t, { 'm/': '' })
  symlinkSync(join(elsewhere, 'v'), join(folder, 'm', '1'))
  symlinkSync(folder, join(folder, 'm', 'up'))
  symlinkSync('gone', join(folder, 'm', '2'))
  symlinkSync(join(folder, 'm'), join(folder, 'again'))
  const { models } = await scanRepositories([folder])
  t.strictSame([...models].map(([name, { versions }]) => [name, versions]).sort(), [
    ['again', ['1']],
    ['m', ['1']],
  ])
})

t.test('the fingerprint is that of all files: their names, sizes and times', async (t) => {
  const folder = repository(t, { 'm/1/model.onnx': 'abc', 'm/config.pbtxt': '', 'm/warmup/x': '1' })
  const file = join(folder, 'm', '1', 'model.onnx')
  const seen = [await fingerprintOf(folder)]
  t.equal(await fingerprintOf(folder), seen[0], 'it stays while nothing changes')
  const changes: readonly (() => void)[] = [
    () => writeFileSync(file, 'abcd'),
    () => utimesSync(file, 1, 1),
    () => renameSync(file, `${file}2`),
    () => rmSync(join(folder, 'm', 'warmup'), { recursive: true }),
    () => mkdirSync(join(folder, 'm', '2')),
    () => write(folder, { 'm/2/a/b/c': '' }),
    () => writeFileSync(join(folder, 'm', 'config.pbtxt'), ' '),
  ]
  for (const change of changes) {
    change()
    const next = await fingerprintOf(folder)
    t.notOk(seen.includes(next), String(change))
    seen.push(next)
  }
})

t.test('a file that is replaced by one of the same size and time is another', async (t) => {
  const folder = repository(t, { 'm/1/model.onnx': 'abc', new: 'xyz' })
  const file = join(folder, 'm', '1', 'model.onnx')
  const before = await fingerprintOf(folder)
  const { atimeMs, mtimeMs } = statSync(file)
  utimesSync(join(folder, 'new'), atimeMs / 1000, mtimeMs / 1000)
  renameSync(join(folder, 'new'), file)
  t.not(await fingerprintOf(folder), before)
})

t.test('models that vanish while they are looked at are not there', async (t) => {
  const folder = temporaryFolder(t)
  for (let round = 0; round < 20; round++) {
    write(folder, { 'a/1/model.onnx': '', 'b/1/model.onnx': '' })
    const scan = scanRepositories([folder])
    rmSync(join(folder, 'b'), { recursive: true })
    const { models } = await scan
    t.ok(models.has('a'))
  }
})

t.test('one model alone is looked at, in all repositories, and the others stay as they were', async (t) => {
  const [first, second] = [repository(t, { 'a/1/': '', 'b/1/': '', '.c/1/': '' }), repository(t, { 'd/': '' })]
  const before = await scanRepositories([first, second])
  write(first, { 'a/2/': '', 'b/2/': '' })
  const found = await scanModel([first, second], 'a')
  t.strictSame([[...found.models.keys()], found.problems.size], [['a'], 0])
  const { models, problems } = withModel(before, 'a', found)
  t.strictSame([models.get('a')?.versions, models.get('b')?.versions, [...problems.keys()]], [['1', '2'], ['1'], ['d']])
  t.equal(found.models.get('a')?.fingerprint, (await scanRepositories([first])).models.get('a')?.fingerprint)

  write(second, { 'a/1/': '' })
  const twice = withModel(before, 'a', await scanModel([first, second], 'a'))
  t.strictSame([[...twice.models.keys()], [...twice.problems.keys()].sort()], [['b'], ['a', 'd']]) // prettier-ignore
  rmSync(join(first, 'a'), { recursive: true })
  t.equal((await scanModel([first, second], 'a')).models.get('a')?.path, join(second, 'a'))
  for (const name of ['', '.', '..', '.c', 'none', 'a/1', 'a\0', join('..', 'x')]) {
    const none = await scanModel([first, second], name)
    t.strictSame([none.models.size, none.problems.size], [0, 0], JSON.stringify(name))
  }
  t.equal((await scanModel([join(first, 'none'), second], 'a')).models.size, 1)
})
