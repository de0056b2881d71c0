import type { Benchmark } from '../../benchmark/types.js'
import { failureRecord, jsonText } from '../output/format.js'
import type { Session } from '../session.js'
import type { ExecSettings } from './settings.js'

type Level = 'V' | 'I' | 'W' | 'E'

/**
 * Where `trt exec` writes, as trtexec's logger does: warnings and errors to stderr, all else to stdout; each line with
 * its time and level. With `--json` stdout is the result's. `args`: those of `trt exec`, for the lines that programs
 * look for.
 */
export function execConsole(
  { stdout, stderr, name }: Pick<Session, 'stdout' | 'stderr' | 'name'>,
  args: readonly string[],
) {
  const isJson = args.includes('--json')
  const lines = isJson ? stderr : stdout
  const line = (level: Level, text: string): void => {
    const sink = level === 'W' || level === 'E' ? stderr : lines
    sink.write(`[${stamp(new Date())}] [${level}] ${text}\n`)
  }
  const linesOf =
    (level: Level) =>
    (...texts: string[]): void =>
      texts.forEach((text) => line(level, text))
  /** `&&&& PASSED TensorRT.trtexec # trt exec …` */
  const result = (result: 'RUNNING' | 'PASSED' | 'FAILED'): void =>
    void lines.write(`&&&& ${result} TensorRT.trtexec # ${[name, 'exec', ...args].join(' ')}\n`)
  /** Text without a time, as the help is. */
  const plain = (text: string): void => void stdout.write(`${text}\n`)
  const json = (value: unknown): void => plain(jsonText(value, 2))
  /** The last lines of a call that failed; with `--json` the failure is on stdout too. */
  const failed = (error: unknown, text: string): void => {
    line('E', text)
    result('FAILED')
    if (isJson) json(failureRecord(error))
  }
  return { result, line, info: linesOf('I'), warn: linesOf('W'), failed, json, plain }
}

export type ExecConsole = ReturnType<typeof execConsole>

/** `11/23/2026-07:15:00` */
function stamp(date: Date): string {
  const two = (value: number): string => String(value).padStart(2, '0')
  const day = [two(date.getMonth() + 1), two(date.getDate()), date.getFullYear()].join('/')
  return `${day}-${[date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')}`
}

/** What came of one call: its result as JSON. */
export interface ExecAccount {
  plan?:
    | {
        /** By which TensorRT it was built. */
        readonly builtBy: string
        readonly bytes?: number | undefined
        /** The file that it was written to, or read from. */
        readonly path?: string | undefined
        /** Milliseconds, where it was built. */
        readonly buildMs?: number | undefined
      }
    | undefined
  /** Without the outputs, which `--exportOutput` writes. */
  benchmark?: Omit<Benchmark, 'outputs'> | undefined
}

/** What all steps of one call of `trt exec` share. */
export interface Call {
  readonly settings: ExecSettings
  readonly session: Session
  readonly console: ExecConsole
  /** Filled by the steps. */
  readonly account: ExecAccount
}
