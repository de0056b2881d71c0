/** Where a server tells what it does: lines with fields. */
export interface ServeLog {
  info(fields: LogFields, text: string): void
  warn(fields: LogFields, text: string): void
  error(fields: LogFields, text: string): void
  /** Kept from `--log-verbose=LEVEL` on. */
  verbose(level: 1, fields: LogFields, text: string): void
}

export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>
