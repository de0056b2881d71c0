// Saving, loading and inspecting on real plans of TensorRT-RTX.
import { createHash } from 'node:crypto'
import { execFile, spawnSync } from 'node:child_process'
import {
  chmod,
  lstat,
  mkdir,
  readdir,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { temporaryOf } from '../../lib/base/temporary.js'
import { withFileLock } from '../../lib/backend/file-lock.js'
import { Builder, Engine, Plan } from '../../lib/index.js'
import { planLock } from '../../lib/plan/lock.js'
import { failureOf } from '../support/errors.js'
import { skipWithoutRtx } from '../support/tensorrt.js'
import { watchEventLoop } from '../support/event-loop.js'
import { oneNode } from '../support/models.js'
import { processFolder, temporaryFolder, withoutRoot } from '../support/folders.js'
import { Random } from '../support/random.js'
import { modelsToBuildFirst } from '../support/real-models.js'
import { editInfo, inFolder, readSidecar, smallPlan } from './rig.js'

// the locks of plans: without a cache folder they would lie beside the plans
process.env['XDG_CACHE_HOME'] = processFolder()

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

t.test('a real plan comes back as it was, with all that is known of it', { skip: skipWithoutRtx }, async (t) => {
  for (const { name, source, shapes } of modelsToBuildFirst) {
    const path = inFolder(t, `${name}.plan`)
    const plan = await new Builder().build(await source(), { shapes })
    t.equal(plan.sha256, sha256(plan.bytes))
    const header = Buffer.from(plan.bytes.buffer, plan.bytes.byteOffset, 32)
    t.equal(Number(header.readBigUInt64LE(16)), plan.bytes.length, 'the header has the size of the whole')
    t.equal([...header.subarray(24, 27)].join('.'), plan.info.version, 'and the version')
    const before = Date.now()
    await plan.save(path)
    const after = Date.now()
    const loaded = await Plan.load(pathToFileURL(path))
    t.ok(Buffer.from(loaded.bytes).equals(plan.bytes))
    t.same({ info: loaded.info, sha256: loaded.sha256 }, { info: plan.info, sha256: plan.sha256 })
    const { savedAt, savedBy, ...report } = await Plan.inspect(path)
    t.same(report, { size: plan.bytes.length, sha256: plan.sha256, source: 'sidecar', info: plan.info })
    t.match(savedBy, /^node-tensorrt \d+\.\d+\.\d+$/)
    const at = Date.parse(savedAt ?? '')
    t.ok(before <= at && at <= after, 'saved when it was')
    const { kind, system, gpu, profiles } = plan.info
    t.same({ kind, system, gpu }, { kind: 'rtx', system: { os: process.platform, arch: process.arch }, gpu: undefined })
    t.same(
      Object.keys(shapes),
      profiles[0]?.map(({ name }) => name),
      'the profile is there',
    )
    t.same(Object.keys((await readSidecar(path)).plans), [plan.sha256], 'one entry stays')
  }
})

t.test('a bare plan says what its header says', { skip: skipWithoutRtx }, async (t) => {
  const path = inFolder(t)
  const { bytes, sha256 } = await smallPlan()
  await writeFile(path, bytes)
  const info = { library: 'TensorRT-RTX 1.7.1', kind: 'rtx', version: '1.7.1' }
  t.same((await Plan.load(path)).info, info)
  const report = { size: bytes.length, sha256, source: 'header', info }
  t.same(await Plan.inspect(path), report)
  t.same(await Plan.inspect(bytes), report)
  for (const plan of [new Plan(bytes), new Plan(new Uint8Array(bytes).buffer), await Plan.load(bytes)]) {
    t.same(plan.info, info, 'of bytes, what their header says')
    t.equal(plan.sha256, sha256)
    const copy = `${path}.copy`
    await plan.save(copy)
    t.equal((await Plan.load(copy)).sha256, sha256)
  }
  for (const length of [0, 1, 3, 4, 27, 28, 64, bytes.length >> 1, bytes.length - 1]) {
    const part = bytes.subarray(0, length)
    await writeFile(path, part)
    t.match(await failureOf(() => Plan.load(path)), { code: 'ERR_TRT_PLAN' }, `${length} bytes`)
    t.match(await failureOf(() => Plan.inspect(part)), { code: 'ERR_TRT_PLAN' })
    t.match(await failureOf(() => new Plan(part)), { code: 'ERR_TRT_PLAN' })
    t.match(await failureOf(() => Plan.load(part)), { code: 'ERR_TRT_PLAN' })
    const failure = await failureOf(() => Engine.load(path))
    t.match(failure, { code: length < 4 ? 'ERR_TRT_MODEL_FORMAT' : 'ERR_TRT_PLAN' })
    if (length >= 28)
      t.match(
        failure.message,
        `truncated: a plan built by TensorRT-RTX 1.7.1 of ${bytes.length} bytes, of which ${length} are there`,
      )
  }
  await (await Plan.load(await writeTo(path, bytes))).save(path)
  t.same((await Plan.inspect(path)).source, 'sidecar', 'a bare one can be given a sidecar')
  t.same((await Plan.load(path)).info, info)
})

const writeTo = async (path: string, bytes: Uint8Array): Promise<string> => {
  await writeFile(path, bytes)
  return path
}

t.test('damage, truncation and exchange are found, and told apart', { skip: skipWithoutRtx }, async (t) => {
  const path = inFolder(t)
  const plan = await smallPlan()
  await plan.save(path)
  const random = new Random(5)
  for (let i = 0; i < 200; i++) {
    const damaged = plan.bytes.slice()
    const at = i < 32 ? i : random.below(damaged.length)
    damaged[at] = (damaged[at] ?? 0) ^ (1 + random.below(255))
    await writeFile(path, damaged)
    const failure = await failureOf(() =>
      i % 4 === 0 ? Engine.load(path) : i % 4 === 1 ? Plan.inspect(path) : Plan.load(path),
    )
    const fits = failure.code === 'ERR_TRT_PLAN' && failure.details['likely'] === 'damaged'
    if (!fits) t.match(failure, { code: 'ERR_TRT_PLAN', details: { likely: 'damaged' } }, `byte ${at}`)
  }
  for (let i = 0; i < 60; i++) {
    const length = i < 40 ? i : random.below(plan.bytes.length)
    await writeFile(path, plan.bytes.subarray(0, length))
    const failure = await failureOf(() => (i % 2 === 0 ? Engine.load(path) : Plan.load(path)))
    const fits = failure.code === 'ERR_TRT_PLAN' && failure.details['likely'] === 'truncated'
    if (!fits) t.match(failure, { code: 'ERR_TRT_PLAN', details: { likely: 'truncated' } }, `${length} bytes`)
  }
  await writeFile(path, plan.bytes)
  t.equal((await Plan.load(path)).sha256, plan.sha256, 'whole again')
  const other = await new Builder().build(oneNode('Relu', ['N', 4]), { shapes: { x: [2, 4] } })
  await writeFile(path, other.bytes)
  const foreign = await failureOf(() => Plan.load(path))
  t.match(foreign, {
    code: 'ERR_TRT_PLAN',
    details: { likely: 'foreign', size: other.bytes.length, sha256: other.sha256 },
    message: /remove .*model\.plan\.json/,
  })
  t.match(foreign.message, plan.sha256, 'both sides')
  await writeFile(path, Buffer.concat([plan.bytes, Buffer.from('more')]))
  t.match(await failureOf(() => Plan.load(path)), { code: 'ERR_TRT_PLAN', details: { likely: 'damaged' } })
})

t.test('a sidecar that cannot be used is an error, not a plan without one', { skip: skipWithoutRtx }, async (t) => {
  const path = inFolder(t)
  const plan = await smallPlan()
  await plan.save(path)
  const whole = await readSidecar(path)
  const info = plan.info
  const entry = { size: 1, savedAt: 'x', savedBy: 'x', info }
  const cases: [string, string, RegExp][] = [
    ['cut short', JSON.stringify(whole).slice(0, 100), /model\.plan\.json is damaged/],
    ['empty', '', /model\.plan\.json is damaged/],
    ['cut in its first line', '{\n  "form', /model\.plan\.json is damaged/],
    ['formatted anew, and cut', '{ "format" : "node-tensorrt plan", "vers', /model\.plan\.json is damaged/],
    ['newer', JSON.stringify({ ...whole, version: 2 }), /has format 2, and node-tensorrt \S+ reads up to 1: update/],
    ['no version', JSON.stringify({ ...whole, version: 'x' }), /expected a number for version but found string "x"/],
    ['no plans', JSON.stringify({ ...whole, plans: [] }), /expected an object for plans but found array/],
    ['no hash', JSON.stringify({ ...whole, plans: { abc: entry } }), /expected a SHA-256 but found string "abc"/],
    ['no info', JSON.stringify({ ...whole, plans: { [plan.sha256]: { size: 1 } } }), /expected an object with info/],
    [
      'a size of text',
      JSON.stringify({ ...whole, plans: { [plan.sha256]: { ...entry, size: '1' } } }),
      /expected a number for size/,
    ],
    [
      'another kind',
      JSON.stringify({ ...whole, plans: { [plan.sha256]: { ...entry, info: { ...info, kind: 'odd' } } } }),
      /"full" or "rtx" for kind/,
    ],
    [
      'half a GPU',
      JSON.stringify({ ...whole, plans: { [plan.sha256]: { ...entry, info: { ...info, gpu: { name: 'x' } } } } }),
      /for gpu/,
    ],
    [
      'half a system',
      JSON.stringify({ ...whole, plans: { [plan.sha256]: { ...entry, info: { ...info, system: { os: 7 } } } } }),
      /for system/,
    ],
    ['no plan at all', JSON.stringify({ ...whole, plans: {} }), /lists no plan/],
  ]
  for (const [name, text, message] of cases) {
    await writeFile(`${path}.json`, text)
    for (const open of [() => Plan.load(path), () => Plan.inspect(path), () => Engine.load(path)])
      t.match(await failureOf(open), { code: 'ERR_TRT_PLAN', message }, name)
  }
  await writeFile(`${path}.json`, JSON.stringify({ ...whole, version: 2 }))
  await plan.save(path)
  t.same((await readSidecar(path)).version, 1, 'a newer one of ours is replaced with its plan')
  await writeFile(`${path}.json`, '')
  await plan.save(path)
  t.same((await Plan.inspect(path)).source, 'sidecar', 'and so is an empty one')
})

t.test(
  "somebody else's file of that name is no sidecar and no obstacle, and stays",
  { skip: skipWithoutRtx },
  async (t) => {
    const path = inFolder(t)
    const json = `${path}.json`
    const plan = await smallPlan()
    const text = (content: string) => () => writeFile(json, content)
    const cases: [string, () => Promise<unknown>][] = [
      ['other JSON', text('{"labels":[1,2,3]}')],
      ['an empty object', text('{}')],
      ['an array', text('[]')],
      ['null', text('null')],
      ['JSON that names us elsewhere', text('{"notes":"a node-tensorrt plan","format":"node-tensorrt plan"}')],
      ['another format', text('{"format":"node-tensorrt planner"}')],
      ['no JSON', text('labels: cat, dog\n')],
      ['bytes', () => writeFile(json, Buffer.of(0xff, 0xfe, 0, 0x80, 0xc3))],
      ['a huge file', async () => (await writeFile(json, 'x'), await truncate(json, 2 ** 40))],
      ['a folder', () => mkdir(json)],
      ['a link to itself', () => symlink('model.plan.json', json)],
      ['a pipe', () => promisify(execFile)('mkfifo', [json])],
    ]
    for (const [name, put] of cases) {
      await rm(json, { recursive: true, force: true })
      await writeFile(path, plan.bytes)
      await put()
      const before = await lstat(json)
      t.equal((await Plan.load(path)).sha256, plan.sha256, name)
      t.match(await Plan.inspect(path), { source: 'header', info: { library: 'TensorRT-RTX 1.7.1' } }, name)
      const failure = await failureOf(() => Engine.load(path))
      t.not(failure.code, 'ERR_TRT_FILE', `${name}: what an engine fails for is the machine`)
      t.notMatch(failure.message, /\.json/)
      t.match(
        await failureOf(() => plan.save(path)),
        { code: 'ERR_TRT_FILE', message: /model\.plan\.json .*is something else/ },
        name,
      )
      const after = await lstat(json)
      t.same(
        [after.ino, after.size, after.mtimeMs],
        [before.ino, before.size, before.mtimeMs],
        `${name}: stays as it was`,
      )
      t.same((await readdir(dirname(path))).sort(), ['model.plan', 'model.plan.json'])
    }
    // 255 bytes are a name's most: this one has no room for a sidecar
    const long = join(dirname(path), `${'x'.repeat(248)}.plan`)
    await writeFile(long, plan.bytes)
    t.equal((await Plan.inspect(long)).source, 'header')
  },
)

t.test(
  'a sidecar that may not be read is no missing one: the plan is not taken unchecked',
  { skip: skipWithoutRtx },
  async (t) => {
    const folder = temporaryFolder(t)
    const path = join(folder, 'model.plan')
    await (await smallPlan()).save(path)
    await chmod(`${path}.json`, 0)
    // whatever the umask made of them
    await chmod(path, 0o644)
    await chmod(folder, 0o755)
    await withoutRoot(async () => {
      for (const call of [() => Plan.load(path), () => Plan.inspect(path), () => Engine.load(path)])
        t.match(await failureOf(call), { code: 'ERR_TRT_FILE', message: /Cannot read .*EACCES.*model\.plan\.json/ })
    })
  },
)

t.test(
  'the lock of a plan lies among the caches of its user; where that cannot be, beside it',
  { skip: skipWithoutRtx },
  async (t) => {
    const caches = process.env['XDG_CACHE_HOME']
    t.teardown(() => {
      if (caches === undefined) delete process.env['XDG_CACHE_HOME']
      else process.env['XDG_CACHE_HOME'] = caches
    })
    const [folder, home] = [temporaryFolder(t), temporaryFolder(t)]
    process.env['XDG_CACHE_HOME'] = home
    const plan = await smallPlan()
    await plan.save(join(folder, 'one.plan'))
    await symlink(join(folder, 'one.plan'), join(folder, 'two.plan'))
    await plan.save(join(folder, 'two.plan'))
    t.same((await readdir(folder)).sort(), ['one.plan', 'one.plan.json', 'two.plan'])
    const locks = await readdir(join(home, 'node-tensorrt', 'locks'))
    t.match(locks, [/^plan-[0-9a-f]{2}\.lock$/], 'one, by the real path')
    // who has it is waited for
    const lock = join(home, 'node-tensorrt', 'locks', locks[0]!.slice(0, -'.lock'.length))
    const others = Array.from({ length: 50 }, (_, i) => join(folder, `other-${i}.plan`))
    const apart = await Promise.all(others.map(async (other) => (await planLock(other)) !== lock))
    const saving = new AbortController()
    await withFileLock(lock, {}, async () => {
      const saved = plan.save(join(folder, 'two.plan'), { signal: saving.signal })
      await plan.save(others[apart.indexOf(true)]!)
      saving.abort(new Error('waited'))
      await t.rejects(saved, { message: 'waited' }, 'while another plan is saved')
    })
    for (const nowhere of ['/proc/nowhere', join(folder, 'one.plan')]) {
      process.env['XDG_CACHE_HOME'] = nowhere
      await plan.save(join(folder, 'one.plan'))
      t.ok((await readdir(folder)).includes('.one.plan.lock'), nowhere)
      await rm(join(folder, '.one.plan.lock'))
    }
  },
)

t.test('a plan of another system is refused before anything is looked for', { skip: skipWithoutRtx }, async (t) => {
  const path = inFolder(t)
  await (await smallPlan()).save(path)
  await editInfo(path, { system: { os: 'win32', arch: 'arm64' } })
  t.match(await failureOf(() => Engine.load(path)), {
    code: 'ERR_TRT_PLAN',
    message: `${path} was built by TensorRT-RTX 1.7.1 on win32-arm64; here is ${process.platform}-${process.arch}`,
    details: { plan: { os: 'win32' }, found: { os: process.platform } },
  })
  t.match((await Plan.inspect(path)).info.system, { os: 'win32' }, 'but it can be looked at')
})

t.test('what is no place for a plan', { skip: skipWithoutRtx }, async (t) => {
  const folder = t.testdir({
    folder: {},
    loop: t.fixture('symlink', 'loop'),
    nowhere: t.fixture('symlink', 'gone'),
    'file.txt': 'text',
  })
  const plan = await smallPlan()
  const before = (await readdir(folder)).sort()
  const cases: [string, RegExp][] = [
    [join(folder, 'folder'), /is a folder/],
    [folder, /is a folder/],
    ['/', /is a folder/],
    [join(folder, 'loop'), /ELOOP/],
    [join(folder, 'nowhere'), /it is a link to .*gone, which does not exist/],
    [join(folder, 'no', 'such', 'folder.plan'), /there is no folder .*such/],
    [join(folder, 'file.txt', 'x.plan'), /file\.txt is a file, and a folder is expected/],
    [join(folder, 'x'.repeat(300)), /ENAMETOOLONG/],
    [`/${'long/'.repeat(1000)}x.plan`, /ENAMETOOLONG/],
    ['/proc/node-tensorrt.plan', /Cannot|ENOENT|EACCES|EPERM/],
    ['/dev/null', /is not an ordinary file/],
  ]
  for (const [path, message] of cases) {
    const failure = await failureOf(() => plan.save(path))
    t.match(failure, { code: 'ERR_TRT_FILE', message }, path.slice(0, 80))
    t.ok(failure.message.length < 1500, 'and the message is readable')
    t.match(await failureOf(() => Plan.load(path)), { code: 'ERR_TRT_FILE' })
  }
  for (const path of ['', 'a\0b', 7, null, undefined, {}, new URL('http://example.org/x')]) {
    t.match(await failureOf(() => plan.save(path as never)), { code: 'ERR_TRT_INVALID_ARGUMENT', message: /for path/ })
    t.match(await failureOf(() => Plan.load(path as never)), { code: 'ERR_TRT_INVALID_ARGUMENT' })
    t.match(await failureOf(() => Plan.inspect(path as never)), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  }
  t.match(await failureOf(() => plan.save('x', { typo: 1 } as never)), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  t.same((await readdir(folder)).sort(), before, 'nothing is left behind')
})

t.test(
  'save() rejects a folder that cannot be written to, and leaves nothing in it',
  { skip: skipWithoutRtx },
  async (t) => {
    const folder = temporaryFolder(t)
    const plan = await smallPlan()
    await chmod(folder, 0o555)
    await withoutRoot(async () => {
      t.match(await failureOf(() => plan.save(join(folder, 'x.plan'))), {
        code: 'ERR_TRT_FILE',
        message: /EACCES|Permission denied/,
      })
    })
    t.same(await readdir(folder), [])
  },
)

t.test('links are followed, and the sidecar is found from both ends', { skip: skipWithoutRtx }, async (t) => {
  const folder = await realpath(t.testdir({ real: {}, models: {} }))
  const [real, link] = [join(folder, 'real', 'v1.plan'), join(folder, 'models', 'model.plan')]
  const [one, two] = [await smallPlan(), await smallPlan(8)]
  await one.save(real)
  await symlink(real, link)
  t.equal((await Plan.inspect(link)).source, 'sidecar')
  await two.save(link)
  t.equal((await Plan.load(real)).sha256, two.sha256, 'the link stays a link')
  await symlink(join(folder, 'real', 'v1.plan.json'), `${link}.json`)
  await rename(join(folder, 'real', 'v1.plan.json'), join(folder, 'real', 'moved.json'))
  t.equal((await Plan.inspect(link)).source, 'header', 'a link to nothing is no sidecar')
  await rename(join(folder, 'real', 'moved.json'), `${link}.json`)
  t.equal((await Plan.inspect(link)).source, 'sidecar', 'beside the link')
})

t.test('aborting', { skip: skipWithoutRtx }, async (t) => {
  const path = inFolder(t)
  const [one, two] = [await smallPlan(), await smallPlan(8)]
  await one.save(path)
  const aborted = { signal: AbortSignal.abort(new Error('enough')) }
  for (const call of [
    () => two.save(path, aborted),
    () => Plan.load(path, aborted),
    () => Plan.inspect(path, aborted),
    () => Plan.inspect(two.bytes, aborted),
  ])
    await t.rejects(
      async () => {
        await call()
      },
      { message: 'enough' },
    )
  for (let turn = 0; turn < 30; turn++) {
    const abort = new AbortController()
    const saving = two.save(path, { signal: abort.signal })
    for (let i = 0; i < turn; i++) await stat(path)
    abort.abort(new Error('enough'))
    const done = await saving.then(
      () => true,
      (error: unknown) => (t.match(error, { message: 'enough' }), false),
    )
    t.equal((await Plan.load(path)).sha256, done ? two.sha256 : one.sha256)
    t.same((await readdir(dirname(path))).sort(), ['model.plan', 'model.plan.json'])
    await one.save(path)
  }
})

t.test('what a dead saver left is cleared away, and nothing else', { skip: skipWithoutRtx }, async (t) => {
  const path = inFolder(t)
  const folder = dirname(path)
  const own = basename(temporaryOf(path))
  const { pid } = spawnSync('true')
  const dead = own.replace(/[^.-]+(?=-[0-9a-f]{8}\.tmp$)/, pid.toString(36))
  const strangers = [
    own,
    `${dead}x`,
    dead.slice(1),
    dead.replace(/-[0-9a-f]{8}/, '-00000000'),
    '.model.plan.0123456.tmp',
  ]
  const left = [dead, dead.replace('.model.plan.', '.model.plan.json.'), dead.replace('.model.', '.other.')]
  for (const name of [...left, ...strangers]) await writeFile(join(folder, name), 'part')
  await (await smallPlan()).save(path)
  t.same((await readdir(folder)).sort(), [...strangers, 'model.plan', 'model.plan.json'].sort(), 'of other plans too')
})

t.test('bytes that were changed are not saved', { skip: skipWithoutRtx }, async (t) => {
  const path = inFolder(t)
  const plan = await smallPlan()
  plan.bytes[1000] = (plan.bytes[1000] ?? 0) ^ 1
  t.match(await failureOf(() => plan.save(path)), { code: 'ERR_TRT_PLAN', message: /changed since/ })
  t.same(await readdir(dirname(path)), [])
})

t.test('a plan with a sidecar is one, though its first byte looks like ONNX', { skip: skipWithoutRtx }, async (t) => {
  const path = inFolder(t)
  const plan = await smallPlan()
  await plan.save(path)
  await writeFile(path, Buffer.concat([Buffer.of(8), plan.bytes.subarray(1)]))
  t.match(await failureOf(() => Engine.load(path)), { code: 'ERR_TRT_PLAN', details: { likely: 'damaged' } })
})

t.test('neither saving nor reading a large plan holds up the event loop', { skip: skipWithoutRtx }, async (t) => {
  const path = inFolder(t)
  const header = (await smallPlan()).bytes.slice(0, 64)
  const bytes = new Uint8Array(200 * 2 ** 20)
  bytes.set(header)
  new DataView(bytes.buffer).setBigUint64(16, BigInt(bytes.length), true)
  const plan = new Plan(bytes, { library: 'TensorRT-RTX 1.7.1', kind: 'rtx' }, sha256(bytes))
  for (const [name, call] of [
    ['save', () => plan.save(path)],
    ['load', () => Plan.load(path)],
    ['inspect', () => Plan.inspect(path)],
    ['inspect bytes', () => Plan.inspect(bytes)],
  ] as const) {
    const { ticks, longest } = await watchEventLoop(call)
    // 200 chunks: in one piece it would be a tick or two; how long a gap is, a busy machine decides too
    t.ok(ticks > 50, `${name}: ${ticks} ticks of a timer, at most ${longest.toFixed(1)} ms apart`)
  }
})
