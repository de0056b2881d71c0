/** How often the magnitude of a value was in each bin: bin i is `[i · width, (i + 1) · width)`. */
export interface Histogram {
  readonly width: number
  readonly counts: ArrayLike<number>
}
