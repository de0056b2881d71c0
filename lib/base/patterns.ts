import { isRegExp } from 'node:util/types'
import { isText } from './checks.js'

/** What names are chosen by: the whole name, or an expression that finds something in it. */
export type NamePattern = string | RegExp

export function isNamePattern(value: unknown): value is NamePattern {
  return isText(value) || isRegExp(value)
}

/**
 * The first pattern that fits a name. Each name is looked at from its beginning: with the flags `g` and `y`, `test`
 * would go on where it stopped in the last one.
 */
export function patternOf(name: string, patterns: readonly NamePattern[]): NamePattern | undefined {
  return patterns.find((pattern) => (typeof pattern === 'string' ? pattern === name : name.search(pattern) >= 0))
}
