import type { LibraryKind } from '../backend/facts.js'
import { otherThan, planTags } from '../base/file-kinds.js'
import { TensorRTError } from '../errors.js'

/**
 * What the first bytes of a plan say. native/tensorrt/plan.cc reads the same when it looks for the TensorRT that runs
 * it.
 */
export interface PlanHeader {
  /** `full`: built by TensorRT; `rtx`: by TensorRT-RTX. */
  readonly kind: Extract<LibraryKind, 'full' | 'rtx'>
  /** Of the TensorRT that built it; absent where the header has a layout that is not known. */
  readonly version?: string | undefined
  /** The bytes that the whole plan has; absent as `version` is. */
  readonly size?: number | undefined
}

const kinds: Readonly<Record<string, PlanHeader['kind']>> = planTags

/**
 * As many bytes as are read of a header. The tag, at byte 4 the header's layout (32 bits), at 8 the number of sections
 * (64 bits), at 16 the size of the whole plan (64 bits), from 24 on a byte each of major, minor, patch and build
 * number.
 *
 * Layout 0 with its version is what `trtexec --getPlanVersionOnly` reads (printPlanVersion in
 * samples/common/sampleEngines.cpp). That the size is that of the file was seen in eight plans of TensorRT-RTX
 * 1.7.1.116 (134 kB to 15 MB, test/plan holds it), and in published ones of TensorRT 8.6.1 (3), 10.3.0 and 10.6.0 (one
 * each). Not seen: version-compatible and safety plans.
 */
export const headerSize = 28

/** Nothing when the bytes do not begin as a plan does. */
export function readPlanHeader(bytes: Uint8Array): PlanHeader | undefined {
  const tag = String.fromCharCode(...bytes.subarray(0, 4))
  const kind = Object.hasOwn(kinds, tag) ? kinds[tag] : undefined
  if (kind === undefined) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (bytes.length < headerSize || view.getUint32(4, true) !== 0) return { kind }
  return { kind, version: bytes.subarray(24, 27).join('.'), size: Number(view.getBigUint64(16, true)) }
}

/** The library that a header speaks of, for people: "TensorRT 10.15.1". */
export function libraryOf({ kind, version }: PlanHeader): string {
  const name = kind === 'rtx' ? 'TensorRT-RTX' : 'TensorRT'
  return version === undefined ? name : `${name} ${version}`
}

/** @throws TensorRTError ERR_TRT_PLAN where `size` bytes are fewer than the header says */
export function refuseShort(label: string, size: number, header: PlanHeader): void {
  const whole = header.size === undefined ? `at least ${headerSize} bytes` : `${header.size} bytes`
  const least = header.size ?? headerSize
  if (size >= least) return
  throw new TensorRTError(
    'ERR_TRT_PLAN',
    `${label} is truncated: a plan built by ${libraryOf(header)} of ${whole}, of which ${size} are there`,
    {
      details: { size, expected: least, likely: 'truncated' },
    },
  )
}

/** @throws TensorRTError ERR_TRT_PLAN where the bytes are no plan, or fewer than its header says */
export function checkedHeader(label: string, bytes: Uint8Array): PlanHeader {
  const header = readPlanHeader(bytes)
  if (header === undefined) throw noPlan(label, bytes)
  refuseShort(label, bytes.length, header)
  return header
}

export function noPlan(label: string, head: Uint8Array): TensorRTError {
  const other = otherThan('plan', head)
  const found =
    head.length === 0 ? 'it is empty' : other === undefined ? 'it does not begin as one does' : `it is ${other}`
  return new TensorRTError('ERR_TRT_PLAN', `${label} is no plan of TensorRT: ${found}`)
}
