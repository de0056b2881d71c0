import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { SingleBar } from 'cli-progress'
import Table from 'cli-table3'
import { Command, InvalidArgumentError, Option } from 'commander'
import { Engine } from '../../lib/engine.js'
import { TensorRTError } from '../../lib/errors.js'
import { writeModel } from '../../lib/onnx/index.js'
import type { ModelProto } from '../../lib/onnx/index.js'
import { type AlphaImage, type Image, readImage, writeImage } from '../../lib/vision/index.js'
import { targetsFor } from './targets.js'

/** What every example can be asked for. */
export interface Given {
  readonly model?: string
  readonly out: string
  readonly backend: 'auto' | 'cpu' | 'tensorrt'
  readonly json: boolean
  /** The side of a seeded model's input. */
  readonly size?: number
}

/** What an example found in a picture. */
export interface Answer {
  /** What `--json` prints. */
  readonly found: object
  /** The cells of the table after the picture's name. */
  readonly cells: readonly (string | number)[]
  /** What is written, if anything is. */
  readonly picture?: Image | AlphaImage
}

/** What works on the pictures, once its models are open. */
export interface Worker extends AsyncDisposable {
  answer(image: Image): Promise<Answer>
}

export interface Example<G extends Given> {
  /** As `npm run example -- NAME` has it. */
  readonly name: string
  readonly description: string
  /** False where no model is built here, whose side `--size` would be. */
  readonly seeded?: false
  /** Options beyond those of all. */
  readonly options?: readonly Option[]
  /** The heads of the table's columns after the picture's name. */
  readonly columns: readonly string[]
  /** What comes behind the picture's name in that of the file that is written. */
  readonly suffix: string
  /** The pictures where none are given; face-api's first when not given. */
  readonly photos?: (given: G) => Promise<readonly string[]>
  readonly open: (given: G, note: (text: string) => void) => Promise<Worker>
}

/** For people, and never on stdout: that is for results. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`)
}

/**
 * Runs an example as a program; what the machine or the user can mend is told without a stack, and the exit code is 1.
 */
export function run<G extends Given>(example: Example<G>): void {
  answerAll(example).catch((error: unknown) => {
    const known = error instanceof TensorRTError || (error instanceof Error && 'syscall' in error)
    note(known ? error.message : String((error as Error).stack))
    process.exitCode = 1
  })
}

/**
 * The engine of a model that is the user's file, or else one that is built here. `trained` is what that one is called
 * if its weights are no seeded ones.
 */
export async function openModel(
  given: Given,
  build: () => ModelProto,
  what: string,
  trained?: string,
): Promise<Engine> {
  const source = given.model ?? writeModel(build())
  const seeded = `${what} with seeded weights: its answers mean nothing. --model FILE takes a trained one.`
  note(given.model === undefined && trained === undefined ? seeded : `The model is ${trained ?? given.model}`)
  const engine = await Engine.load(source, { backend: given.backend })
  note(`Runs on ${engine.description}${engine.backendReason === undefined ? '' : ` (${engine.backendReason})`}`)
  return engine
}

/** For an option's value. */
export function wholeNumber(text: string): number {
  const number = Number(text)
  if (Number.isInteger(number) && number > 0) return number
  throw new InvalidArgumentError('expected a whole number above 0')
}

export function share(text: string): number {
  const number = Number(text)
  if (text.trim() !== '' && number >= 0 && number <= 1) return number
  throw new InvalidArgumentError('expected a number from 0 to 1')
}

/** A photograph of @vladmandic/face-api's. */
export function facePhoto(number: number): string {
  const folder = dirname(createRequire(import.meta.url).resolve('@vladmandic/face-api/package.json'))
  return join(folder, 'demo', `sample${number}.jpg`)
}

async function answerAll<G extends Given>(example: Example<G>): Promise<void> {
  const { given, photos: named } = readArguments(example)
  await mkdir(given.out, { recursive: true })
  if (given.model !== undefined && !existsSync(given.model))
    throw new TensorRTError('ERR_TRT_FILE', `There is no file ${given.model}`)
  const photos = named.length > 0 ? named : ((await example.photos?.(given)) ?? [facePhoto(1)])
  await using worker = await example.open(given, note)
  const results = await withProgress(
    photos,
    (photo, target) => answerOne(worker, photo, target),
    targetsFor(photos, example.suffix, given.out),
  )
  process.stdout.write(`${given.json ? JSON.stringify(results, null, 2) : tableOf(example.columns, results)}\n`)
}

interface Result extends Answer {
  readonly photo: string
  readonly written?: string
  readonly ms: number
  toJSON(): object
}

/** `ms` is all but reading the picture and writing the other. */
async function answerOne(worker: Worker, photo: string, target: string): Promise<Result> {
  const image = await readImage(photo)
  const start = performance.now()
  const answer = await worker.answer(image)
  const ms = Math.round((performance.now() - start) * 10) / 10
  const written = answer.picture === undefined ? {} : { written: target }
  if (answer.picture !== undefined) await writeImage(answer.picture, target)
  return { ...answer, photo, ms, ...written, toJSON: () => ({ photo, ...answer.found, ms, ...written }) }
}

function readArguments<G extends Given>(example: Example<G>): { given: G; photos: readonly string[] } {
  const command = new Command(`npm run example -- ${example.name}`)
    .description(example.description)
    .argument('[PHOTO...]', 'picture files')
    .option('--model <FILE>', 'an ONNX model or a plan of your own')
    .option('--out <DIR>', 'the folder to write to', 'out')
    .addOption(
      new Option('--backend <NAME>', 'what runs the model').choices(['auto', 'cpu', 'tensorrt']).default('auto'),
    )
    .option('--json', 'print the results as JSON', false)
  if (example.seeded !== false)
    command.addOption(new Option('--size <PIXELS>', "the side of the seeded model's input").argParser(wholeNumber))
  for (const option of example.options ?? []) command.addOption(option)
  command.parse()
  return { given: command.opts<G>(), photos: command.args }
}

/**
 * Shows how far it is, where stderr is a terminal. A picture that cannot be read is told, the others are done, and the
 * exit code is 1.
 */
async function withProgress(
  photos: readonly string[],
  work: (photo: string, target: string) => Promise<Result>,
  targets: readonly string[],
): Promise<Result[]> {
  const bar = new SingleBar({
    stream: process.stderr,
    clearOnComplete: true,
    hideCursor: true,
    format: '{bar} {value}/{total} {photo}',
  })
  bar.start(photos.length, 0, { photo: '' })
  const results: Result[] = []
  const failures: string[] = []
  try {
    for (const [index, photo] of photos.entries()) {
      bar.update(index, { photo: basename(photo) })
      try {
        results.push(await work(photo, targets[index] as string))
      } catch (error) {
        if (!(error instanceof TensorRTError && ['ERR_TRT_IMAGE', 'ERR_TRT_FILE'].includes(error.code))) throw error
        failures.push(error.message)
      }
    }
  } finally {
    bar.stop()
  }
  failures.forEach(note)
  if (failures.length > 0) process.exitCode = 1
  return results
}

function tableOf(columns: readonly string[], results: readonly Result[]): string {
  const table = new Table({ head: ['picture', ...columns, 'ms', 'written to'], style: { head: [], border: [] } })
  for (const { photo, cells, ms, written = '-' } of results)
    table.push([basename(photo), ...cells, ms.toFixed(1), written])
  return table.toString()
}
