/** The options of a run, each used or named once in a warning. */
import type { InferenceSession } from 'onnxruntime-common'
import { wrong } from './errors.js'
import { warnOnce } from './lines.js'
import { checkedSeverity } from './options.js'

/** Checks an option; gives whether it asks for something that does not happen here. */
type Row = (value: unknown) => boolean

const rows = {
  logSeverityLevel: (value) => checkedSeverity(value, 'runOptions') < 2,
  logVerbosityLevel: (value) => value !== 0,
  tag: (value) => {
    if (typeof value !== 'string') throw wrong('TypeError', 'Invalid argument: runOptions.tag must be a string', value)
    return value !== ''
  },
  terminate: (value) => value !== false,
  extra: (value) => typeof value !== 'object' || value === null || Object.keys(value).length > 0,
} satisfies { readonly [Name in keyof Required<InferenceSession.RunOptions>]: Row }

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT by the name TypeError or RangeError */
export function checkRunOptions(options: InferenceSession.RunOptions): void {
  for (const name of Object.keys(options)) {
    const value = (options as Readonly<Record<string, unknown>>)[name]
    if (value === undefined) continue
    const row: Row = Object.hasOwn(rows, name) ? rows[name as keyof typeof rows] : () => true
    if (row(value)) warnOnce(`the run option '${name}' has no effect here`)
  }
}
