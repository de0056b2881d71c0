import { type Cut, within } from '../base/cancellation.js'
import { checkedChoice, checkedNumber } from '../base/checks.js'
import { shapeText } from '../base/dims.js'
import { type Abortable, readOptions, unaborted } from '../base/options.js'
import { expected, TensorRTError } from '../errors.js'
import { Tensor } from '../tensor.js'
import type { Frame } from './frame.js'
import type { Mask } from './mask-data.js'
import { type MaskValues, uprightFrame, writeMask, writeMaskSync } from './mask-pass.js'
import type { Size } from './types.js'

/** Options of {@link toMaskSync}. */
export interface MaskOptions {
  /** The layout of the tensor; default NCHW. */
  readonly layout?: 'NCHW' | 'NHWC' | undefined
  /**
   * Of a tensor with one channel: a pixel whose value is greater belongs to the mask; default 0.5, for probabilities.
   * Of logits it is 0: a sigmoid of them would change nothing but the edges.
   */
  readonly threshold?: number | undefined
}

/** Options of {@link toMask}. */
export interface ToMaskOptions extends MaskOptions, Abortable {}

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
export async function toMask(
  output: Tensor,
  frames: Frame | readonly Frame[],
  options?: ToMaskOptions,
): Promise<Mask | Mask[]> {
  const given = readOptions(options, ['layout', 'threshold', 'signal'], 'toMask')
  const signal = unaborted(given.signal)
  const jobs = jobsOf(output, frames, given)
  return within({ signal }, async (cut) => {
    await Promise.all(jobs.map((job) => written(job, cut)))
    return answerOf(jobs, frames)
  })
}

/**
 * The same as {@link toMask} on the calling thread, which it blocks: for scripts.
 * @throws TensorRTError as {@link toMask}
 */
export function toMaskSync(output: Tensor, frames: Frame, options?: MaskOptions): Mask
/** The masks of a batch. */
export function toMaskSync(output: Tensor, frames: readonly Frame[], options?: MaskOptions): Mask[]
export function toMaskSync(output: Tensor, frames: Frame | readonly Frame[], options?: MaskOptions): Mask | Mask[] {
  const jobs = jobsOf(output, frames, readOptions(options, ['layout', 'threshold'], 'toMaskSync'))
  for (const { values, frame, mask } of jobs) writeMaskSync(values, frame, mask.data)
  return answerOf(jobs, frames)
}

interface Job {
  readonly values: MaskValues
  readonly frame: Frame
  readonly mask: Mask
}

async function written({ values, frame, mask }: Job, cut: Cut | undefined): Promise<void> {
  await writeMask(values, frame, mask.data, cut)
}

function answerOf(jobs: readonly Job[], frames: unknown): Mask | Mask[] {
  const masks = jobs.map(({ mask }) => mask)
  return Array.isArray(frames) ? masks : (masks[0] as Mask)
}

function jobsOf(
  output: unknown,
  frames: unknown,
  options: { readonly layout?: unknown; readonly threshold?: unknown },
): Job[] {
  const pictures = valuesOf(output, options)
  const list = (Array.isArray(frames) ? frames : [frames]) as unknown[]
  if (list.length !== pictures.length)
    throw expected(`${pictures.length} (one for each picture)`, 'the number of frames', list.length)
  return list.map((frame, index) => {
    const upright = uprightFrame(frame, Array.isArray(frames) ? `frames[${index}]` : 'frames')
    return { values: pictures[index] as MaskValues, frame: upright, mask: emptyMask(upright.image) }
  })
}

function emptyMask({ width, height }: Size): Mask {
  return { width, height, data: new Uint8Array(width * height) }
}

function valuesOf(output: unknown, given: { readonly layout?: unknown; readonly threshold?: unknown }): MaskValues[] {
  const planar = checkedChoice(given.layout ?? 'NCHW', 'layout', ['NCHW', 'NHWC']) === 'NCHW'
  const { data, shape } = checkedOutput(output, planar)
  const [count, ...sides] = shape as [number, number, number, number]
  const [channels, height, width] = planar ? sides : ([sides[2], sides[0], sides[1]] as const)
  if (channels > 1 && given.threshold !== undefined)
    throw expected('no threshold where there are several channels', 'threshold', given.threshold)
  const threshold = channels > 1 ? undefined : checkedNumber(given.threshold ?? 0.5, 'threshold')
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
  if (!(output instanceof Tensor)) throw expected('a Tensor', 'output', output)
  const { data, shape } = output
  if (!(data instanceof Float32Array))
    throw new TensorRTError(
      'ERR_TRT_DTYPE',
      `Expected a float32 tensor for output but received ${output.dtype}: see toFloat32()`,
    )
  const channels = shape[planar ? 1 : 3] ?? 0
  if (shape.length === 4 && shape.slice(1).every((side) => side > 0) && channels <= 256) return { data, shape }
  const wanted = planar ? '[N, C, height, width]' : '[N, height, width, C]'
  throw new TensorRTError(
    'ERR_TRT_SHAPE',
    `Expected shape ${wanted}, C at most 256, for output but received ${shapeText(shape)}`,
  )
}
