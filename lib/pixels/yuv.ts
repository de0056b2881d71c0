/** What Y, U and V mean: R = luma (Y - black) + red V', G = luma (Y - black) - greenU U' - greenV V', B = luma (Y - black) + blue U', of U' = U - 128, V' = V - 128. */
export interface YuvToRgb {
  readonly black: number
  readonly luma: number
  readonly red: number
  readonly greenU: number
  readonly greenV: number
  readonly blue: number
}

export const yuvMatrices = ['bt601', 'bt709'] as const
export const yuvRanges = ['limited', 'full'] as const

/**
 * From the shares of red and blue in Y.
 * @see https://www.itu.int/rec/R-REC-BT.601, https://www.itu.int/rec/R-REC-BT.709
 */
export function yuvCoefficients(matrix: (typeof yuvMatrices)[number], range: (typeof yuvRanges)[number]): YuvToRgb {
  const [red, blue] = matrix === 'bt601' ? [0.299, 0.114] : [0.2126, 0.0722]
  const green = 1 - red - blue
  const [black, luma, chroma] = range === 'limited' ? [16, 255 / 219, 255 / 112] : [0, 1, 255 / 127.5]
  return {
    black,
    luma,
    red: chroma * (1 - red),
    blue: chroma * (1 - blue),
    greenU: (chroma * blue * (1 - blue)) / green,
    greenV: (chroma * red * (1 - red)) / green,
  }
}
