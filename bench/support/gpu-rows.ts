// The rows of bench/gpu.ts in the order of their worth, and which of them are still to be measured.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { mobileNetV2, type NetworkWriter, resnet50, segmentation, unet } from './networks.js'

/** What torch does with the same model; `-fp16`: in half precision. */
export type Peer = 'eager' | 'torchscript' | 'eager-fp16' | 'torchscript-fp16' | 'compile-fp16'

export interface GpuRow {
  readonly name: string
  /** The model, for people. */
  readonly model: string
  readonly write: NetworkWriter
  /** Height and width of the image. */
  readonly size: number
  readonly precision: 'fp32' | 'fp16' | 'int8'
  readonly peers: readonly Peer[]
}

const single: readonly Peer[] = ['torchscript', 'eager']
const both: readonly Peer[] = [...single, 'torchscript-fp16', 'eager-fp16']

const row = (
  name: string,
  [model, write, size]: readonly [string, NetworkWriter, number],
  precision: GpuRow['precision'],
  peers: readonly Peer[],
): GpuRow => ({ name, model, write, size, precision, peers })

const unet512 = ['UNet', unet, 512] as const

export const gpuRows: readonly GpuRow[] = [
  row('unet-int8', unet512, 'int8', both),
  row('unet-fp16', unet512, 'fp16', both),
  row('unet-fp32', unet512, 'fp32', single),
  row('resnet50-fp16', ['ResNet-50', resnet50, 224], 'fp16', both),
  row('segmentation-160', ['segmentation', segmentation, 160], 'fp16', both),
  row('segmentation-512', ['segmentation', segmentation, 512], 'fp16', both),
  row('segmentation-1024', ['segmentation', segmentation, 1024], 'fp16', both),
  row('mobilenetv2', ['MobileNetV2', mobileNetV2, 224], 'fp16', both),
  row('unet-compile', unet512, 'fp16', ['compile-fp16']),
]

/** What a result depends on: rows of another GPU or another library do not count as measured. */
export interface Platform {
  readonly gpu: string
  readonly cuda: string
  readonly tensorrt: string
}

/** A figure of torch. */
export interface PeerFigures {
  readonly ms: number
  /** Against torch in FP32 without TF32. */
  readonly cosine?: number | undefined
}

/** What each line of gpu-rows.jsonl has. */
export interface RowHead {
  readonly row: string
  readonly date: string
  readonly on: Platform
}

export type RowLine = RowHead &
  (
    | ({ readonly status: 'measured' } & RowFigures)
    | { readonly status: 'failed'; readonly error: string }
    /** Killed at its limit. */
    | { readonly status: 'over'; readonly seconds: number; readonly stage: string }
    /** Killed because the time of the whole list was over. */
    | { readonly status: 'interrupted'; readonly stage: string }
  )

export interface RowFigures {
  /** Milliseconds from host to host, the median of calls one after another. */
  readonly ms: number
  /** Against torch in FP32 without TF32; undefined without torch. */
  readonly cosine?: number | undefined
  /** Undefined if the plan was built before. */
  readonly buildSeconds?: number | undefined
  /** Layers by their precision. */
  readonly layers: Readonly<Record<string, number>>
  readonly rounds: number
  readonly calls: number
  readonly torch: string
  readonly peers: Readonly<Partial<Record<Peer, PeerFigures>>>
  /** Of peers that failed. */
  readonly peerErrors: Readonly<Partial<Record<Peer | 'reference', string>>>
}

const file = (out: string): string => join(out, 'gpu-rows.jsonl')

export function appendRow(out: string, line: RowLine): void {
  appendFileSync(file(out), `${JSON.stringify(line)}\n`)
}

/** The lines of a platform. A line that a kill has torn is ignored. */
export function readRows(out: string, on: Platform): RowLine[] {
  const text = existsSync(file(out)) ? readFileSync(file(out), 'utf8') : ''
  return text
    .split('\n')
    .flatMap((line): RowLine[] => {
      try {
        return [JSON.parse(line) as RowLine]
      } catch {
        return []
      }
    })
    .filter((line) => isSame(line.on, on))
}

const isSame = (one: Platform, other: Platform): boolean =>
  one.gpu === other.gpu && one.cuda === other.cuda && one.tensorrt === other.tensorrt

/**
 * The rows that are still to be measured: those that were not tried, in their order, then those that were killed at
 * their limit once. Their plan may be built by now.
 */
export function openRows(lines: readonly RowLine[], rows: readonly GpuRow[] = gpuRows): GpuRow[] {
  const count = (name: string, statuses: readonly RowLine['status'][]): number =>
    lines.filter((line) => line.row === name && statuses.includes(line.status)).length
  const open = rows.filter(({ name }) => count(name, ['measured', 'failed']) === 0 && count(name, ['over']) < 2)
  return [
    ...open.filter(({ name }) => count(name, ['over']) === 0),
    ...open.filter(({ name }) => count(name, ['over']) > 0),
  ]
}
