import { closeSync, openSync } from 'node:fs'
import type { Logger } from 'pino'
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
  // written at once: what a server says last is what people need
  const destination =
    file === undefined ? (settings.destination ?? process.stderr) : pino.destination({ fd: file, sync: true })
  const timestamp = settings.format === 'ISO8601' ? pino.stdTimeFunctions.isoTime : true
  const logger = pino(
    { level: 'debug', base: null, timestamp, formatters: { level: (label) => ({ level: label }) } },
    destination,
  )
  return { ...linesOf(logger, settings), [Symbol.dispose]: () => (file === undefined ? undefined : closeSync(file)) }
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
