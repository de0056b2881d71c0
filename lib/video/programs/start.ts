import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { onAbort } from '../../base/cancellation.js'
import { lacking } from '../../base/remedies.js'
import { LastLines } from './last-lines.js'

/** How a program ended: with a code, or by a signal. */
export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface StartOptions {
  /**
   * 'pipe': `program.stdin`; a number: a descriptor of this process, which the caller closes once this has returned;
   * 'ignore' unless given.
   */
  readonly stdin?: 'pipe' | 'ignore' | number | undefined
  readonly stdout?: 'pipe' | 'ignore' | number | undefined
  /** Descriptors of this process that are the program's 3, 4 … */
  readonly more?: readonly number[] | undefined
  /** Ends the program when it is aborted. */
  readonly signal?: AbortSignal | undefined
}

/** What ffmpeg is always told: nothing of its own on the terminal, and lines of its log with their level. */
export const quietly = ['-hide_banner', '-nostdin', '-loglevel', 'level+warning'] as const

/** How long a program may take from SIGTERM on; then SIGKILL. */
const patienceMs = 2000

/**
 * How long after an exit the rest of its stderr is waited for; more than this only where a process that it started
 * holds it open.
 */
const stderrMs = 200

/**
 * Those that run: they end with this process, as far as it can see to that. Who is killed leaves them with closed
 * pipes, at which ffmpeg ends.
 */
const running = new Set<ChildProcess>()

function killAll(): void {
  for (const child of running) signalTo(child, 'SIGKILL')
}

/**
 * To all of its group, since a program may be a script that starts the real one; to none whose number may be another's
 * by now.
 */
function signalTo(child: ChildProcess, signal: NodeJS.Signals): void {
  const { pid, exitCode, signalCode } = child
  if (pid === undefined || exitCode !== null || signalCode !== null) return
  try {
    process.kill(-pid, signal)
  } catch {
    child.kill(signal) // no group: on Windows
  }
}

/** A program that runs beside this process, in a group of its own, so that no Ctrl-C of a terminal goes there. */
export class Program implements AsyncDisposable {
  /** Settled when it is gone and its last lines are here. Never rejected. */
  readonly exited: Promise<Exit>
  readonly #child: ChildProcess
  readonly #lines = new LastLines()
  readonly #said: Promise<unknown>
  #exit: Exit | undefined
  #ending: Promise<Exit> | undefined

  /** @internal {@link startProgram} */
  constructor(child: ChildProcess, signal: AbortSignal | undefined) {
    this.#child = child
    const { stderr } = child
    stderr?.setEncoding('utf8').on('data', (text: string) => this.#lines.add(text))
    this.#said = stderr === null ? Promise.resolve() : once(stderr, 'close').catch(ignored)
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on('error', ignored) // a broken pipe is told by the exit
    child.on('error', ignored)
    if (running.size === 0) process.on('exit', killAll)
    running.add(child)
    this.exited = this.#untilGone()
    const forget = onAbort(signal, () => void this.end())
    void this.exited.then(forget)
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** How it ended; undefined while it runs. */
  get exit(): Exit | undefined {
    return this.#exit
  }

  /** Where `stdin` was 'pipe'. */
  get stdin(): Writable | undefined {
    return this.#child.stdin ?? undefined
  }

  /** Where `stdout` was 'pipe'. */
  get stdout(): Readable | undefined {
    return this.#child.stdout ?? undefined
  }

  /** The last 20 lines of its stderr, oldest first, without passwords. */
  get lines(): readonly string[] {
    return this.#lines.lines
  }

  /** Whether it keeps this process alive, which it does unless told otherwise. */
  hold(firmly: boolean): void {
    const { stdin, stdout, stderr } = this.#child
    for (const held of [this.#child, ...([stdin, stdout, stderr] as (Socket | null)[])])
      if (firmly) held?.ref()
      else held?.unref()
  }

  /** SIGTERM, and SIGKILL where that does not do. Twice without harm. @returns how it ended */
  end(): Promise<Exit> {
    return (this.#ending ??= this.#end('SIGTERM'))
  }

  /** SIGKILL: for a program whose output nobody wants any more. @returns how it ended */
  kill(): Promise<Exit> {
    signalTo(this.#child, 'SIGKILL')
    return (this.#ending ??= this.#end('SIGKILL'))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end()
  }

  async #end(signal: NodeJS.Signals): Promise<Exit> {
    this.#child.ref() // until it is gone; not for long
    signalTo(this.#child, signal)
    await noLongerThan(patienceMs, this.exited)
    if (this.#exit === undefined) signalTo(this.#child, 'SIGKILL')
    return this.exited
  }

  async #untilGone(): Promise<Exit> {
    const [code, signal] = (await once(this.#child, 'exit')) as [number | null, NodeJS.Signals | null]
    running.delete(this.#child)
    if (running.size === 0) process.off('exit', killAll)
    await noLongerThan(stderrMs, this.#said)
    this.#child.stderr?.destroy()
    this.#exit = { code, signal }
    return this.#exit
  }
}

const ignored = (): void => {}

/** Waits for what is never rejected. */
async function noLongerThan(milliseconds: number, awaited: Promise<unknown>): Promise<void> {
  const over = new AbortController()
  const { signal } = over
  await Promise.race([awaited.finally(() => over.abort()), sleep(milliseconds, undefined, { signal }).catch(ignored)])
}

/**
 * Starts a program, whose stderr is kept for errors.
 * @throws TensorRTError ERR_TRT_VIDEO_PROGRAM where it cannot be started; the signal's reason where it is aborted
 * already
 */
export async function startProgram(
  path: string,
  args: readonly string[],
  options: StartOptions = {},
): Promise<Program> {
  const { stdin = 'ignore', stdout = 'ignore', more = [], signal } = options
  signal?.throwIfAborted()
  const stdio: StdioOptions = [stdin, stdout, 'pipe', ...more]
  let child
  try {
    child = spawn(path, args, { stdio, detached: process.platform !== 'win32', windowsHide: true })
    await once(child, 'spawn')
  } catch (cause) {
    const message = `The program ${path} cannot be started: ${(cause as Error).message}`
    throw lacking('ERR_TRT_VIDEO_PROGRAM', message, { cause, details: { path } })
  }
  return new Program(child, signal)
}
