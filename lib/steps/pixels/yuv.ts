/**
 * What Y, U and V mean: R = luma (Y - black) + red V', G = luma (Y - black) - greenU U' - greenV V', B = luma (Y -
 * black) + blue U', of U' = U - centre, V' = V - centre. Y, U and V are of 8 bits; samples of 10 bits are so once they
 * are multiplied by `sample`.
 */
export interface YuvToRgb {
  readonly black: number
  readonly luma: number
  readonly red: number
  readonly greenU: number
  readonly greenV: number
  readonly blue: number
  readonly sample: number
  readonly centre: number
}

export const yuvMatrices = ['bt601', 'bt709', 'bt2020'] as const
export const yuvRanges = ['limited', 'full'] as const

/** The shares of red and blue in Y; bt2020's are those of non-constant luminance. */
const shares = { bt601: [0.299, 0.114], bt709: [0.2126, 0.0722], bt2020: [0.2627, 0.0593] } as const

/**
 * From the shares of red and blue in Y.
 * @see https://www.itu.int/rec/R-REC-BT.601, https://www.itu.int/rec/R-REC-BT.709,
 * https://www.itu.int/rec/R-REC-BT.2020; of ranges and bits https://www.itu.int/rec/T-REC-H.273
 */
export function yuvCoefficients(
  matrix: (typeof yuvMatrices)[number],
  range: (typeof yuvRanges)[number],
  bits: 8 | 10 = 8,
): YuvToRgb {
  const [red, blue] = shares[matrix]
  const green = 1 - red - blue
  const [black, luma, chroma] = range === 'limited' ? [16, 255 / 219, 255 / 112] : [0, 1, 255 / 127.5]
  // limited levels are those of 8 bits times 4; the full range ends at 1023, and its middle is 512
  const sample = bits === 8 ? 1 : range === 'limited' ? 1 / 4 : 255 / 1023
  return {
    black,
    luma,
    red: chroma * (1 - red),
    blue: chroma * (1 - blue),
    greenU: (chroma * blue * (1 - blue)) / green,
    greenV: (chroma * red * (1 - red)) / green,
    sample,
    centre: 2 ** (bits - 1) * sample,
  }
}
