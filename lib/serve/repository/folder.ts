/** The folder of a model. */
export interface ModelFolder {
  readonly name: string
  /** Absolute. */
  readonly path: string
  /** Names of folders that are whole numbers without leading zeros, the lowest first. */
  readonly versions: readonly string[]
  /** Of the names, sizes and times of all files: it differs once anything has changed. */
  readonly fingerprint: string
}
