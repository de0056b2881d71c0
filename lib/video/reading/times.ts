/** Fractions of time: of ticks, of which one takes num / den seconds. */
export interface TimeBase {
  readonly num: bigint
  readonly den: bigint
}

/** Of the fraction that users see. */
export function baseOf([num, den]: readonly [number, number]): TimeBase {
  return { num: BigInt(num), den: BigInt(den) }
}

/** A number of ticks in those of another base, rounded to the nearest. */
export function rescaled(ticks: bigint, from: TimeBase, to: TimeBase): bigint {
  const above = ticks * from.num * to.den
  const below = from.den * to.num
  const doubled = 2n * above + below
  const quotient = doubled / (2n * below)
  return doubled < 0n && doubled % (2n * below) !== 0n ? quotient - 1n : quotient
}

/** Whole seconds as ticks. */
export function ticksOf(seconds: number, base: TimeBase): bigint {
  return rescaled(BigInt(seconds), { num: 1n, den: 1n }, base)
}

/** Ticks as seconds, as near as a number comes. */
export function secondsOf(ticks: bigint, { num, den }: TimeBase): number {
  return Number(ticks * num) / Number(den)
}
