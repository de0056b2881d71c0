import { expected, TensorRTError } from '../errors.js'

/** What a calibration cache of TensorRT's says. */
export interface TensorRTCache {
  /** Of TensorRT, as the cache has it: 100600 is 10.6.0, 8601 is 8.6.1. */
  readonly version: number
  /** `EntropyCalibration2`, `MinMaxCalibration` … */
  readonly algorithm: string
  /** By the tensor's name: what one step of INT8 stands for; the range is 127 times that. */
  readonly scales: ReadonlyMap<string, number>
}

/**
 * Reads the text of a calibration cache: a line `TRT-100600-EntropyCalibration2`, then for each tensor its name, a
 * colon and eight hexadecimal digits, the bits of a float32. A name may hold colons itself.
 * @throws TensorRTError ERR_TRT_CALIBRATION, ERR_TRT_INVALID_ARGUMENT for what is no text
 * @see
 * https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_int8_entropy_calibrator2.html
 */
export function parseTensorRTCache(text: string): TensorRTCache {
  if (typeof text !== 'string') throw expected('the text of a calibration cache', 'text', text)
  const [header = '', ...lines] = text.split(/\r?\n/)
  const found = /^TRT-(\d+)-(\w+)$/.exec(header.trim())
  if (found === null)
    throw damaged(
      `Expected a first line such as TRT-100600-EntropyCalibration2 but found ${JSON.stringify(header.slice(0, 60))}`,
    )
  const scales = new Map<string, number>()
  for (const [i, line] of lines.entries()) {
    if (line.trim() === '') continue
    const [name, scale] = entryOf(line, i + 2)
    scales.set(name, scale)
  }
  return { version: Number(found[1]), algorithm: found[2] as string, scales }
}

function entryOf(line: string, number: number): [string, number] {
  const colon = line.lastIndexOf(':')
  const digits = line.slice(colon + 1).trim()
  if (colon < 1 || !/^[\da-f]{1,8}$/i.test(digits)) {
    throw damaged(
      `Expected "name: 8 hexadecimal digits" in line ${number} but found ${JSON.stringify(line.slice(0, 80))}`,
    )
  }
  const scale = floatOf(parseInt(digits, 16))
  if (!(scale >= 0 && scale < Infinity))
    throw damaged(`Expected a scale in line ${number} but found ${digits}, which is ${scale}`)
  return [line.slice(0, colon), scale]
}

/**
 * The text of a calibration cache, as TensorRT writes it.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT for a name with a line break, which no cache can hold, and for a scale
 * that is no positive float32
 */
export function formatTensorRTCache({ version, algorithm, scales }: TensorRTCache): string {
  const lines = [`TRT-${version}-${algorithm}`]
  for (const [name, scale] of scales) {
    if (/[\r\n]/.test(name))
      throw misuse(`The name ${JSON.stringify(name)} has a line break: a calibration cache cannot hold it`)
    const single = Math.fround(scale)
    if (!(single > 0 && single < Infinity))
      throw misuse(`Expected a positive float32 for the scale of ${JSON.stringify(name)} but received ${scale}`)
    lines.push(`${name}: ${bitsOf(single).toString(16).padStart(8, '0')}`)
  }
  return `${lines.join('\n')}\n`
}

/**
 * TensorRT's version as a cache has it, from text such as 10.6.0: two digits for each part from version 10 on. @throws
 * TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function cacheVersion(version: string): number {
  const [major, minor, patch] = (/^(\d+)\.(\d+)(?:\.(\d+))?/.exec(version)?.slice(1) ?? []).map((part) =>
    Number(part ?? 0),
  )
  if (major === undefined || minor === undefined || patch === undefined)
    throw misuse(`Expected a version such as 10.6.0 but received ${JSON.stringify(version)}`)
  return major >= 10 ? major * 10_000 + minor * 100 + patch : major * 1000 + minor * 100 + patch
}

const view = new DataView(new ArrayBuffer(4))

function floatOf(bits: number): number {
  view.setUint32(0, bits)
  return view.getFloat32(0)
}

function bitsOf(value: number): number {
  view.setFloat32(0, value)
  return view.getUint32(0)
}

function damaged(message: string): TensorRTError {
  return new TensorRTError('ERR_TRT_CALIBRATION', `The calibration cache cannot be read: ${message}`)
}

function misuse(message: string): TensorRTError {
  return new TensorRTError('ERR_TRT_INVALID_ARGUMENT', message)
}
