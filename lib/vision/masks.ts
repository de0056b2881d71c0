import { type Cut, within } from '../base/cancellation.js'
import { shapeText } from '../base/dims.js'
import { type Checked, checkedCall, is, option, type OptionTable, signalOption } from '../base/option-table.js'
import type { Abortable } from '../base/options.js'
import { expected, TensorRTError } from '../errors.js'
import type { Tensor } from '../tensor.js'
import { floatsOf } from './checks.js'
import type { Frame } from './frame.js'
import type { Mask } from './mask-data.js'
import { type MaskValues, uprightFrame, writeMask } from './mask-pass.js'

/** Options of {@link toMask}. */
export interface ToMaskOptions extends Abortable {
  /** The layout of the tensor; default NCHW. */
  readonly layout?: 'NCHW' | 'NHWC' | undefined
  /**
   * Of a tensor with one channel: a pixel whose value is greater belongs to the mask; default 0.5, for probabilities.
   * Of logits it is 0: a sigmoid of them would change nothing but the edges.
   */
  readonly threshold?: number | undefined
}

const table = {
  layout: option(is.choice('NCHW', 'NHWC'), 'NCHW'),
  threshold: option(is.number()),
  signal: signalOption,
} satisfies OptionTable<ToMaskOptions>

/**
 * The output of a segmentation model as a mask of the picture. The values (probabilities, or better logits) are cut to
 * the picture's part of the input and resized to the picture (bilinear, half-pixel centres, no antialias, as torch's
 * `F.interpolate`). Then they are decided: one channel by `threshold`; of several the greatest, of equal ones the
 * lowest. It runs on a thread; where the addon does not load, in JavaScript. Leave the tensor alone until the promise
 * settles.
 * @param output float32, [N, C, height, width] or [N, height, width, C], of the input's size or in its proportions,
 * such as a quarter of it; at most 256 channels
 * @param frames how each picture lay in the input, not turned; one for a tensor of one picture
 * @returns a mask for each frame, as large as its picture: 0 and 1, or the number of the channel; 0 where the input did
 * not show the picture
 * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT, ERR_TRT_SHAPE, ERR_TRT_DTYPE; or it is the reason of
 * the signal
 */
export async function toMask(output: Tensor, frames: Frame, options?: ToMaskOptions): Promise<Mask>
/** The masks of a batch. */
export async function toMask(output: Tensor, frames: readonly Frame[], options?: ToMaskOptions): Promise<Mask[]>
export async function toMask(output: unknown, frames: unknown, options?: unknown): Promise<unknown> {
  const { signal, ...rules } = checkedCall(options, table, 'toMask')
  const jobs = jobsOf(output, frames, rules)
  return within({ signal }, async (cut) => {
    const masks = await Promise.all(jobs.map(({ values, frame }) => maskOf(values, frame, cut)))
    return Array.isArray(frames) ? masks : masks[0]
  })
}

interface Job {
  readonly values: MaskValues
  readonly frame: Frame
}

type Rules = Omit<Checked<typeof table>, 'signal'>

function jobsOf(output: unknown, frames: unknown, rules: Rules): Job[] {
  const pictures = valuesOf(output, rules)
  const list = (Array.isArray(frames) ? frames : [frames]) as unknown[]
  if (list.length !== pictures.length)
    throw expected(`${pictures.length} (one for each picture)`, 'the number of frames', list.length)
  return list.map((frame, index) => ({
    values: pictures[index] as MaskValues,
    frame: uprightFrame(frame, Array.isArray(frames) ? `frames[${index}]` : 'frames'),
  }))
}

async function maskOf(values: MaskValues, frame: Frame, cut: Cut | undefined): Promise<Mask> {
  const { width, height } = frame.image
  const mask = { width, height, data: new Uint8Array(width * height) }
  await writeMask(values, frame, mask.data, cut)
  return mask
}

function valuesOf(output: unknown, rules: Rules): MaskValues[] {
  const planar = rules.layout === 'NCHW'
  const { data, shape } = checkedOutput(output, planar)
  const [count, ...sides] = shape as [number, number, number, number]
  const [channels, height, width] = planar ? sides : ([sides[2], sides[0], sides[1]] as const)
  if (channels > 1 && rules.threshold !== undefined)
    throw expected('no threshold where there are several channels', 'threshold', rules.threshold)
  const threshold = channels > 1 ? undefined : (rules.threshold ?? 0.5)
  const length = channels * height * width
  return Array.from({ length: count }, (_, index) => {
    const values = data.subarray(index * length, (index + 1) * length)
    return { values, width, height, channels, planar: planar ? 1 : 0, threshold }
  })
}

function checkedOutput(
  output: unknown,
  planar: boolean,
): { readonly data: Float32Array; readonly shape: readonly number[] } {
  const { data, shape } = floatsOf(output, 'output')
  const channels = shape[planar ? 1 : 3] ?? 0
  if (shape.length === 4 && shape.slice(1).every((side) => side > 0) && channels <= 256) return { data, shape }
  const wanted = planar ? '[N, C, height, width]' : '[N, height, width, C]'
  throw new TensorRTError(
    'ERR_TRT_SHAPE',
    `Expected shape ${wanted}, C at most 256, for output but received ${shapeText(shape)}`,
  )
}
