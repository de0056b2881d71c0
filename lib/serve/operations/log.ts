import { closeSync, openSync } from 'node:fs'
import type { Logger } from 'pino'
import { warn } from '../../base/warnings.js'
import { TensorRTError } from '../../errors.js'
import type { LogFields, ServeLog } from '../front/options.js'
import type { PinoFactory } from '../peers.js'
import type { LogSettings } from '../options.js'

/** A log, and what ends it: the file is closed. */
export type OpenLog = ServeLog & Disposable

const nothing = (): void => {}

/** Who asked for no log gets none. */
export const noLog: OpenLog = {
  info: nothing,
  warn: nothing,
  error: nothing,
  verbose: nothing,
  [Symbol.dispose]: nothing,
}

/** @throws TensorRTError ERR_TRT_FILE where the file cannot be written */
export function openLog(pino: PinoFactory, settings: LogSettings): OpenLog {
  const file = settings.file === undefined ? undefined : openFile(settings.file)
  const destination =
    file === undefined ? (settings.destination ?? process.stderr) : fileDestination(pino, file, settings.file)
  const timestamp = settings.format === 'ISO8601' ? pino.stdTimeFunctions.isoTime : true
  const logger = pino(
    { level: 'debug', base: null, timestamp, formatters: { level: (label) => ({ level: label }) } },
    destination,
  )
  return { ...linesOf(logger, settings), [Symbol.dispose]: () => (file === undefined ? undefined : closeSync(file)) }
}

/** Bytes of lines that wait while the disk is full. Later lines are dropped. */
const maxWaitingBytes = 2 ** 20

/** Writes each line synchronously, so that a crash loses none. A full disk does not end the server. */
function fileDestination(pino: PinoFactory, file: number, path: string | undefined) {
  const destination = pino.destination({ fd: file, sync: true, maxLength: maxWaitingBytes })
  let isFull = false
  destination.on('write', () => (isFull = false))
  destination.on('error', ({ message }: Error) => {
    if (isFull) return
    isFull = true
    const kept = `Up to ${maxWaitingBytes} bytes of lines are kept until it can be`
    warn('TRT_LOG_NOT_WRITTEN', `The log ${path} cannot be written: ${message}. ${kept}`)
  })
  return destination
}

function openFile(path: string): number {
  try {
    return openSync(path, 'a')
  } catch (cause) {
    throw new TensorRTError('ERR_TRT_FILE', `Cannot write the log ${path}: ${(cause as Error).message}`, { cause })
  }
}

/** Triton's switches are of each level by itself. */
function linesOf(logger: Logger, { info, warning, error, verbose }: LogSettings): ServeLog {
  const line = (isOn: boolean, level: 'info' | 'warn' | 'error') =>
    isOn ? (fields: LogFields, text: string): void => logger[level](fields, text) : nothing
  return {
    info: line(info, 'info'),
    warn: line(warning, 'warn'),
    error: line(error, 'error'),
    verbose: (level, fields, text) => {
      if (level <= verbose) logger.debug(fields, text)
    },
  }
}
