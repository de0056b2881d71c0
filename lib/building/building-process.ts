import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { constants } from 'node:fs'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { ownFile } from '../base/package.js'
import { loadAddon } from '../backend/native.js'
import type {
  CalibrationAnswer,
  CalibrationQuestion,
  NativeBuildRequest,
  NativeBuildResult,
} from '../backend/native-types.js'
import { TensorRTError } from '../errors.js'
import { logLevels } from '../log.js'
import { answering, type Feed } from './calibration.js'
import type { BuildProgress, ProgressListener } from './in-process.js'
import { writeFully } from '../base/pieces.js'
import { fromWire } from '../base/wire.js'
import { type Answer, given, type Order, readStart } from './messages.js'

const entry = (): URL => ownFile('./child.js', import.meta.url)

const keptLogLines = 40
const keptErrorBytes = 8192
const keptErrorLines = 20

/**
 * How long after a death the rest of its stderr is waited for; more than this only where a process that it started
 * holds it open.
 */
const stderrMs = 200

/** Who answers what a calibration asks, and where it is told that this failed. */
export interface Calibrating {
  readonly feed: Feed
  readonly fail: (error: unknown) => void
}

interface Job {
  readonly calibrating: Calibrating | undefined
  readonly onProgress: ProgressListener | undefined
  readonly resolve: (answer: Extract<Answer, { type: 'built' }>) => void
  readonly reject: (error: Error) => void
}

/**
 * A process of ours that builds, one build at a time, until it dies. While idle it does not keep this process alive,
 * and it ends with it.
 *
 * Model and plan go through a file that has no name, which both have open. So nothing is left whichever of the two is
 * killed when, nobody else can open it, and the event loop goes on: Node's own channel copies a model on it, which
 * holds it up for as long as the copy takes (measured, see docs/architecture.md).
 */
export class BuildingProcess {
  readonly #process: ChildProcess
  readonly #exchange: FileHandle
  readonly #exited: Promise<void>
  #death: TensorRTError | undefined
  #dead = false
  #job: Job | undefined
  #phase: BuildProgress | undefined
  #log: string[] = []
  #stderr = ''
  #logLevel = -1

  /** @throws TensorRTError ERR_TRT_FILE, ERR_TRT_CRASH, ERR_TRT_NO_ADDON, ERR_TRT_PLATFORM */
  static async start(): Promise<BuildingProcess> {
    loadAddon() // what would fail there fails here, with a better message
    const exchange = await openNameless()
    try {
      return new BuildingProcess(exchange)
    } catch (cause) {
      await exchange.close()
      throw notStarted(cause)
    }
  }

  private constructor(exchange: FileHandle) {
    this.#exchange = exchange
    this.#process = fork(entry(), {
      // Flags of the user's process, such as --inspect-brk, --test, --import, are not for our program.
      execArgv: [],
      env: withoutFlags(process.env),
      serialization: 'advanced',
      detached: true, // a group of its own, so that all of it can be killed, and no Ctrl-C of a terminal goes there
      stdio: ['ignore', 'ignore', 'pipe', 'ipc', exchange.fd],
    })
    this.#process.on('message', (answer) => this.#take(answer as Answer))
    this.#process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-keptErrorBytes)
    })
    this.#process.on('error', () => {}) // what matters of it is told by #untilExit
    this.#exited = this.#untilExit()
    this.#hold(false)
  }

  /** Whether it takes no build any more. */
  get dead(): boolean {
    return this.#dead
  }

  /**
   * One build, while no other is under way here.
   * @throws TensorRTError what the build failed with; ERR_TRT_CRASH when the process ended; ERR_TRT_FILE
   */
  async run(
    request: NativeBuildRequest,
    onProgress: ProgressListener | undefined,
    calibrating?: Calibrating,
  ): Promise<NativeBuildResult> {
    this.#hold(true)
    try {
      const { model, ...rest } = request
      if (model !== undefined) await passing(() => writeFully(this.#exchange, model, 0))
      const { result, planBytes } = await this.#order(rest, model?.length, onProgress, calibrating)
      if (planBytes === undefined) return result as NativeBuildResult // only parsed
      const plan = await passing(() => readStart(this.#exchange, planBytes))
      return { ...result, plan: plan.buffer }
    } catch (error) {
      if (this.#dead) await this.#exited // the file is closed then, which is not the news
      throw this.#death ?? error
    } finally {
      this.#job = undefined
      // the space on disk is free again; where that fails, it is when the process ends
      await this.#exchange.truncate(0).catch(() => {})
      this.#hold(false)
    }
  }

  /** Ends it at once, with all that it started. Fulfilled when it is gone. */
  async kill(): Promise<void> {
    const { pid, exitCode, signalCode } = this.#process
    this.#dead = true
    if (pid !== undefined && exitCode === null && signalCode === null) {
      try {
        process.kill(-pid, 'SIGKILL')
      } catch {
        this.#process.kill('SIGKILL') // it has no group yet, in its very first moments
      }
      this.#process.ref() // until it is gone; not for long
    }
    await this.#exited
  }

  #order(
    request: Omit<NativeBuildRequest, 'model'>,
    modelBytes: number | undefined,
    onProgress: ProgressListener | undefined,
    calibrating: Calibrating | undefined,
  ) {
    return new Promise<Extract<Answer, { type: 'built' }>>((resolve, reject) => {
      if (this.#death) return reject(this.#death)
      this.#job = { calibrating, onProgress, resolve, reject }
      this.#phase = undefined
      this.#log = []
      this.#stderr = ''
      this.#logLevel = loadAddon().logLevel()
      this.#send({ type: 'build', request, modelBytes, cwd: process.cwd(), logLevel: this.#logLevel })
    })
  }

  #take(answer: Answer): void {
    if (answer.type === 'built') return this.#job?.resolve(answer)
    if (answer.type === 'failed') return this.#job?.reject(fromWire(answer.error))
    if (answer.type === 'log') return this.#note(answer.severity, answer.line)
    if (answer.type === 'ask') return this.#answer(answer.question)
    this.#followLogLevel()
    this.#phase = answer.progress
    this.#job?.onProgress?.(answer.progress)
  }

  #answer(question: CalibrationQuestion): void {
    const job = this.#job
    if (job?.calibrating === undefined) return
    const { feed, fail } = job.calibrating
    const isOn = (): boolean => this.#job === job && !this.#dead // where the process died, that is the news
    const tell = async (answer: CalibrationAnswer): Promise<void> => {
      if (!isOn()) return
      const order = await passing(() => given(this.#exchange, answer))
      if (isOn()) this.#send(order)
    }
    answering(feed, question, tell, (error) => isOn() && fail(error))
  }

  #note(severity: number, line: string): void {
    loadAddon().tellLog(severity, line)
    if (severity > logLevels.indexOf('info')) return
    this.#log.push(`${logLevels[severity] ?? ''}: ${line}`)
    if (this.#log.length > keptLogLines) this.#log.shift()
  }

  /** Who subscribes while a build is under way gets what it logs from its next step on. */
  #followLogLevel(): void {
    const logLevel = loadAddon().logLevel()
    if (logLevel === this.#logLevel) return
    this.#logLevel = logLevel
    this.#send({ type: 'logLevel', logLevel })
  }

  #send(order: Order): void {
    // It fails when the process is gone, which `exit` tells.
    this.#process.send(order, () => {})
  }

  /** Whether it keeps this process alive. */
  #hold(firmly: boolean): void {
    for (const held of [this.#process, this.#process.channel, this.#process.stderr as Socket | null]) {
      if (firmly) held?.ref()
      else held?.unref()
    }
  }

  async #untilExit(): Promise<void> {
    const closed = once(this.#process, 'close').catch(() => {})
    try {
      await once(this.#process, 'exit')
      this.#dead = true
      await Promise.race([closed, sleep(stderrMs, undefined, { ref: this.#job !== undefined })])
      this.#die(this.#crash())
    } catch (cause) {
      this.#dead = true
      this.#die(notStarted(cause))
    }
    await this.#exchange.close()
  }

  #die(error: TensorRTError): void {
    this.#death = error
    this.#job?.reject(error)
  }

  #crash(): TensorRTError {
    const { signalCode: signal, exitCode } = this.#process
    const stderr = this.#stderr.trimEnd().split('\n').slice(-keptErrorLines)
    const phase = this.#phase?.phase
    const how = signal === null ? `ended with exit code ${exitCode}` : `was ended by ${signal}`
    const where = phase === undefined ? 'before its first step' : `in "${phase}"`
    const said = stderr.at(-1) ? `; it said last: ${stderr.at(-1)}` : ''
    return new TensorRTError('ERR_TRT_CRASH', `The process in which TensorRT built ${how} ${where}${said}`, {
      details: { signal, exitCode, phase, stderr },
      log: this.#log,
    })
  }
}

function withoutFlags(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => name !== 'NODE_OPTIONS'))
}

/** Linux's O_TMPFILE, which Node does not name: a file that never had a name. */
const withoutName = 0o20000000 | constants.O_DIRECTORY | constants.O_RDWR

/** A file that two processes can have open and nobody can find. */
async function openNameless(): Promise<FileHandle> {
  return passing(() => open(tmpdir(), withoutName, 0o600).catch(openAndUnlink))
}

/** Where the file system cannot do it in one step: who is killed between the two leaves an empty file. */
async function openAndUnlink(): Promise<FileHandle> {
  const path = join(tmpdir(), `node-tensorrt-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await unlink(path)
  return file
}

/** What happens to the file between the processes, such as a full disk, as a typed error. */
async function passing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    const message = `Cannot pass model and plan through a temporary file in ${tmpdir()}: ${(cause as Error).message}`
    throw new TensorRTError('ERR_TRT_FILE', message, { cause, details: { path: tmpdir() } })
  }
}

function notStarted(cause: unknown): TensorRTError {
  return new TensorRTError(
    'ERR_TRT_CRASH',
    `The process in which TensorRT is to build cannot be started: ${(cause as Error).message}`,
    {
      cause,
      details: { signal: null, exitCode: null, phase: undefined, stderr: [] },
    },
  )
}
