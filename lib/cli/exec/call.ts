import type { Benchmark } from '../../benchmark/types.js'
import type { Session } from '../session.js'
import type { ExecConsole } from './console.js'
import type { ExecSettings } from './settings.js'

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
