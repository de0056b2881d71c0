/** What `console.log` shows of an object of this package: its name and what it is, and no internals. */

/** What Node's `util.inspect` calls, by its registered symbol, which other runtimes have, too. */
export const shownAs: unique symbol = Symbol.for('nodejs.util.inspect.custom') as never

/** `fields` that are undefined are left out. */
export function shown(
  name: string,
  fields: Readonly<Record<string, unknown>>,
  [depth, options, inspect]: Shown,
): string {
  if (typeof depth === 'number' && depth < 0) return `[${name}]`
  const known = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
  return `${name} ${inspect(known, { ...options, depth })}`
}

/** The arguments of such a call. */
export type Shown = [
  depth: number | null,
  // not Node's own type: @types/node 26 no longer has the one of 20 to 25
  options: object,
  inspect: (value: unknown, options: object) => string,
]
