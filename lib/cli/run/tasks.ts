import type { Engine } from '../../engine.js'
import type { FaceBlur, Found, InputSteps, PresetName, SegmenterOptions } from '../../tasks/index.js'
import type { MatteAndMask } from '../../tasks/segmenter.js'
import type { Alpha, EncodableImage, Image, InstanceMask, Mask } from '../../vision/index.js'
import { percentText } from '../output/format.js'
import type { Row } from '../output/table.js'
import type { RunFlags, TaskName } from './flags.js'
import type { FoundPreset } from './preset.js'

/** What the command line says of pictures. */
export interface TaskFlags
  extends
    Pick<RunFlags, 'size' | 'maxSide' | 'limitPixels' | 'batch' | 'top' | 'activation' | 'threshold' | 'draw'>,
    Pick<RunFlags, 'method' | 'grow' | 'strength'> {
  readonly preset: FoundPreset
  readonly labels?: string | readonly string[] | undefined
}

/** What was found in one picture. */
export interface Answer {
  /** What `--json` prints. */
  readonly found: object
  /** How many things were found, where a picture may have none. */
  readonly count?: number | undefined
  /** The table's rows after the picture's name. */
  readonly rows: readonly Row[]
  /** The picture that is written, if anything is drawn or hidden; made when it is called. */
  readonly draw?: (() => Promise<EncodableImage>) | undefined
}

/** A task with its model. */
export interface Worker extends AsyncDisposable {
  /** The table's columns after the picture's name. */
  readonly head: readonly string[]
  answer(image: Image): Promise<Answer>
}

/** Opens a task on an engine, which it does not close. @throws TensorRTError */
export async function openTask(
  task: Exclude<TaskName, 'tensors'>,
  engine: Engine,
  flags: TaskFlags,
  signal: AbortSignal,
): Promise<Worker> {
  const common = { preset: flags.preset.option as PresetName, input: inputOf(flags) }
  if (task === 'classify') return classifying(engine, common, flags, signal)
  if (task === 'detect') return detecting(engine, common, flags, signal)
  return task === 'segment' ? segmenting(engine, common, flags, signal) : blurring(engine, common, flags, signal)
}

interface Common {
  readonly preset: PresetName
  readonly input: InputSteps
}

/** What the command line says of the input's size. */
export function inputOf(flags: Pick<TaskFlags, 'size' | 'maxSide' | 'limitPixels'>): InputSteps {
  const { size, maxSide, limitPixels } = flags
  return { size, maxSide, limitPixels }
}

async function classifying(engine: Engine, common: Common, flags: TaskFlags, signal: AbortSignal): Promise<Worker> {
  const { Classifier } = await import('../../tasks/index.js')
  const { labels, top, activation } = flags
  const classifier = await Classifier.load(engine, { ...common, labels, top, output: { activation } })
  return {
    head: ['class', 'score'],
    answer: async (image) => {
      const classes = await classifier.classify(image, { signal })
      return { found: { classes }, rows: classes.map((each) => [nameOf(each), each.score.toFixed(4)]) }
    },
    [Symbol.asyncDispose]: () => classifier.close(),
  }
}

interface Column {
  readonly head: string
  readonly text: (found: Found) => string
}

/** What else is told of what some decoders find. */
const columns: Readonly<Record<string, readonly Column[] | undefined>> = {
  'yolo-obb': [{ head: 'degrees', text: ({ angle = 0 }) => ((angle * 180) / Math.PI).toFixed(1) }],
  'yolo-pose': [
    {
      head: 'keypoints seen',
      text: ({ keypoints = [] }) => `${keypoints.filter(({ score }) => score >= 0.5).length} of ${keypoints.length}`,
    },
  ],
}

async function detecting(
  engine: Engine,
  common: Common,
  { labels, threshold, preset: { preset } }: TaskFlags,
  signal: AbortSignal,
): Promise<Worker> {
  const more = (preset.task === 'detect' && columns[preset.output.decoder]) || []
  const { Detector } = await import('../../tasks/index.js')
  const detector = await Detector.load(engine, { ...common, labels, scoreThreshold: threshold })
  return {
    head: ['found', 'score', 'left', 'top', 'width', 'height', ...more.map(({ head }) => head)],
    answer: async (image) => {
      const found = await detector.detect(image, { signal })
      return {
        found: { found: found.map(plainFound) },
        count: found.length,
        rows: found.map((one) => [
          nameOf(one),
          one.score.toFixed(4),
          ...one.box.map((side) => side.toFixed(1)),
          ...more.map(({ text }) => text(one)),
        ]),
        draw: () => drawn(image, found, signal),
      }
    },
    [Symbol.asyncDispose]: () => detector.close(),
  }
}

/** Of a mask, where it lies and how many pixels it has. */
export function plainFound({ mask, ...found }: Found): object {
  return mask === undefined
    ? found
    : { ...found, mask: { x: mask.x, y: mask.y, width: mask.width, height: mask.height, pixels: pixelsOf(mask) } }
}

function pixelsOf({ data }: Mask): number {
  return data.reduce((sum, value) => sum + (value === 0 ? 0 : 1), 0)
}

export function nameOf({ label, classIndex }: Pick<Found, 'label' | 'classIndex'>): string {
  return label ?? `class ${classIndex}`
}

async function drawn(image: Image, found: readonly Found[], signal: AbortSignal): Promise<Image> {
  const { drawBoxes, drawPolygons, overlay } = await import('../../vision/index.js')
  const { labelledBox } = await import('../../tasks/labelled.js')
  let picture = image
  for (const { mask, classIndex } of found)
    if (mask !== undefined && mask.data.length > 0)
      picture = await overlay(picture, ofClass(mask, classIndex), { signal })
  const texts = found.flatMap(({ corners, angle }) => (corners === undefined || angle !== undefined ? [] : [corners]))
  if (texts.length > 0) return drawPolygons(picture, texts, { signal })
  return drawBoxes(picture, found.map(labelledBox), { signal })
}

/** Each class has a colour of its own. */
function ofClass(mask: InstanceMask, classIndex: number): InstanceMask {
  return { ...mask, data: mask.data.map((value) => (value === 0 ? 0 : (classIndex % 255) + 1)) }
}

async function segmenting(engine: Engine, common: Common, flags: TaskFlags, signal: AbortSignal): Promise<Worker> {
  const { checkedLabels } = await import('../../tasks/labels.js')
  const { cutOut, overlay } = await import('../../vision/index.js')
  const { threshold, draw = 'overlay' } = flags
  const labels = await checkedLabels(flags.labels)
  const options = { ...common, output: { threshold } }
  const { seen, close } = await (draw === 'cutout' && isMatte(flags.preset) ? openMatting : openMasking)(
    engine,
    options,
    signal,
  )
  const draws = {
    overlay: (image: Image, { mask }: Seen) => overlay(image, mask, { signal }),
    mask: async (_: Image, { mask: { width, height, data } }: Seen) => ({
      width,
      height,
      data,
      format: 'gray' as const,
    }),
    cutout: (image: Image, { mask, matte }: Seen) => cutOut(image, matte ?? mask, { signal }),
  }
  return {
    head: ['class', 'pixels', 'share'],
    answer: async (image) => {
      const found = await seen(image)
      const { mask } = found
      const classes = classesOf(mask, labels)
      return {
        found: { width: mask.width, height: mask.height, classes },
        count: classes.filter(({ classIndex }) => classIndex !== 0).length,
        rows: classes.map((each) => [nameOf(each), each.pixels, percentText(each.share)]),
        draw: () => draws[draw](image, found),
      }
    },
    [Symbol.asyncDispose]: close,
  }
}

interface Seen {
  readonly mask: Mask
  readonly matte?: Alpha | undefined
}

interface Seer {
  readonly seen: (image: Image) => Promise<Seen>
  readonly close: () => Promise<void>
}

async function openMasking(engine: Engine, options: SegmenterOptions, signal: AbortSignal): Promise<Seer> {
  const { Segmenter } = await import('../../tasks/index.js')
  const segmenter = await Segmenter.load(engine, options)
  return {
    seen: async (image) => ({ mask: await segmenter.segment(image, { signal }) }),
    close: () => segmenter.close(),
  }
}

/** The mask and the matte of one run. */
async function openMatting(engine: Engine, options: SegmenterOptions, signal: AbortSignal): Promise<Seer> {
  const { openMattes } = await import('../../tasks/segmenter.js')
  const { pipeline, answers, close } = await openMattes(engine, options)
  return { seen: (image) => pipeline.call(answers, image, { signal }, 'segment') as Promise<MatteAndMask>, close }
}

function isMatte({ preset }: FoundPreset): boolean {
  return preset.task === 'segment' && preset.output.decide === 'matte'
}

/** The classes that a mask has, the largest first. */
export function classesOf(
  { data }: Mask,
  labels: readonly string[] | undefined,
): { classIndex: number; label?: string | undefined; pixels: number; share: number }[] {
  const pixels = new Uint32Array(256)
  for (const value of data) pixels[value]!++
  return Array.from(pixels, (count, classIndex) => {
    return { classIndex, label: labels?.[classIndex], pixels: count, share: count / data.length }
  })
    .filter((each) => each.pixels > 0)
    .sort((a, b) => b.pixels - a.pixels)
}

async function blurring(engine: Engine, common: Common, flags: TaskFlags, signal: AbortSignal): Promise<Worker> {
  const faces = await loadBlur(engine, common, flags)
  return {
    head: ['hidden'],
    answer: async (image) => {
      const { image: blurred, regions } = await faces.blur(image, { signal })
      const found = { found: regions }
      // what hides nothing is no picture to be given away
      if (regions.length === 0) return { found, count: 0, rows: [] }
      return { found, count: regions.length, rows: [[regions.length]], draw: async () => blurred }
    },
    [Symbol.asyncDispose]: () => faces.close(),
  }
}

export async function loadBlur(engine: Engine, common: object, flags: TaskFlags): Promise<FaceBlur> {
  const { FaceBlur } = await import('../../tasks/index.js')
  const { preset, threshold, method, grow, strength } = flags
  const finding = preset.preset.task === 'segment' ? { output: { threshold } } : { scoreThreshold: threshold }
  const style = Object.fromEntries(
    Object.entries({ method, grow, strength }).filter(([, value]) => value !== undefined),
  )
  return FaceBlur.load(engine, { ...common, ...finding, blur: style })
}
