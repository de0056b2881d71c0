/** Where text goes: a terminal, a file, a pipe, or what a test gives. */
export interface Sink {
  write(text: string): unknown
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
  hasColors?(): boolean
}
