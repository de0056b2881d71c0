import { stdin as processStdin } from 'node:process'
import { styleText } from 'node:util'
import { isError } from '../base/kinds.js'
import { exitCodes } from './exit-codes.js'
import { failureRecord, type Field, fieldsText, jsonText, wrapped } from './output/format.js'
import { newProgress, type Progress, type ProgressOptions } from './output/progress.js'
import type { Sink } from './output/sink.js'
import { type Row, tableText } from './output/table.js'
import { StdinFile } from './run/stdin.js'

export interface SessionOptions {
  /** What the program was called by. */
  readonly name: string
  readonly stdout: Sink
  readonly stderr: Sink
  /** What `-` reads; the process's own unless given. */
  readonly stdin?: (AsyncIterable<Uint8Array> & { readonly isTTY?: boolean | undefined }) | undefined
  /** Of progress, where no terminal is. */
  readonly progress?: Pick<ProgressOptions, 'afterMs'> | undefined
}

export type LineLevel = 'info' | 'warn' | 'error'

/** What every command can be asked for. */
export interface CommonFlags {
  readonly json?: boolean | undefined
  readonly quiet?: boolean | undefined
  readonly verbose?: boolean | undefined
}

/** The reason of a session's aborted signal. */
export class Interrupted extends Error {
  readonly exitCode: number

  constructor(signal: EndSignal) {
    super(`Interrupted by ${signal}`)
    this.name = 'AbortError'
    this.exitCode = codeOfSignal[signal]
  }
}

/** Exit codes of the signals that end a command. */
export const codeOfSignal = {
  SIGHUP: exitCodes.hungUp,
  SIGINT: exitCodes.interrupted,
  SIGTERM: exitCodes.terminated,
} as const

export type EndSignal = keyof typeof codeOfSignal

/**
 * One call of `trt`: where its results and messages go, and what ends it. Results go to stdout; everything else,
 * progress too, to stderr.
 */
export class Session {
  readonly name: string
  readonly stdout: Sink
  readonly stderr: Sink
  exitCode: number = exitCodes.done
  /** The command continues if the reader of its results has closed the pipe, as a server does. */
  outlivesReaders = false
  /** Replaces options of the API in messages by the flags of the command. */
  spelling = (message: string): string => message
  /** Spaces of `--json`; 0: one line, which a reader of the log can parse. */
  jsonIndent = 2
  /** Returns the line for stderr in the form of a log; undefined for plain text. */
  toLogLine: ((level: LineLevel, text: string) => string) | undefined
  #json = false
  #quiet = false
  #verbose = false
  #hasResult = false
  #progress: Progress | undefined
  readonly #ofProgress: SessionOptions['progress']
  readonly #controller = new AbortController()
  readonly #stdin: StdinFile

  constructor({ name, stdout, stderr, stdin = processStdin, progress }: SessionOptions) {
    this.name = name
    this.#stdin = new StdinFile(stdin, this.signal)
    this.stdout = stdout
    this.stderr = stderr
    this.#ofProgress = progress
  }

  /** What the command line asks of every command. */
  begin({ json = false, quiet = false, verbose = false }: CommonFlags): void {
    this.#json = json
    this.#quiet = quiet
    this.#verbose = verbose
  }

  /** The same of a line that could not be read: whether JSON is wanted stands in it all the same. */
  asked(args: readonly string[]): void {
    const end = args.indexOf('--')
    if (args.slice(0, end < 0 ? undefined : end).includes('--json')) this.#json = true
  }

  /** Aborted when the user interrupts; every asynchronous operation of a command gets it. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get json(): boolean {
    return this.#json
  }

  /** Whether logs are told, and where errors come from. */
  get verbose(): boolean {
    return this.#verbose
  }

  /** How many columns a line of results may have. */
  get width(): number {
    return this.stdout.isTTY === true ? (this.stdout.columns ?? 80) : 80
  }

  interrupt(signal: EndSignal): void {
    this.end()
    this.#controller.abort(new Interrupted(signal))
  }

  /** Gives the terminal back as it was. Twice without harm. */
  end(): void {
    this.#progress?.end()
    this.#progress = undefined
  }

  /**
   * A file that has what stdin gives, with the ending of what it is; in all that is told it is `-`.
   * @throws TensorRTError ERR_TRT_FILE where stdin is a terminal, or gives nothing
   */
  async stdinFile(): Promise<string> {
    return this.#stdin.path()
  }

  /** What is left of the call goes. */
  async close(): Promise<void> {
    this.end()
    await this.#stdin.remove()
  }

  /** A result: lines of text for people, or with `--json` the value that they were made of. */
  result(value: unknown, text: () => string): void {
    this.end()
    this.#hasResult = true
    this.stdout.write(`${this.#stdin.hidden(this.#json ? jsonText(value, this.jsonIndent) : text())}\n`)
  }

  /**
   * With `--json`, what ended the command, in place of its result: `{ "error": { "code", "message" } }`. The lines for
   * people are beside it.
   */
  failure(error: unknown): void {
    if (this.#json && !this.#hasResult) this.result(failureRecord(error, this.spelling), () => '')
  }

  /** A line for people, beside the result: never part of it. */
  note(text: string): void {
    if (!this.#quiet) this.#beside(text, 'info')
  }

  /** A line that people should not miss. */
  warn(text: string): void {
    this.#beside(text, 'warn')
  }

  /** The line that says what failed, and by which code. */
  fail({ code, message }: { readonly code: string; readonly message: string }): void {
    const head = this.toLogLine === undefined ? `${this.paint('red', 'error:', this.stderr)} ` : ''
    this.#beside(`${head}${message} (${code})`, 'error')
  }

  /** The same of what is refused before any work. A code tells of what is not of the line alone. */
  refused({ code, message }: { readonly code: string; readonly message: string }, help: string | undefined): void {
    const isOfLine = code === 'ERR_TRT_INVALID_ARGUMENT'
    this.warn(`${this.paint('red', 'error:', this.stderr)} ${message}${isOfLine ? '' : ` (${code})`}`)
    if (help !== undefined && isOfLine) this.warn(help)
  }

  /** With `--verbose`, where an error comes from: its stack, and those of its causes. */
  trace(error: unknown): void {
    if (!this.#verbose) return
    for (let cause = error; isError(cause); cause = cause.cause) this.warn(cause.stack ?? cause.message)
  }

  /**
   * What runs longer tells how far it is: a bar on a terminal, else, from two seconds on, a line now and then. One at a
   * time; it makes room for messages, and ends with the result.
   */
  progress(): Progress {
    this.end()
    this.#progress = newProgress(this.stderr, { quiet: this.#quiet, ...this.#ofProgress })
    return this.#progress
  }

  table(head: readonly string[], rows: readonly Row[]): string {
    const painted = head.map((cell) => this.paint('bold', cell))
    return tableText(painted, rows, this.width)
  }

  /** Sentences, in lines that are as wide as results may be. */
  prose(text: string): string {
    return wrapped(text, this.width, 'spaces')
  }

  /** The parts of an account, by their names. */
  fields(fields: readonly Field[]): string {
    return fieldsText(fields, this.width)
  }

  /** Coloured where it is written to a terminal that has colours, and only there. */
  paint(style: 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan', text: string, sink = this.stdout): string {
    return sink.isTTY === true && sink.hasColors?.() === true ? styleText(style, text, { validateStream: false }) : text
  }

  #beside(text: string, level: LineLevel): void {
    this.#progress?.pause()
    const shown = this.#stdin.hidden(this.spelling(text))
    this.stderr.write(`${this.toLogLine?.(level, shown) ?? shown}\n`)
  }
}
