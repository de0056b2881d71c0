/** How often the magnitude of a value was in each bin: bin i is `[i · width, (i + 1) · width)`. */
export interface Histogram {
  /** The width of a bin. */
  readonly width: number
  /** How many elements each bin has. */
  readonly counts: ArrayLike<number>
}
