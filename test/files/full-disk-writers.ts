// Writers of files, from code and on the command line.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { packageRoot } from '../../lib/base/package.js'
import { Builder, Plan, Tensor, writeTensor, writeTensors } from '../../lib/index.js'
import { GraphBuilder, readModel, saveModel, writeModel } from '../../lib/onnx/index.js'
import { Calibration } from '../../lib/quantization/index.js'
import { writeTemporaryModel } from '../../lib/serve/models/overrides.js'
import { writeImage } from '../../lib/vision/index.js'
import { trt } from '../cli/rig.js'
import { identityPlan } from '../fake/plan.js'
import { useFakes } from '../native/fakes.js'
import { addModel } from '../support/models.js'
import { Random } from '../support/random.js'
import { long } from '../support/tiers.js'
import { colours } from '../tasks/models.js'
import type { Place, Round } from './full-disk-child.js'

const random = new Random(46)
const tensor = new Tensor('float32', random.values(16_384, 1), [1, 16_384])
const noise = {
  width: 128,
  height: 128,
  channels: 3,
  data: Uint8Array.from({ length: 128 * 128 * 3 }, () => random.below(256)),
} as const

/** A command line in this process; it throws the code that ends its last line on stderr. */
export async function command(args: readonly string[], stdin?: Uint8Array): Promise<string> {
  const { code, stdout, stderr } = await trt([...args, '--quiet'], undefined, stdin)
  if (code === 0) return stdout
  const found = /\((ERR_\w+)\)\n$/.exec(stderr)?.[1]
  throw Object.assign(new Error(stderr), { code: found }, found !== undefined && { name: 'TensorRTError' })
}

/** The command as a process whose stdout is a file; it throws ERR_TRT_FILE if that ended with 1, and said why. */
async function printed(args: readonly string[], path: string): Promise<void> {
  const file = openSync(path, 'w')
  const program = join(packageRoot(), 'dist/lib/cli/trt.js')
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', file, 'pipe'] })
  closeSync(file)
  const [stderr, [code]] = await Promise.all([text(child.stderr!), once(child, 'close')])
  if (code === 0) return
  const isSaid = code === 1 && /^error: Cannot write the results: ENOSPC/.test(stderr)
  throw Object.assign(new Error(stderr), isSaid && { name: 'TensorRTError', code: 'ERR_TRT_FILE' })
}

/** A plan with zeros behind it, which its header counts. It is never run. */
function largePlan(): Plan {
  const plan = identityPlan([1, 4])
  const bytes = new Uint8Array(plan.length + 2 ** 16)
  bytes.set(plan)
  new DataView(bytes.buffer).setBigUint64(16, BigInt(bytes.length), true)
  return new Plan(bytes)
}

function convolution(): Uint8Array {
  const g = new GraphBuilder({ name: 'small' })
  const weights = g.constant('w', new Tensor('float32', random.values(32 * 27, 1), [32, 3, 3, 3]))
  const y = g.node('Conv', [g.input('x', 'float32', ['n', 3, 16, 16]), weights], {}, { name: 'conv' })
  g.output(y, 'float32', ['n', 32, 14, 14])
  return writeModel(g.toModel())
}

type Writer = (path: string) => Promise<unknown>

export async function writerRounds({ disk, folder, round }: Place): Promise<Round[]> {
  const at = (name: string): string => join(folder, name)
  const [add, small, colour, batch, photo] = [
    at('add.onnx'),
    at('small.onnx'),
    at('colours.onnx'),
    at('batch.npy'),
    at('noise.png'),
  ]
  const { fakes } = await useFakes()
  await writeFile(add, addModel(1, 16_384))
  await writeFile(small, convolution())
  await writeFile(colour, colours())
  await writeTensor(batch, new Tensor('float32', random.values(2 * 768, 1), [2, 3, 16, 16]))
  await writeImage(noise, photo)
  const model = await readModel(add)
  const plan = largePlan()
  const ranges = Array.from({ length: 500 }, (_, i) => `tensor${i}: 3f800000`).join('\n')
  const calibration = Calibration.fromTensorRT(`TRT-100600-EntropyCalibration2\n${ranges}\n`)
  const cpu = ['--backend', 'cpu']
  const bench = ['bench', add, ...cpu, '--warm-up', '1', '--duration', '0.02']
  const load = [...bench, '--load', '--rates', '50', '--max-delay-ms', '0']
  const run = ['run', add, '--random', ...cpu]
  const classify = ['run', colour, photo, '--preset', 'imagenet', ...cpu]
  const quantize = ['quantize', small, '--data', batch]
  const exec = ['exec', `--onnx=${add}`, '--skipInference', `--tensorrt=${fakes.trt10}`]
  const writers: Readonly<Record<string, Writer>> = {
    'image.png': (path) => writeImage(noise, path),
    'image.jpg': (path) => writeImage([noise], [path]),
    'tensor.npy': (path) => writeTensor(path, tensor),
    'tensor.npz': (path) => writeTensors(path, { a: tensor }),
    'tensor.json': (path) => writeTensor(path, tensor),
    'tensor.raw': (path) => writeTensor(path, tensor),
    'model.onnx': (path) => saveModel(model, path),
    'weights.onnx': (path) => saveModel(model, path, { externalData: true }),
    'saved.plan': (path) => plan.save(path),
    'calibration.json': (path) => calibration.save(path),
    'run.npz': (path) => command([...run, '-o', path]),
    'run.json': (path) => command([...run, '-o', path]),
    'classes.json': (path) => command([...classify, '-o', path]),
    'convert.onnx': (path) => command(['convert', add, '--fp16', '-o', path]),
    'quantize.onnx': (path) => command([...quantize, '-o', path]),
    'quantize.svg': (path) => command([...quantize, '-o', at('int8.onnx'), '--plot', path]),
    'inspect.svg': (path) => command(['inspect', small, '--draw', path]),
    'bench.html': (path) => command([...bench, '--report', path]),
    'bench.json': (path) => command([...bench, '--idle-time', '2', '--export-times', path]),
    'load.svg': (path) => command([...load, '--plot', path]),
    'build.plan': (path) => command(['build', add, '--tensorrt', fakes.trt10, '-o', path]),
    'exec.plan': (path) => command([...exec, `--saveEngine=${path}`]),
  }
  const rounds: Round[] = []
  for (const [name, write] of Object.entries(writers)) {
    const call = (): Promise<unknown> => write(join(disk, name))
    rounds.push(await round(name, 0, call))
    rounds.push(await round(name, 0, call, { old: [name] }))
    if (long) rounds.push(await round(name, 2 ** 22, call))
  }
  for (const free of [0, 2 ** 22]) {
    rounds.push(await round('folder', free, () => writeTensors(join(disk, 'folder'), { a: tensor, b: tensor })))
    rounds.push(await round('lines', free, () => command([...classify, '-o', join(disk, 'lines.jsonl')])))
    const spooling: Readonly<Record<string, () => Promise<unknown>>> = {
      stdin: () => readingStdin(classify, photo),
      'a model that a load brings': async () =>
        (await writeTemporaryModel('m', new Map([['1/model.onnx', new Uint8Array(2 ** 16)]]))).remove(),
      'a build in a process': () => builtApart(fakes.trt10),
    }
    for (const [what, work] of Object.entries(spooling))
      rounds.push(await round(what, free, () => withTemporary(disk, work)))
    // of a text that has some room the system takes a part
    for (const room of free === 0 ? [0, 4096] : [free])
      rounds.push(await round('stdout', room, () => printed(['exec', '--help'], join(disk, 'stdout.txt'))))
  }
  return rounds
}

/** Asks for the classes of an image that stdin gives. */
async function readingStdin(classify: readonly string[], photo: string): Promise<string> {
  return command(
    classify.map((word) => (word === photo ? '-' : word)),
    await readFile(photo),
  )
}

async function builtApart(library: string): Promise<number> {
  await using builder = new Builder({ isolation: 'process', tensorrt: { library } })
  return (await builder.build(addModel(1, 16_384))).bytes.length
}

/** Runs a call whose temporary files go to a folder. */
export async function withTemporary<T>(folder: string, body: () => Promise<T>): Promise<T> {
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = folder
  try {
    return await body()
  } finally {
    process.env['TMPDIR'] = before
  }
}
