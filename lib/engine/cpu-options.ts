import { isMap } from 'node:util/types'
import { type CpuOptions, type Optimization, optimizations } from '../backend/cpu-options.js'
import { checkedObject, isText } from '../base/checks.js'
import { group, is, option, type OptionTable } from '../base/option-table.js'
import { checkedPath, checkedPaths } from '../base/source.js'
import { expected } from '../errors.js'

/** How onnxruntime runs a model on the CPU. */
export interface CpuEngineOptions {
  /**
   * The threads of one inference, 1 to 1024; default: the cores of this machine divided by `lanes`, at least 1.
   */
  readonly threads?: number | undefined
  /**
   * The path of onnxruntime's library, or of the folder that has it; default: $ONNXRUNTIME_PATH, else the first that is
   * found, such as that of the package onnxruntime-node. Where the addon does not load, onnxruntime-node runs the
   * model: there this is ERR_TRT_UNSUPPORTED.
   */
  readonly library?: string | URL | undefined
  /**
   * How far the graph is optimized before it runs; default `all`. `layout` and `all` may change the last digits of
   * results.
   * @see https://onnxruntime.ai/docs/performance/model-optimizations/graph-optimizations.html
   */
  readonly optimization?: Optimization | undefined
  /** Whether the same inputs give the same bits each time, where a faster kernel would not; default false. */
  readonly deterministic?: boolean | undefined
  /**
   * Entries of onnxruntime's session configuration, by its own names: `{ 'session.disable_prepacking': '1' }`. What
   * onnxruntime does not know, it ignores. `session.intra_op.allow_spinning` is `0` unless given: threads without work
   * sleep.
   * @see
   * https://github.com/microsoft/onnxruntime/blob/main/include/onnxruntime/core/session/onnxruntime_session_options_config_keys.h
   */
  readonly config?: Readonly<Record<string, string>> | undefined
  /**
   * The paths of libraries with custom operators, each of which exports `RegisterCustomOps`: their code runs in your
   * process. A path that is no such library is ERR_TRT_FILE, by its name. Where the addon does not load this is
   * ERR_TRT_UNSUPPORTED.
   * @see https://onnxruntime.ai/docs/reference/operators/add-custom-op.html
   * @see https://onnxruntime.ai/docs/api/c/struct_ort_api.html RegisterCustomOpsLibrary_V2
   */
  readonly customOps?: readonly (string | URL)[] | undefined
}

export const cpuTable = {
  threads: option(is.whole(1, 1024, 'a number of threads from 1 to 1024')),
  library: option<string | undefined>(checkedPath),
  optimization: option<CpuOptions['optimization']>(is.choice(...optimizations), 'all'),
  deterministic: option(is.boolean, false),
  config: option(checkedConfig, {}),
  customOps: option(checkedPaths, []),
} satisfies OptionTable<CpuEngineOptions>

/** The option `cpu` of what runs on the CPU alone. */
export const cpuRows = { cpu: group(cpuTable) }

/** Names and values end at a zero in native code; onnxruntime takes no longer names. */
const longestName = 1024

function checkedConfig(config: unknown, name: string): Readonly<Record<string, string>> {
  if (isMap(config)) throw expected('a record of strings (Object.fromEntries(map) makes one)', name, config)
  const entries = Object.entries(checkedObject(config, name, 'a record of strings')) as [string, unknown][]
  for (const [key, value] of entries) {
    if (!isText(key) || Buffer.byteLength(key) > longestName)
      throw expected(`names of 1 to ${longestName} bytes`, name, key)
    if (typeof value !== 'string' || value.includes('\0'))
      throw expected('a string', `${name}[${JSON.stringify(key)}]`, value)
  }
  return Object.fromEntries(entries) as Record<string, string>
}
