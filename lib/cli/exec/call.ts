import type { Session } from '../session.js'
import type { ExecConsole } from './console.js'
import type { ExecSettings } from './settings.js'

/** What all steps of one call of `trt exec` share. */
export interface Call {
  readonly settings: ExecSettings
  readonly session: Session
  readonly console: ExecConsole
}
