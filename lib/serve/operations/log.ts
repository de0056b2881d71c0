import type { Logger } from 'pino'
import type { LogFields, ServeLog } from '../front/options.js'
import type { PinoFactory } from '../peers.js'
import type { LogSettings } from '../options.js'
import { LogFile } from './log-file.js'

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

/** @throws TensorRTError ERR_TRT_FILE (as a rejection) if the file cannot be written */
export async function openLog(pino: PinoFactory, settings: LogSettings): Promise<OpenLog> {
  const file = settings.file === undefined ? undefined : await LogFile.open(settings.file)
  const timestamp = settings.format === 'ISO8601' ? pino.stdTimeFunctions.isoTime : true
  const logger = pino(
    { level: 'debug', base: null, timestamp, formatters: { level: (label) => ({ level: label }) } },
    file ?? settings.destination ?? process.stderr,
  )
  if (file !== undefined)
    file.onLost = (lost) => logger.warn({ lost }, 'lines of this log are lost: it could not be written')
  return { ...linesOf(logger, settings), [Symbol.dispose]: () => file?.[Symbol.dispose]() }
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
