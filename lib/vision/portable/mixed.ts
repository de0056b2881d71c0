export const opaque = 2 ** 15

/** Opacity is 0 to {@link opaque}. */
export function mixed(under: number, over: number, opacity: number): number {
  return under + (((over - under) * opacity + opaque / 2) >> 15)
}
