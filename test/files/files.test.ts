// What holds for every file that is read or written: pieces, modes, temporary files, pipes, and that nothing writes
// over what it was read from.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmod,
  chown,
  copyFile,
  link,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { makeFolder, onFile, readText, saveFile, syncFolder } from '../../lib/base/files.js'
import { readFully, writeFully } from '../../lib/base/pieces.js'
import { temporaryOf } from '../../lib/base/temporary.js'
import { Engine, Plan, readTensor, readTensors, Tensor, writeTensor, writeTensors } from '../../lib/index.js'
import {
  copyModel,
  GraphBuilder,
  loadExternalData,
  type ModelProto,
  readModel,
  saveModel,
} from '../../lib/onnx/index.js'
import { Calibrator, quantize } from '../../lib/quantization/index.js'
import { checkedLabels } from '../../lib/tasks/labels.js'
import { blurRegions, readImage, writeImage } from '../../lib/vision/index.js'
import { identityPlan } from '../fake/plan.js'
import { childEnvironment, runNode } from '../support/children.js'
import { failureOf } from '../support/errors.js'
import { temporaryFolder } from '../support/folders.js'

/** y = x · w, with w of 4 KiB. */
function model(): ModelProto {
  const g = new GraphBuilder({ name: 'files', opset: 17 })
  const w = g.constant(
    'w',
    new Tensor(
      'float32',
      Float32Array.from({ length: 1024 }, (_, i) => (i % 7) - 3),
      [32, 32],
    ),
  )
  g.output(g.node('MatMul', [g.input('x', 'float32', [4, 32]), w], {}, { output: 'y' }), 'float32', [4, 32])
  return g.toModel()
}

t.test('what has more than 2 GiB is read and written in pieces', async (t) => {
  // nothing touches this memory, and so it takes none
  const bytes = new Uint8Array(2 ** 31 + 5)
  const calls: [number, number, number | null][] = []
  const file = {
    read: async (_: Uint8Array, offset: number, length: number, position: number) => {
      calls.push([offset, length, position])
      return { bytesRead: length }
    },
    write: async (_: Uint8Array, offset: number, length: number, position: number | null) => {
      calls.push([offset, length, position])
      return { bytesWritten: length }
    },
  }
  t.equal(await readFully(file, bytes, 7), bytes.length)
  t.same(calls.splice(0), [
    [0, 2 ** 30, 7],
    [2 ** 30, 2 ** 30, 2 ** 30 + 7],
    [2 ** 31, 5, 2 ** 31 + 7],
  ])
  await writeFully(file, bytes)
  t.same(calls.splice(0), [[0, 2 ** 30, null], [2 ** 30, 2 ** 30, null], [2 ** 31, 5, null]]) // prettier-ignore
  const ends = { read: async (_: Uint8Array, offset: number) => ({ bytesRead: offset < 6 ? 3 : 0 }) }
  t.equal(await readFully(ends, new Uint8Array(9)), 6, 'the file ends before')
  const signal = AbortSignal.abort(new Error('enough'))
  await t.rejects(readFully(file, new Uint8Array(1), 0, { signal }), { message: 'enough' })
})

t.test('a file that is replaced keeps its mode and its owner', async (t) => {
  const folder = temporaryFolder(t)
  const at = (name: string): string => join(folder, name)
  const root = process.getuid?.() === 0
  const owner = root ? [54321, 12345] : [process.getuid?.() ?? 0, process.getgid?.() ?? 0]
  const writes: Record<string, (path: string) => Promise<unknown>> = {
    'text.txt': (path) => saveFile(path, [Buffer.from('new')]),
    'model.onnx': (path) => saveModel(model(), path),
    'large.onnx': (path) => saveModel(model(), path, { externalData: true }),
    'tensor.npy': (path) => writeTensor(path, Tensor.from(Float32Array.of(1))),
    'picture.png': (path) => writeImage({ width: 1, height: 1, channels: 3, data: new Uint8Array(3) }, path),
    'model.plan': (path) => new Plan(identityPlan([1])).save(path),
  }
  for (const [name, write] of Object.entries(writes)) {
    for (const mode of [0o600, 0o664, 0o400]) {
      await writeFile(at(name), 'old', { flag: 'w' }).catch(() => {})
      await chmod(at(name), mode)
      await chown(at(name), owner[0]!, owner[1]!)
      await write(at(name))
      const found = await stat(at(name))
      t.same(
        [(found.mode & 0o7777).toString(8), found.uid, found.gid],
        [mode.toString(8), ...owner],
        `${name} of ${mode.toString(8)}`,
      )
      await chmod(at(name), 0o600)
    }
  }
  const weights = (await readdir(folder)).filter((name) => name.endsWith('.data'))
  const modes = await Promise.all(weights.map(async (name) => ((await stat(at(name))).mode & 0o777).toString(8)))
  t.same(modes.sort(), ['400', '600', '664'], 'weights are for whom the model is for')
  const before = await stat(at('text.txt'))
  await symlink(at('text.txt'), at('link.txt'))
  await saveFile(at('link.txt'), [Buffer.from('by a link')])
  t.equal((await stat(at('text.txt'))).mode, before.mode)
})

t.test('a system that cannot sync a folder', async (t) => {
  const folder = temporaryFolder(t)
  const handle = await open(folder)
  const prototype = Object.getPrototypeOf(handle) as { sync: () => Promise<void> }
  await handle.close()
  const sync = prototype.sync
  t.teardown(() => (prototype.sync = sync))
  const failing = (code: string): void => {
    prototype.sync = () =>
      Promise.reject(Object.assign(new Error(`${code}: operation not permitted, fsync`), { code, syscall: 'fsync' }))
  }
  for (const code of ['EPERM', 'EINVAL', 'EISDIR']) {
    failing(code)
    await t.resolves(syncFolder(folder), `${code}, as Windows says`)
  }
  failing('EIO')
  await t.rejects(syncFolder(folder), { code: 'EIO' }, 'but a disk that fails is told')
})

t.test('what a killed saver left is swept by the next one, and nothing else', async (t) => {
  const [folder, other] = [temporaryFolder(t), temporaryFolder(t)]
  const lib = (path: string): string => JSON.stringify(new URL(`../../lib/${path}`, import.meta.url).href)
  const program = `
    import { open } from 'node:fs/promises'
    import { readModel, saveModel } from ${lib('onnx/index.js')}
    const made = await readModel(${JSON.stringify(join(other, 'model.onnx'))})
    const handle = await open(${JSON.stringify(join(other, 'model.onnx'))})
    Object.getPrototypeOf(handle).sync = () => process.kill(process.pid, 'SIGKILL')
    await saveModel(made, ${JSON.stringify(join(folder, 'killed.onnx'))}, { externalData: true })
  `
  await saveModel(model(), join(other, 'model.onnx'))
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    env: childEnvironment(),
    stdio: 'inherit',
  })
  t.same(await once(child, 'exit'), [null, 'SIGKILL'])
  const temporaries = async (): Promise<string[]> => (await readdir(folder)).filter((name) => name.endsWith('.tmp'))
  t.equal((await readdir(folder)).length, 1, 'something is left')
  const alive = temporaryOf(join(folder, 'alive.bin'))
  const elsewhere = join(folder, '.other.bin.01234567.1-00000000.tmp')
  for (const path of [alive, elsewhere]) await writeFile(path, 'part')
  await saveFile(join(folder, 'next.bin'), [Buffer.of(1)])
  t.same(
    (await temporaries()).map((name) => join(folder, name)).sort(),
    [alive, elsewhere].sort(),
    'of a process that lives, and of another system',
  )
  t.same(
    (await readdir(folder)).filter((name) => name.includes('killed')),
    [],
    'nor weights of a model that is not there',
  )
  const long = join(folder, `${'ä'.repeat(120)}.bin`)
  await saveFile(long, [Buffer.of(1)])
  t.equal((await readFile(long)).length, 1, 'a name that is as long as names can be')
})

t.test('a folder that takes none is told at once', async (t) => {
  t.match(await failureOf(() => makeFolder('/proc/nowhere/deep')), { code: /ERR_TRT_FILE|ENOENT|EACCES/ })
  t.match(
    await failureOf(() =>
      writeTensors('/proc/nowhere/deep/', { a: Tensor.from(Float32Array.of(1)), b: Tensor.from(Float32Array.of(1)) }),
    ),
    { code: 'ERR_TRT_FILE' },
  )
  const folder = temporaryFolder(t)
  await writeFile(join(folder, 'file'), '')
  t.match(await failureOf(() => makeFolder(join(folder, 'file'))), { code: 'ERR_TRT_FILE', message: /not a folder/ })
  await makeFolder(join(folder, 'a', 'b', 'c'))
  t.ok((await stat(join(folder, 'a', 'b', 'c'))).isDirectory())
})

t.test('pipes are refused, and not waited for', async (t) => {
  const folder = temporaryFolder(t)
  const at = (name: string): string => join(folder, name)
  for (const name of ['pipe', 'pipe.png', 'pipe.npy', 'pipe.onnx', 'pipe.plan', 'm.onnx.data'])
    execFileSync('mkfifo', [at(name)])
  await mkdir(at('from'))
  await saveModel(model(), at('from/m.onnx'), { externalData: true })
  await rename(at('from/m.onnx'), at('m.onnx'))
  const odd = { code: 'ERR_TRT_FILE', message: /not an ordinary file/ }
  const read = await readModel(at('m.onnx'))
  const calls: Record<string, () => Promise<unknown>> = {
    loadExternalData: () => loadExternalData(read, folder),
    'Engine.load with such weights': () => Engine.load(at('m.onnx'), { backend: 'cpu' }),
    'Engine.load': () => Engine.load(at('pipe.onnx'), { backend: 'cpu' }),
    readModel: () => readModel(at('pipe.onnx')),
    'Plan.load': () => Plan.load(at('pipe.plan')),
    readImage: () => readImage(at('pipe.png')),
    readTensor: () => readTensor(at('pipe.npy')),
    labels: () => checkedLabels(at('pipe')),
    'cache of a Calibrator': () => new Calibrator([], { cache: at('pipe'), id: 'x' }).calibrate(model()),
    writeImage: () => writeImage({ width: 1, height: 1, channels: 3, data: new Uint8Array(3) }, at('pipe.png')),
    writeTensor: () => writeTensor(at('pipe.npy'), Tensor.from(Float32Array.of(1))),
  }
  for (const [name, call] of Object.entries(calls)) t.match(await failureOf(call), odd, name)
})

t.test('tensors in other files: held against their shapes, and read once', async (t) => {
  const folder = temporaryFolder(t)
  await writeFile(join(folder, 'w.bin'), Buffer.from(Float32Array.from({ length: 64 }, (_, i) => i).buffer))
  const external = (...places: [offset: number, length: number | undefined, dims?: number[]][]): ModelProto => {
    const made = model()
    const [w] = made.graph!.initializer
    made.graph!.initializer = places.map(([offset, length, dims = [16]], i) => ({
      ...w!,
      name: `w${i}`,
      dims: dims.map(BigInt),
      rawData: new Uint8Array(),
      dataLocation: 1,
      externalData: Object.entries({ location: 'w.bin', offset: String(offset), ...(length !== undefined && { length: String(length) }) })
        .map(([key, value]) => ({ $typeName: 'onnx.StringStringEntryProto' as const, key, value })), // prettier-ignore
    }))
    return made
  }
  const tied = external([64, 64], [0, 64], [64, undefined])
  await loadExternalData(tied, folder)
  const [a, b, c] = tied.graph!.initializer.map(({ rawData }) => rawData)
  t.same([a!.length, b!.length, new Float32Array(a!.buffer)[0], new Float32Array(b!.buffer)[0]], [64, 64, 16, 0])
  t.equal(a, c, 'one place is in memory once')
  const wrong = (...places: Parameters<typeof external>): Promise<unknown> =>
    failureOf(() => loadExternalData(external(...places), folder))
  t.match(await wrong([0, 256]), { code: 'ERR_TRT_ONNX_PARSE', message: /length is 256 bytes.*float32 \[16\] has 64/ })
  t.match(await wrong([0, undefined, [2 ** 40]]), { code: 'ERR_TRT_FILE', message: /too few/ })
  t.match(await wrong([0, undefined, [-1]]), { code: 'ERR_TRT_ONNX_PARSE', message: /no size/ })
  const many = Array.from({ length: 20 }, (_, i): [number, number, number[]] => [i * 4, 160, [40]])
  t.match(await wrong(...many), { code: 'ERR_TRT_ONNX_PARSE', message: /takes 1120 bytes of .*w\.bin, which has 256/ })
})

t.test('nothing writes over the file that it was read from, unless it is asked to', async (t) => {
  const folder = temporaryFolder(t)
  const at = (name: string): string => join(folder, name)
  const refused = async (call: () => Promise<unknown>, path: string, what: string): Promise<void> => {
    const before = await readFile(path)
    t.match(
      await failureOf(call),
      { code: 'ERR_TRT_FILE', message: /read from.*overwrite: true/, details: { path: /./ } },
      what,
    )
    t.ok(before.equals(await readFile(path)), `${what}: it stays`)
  }
  await saveModel(model(), at('m.onnx'))
  await link(at('m.onnx'), at('hard.onnx'))
  await symlink(at('m.onnx'), at('soft.onnx'))
  const read = await readModel(at('m.onnx'))
  for (const name of ['m.onnx', 'hard.onnx', 'soft.onnx'])
    await refused(() => saveModel(read, at(name)), at(name), `saveModel to ${name}`)
  await refused(() => saveModel(copyModel(read), at('m.onnx')), at('m.onnx'), 'of a copy')
  const data = [Tensor.from(new Float32Array(128).fill(1), [4, 32])]
  const quantized = await quantize(at('m.onnx'), new Calibrator(data))
  await refused(() => quantized.save(at('m.onnx')), at('m.onnx'), 'QuantizedModel.save')
  await quantized.save(at('q.onnx'))
  await quantized.save(at('q.onnx'))
  t.pass('another file is replaced, as ever')
  await saveModel(read, at('hard.onnx'), { overwrite: true })
  t.not((await stat(at('hard.onnx'))).ino, (await stat(at('m.onnx'))).ino)

  await saveModel(model(), at('outside.onnx'), { externalData: true })
  await copyFile(at('outside.onnx'), at('shares.onnx'))
  const shares = await readModel(at('shares.onnx'))
  await loadExternalData(shares, folder)
  await refused(
    () => saveModel(shares, at('outside.onnx')),
    at('outside.onnx.data'),
    "another model's weights, which are this one's",
  )
  await refused(() => saveModel(shares, at('outside.onnx.data')), at('outside.onnx.data'), 'the file of its weights')

  await writeTensors(at('t.npz'), { a: Tensor.from(Float32Array.of(1)), b: Tensor.from(Float32Array.of(2)) })
  const { a: tensor } = (await readTensors(at('t.npz'))) as { a: Tensor }
  await refused(() => writeTensor(at('t.npz'), tensor), at('t.npz'), 'writeTensor')
  await writeTensor(at('t.npz'), tensor, { overwrite: true })

  await writeImage({ width: 8, height: 8, channels: 3, data: new Uint8Array(192).fill(200) }, at('p.png'))
  const picture = await readImage(at('p.png'))
  await refused(() => writeImage(picture, at('p.png')), at('p.png'), 'writeImage')
  const blurred = await blurRegions(picture, [[0, 0, 8, 8]])
  await refused(() => writeImage(blurred, at('p.png')), at('p.png'), 'of what was made of it')
  await refused(
    async () => writeImage(await blurRegions(at('p.png'), [[0, 0, 8, 8]]), at('p.png')),
    at('p.png'),
    'by its path',
  )
  await writeImage(blurred, at('p.png'), { overwrite: true })
  for (const call of [
    () => saveModel(read, at('x.onnx'), { overwrite: 'yes' as never }),
    () => writeTensor(at('x.npy'), data[0]!, { overwrite: 1 as never }),
    () => writeImage(picture, at('x.png'), { overwrite: 1 as never }),
    () => new Plan(identityPlan([1])).save(at('x.plan'), { overwrite: 1 as never }),
  ])
    t.match(await failureOf(call), { code: 'ERR_TRT_INVALID_ARGUMENT', message: /true or false for overwrite/ })
})

t.test(
  'an optional peer comes from this package or from the program, and not from the folder that it is called in',
  async (t) => {
    const folder = temporaryFolder(t)
    const at = (...names: string[]): string => join(folder, ...names)
    for (const name of ['package', 'program/node_modules/sharp', 'stranger/node_modules/sharp'])
      await mkdir(at(name), { recursive: true })
    for (const name of ['package', 'program/node_modules/sharp', 'stranger/node_modules/sharp'])
      await writeFile(at(name, 'package.json'), '{ "type": "module", "main": "index.js" }')
    for (const name of ['program', 'stranger']) await writeFile(at(name, 'node_modules/sharp/index.js'), '')
    await copyFile(new URL('../../lib/base/peer.js', import.meta.url), at('package/peer.js'))
    const program = `
    import { findPeer } from '../package/peer.js'
    try { console.log(findPeer('sharp')) } catch (error) { console.log(error.code) }`
    for (const name of ['program', 'elsewhere']) {
      await mkdir(at(name), { recursive: true })
      await writeFile(at(name, 'main.mjs'), program)
    }
    const found = async (name: string): Promise<string> =>
      (await runNode([at(name, 'main.mjs')], at('stranger'))).stdout.trim()
    t.equal(await found('program'), at('program/node_modules/sharp/index.js'))
    t.equal(await found('elsewhere'), 'MODULE_NOT_FOUND')
  },
)

t.test('explains a path by the part of it that is missing or of another kind', async (t) => {
  const folder = t.testdir({ file: '', folder: {}, dangling: t.fixture('symlink', 'gone') })
  const at = (...names: string[]): string => join(folder, ...names)
  const read = (path: string) => () => onFile('read', path, () => readText(path))
  const list = (path: string) => () => onFile('read', path, () => readdir(path))
  const save = (path: string) => () => saveFile(path, [])
  const cases: readonly (readonly [() => Promise<unknown>, string])[] = [
    [read(at('none')), `Cannot read ${at('none')}: there is no such file`],
    [read(at('none', 'x')), `Cannot read ${at('none', 'x')}: there is no folder ${at('none')}`],
    [read(at('none', 'deep', 'x')), `Cannot read ${at('none', 'deep', 'x')}: there is no folder ${at('none', 'deep')}`],
    [read(at('file', 'x')), `Cannot read ${at('file', 'x')}: ${at('file')} is a file, and a folder is expected`],
    [
      read(at('file', 'deep', 'x')),
      `Cannot read ${at('file', 'deep', 'x')}: ${at('file')} is a file, and a folder is expected`,
    ],
    [read(at('dangling')), `Cannot read ${at('dangling')}: it is a link to gone, which does not exist`],
    [read(at('folder')), `Expected a file but ${at('folder')} is a folder`],
    [list(at('none')), `Cannot read ${at('none')}: there is no such folder`],
    [list(at('file')), `Cannot read ${at('file')}: it is a file, and a folder is expected`],
    [save(at('none', 'x')), `Cannot write ${at('none', 'x')}: there is no folder ${at('none')}`],
    [save(at('file', 'x')), `Cannot write ${at('file', 'x')}: ${at('file')} is a file, and a folder is expected`],
    [save(at('folder')), `Expected a file but ${at('folder')} is a folder`],
    [save(at('dangling')), `Cannot write ${at('dangling')}: it is a link to gone, which does not exist`],
    [
      () => onFile('write', at('folder'), () => writeFile(at('folder'), '')),
      `Cannot write ${at('folder')}: it is a folder, and a file is expected`,
    ],
    [
      () => onFile('make', at('file', 'x'), () => makeFolder(at('file', 'x'))),
      `Cannot make ${at('file', 'x')}: ${at('file')} is a file, and a folder is expected`,
    ],
  ]
  for (const [call, message] of cases) t.match(await failureOf(call), { code: 'ERR_TRT_FILE', message }, message)
})
