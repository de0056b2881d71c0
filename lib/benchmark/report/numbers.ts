import type { Benchmark } from '../types.js'

/** How many decimals a number of milliseconds (or another measured quantity) of this size deserves. */
export function decimalsFor(value: number): number {
  const size = Math.abs(value)
  return size >= 100 ? 1 : size >= 10 ? 2 : 3
}

/** With commas between thousands. */
export function grouped(value: number, decimals = 0): string {
  const [whole = '', fraction] = value.toFixed(decimals).split('.')
  const withCommas = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  return fraction === undefined ? withCommas : `${withCommas}.${fraction}`
}

/** Milliseconds without their unit; `decimals` where others beside it decide. */
export function milliseconds(value: number, decimals = decimalsFor(value)): string {
  return grouped(value, decimals)
}

/** What a call from JavaScript adds, in milliseconds without their unit: never below 0. */
export function addedText({ addsMs, addsRangeMs: [low, high] }: NonNullable<Benchmark['javascript']>): string {
  return addsMs === undefined ? `0 to ${Math.max(Math.abs(low), high).toFixed(3)}` : `+${addsMs.toFixed(3)}`
}

/** Queries or images per second: four digits that mean something. */
export function rate(value: number): string {
  return grouped(value, value >= 1000 ? 0 : value >= 100 ? 1 : 2)
}

/** Percent, with its sign. */
export function percent(value: number): string {
  return `${value.toFixed(Math.abs(value) >= 10 ? 1 : 2)} %`
}

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${grouped(count)} ${count === 1 ? one : many}`
