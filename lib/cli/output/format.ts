import { isSystemError } from '../../base/kinds.js'
import { TensorRTError } from '../../errors.js'

/** A value as JSON, indented; numbers that JSON has no text for are "Infinity", "-Infinity" and "NaN". */
export function jsonText(value: unknown, indent?: number): string {
  const numberText = (_: string, part: unknown): unknown =>
    (typeof part === 'number' && !Number.isFinite(part)) || typeof part === 'bigint' ? String(part) : part
  return JSON.stringify(value, numberText, indent)
}

/** What a program is told of a failure, in place of a result. */
export interface FailureRecord {
  readonly error: {
    readonly code: string
    readonly message: string
    /** Of an error that has some: the values that its message is made of. */
    readonly details?: Readonly<Record<string, unknown>>
  }
}

export function failureRecord(error: unknown, spelling = (message: string): string => message): FailureRecord {
  const { code, name, message } = error as Partial<NodeJS.ErrnoException>
  const details = error instanceof TensorRTError ? error.details : {}
  return {
    error: {
      code: code ?? name ?? 'Error',
      message: spelling(message ?? String(error)),
      ...(Object.keys(details).length > 0 && { details }),
    },
  }
}

/** Of what is no TensorRTError: a system's message; what is a defect of ours keeps its stack. */
export function otherErrorText(error: unknown): string {
  return isSystemError(error) ? error.message : String((error as Error).stack)
}

/** "1.5 GiB", "812 bytes". */
export function bytesText(bytes: number): string {
  const units = ['KiB', 'MiB', 'GiB', 'TiB']
  let value = bytes
  let unit = 'bytes'
  for (const next of units) {
    if (value < 1024) break
    value /= 1024
    unit = next
  }
  return unit === 'bytes' ? `${bytes} bytes` : `${value.toFixed(value < 10 ? 2 : 1)} ${unit}`
}

/** Of a time in milliseconds: "0.183 ms", "12.4 s", "3 min 20 s", "2 h 5 min". */
export function durationText(ms: number): string {
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(3) : ms.toFixed(1)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  const minutes = Math.round(seconds / 60)
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** Of a share from 0 to 1: "12.5 %". */
export function percentText(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}

/** "1x3x224x224", "scalar"; a dynamic dimension is its name, or -1. */
export function dimsText(shape: readonly (number | string)[] | undefined): string {
  if (shape === undefined) return '?'
  return shape.length === 0 ? 'scalar' : shape.join('x')
}

export type Field = readonly [name: string, value: string | undefined]

/**
 * The parts of an account, one under the other, their names in one column; what is longer than `width` goes on below
 * itself.
 */
export function fieldsText(fields: readonly Field[], width = Infinity): string {
  const present = fields.filter((field): field is readonly [string, string] => field[1] !== undefined)
  const column = Math.max(...present.map(([name]) => name.length)) + 2
  const lines = ([name, value]: readonly [string, string]): string =>
    `${name.padEnd(column)}${wrapped(value, width - column, 'spaces').replaceAll('\n', `\n${' '.repeat(column)}`)}`
  return present.map(lines).join('\n')
}

/**
 * Lines of at most so many columns, cut at spaces. A word that is longer is cut where a line ends, or (`spaces`) stays
 * whole, as paths should that people copy.
 */
export function wrapped(text: string, width: number, where: 'anywhere' | 'spaces'): string {
  return text
    .split('\n')
    .flatMap((line) => (line.length <= width ? [line] : linesOf(line.split(' '), width, where)))
    .join('\n')
}

function linesOf(words: readonly string[], width: number, where: 'anywhere' | 'spaces'): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of words) {
    const longer = line === '' ? word : `${line} ${word}`
    if (longer.length <= width) {
      line = longer
      continue
    }
    if (line !== '') lines.push(line)
    line = word
    if (where === 'spaces') continue
    for (; line.length > width; line = line.slice(width)) lines.push(line.slice(0, width))
  }
  return [...lines, line]
}

/** A text of at most so many characters: what is longer loses its end. */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`
}
