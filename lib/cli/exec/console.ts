import type { Benchmark } from '../../benchmark/types.js'
import { failureRecord, jsonText } from '../output/format.js'
import type { Sink } from '../output/sink.js'
import type { Session } from '../session.js'
import type { ExecSettings } from './settings.js'

type Level = 'V' | 'I' | 'W' | 'E'

/**
 * Where `trt exec` writes, as trtexec's logger does: warnings and errors to stderr, all else to stdout; each line with
 * its time and level. With `--json` stdout is the result's.
 */
export class ExecConsole {
  readonly #session: Pick<Session, 'stdout' | 'stderr'>
  readonly #call: string
  readonly #lines: Sink
  readonly #json: boolean

  /** `args`: those of `trt exec`, for the lines that programs look for. */
  constructor(session: Pick<Session, 'stdout' | 'stderr' | 'name'>, args: readonly string[]) {
    this.#session = session
    this.#call = [session.name, 'exec', ...args].join(' ')
    this.#json = args.includes('--json')
    this.#lines = this.#json ? session.stderr : session.stdout
  }

  /** `&&&& PASSED TensorRT.trtexec # trt exec …` */
  result(result: 'RUNNING' | 'PASSED' | 'FAILED'): void {
    this.#lines.write(`&&&& ${result} TensorRT.trtexec # ${this.#call}\n`)
  }

  info(...lines: string[]): void {
    for (const line of lines) this.line('I', line)
  }

  warn(...lines: string[]): void {
    for (const line of lines) this.line('W', line)
  }

  error(line: string): void {
    this.line('E', line)
  }

  line(level: Level, text: string): void {
    const sink = level === 'W' || level === 'E' ? this.#session.stderr : this.#lines
    sink.write(`[${stamp(new Date())}] [${level}] ${text}\n`)
  }

  /** The last lines of a call that failed; with `--json` the failure is on stdout too. */
  failed(error: unknown, text: string): void {
    this.error(text)
    this.result('FAILED')
    if (this.#json) this.json(failureRecord(error))
  }

  json(value: unknown): void {
    this.plain(jsonText(value, 2))
  }

  /** Text without a time, as the help is. */
  plain(text: string): void {
    this.#session.stdout.write(`${text}\n`)
  }
}

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
