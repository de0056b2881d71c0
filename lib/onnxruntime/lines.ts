/** What a session says on the console: warnings, once each, and which provider runs a model. */

/** onnxruntime's severities: 0 verbose, 1 info, 2 warning, 3 error, 4 fatal. */
const severities = ['verbose', 'info', 'warning', 'error', 'fatal'] as const
const infoSeverity = 1
const warningSeverity = 2

/** `env` of each copy of onnxruntime-common that the backend is registered with: their `logLevel` counts. */
const environments = new Set<{ readonly logLevel?: string | undefined }>()

/** Has a copy's `env.logLevel` count. */
export function heedLogLevel(env: { readonly logLevel?: string | undefined }): void {
  environments.add(env)
}

/** The least severity that is told: a session's own, else that of an `env`, else onnxruntime's default. */
function threshold(ofSession: number | undefined): number {
  if (ofSession !== undefined) return ofSession
  const levels = [...environments].map(({ logLevel }) => severities.indexOf(logLevel as (typeof severities)[number]))
  return Math.min(...levels.map((level) => (level < 0 ? warningSeverity : level)), warningSeverity)
}

/** Whose lines these are: what `logSeverityLevel` and `logId` of a session say. */
export interface Speaker {
  readonly logSeverity: number | undefined
  readonly logId: string | undefined
}

/** Says on the console what a session does, in a line, where its severity is told. */
export function say({ logSeverity, logId }: Speaker, kind: 'info' | 'warning', text: string): void {
  if (threshold(logSeverity) > (kind === 'warning' ? warningSeverity : infoSeverity)) return
  const who = logId === undefined ? 'a session' : `the session ${JSON.stringify(logId)}`
  console.warn(`node-tensorrt: ${who} ${text}`)
}

const told = new Set<string>()

/** A warning of a session, once in a process however many sessions there are. */
export function warnOnce(text: string): void {
  if (told.has(text)) return
  told.add(text)
  console.warn(`node-tensorrt: ${text}`)
}

/** For tests: as if nothing had been told yet. */
export function forgetWarnings(): void {
  told.clear()
}
