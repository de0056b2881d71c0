/**
 * The demo: finds faces in photographs by a model that goes the whole way (weights, ONNX, plan, engine), and blurs
 * them.
 */
import { mkdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { SingleBar } from 'cli-progress'
import Table from 'cli-table3'
import { Command } from 'commander'
import { Builder } from '../lib/builder.js'
import { capabilities } from '../lib/capabilities.js'
import { Engine } from '../lib/engine.js'
import { TensorRTError, type ErrorCode } from '../lib/errors.js'
import type { Plan } from '../lib/plan.js'
import { blurRegions, readImage, writeImage } from '../lib/vision/index.js'
import { FaceDetector, type Face } from './face-detector/detector.js'
import { faceDetectorModel } from './face-detector/model.js'
import { targetsFor } from './support/targets.js'

interface Arguments {
  readonly photos: readonly string[]
  readonly out: string
  readonly json: boolean
}

const stages = ['read', 'tensor', 'infer', 'decode', 'blur'] as const

interface Result {
  readonly photo: string
  readonly backend: Engine['backend']
  readonly faces: readonly Face[]
  /** `blur` is blurring and writing. */
  readonly ms: Readonly<Record<(typeof stages)[number], number>>
}

/** What says that a plan cannot be built on this machine at all, rather than that building it failed. */
const noTensorRT: readonly ErrorCode[] = [
  'ERR_TRT_NO_LIBRARY',
  'ERR_TRT_NO_ADDON',
  'ERR_TRT_NO_DRIVER',
  'ERR_TRT_NO_GPU',
  'ERR_TRT_PLATFORM',
]

/** For people, and never on stdout: that is for results. */
function note(text: string): void {
  process.stderr.write(`${text}\n`)
}

function megabytes(bytes: Uint8Array): string {
  return `${(bytes.length / 1e6).toFixed(2)} MB`
}

function readArguments(): Arguments {
  const command = new Command('blur-faces')
    .description("Blurs the faces in photographs; without a PHOTO, in three of @vladmandic/face-api's.")
    .argument('[PHOTO...]', 'picture files')
    .option('--out <DIR>', 'the folder to write the pictures to', 'out')
    .option('--json', 'print the results as JSON', false)
    .parse()
  const { out, json } = command.opts<{ out: string; json: boolean }>()
  return { photos: command.args.length > 0 ? command.args : packagePhotos(), out, json }
}

function packagePhotos(): string[] {
  const folder = dirname(createRequire(import.meta.url).resolve('@vladmandic/face-api/package.json'))
  return [1, 3, 5].map((number) => join(folder, 'demo', `sample${number}.jpg`))
}

/** Shows how far something is, while it works; nothing where stderr is no terminal. */
async function withProgress<T>(
  work: (show: (task: string, step: number, steps: number) => void) => Promise<T>,
): Promise<T> {
  const bar = new SingleBar({
    stream: process.stderr,
    clearOnComplete: true,
    hideCursor: true,
    format: '{bar} {value}/{total} {task}',
  })
  bar.start(1, 0, { task: '' })
  try {
    return await work((task, step, steps) => {
      bar.setTotal(steps)
      bar.update(step, { task })
    })
  } finally {
    bar.stop()
  }
}

/** The plan, or nothing where there is no TensorRT that could build it. */
async function buildPlan(model: Uint8Array): Promise<Plan | undefined> {
  const start = performance.now()
  try {
    const plan = await withProgress((show) =>
      new Builder().build(model, {
        onProgress: ({ phase, step, steps }) => show(`building the plan: ${phase}`, step, steps),
      }),
    )
    note(`Plan: ${megabytes(plan.bytes)}, built in ${Math.round(performance.now() - start)} ms`)
    return plan
  } catch (error) {
    if (!(error instanceof TensorRTError && noTensorRT.includes(error.code))) throw error
    note(`No plan is built: ${error.message}`)
    return undefined
  }
}

/** On the GPU where there is one and a TensorRT that runs on it, else on the CPU. */
async function openEngine(model: Uint8Array, plan: Plan | undefined): Promise<Engine> {
  const { gpus, tensorrt } = await capabilities()
  const onGpu = plan !== undefined && gpus.length > 0 && tensorrt.some(({ canRun }) => canRun)
  const engine = onGpu ? await Engine.load(plan.bytes) : await Engine.load(model, { backend: 'cpu' })
  note(
    onGpu
      ? `Runs the plan on ${engine.description}`
      : `No GPU that TensorRT can run on: runs the ONNX on ${engine.description}`,
  )
  return engine
}

/** Finds the faces of a photograph and writes it to `target` with these blurred. */
async function blurPhoto(engine: Engine, photo: string, target: string): Promise<Result> {
  const detector = new FaceDetector(engine)
  let last = performance.now()
  const lap = (): number => {
    const start = last
    last = performance.now()
    return Math.round((last - start) * 100) / 100
  }
  const image = await readImage(photo)
  const read = lap()
  const input = await detector.prepare(image)
  const tensor = lap()
  const output = await detector.infer(input)
  const infer = lap()
  const faces = detector.decode(output, image)
  const decode = lap()
  const regions = faces.map(({ box }) => box)
  await writeImage(await blurRegions(image, regions, { grow: 1.3, feather: 0.3 }), target)
  return { photo, backend: engine.backend, faces, ms: { read, tensor, infer, decode, blur: lap() } }
}

/** A photo that cannot be read is reported and makes the exit code 1; the others are done. */
async function blurPhotos(engine: Engine, photos: readonly string[], folder: string): Promise<Result[]> {
  await mkdir(folder, { recursive: true })
  const targets = targetsFor(photos, 'blurred.jpg', folder)
  const failures: string[] = []
  const results = await withProgress(async (show) => {
    const done: Result[] = []
    for (const [index, photo] of photos.entries()) {
      show(basename(photo), index, photos.length)
      try {
        done.push(await blurPhoto(engine, photo, targets[index] ?? ''))
      } catch (error) {
        if (!(error instanceof TensorRTError && ['ERR_TRT_IMAGE', 'ERR_TRT_FILE'].includes(error.code))) throw error
        failures.push(error.message)
      }
    }
    return done
  })
  for (const message of failures) note(message)
  if (failures.length > 0) process.exitCode = 1
  note(`${results.length} ${results.length === 1 ? 'picture' : 'pictures'} written to ${folder}`)
  return results
}

function tableOf(results: readonly Result[]): string {
  const times = stages.map((stage) => `${stage === 'blur' ? 'blur + write' : stage} ms`)
  const table = new Table({
    head: ['picture', 'faces', 'scores', ...times, 'backend'],
    style: { head: [], border: [] },
  })
  for (const { photo, faces, ms, backend } of results) {
    const scores = faces.map(({ score }) => score.toFixed(2)).join(' ')
    table.push([basename(photo), faces.length, scores, ...stages.map((stage) => ms[stage].toFixed(1)), backend])
  }
  return table.toString()
}

async function main(): Promise<void> {
  const { photos, out, json } = readArguments()
  const model = await faceDetectorModel()
  note(`ONNX: ${megabytes(model)}, made from the weights in @vladmandic/face-api`)
  const plan = await buildPlan(model)
  await using engine = await openEngine(model, plan)
  const results = await blurPhotos(engine, photos, out)
  process.stdout.write(`${json ? JSON.stringify(results, null, 2) : tableOf(results)}\n`)
}

main().catch((error: unknown) => {
  // What the machine or the user can mend needs no stack; anything else is a mistake of ours.
  const known = error instanceof TensorRTError || (error instanceof Error && 'syscall' in error)
  note(known ? error.message : String((error as Error).stack))
  process.exitCode = 1
})
