// The kit for a GPU machine (scripts/gpu-kit.mjs): its limits and digests, that nothing in it is NVIDIA's, and its
// calls on this machine, with the fakes as TensorRT. `npm run test:machine -- gpu` makes them on a bare machine.
import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { loadAddon } from '../../lib/backend/native.js'
import { buildFakes } from '../fake/build.js'
import { childEnvironment, type Ended } from '../support/children.js'
import { temporaryFolder } from '../support/folders.js'
import { root } from './support.js'

interface Part {
  readonly name: string
  readonly path: string
  readonly bytes: number
}
interface Entry {
  readonly from: string
  readonly to: string
}
interface Kit {
  readonly transfers: readonly { readonly name: string; readonly parts: readonly Part[]; readonly bytes: number }[]
  readonly manifest: { readonly archives: Record<string, string>; readonly parts: Record<string, string> }
  readonly programs: readonly { readonly name: string }[]
}
interface Call {
  readonly carry: readonly string[]
  readonly command: string
  readonly timeoutSeconds: number
}
interface KitOptions {
  readonly out: string
  readonly node: string
  readonly addon: string
  readonly references: string
  readonly parts?: string
  readonly preset: number
  readonly tree: number
}

const load = async <T>(name: string): Promise<T> =>
  (await import(pathToFileURL(join(root, 'scripts', `${name}.mjs`)).href)) as T

const { makeKit, refuseNvidia } = await load<{
  makeKit: (options: KitOptions) => Promise<Kit>
  refuseNvidia: (entries: readonly Entry[]) => void
}>('gpu-kit')
const { transfersOf, treeBytes, writeArchive } = await load<{
  transfersOf: (parts: readonly Part[], tree: number) => Part[][]
  treeBytes: () => Promise<number>
  writeArchive: (path: string, entries: readonly Entry[], preset: number) => Promise<void>
}>('gpu/archives')
const { packagesFor } = await load<{ packagesFor: (files: readonly string[]) => Set<string> }>('gpu/contents')
const { callsFor } = await load<{
  callsFor: (folder: string, transfers: Kit['transfers'], programs: Kit['programs']) => Call[]
}>('gpu/calls')
const { nvidiaReason } = await load<{ nvidiaReason: (path: string, bytes: Buffer) => string | undefined }>('gpu/nvidia')
const { writeFakeParts } = await load<{ writeFakeParts: (fakes: string, folder: string) => Promise<void> }>('gpu/dry')

loadAddon()
const fakes = await buildFakes()
const mebibyte = 2 ** 20
const folder = temporaryFolder(t)
const inFolder = (name: string): string => {
  mkdirSync(join(folder, name), { recursive: true })
  return join(folder, name)
}

/** A kit whose Node is a link to this one, and whose TensorRT are the fakes. */
async function smallKit(): Promise<Kit> {
  const node = join(folder, 'node')
  writeFileSync(node, `#!/bin/sh\nexec '${process.execPath}' "$@"\n`)
  chmodSync(node, 0o755)
  await writeArchive(join(folder, 'node.tar.xz'), [{ from: node, to: 'bin/node' }], 0)
  const references = inFolder('references')
  execFileSync(process.execPath, [join(root, 'dist/test/gpu/references.js'), references], { env: childEnvironment() })
  await writeFakeParts(fakes.folder, inFolder('parts'))
  const files = { node: join(folder, 'node.tar.xz'), addon: join(root, 'build/Release/node_tensorrt.node') }
  return makeKit({ out: inFolder('kit'), ...files, references, parts: join(folder, 'parts'), preset: 0, tree: 0 })
}

const kit = await smallKit()
const transferred = (name: string): string => join(folder, 'kit', name)

/** Runs start.py, which needs no more than Python, with a new or a known home. */
function start(home: string, args: readonly string[]): Promise<Pick<Ended, 'code' | 'stdout' | 'stderr'>> {
  const program = existsSync(join(home, 'start.py')) ? join(home, 'start.py') : join(transferred('01'), 'start.py')
  // the fakes of TensorRT look for that of the driver above their folder
  const env = childEnvironment({ OUT: undefined, TENSORRT_PATH: undefined, NODE_TENSORRT_LIBCUDA: fakes.cuda })
  return new Promise((resolve) => {
    execFile('python3', [program, '--home', home, ...args], { env }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    )
  })
}

/** A copy of transfers: the program moves parts out of their folder. */
function carried(name: string, transfer: string): string {
  const copy = join(inFolder(name), transfer)
  cpSync(transferred(transfer), copy, { recursive: true })
  return copy
}

const filesIn = (place: string): string[] =>
  readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

t.test('every archive and every part travels once, with its digest', async (t) => {
  const digests = { ...kit.manifest.archives, ...kit.manifest.parts }
  const parts = kit.transfers.flatMap(({ name, parts }) => parts.map((part) => join(transferred(name), part.name)))
  t.same(parts.map((path) => path.split('/').at(-1)).sort(), Object.keys(digests).sort())
  t.ok(Object.keys(kit.manifest.parts).length >= 2, 'the fakes were cut into parts')
  for (const path of parts) {
    const digest = createHash('sha256').update(readFileSync(path)).digest('hex')
    t.equal(digest, digests[path.split('/').at(-1) ?? ''], path)
  }
  const mixed = kit.transfers.filter(
    ({ parts }) =>
      parts.some(({ name }) => name in kit.manifest.parts) && parts.some(({ name }) => name in kit.manifest.archives),
  )
  t.same(mixed, [], 'TensorRT has transfers of its own')
})

t.test('no transfer exceeds the limit with the working tree', async (t) => {
  // a copy of a checkout has no repository
  if (existsSync(join(root, '.git'))) {
    const tree = await treeBytes()
    const tracked = execFileSync('git', ['ls-tree', '-r', '-l', 'HEAD'], { cwd: root, encoding: 'utf8' })
    const sizes = tracked.split('\n').map((line) => Number(/^\S+ \S+ \S+ +(\d+)\t/.exec(line)?.[1] ?? 0))
    const committed = sizes.reduce((sum, size) => sum + size, 0)
    t.ok(tree > committed / 2 && tree < committed + 16 * mebibyte, `${tree} bytes, ${committed} of them committed`)
  }
  const part = (bytes: number): Part => ({ name: `part of ${bytes}`, path: '', bytes })
  const sizes = [29, 1, 20, 44, 44, 3].map((size) => part(size * mebibyte))
  t.same(
    transfersOf(sizes, 14 * mebibyte).map((parts) => parts.map(({ bytes }) => bytes / mebibyte)),
    [[29, 1], [20], [44], [44, 3]],
  )
  t.throws(
    () => transfersOf([part(50 * mebibyte)], 14 * mebibyte),
    /at most 49.8 MiB in addition to the working tree but part of \d+ has 50.0/,
  )
})

t.test('the calls obey the limits of the device tool, and carry each transfer once', async (t) => {
  const long = Array.from({ length: 30 }, (_, i) => ({ ...kit.transfers[0]!, name: String(i + 1).padStart(2, '0') }))
  const calls = callsFor('.kit', long, kit.programs)
  t.same(
    calls.flatMap(({ carry }) => carry),
    long.map(({ name }) => `.kit/${name}`),
  )
  for (const { carry, command, timeoutSeconds } of calls) {
    t.ok(command.length <= 2000 && carry.length <= 8, command)
    t.ok(timeoutSeconds > 0 && timeoutSeconds <= 600, command)
  }
  const visits = calls.flatMap(({ command }) => [...command.matchAll(/run --visit (\d)/g)].map(([, visit]) => visit))
  t.equal(visits[0], '1')
  t.match(calls[29]?.command, / && .* run --visit 1 /, 'the checks begin in the last transfer')
})

t.test('the kit on this machine: takes transfers in any order, and runs checks and rows on the fakes', async (t) => {
  const [home, out] = [inFolder('home'), join(folder, 'out')]
  const [first = '', ...others] = kit.transfers.map(({ name }) => carried('carried', name))
  for (const transfer of [first, ...others.toReversed()]) {
    const early = await start(home, ['run', '--only', 'relu'])
    t.match(early, { code: 1, stderr: /^Expected (a kit in|all parts of the kit but .* did not arrive)/ })
    const { code, stdout, stderr } = await start(home, ['take', transfer, '--out', out])
    t.equal(code, 0, stdout + stderr)
  }
  t.match(readFileSync(join(out, 'checks.jsonl'), 'utf8'), /"program":"driver"/, 'before TensorRT has arrived')
  const checks = await start(home, ['run', '--only', 'relu', '--out', out])
  t.match(checks, { code: 0, stdout: /^TensorRT was unpacked in [^]*\n3 passed, 0 failed\n$/ }, checks.stderr)
  const rows = await start(home, ['bench', '--stand-in', '--quick', '--json', 'unet-int8', '--out', out])
  t.match(rows, { code: 0, stdout: /"what":"latency p50, UNet 512x512, batch 1, int8"/ }, rows.stderr)
  t.match(readFileSync(join(out, 'gpu-rows.jsonl'), 'utf8'), /"status":"measured"/)

  await t.test("nothing that was unpacked is NVIDIA's", async (t) => {
    const files = filesIn(join(home, 'kit'))
    t.ok(files.length > 100)
    const found = files.map((path) => [path, nvidiaReason(relative(join(home, 'kit'), path), readFileSync(path))])
    t.same(
      found.filter(([, reason]) => reason !== undefined),
      [],
    )
  })

  await t.test('every module that a file imports is in the kit, and no source map', async (t) => {
    const files = filesIn(join(home, 'kit', 'dist'))
    t.same(
      files.filter((path) => !path.endsWith('.js')),
      [],
    )
    const missing = files.flatMap((path) =>
      [...readFileSync(path, 'utf8').matchAll(/^(?:import|export|\}).*\bfrom '(\.[^']+)'/gm)]
        .map(([, name = '']) => join(dirname(path), name))
        .filter((target) => !existsSync(target)),
    )
    t.same(missing, [])
  })
})

t.test('a damaged file is refused, and nothing of its transfer is unpacked', async (t) => {
  const home = inFolder('damaged-home')
  const transfer = carried('damaged', '01')
  const path = join(transfer, 'code.tar.xz')
  truncateSync(path, statSync(path).size - 1)
  const { code, stderr } = await start(home, ['take', transfer])
  t.equal(code, 1)
  t.match(
    stderr,
    new RegExp(`^Expected ${kit.manifest.archives['code.tar.xz']} as the SHA-256 of .*code.tar.xz but received`),
  )
  t.notOk(existsSync(join(home, 'kit')))
})

t.test("a file of NVIDIA's is found by its name, its symbols, its first bytes and its notice", async (t) => {
  const library = readFileSync(join(fakes.trt10, 'libnvinfer.so.10'))
  const rows: readonly (readonly [path: string, bytes: Buffer, reason: string | RegExp | undefined])[] = [
    ['lib/libnvinfer.so.10', Buffer.alloc(0), 'its name'],
    ['lib/libcuda.so.1', Buffer.alloc(0), 'its name'],
    ['include/NvInfer.h', Buffer.alloc(0), 'its name'],
    ['tensorrt.tar.xz.03', Buffer.alloc(0), 'its name'],
    ['addon/other.node', library, /^it defines createInfer/],
    ['references/relu.bin', Buffer.from('ftrt\0\0\0\0'), 'it is a plan'],
    [
      'a.js',
      Buffer.from('// Copyright (c) 2024, NVIDIA CORPORATION. All'),
      "it says 'Copyright (c) 2024, NVIDIA CORPORATION'",
    ],
    ['dist/lib/kserve/messages/a_pb.js', Buffer.from('// Copyright 2020, NVIDIA CORPORATION'), undefined],
    ['addon/node_tensorrt.node', readFileSync(join(root, 'build/Release/node_tensorrt.node')), undefined],
    ['NOTICE', Buffer.from('TensorRT is a trademark of NVIDIA Corporation.'), undefined],
  ]
  for (const [path, bytes, reason] of rows) t.match({ reason: nvidiaReason(path, bytes) }, { reason }, path)
  const plan = join(folder, 'model.bin')
  writeFileSync(plan, 'ftrt\0\0\0\0')
  const entries = [{ from: plan, to: 'references/model.bin' }]
  const message = "The kit must have no file of NVIDIA's, but references/model.bin is one: it is a plan."
  t.throws(() => refuseNvidia(entries), { message })
})

t.test('a check that imports a development dependency is refused, an optional one may be missing', async (t) => {
  const file = join(folder, 'check.js')
  writeFileSync(file, "import t from 'tap'\n")
  t.throws(() => packagesFor([file]), /check\.js imports tap, which is no production dependency/)
  writeFileSync(file, "import { create } from '@bufbuild/protobuf'\nconst sharp = await import('sharp')\n")
  t.same([...packagesFor([file])], [join(root, 'node_modules/@bufbuild/protobuf')])
})
