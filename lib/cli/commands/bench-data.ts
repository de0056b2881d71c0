import { basename } from 'node:path'
import { isWithinRange, shapeText } from '../../base/dims.js'
import type { Engine } from '../../engine.js'
import type { Tensor } from '../../tensor.js'
import type { Shapes } from '../../building/shapes.js'
import type { Refuse } from '../flags.js'
import { type Batch, type DataJob, dataOf, first, firstBatch } from '../options/data.js'
import { shortened } from '../output/format.js'
import type { Session } from '../session.js'

/** What `trt bench` measures with: one batch. */
export interface BenchData {
  readonly job: DataJob
  /** Of an ONNX file, whose inputs are known before it is opened. */
  readonly batch: Batch | undefined
  /** What is told of it. */
  readonly facts: {
    readonly files: readonly string[]
    readonly inputs: readonly string[]
    readonly preset?: string | undefined
  }
}

/** The first batch of the data; inputs that it has not are random. */
export async function benchData(job: DataJob, path: string, session: Session, refuse: Refuse): Promise<BenchData> {
  const { named, pictures, batch: size = 1 } = job
  const files = job.files.slice(0, pictures === undefined ? 1 : size)
  const ofBatch = { ...job, files, unread: undefined }
  const batch = await firstBatch(ofBatch, path, false, session, refuse)
  if (files.length < job.files.length)
    session.note(`Measured with the first ${files.length} of ${job.files.length} files of --data: one batch`)
  const preset = pictures && (typeof pictures.preset.option === 'string' ? pictures.preset.option : 'a preset in JSON')
  const inputs = batch === undefined ? named.map(({ name }) => name) : Object.keys(batch)
  return {
    job: ofBatch,
    batch,
    facts: { files: [...files, ...named.map(({ file }) => file)], inputs, ...(preset !== undefined && { preset }) },
  }
}

/** Data that the shapes of the command line leave out, before the model is opened. */
export function refuseBeside(data: BenchData | undefined, said: Shapes | undefined, refuse: Refuse): void {
  for (const [name, { shape }] of Object.entries<Tensor>(data?.batch ?? {})) {
    const range = said?.[name]
    if (range === undefined) continue
    const { min, max } = 'min' in range ? range : { min: range, max: range }
    if (isWithinRange(shape, { min, max })) continue
    const sizes = shapeText(min) === shapeText(max) ? shapeText(min) : `${shapeText(min)} to ${shapeText(max)}`
    refuse(
      `Expected ${sizes} for input "${name}", as the shapes say, but the data has ${shapeText(shape)}: leave out the shapes, or give other data (pictures by a preset: --size)`,
      'ERR_TRT_SHAPE',
    )
  }
}

/** The tensors, as the model takes them. @throws TensorRTError what does not fit a plan */
export async function inputsFor({ job, batch }: BenchData, engine: Engine, session: Session): Promise<Batch> {
  const infos = engine.inputNames.map((name) => engine.inputs[name]!)
  return batch ?? (await first(dataOf(job, infos, session))) ?? {}
}

/** What a model is opened at: where the command line says no shapes of an input, those of the data. */
export function openingShapesFor(data: BenchData | undefined, said: Shapes | undefined): Shapes | undefined {
  if (data?.batch === undefined) return said
  const shapes: Record<string, Shapes[string]> = {}
  for (const [name, { shape }] of Object.entries<Tensor>(data.batch)) shapes[name] = [...shape]
  return { ...shapes, ...said }
}

/** For people. */
export function dataText(data: BenchData | undefined): string | undefined {
  if (data === undefined) return undefined
  const { files, preset } = data.facts
  const names = shortened(files.map((file) => basename(file)).join(', '), 200)
  return preset === undefined ? names : `${names}, by the preset ${preset}`
}
