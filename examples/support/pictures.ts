/** Examples that answer pictures one after the other, by a model that is built here or the user's own. */
import { basename, extname, join } from 'node:path'
import type { Option } from 'commander'
import { type Engine, TensorRTError } from 'node-tensorrt'
import { type ModelProto, writeModel } from 'node-tensorrt/onnx'
import type { Found } from 'node-tensorrt/tasks'
import { type AlphaImage, drawBoxes, type Image, readImage, writeImage } from 'node-tensorrt/vision'
import { fileNames } from '../../lib/tensor-files/write.js'
import {
  backendOption,
  commandOf,
  facePhoto,
  type Given,
  main,
  note,
  tableOf,
  wholeNumber,
  withBar,
} from './program.js'

export interface PicturesGiven extends Given {
  readonly model?: string
  readonly backend: 'auto' | 'cpu' | 'tensorrt'
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

/** A task, or what else has an engine and an end. */
interface Worker extends AsyncDisposable {
  readonly engine: Engine
}

export interface Example<G extends PicturesGiven, W extends Worker> {
  /** The command that starts it. */
  readonly name: string
  readonly description: string
  /** The model: with seeded weights that `--size` and `--model` change, one that `--model` replaces, or its own. */
  readonly models: 'seeded' | 'replaceable' | 'own'
  /** Options beyond those of all. */
  readonly options?: readonly Option[]
  /** The heads of the table's columns after the picture's name. */
  readonly columns: readonly string[]
  /** What comes behind the picture's name in that of the file that is written. */
  readonly suffix: string
  /** The pictures where none are given; face-api's first when not given. */
  readonly photos?: (given: G) => Promise<readonly string[]>
  readonly load: (given: G) => Promise<W>
  /** @param readMs what reading the picture took */
  readonly answer: (worker: W, image: Image, given: G, readMs: number) => Promise<Answer>
}

/** Runs an example as a program. */
export function run<G extends PicturesGiven, W extends Worker>(example: Example<G, W>): void {
  const command = commandOf(example.name, example.description).argument('[PHOTO...]', 'picture files')
  if (example.models !== 'own')
    command.option('--model <FILE>', 'an ONNX model or a plan of your own').addOption(backendOption('auto', 'cpu', 'tensorrt')) // prettier-ignore
  if (example.models === 'seeded')
    command.option('--size <PIXELS>', "the side of the seeded model's input", wholeNumber)
  for (const option of example.options ?? []) command.addOption(option)
  main<G>(command, async (given, named) => {
    const photos = named.length > 0 ? named : ((await example.photos?.(given)) ?? [facePhoto(1)])
    await using worker = await example.load(given)
    const { description, backendReason } = worker.engine
    note(`Runs on ${description}${backendReason === undefined ? '' : ` (${backendReason})`}`)
    const results = await answerAll(example, worker, given, photos)
    const rows = results.map(({ photo, cells, ms, written = '-' }) => [
      basename(photo),
      ...cells,
      ms.toFixed(1),
      written,
    ])
    return {
      results: results.map(({ photo, found, ms, written }) => ({ photo, ms, ...found, ...(written && { written }) })),
      text: tableOf(['picture', ...example.columns, 'ms', 'written to'], rows),
    }
  })
}

/**
 * The user's file, or else what is built here with seeded weights, from the fixtures of the tests: as good as a trained
 * one for all but the answers.
 */
export function modelOf({ model }: PicturesGiven, what: string, build: () => ModelProto): string | Uint8Array {
  const seeded = `${what} with seeded weights: its answers mean nothing. --model FILE takes a trained one.`
  note(model === undefined ? seeded : `The model is ${model}`)
  return model ?? writeModel(build())
}

/** What was found: drawn on the picture, listed for `--json` under `what`, counted for the table with the best. */
export async function shown(image: Image, found: readonly Found[], what: string): Promise<Answer> {
  const nameOf = ({ label = '', score }: Found) => `${label} ${score.toFixed(2)}`.trim()
  const boxes = found.map((one) => ({ box: one.box, label: nameOf(one), landmarks: one.landmarks }))
  return {
    found: { [what]: found },
    cells: [found.length, found.slice(0, 5).map(nameOf).join(', ')],
    picture: await drawBoxes(image, boxes),
  }
}

/** A file in `folder` for each photo, called as it is; no two alike, so that none overwrites another. */
export function targetsFor(photos: readonly string[], suffix: string, folder: string): string[] {
  const names = fileNames(photos.map((photo) => basename(photo, extname(photo))))
  return names.map((name) => join(folder, `${name}-${suffix}`))
}

interface Result extends Answer {
  readonly photo: string
  readonly written?: string
  /** All but reading the picture and writing the other. */
  readonly ms: number
}

/** A picture that cannot be read is told, the others are done, and the exit code is 1. */
async function answerAll<G extends PicturesGiven, W extends Worker>(
  example: Example<G, W>,
  worker: W,
  given: G,
  photos: readonly string[],
): Promise<Result[]> {
  const targets = targetsFor(photos, example.suffix, given.out)
  const failures: string[] = []
  const results = await withBar('{bar} {value}/{total} {photo}', async (show) => {
    const done: Result[] = []
    for (const [index, photo] of photos.entries()) {
      show(index, photos.length, { photo: basename(photo) })
      try {
        const begun = performance.now()
        const image = await readImage(photo)
        const start = performance.now()
        const answer = await example.answer(worker, image, given, start - begun)
        const ms = Math.round((performance.now() - start) * 10) / 10
        const written = answer.picture && { written: targets[index]! }
        if (answer.picture !== undefined) await writeImage(answer.picture, targets[index]!)
        done.push({ ...answer, photo, ms, ...written })
      } catch (error) {
        if (!(error instanceof TensorRTError && ['ERR_TRT_IMAGE', 'ERR_TRT_FILE'].includes(error.code))) throw error
        failures.push(error.message)
      }
    }
    return done
  })
  failures.forEach(note)
  if (failures.length > 0) process.exitCode = 1
  return results
}
