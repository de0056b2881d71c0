// @ts-check
// The calls of a kit in a root file system that has nothing but glibc and Python, without a network, with the fakes in
// place of TensorRT and the driver: for gpu-kit.mjs --dry and test-machine.mjs.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { makeBase, runIn, stopAll } from '../bare-machine.mjs'
import { install } from '../bare-repository.mjs'
import { buildFakes } from '../fakes.mjs'
import { Failure, root, say } from '../support.mjs'
import { writeArchive } from './archives.mjs'
import { callsFor } from './calls.mjs'

/** @typedef {import('./calls.mjs').Call} Call */
/** @typedef {import('./calls.mjs').Transfer} Transfer */
/** @typedef {import('./contents.mjs').Program} Program */
/** @typedef {{ transfers: readonly Transfer[], programs: readonly Program[] }} Kit */
/** @typedef {(place: { out: string, parts: string }) => Promise<Kit>} MakeKit */
/** @typedef {{ command: string, code: number, seconds: number, output: string }} Row */

const path = '/usr/sbin:/usr/bin:/sbin:/bin'
/** Where the driver is on the real machine: no usual folder of the loader. */
const driverFolder = '/usr/local/nvidia/lib64'
/** Where the fakes of TensorRT expect that of the driver. */
const driverOfFakes = '/tmp/node-tensorrt/tensorrt/libcuda.so.1'
/** What the fakes pose as. */
const posed = { FAKE_TRT_VERSION: '10.6.0', FAKE_CUDA_COMPUTE_CAPABILITY: '9.0', FAKE_CUDA_MEMORY: String(2 ** 31) }
/** Of a part; the fakes have some hundred KiB. */
const partBytes = 100_000

/** What pack.sh makes of TensorRT, made of its fakes. */
export const writeFakeParts = async (/** @type {string} */ fakes, /** @type {string} */ folder) => {
  const names = readdirSync(join(fakes, 'trt10')).filter((name) => /\.so\.10$/.test(name))
  const entries = names.map((name) => ({ from: join(fakes, 'trt10', name), to: `lib/${name}` }))
  const archive = join(folder, 'tensorrt.tar.xz')
  await writeArchive(archive, entries, 3)
  const bytes = readFileSync(archive)
  rmSync(archive)
  const digests = Array.from({ length: Math.ceil(bytes.length / partBytes) }, (_, index) => {
    const [name, part] = [
      `tensorrt.tar.xz.${String(index).padStart(2, '0')}`,
      bytes.subarray(index * partBytes, (index + 1) * partBytes),
    ]
    writeFileSync(join(folder, name), part)
    return `${createHash('sha256').update(part).digest('hex')}  ${name}\n`
  })
  writeFileSync(join(folder, 'SHA256'), digests.join(''))
}

/** Installs Python in a bare root file system. */
const addPython = async (/** @type {string} */ machine) => {
  const isWell = await install({ where: 'gpu', machine, path }, ['python3'], (_, command, { code, output }) => {
    if (code !== 0) say(`${output}\n${command} failed (${code})`)
    return code === 0
  })
  if (!isWell) throw new Failure('Python could not be installed in the root file system')
}

const quoted = (/** @type {string} */ text) => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** A program that makes the calls as the device tool does. What a call starts in a session of its own lives on. */
const scriptFor = (/** @type {readonly Call[]} */ calls) =>
  calls
    .flatMap(({ carry, command, timeoutSeconds }, index) => [
      'rm -rf /out && mkdir /out',
      ...carry.map((folder) => `mkdir -p ${folder} && cp -r /transfers/${folder.split('/').at(-1)}/. ${folder}`),
      `began=$(date +%s.%N)`,
      `OUT=/out timeout -s KILL ${timeoutSeconds} bash -c ${quoted(command)} >/logs/${index} 2>&1`,
      `echo "$? $began $(date +%s.%N)" >/logs/${index}.end`,
    ])
    .join('\n')

/** @returns {Promise<string[]>} the checks that fail on the fakes, as their own tests have them */
const failingChecks = async () => {
  /** @type {typeof import('../../dist/test/gpu/fails-on-fakes.js')} */
  const { firstVisit, laterVisits } = await import(
    pathToFileURL(join(root, 'dist', 'test', 'gpu', 'fails-on-fakes.js')).href
  )
  return Object.keys({ ...firstVisit, ...laterVisits })
}

/** What is wrong with the results that came back. */
const problemsIn = async (/** @type {string} */ out, /** @type {Kit} */ { programs }) => {
  const failing = await failingChecks()
  const lines = (/** @type {string} */ name) =>
    existsSync(join(out, name))
      ? readFileSync(join(out, name), 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))
      : []
  const nameOf = (/** @type {{ program: string, check: string }} */ { program, check }) => `${program}: ${check}`
  const checks = lines('checks.jsonl')
  const rows = lines('gpu-rows.jsonl')
  console.log(`${checks.length} results of checks, ${rows.length} rows of the benchmark`)
  const silent = programs.filter(({ name }) => !checks.some(({ program }) => program === name))
  const failed = new Map(checks.filter(({ ok }) => !ok).map((line) => [nameOf(line), line]))
  return [
    ...silent.map(({ name }) => `no check of ${name} has a result`),
    ...[...failed]
      .filter(([name]) => !failing.includes(name))
      .map(([, line]) => `a check failed: ${JSON.stringify(line)}`),
    ...failing.filter((name) => !failed.has(name)).map((name) => `no longer fails on the fakes: ${name}`),
    ...rows.filter(({ status }) => status !== 'measured').map((line) => `no figures: ${JSON.stringify(line)}`),
    ...(rows.length === 0 ? ['no row of the benchmark has a result'] : []),
  ]
}

/**
 * Makes a kit with the fakes, and its calls in a root file system that has Python.
 *
 * @param {string} machine
 * @param {MakeKit} makeKit
 * @returns {Promise<{ rows: Row[], problems: string[] }>}
 */
const runCalls = async (machine, makeKit) => {
  const fakes = await buildFakes()
  const folder = mkdtempSync(join(tmpdir(), 'node-tensorrt-dry-'))
  const [parts, out] = [join(folder, 'parts'), join(folder, 'kit')]
  for (const each of [parts, out]) mkdirSync(each)
  try {
    await writeFakeParts(fakes, parts)
    const kit = await makeKit({ out, parts })
    const calls = callsFor('.kit', kit.transfers, kit.programs, ['--stand-in', '--quick'])
    for (const each of [driverFolder, 'checkout', 'transfers', 'logs'])
      mkdirSync(join(machine, each), { recursive: true })
    for (const name of readdirSync(fakes).filter((each) => /^lib(cuda|nvidia-ml)\.so\.1$/.test(each)))
      cpSync(join(fakes, name), join(machine, driverFolder, name))
    mkdirSync(dirname(join(machine, driverOfFakes)), { recursive: true })
    symlinkSync(join(driverFolder, 'libcuda.so.1'), join(machine, driverOfFakes))
    for (const { name } of kit.transfers) cpSync(join(out, name), join(machine, 'transfers', name), { recursive: true })
    const env = { HOME: '/root', PATH: path, LANG: 'C.UTF-8', LD_LIBRARY_PATH: driverFolder, ...posed }
    const place = { root: machine, folder: '/checkout', as: 'root', env, isOffline: true }
    const { output, code } = await runIn(place, ['bash', '-c', scriptFor(calls)])
    if (code !== 0) throw new Failure(`${output}\nthe calls could not be made (${code})`)
    const rows = calls.map(({ command }, index) => {
      const log = join(machine, 'logs', String(index))
      const [exit = NaN, began = NaN, end = NaN] = readFileSync(`${log}.end`, 'utf8').split(' ').map(Number)
      return { command, code: exit, seconds: end - began, output: readFileSync(log, 'utf8') }
    })
    return { rows, problems: await problemsIn(join(machine, 'out'), kit) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Checks that fail here are judged by their results. */
const endedWell = (/** @type {Pick<Row, 'command' | 'code'>} */ { command, code }) =>
  code === 0 || (code === 1 && / run --visit \d/.test(command))

/**
 * Makes the calls in a bare root file system, and reports each of them and each problem.
 *
 * @param {string} where
 * @param {string} machine
 * @param {MakeKit} makeKit
 * @param {import('../bare-repository.mjs').Took} took
 */
export const followKit = async (where, machine, makeKit, took) => {
  await addPython(machine)
  const { rows, problems } = await runCalls(machine, makeKit)
  for (const row of rows) took(where, row.command, { ...row, code: endedWell(row) ? 0 : row.code })
  for (const problem of problems) took(where, problem, { seconds: 0, code: 1, output: '' })
}

/**
 * Does all of it in a new root file system, and prints what each call took.
 *
 * @param {MakeKit} makeKit
 * @returns {Promise<boolean>} whether it passed
 */
export const dryRun = async (makeKit) => {
  const folder = mkdtempSync(join(tmpdir(), 'node-tensorrt-machine-'))
  let [passed, failed, total] = [0, 0, 0]
  try {
    const machine = join(folder, 'machine')
    await makeBase(machine)
    await followKit('dry run', machine, makeKit, (_, command, { code, seconds, output }) => {
      console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${seconds.toFixed(1).padStart(6)} s  ${command}`)
      if (code !== 0)
        say(`exit code ${code}; the end of the output:\n${output.trimEnd().split('\n').slice(-40).join('\n')}`)
      if (code === 0) passed++
      else failed++
      total += seconds
      return code === 0
    })
  } finally {
    stopAll()
    spawnSync('rm', ['-rf', '--one-file-system', folder])
  }
  console.log(`${total.toFixed(0)} s in all, of 240 at most\n${passed} passed, ${failed} failed`)
  return failed === 0
}
