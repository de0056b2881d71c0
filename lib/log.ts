import { fromNative, loadAddon } from './backend/native.js'
import { checkedChoice } from './base/checks.js'
import { expected } from './errors.js'

/** TensorRT's severities, worst first. */
export const logLevels = ['internal error', 'error', 'warning', 'info', 'verbose'] as const
/**
 * A severity of TensorRT's log.
 * @useDeclaredType
 */
export type LogLevel = (typeof logLevels)[number]

/** A line that TensorRT logged. */
export interface LogLine {
  /** How severe it is. */
  readonly level: LogLevel
  /** What TensorRT logged. */
  readonly text: string
}

/**
 * Calls back with each line that any TensorRT of this process logs, down to `level` ('warning' unless given).
 * TensorRT's log never goes to stdout or stderr. Calling the result ends it; it does not keep the process alive.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_NO_ADDON, ERR_TRT_PLATFORM
 * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_logger.html
 */
export function onLog(listener: (line: LogLine) => void, level: LogLevel = 'warning'): () => void {
  if (typeof listener !== 'function') throw expected('a function', 'listener', listener)
  const rank = logLevels.indexOf(checkedChoice(level, 'level', logLevels))
  try {
    let over = false
    const unsubscribe = loadAddon().subscribeLog(rank, (severity, text) => {
      if (over) return
      try {
        listener({ level: logLevels[severity] ?? 'verbose', text })
      } catch (error) {
        // as an error in an event listener: it is the program's own, and not ours to swallow
        process.nextTick(() => {
          throw error
        })
      }
    })
    return () => {
      if (over) return
      over = true
      unsubscribe()
    }
  } catch (error) {
    throw fromNative(error)
  }
}
