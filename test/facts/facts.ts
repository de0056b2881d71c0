// The facts of test/facts/*.json in the form of the addon's tables.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../fake/build.js'

export const families = ['trt10', 'trt11', 'rtx1.5', 'rtx1.6', 'rtx1.7'] as const
export type Family = (typeof families)[number]

export interface MethodRow {
  interface: string
  method: string
  parameters: string
  slots: Partial<Record<Family, { index: number; since: number }>>
}
export interface EnumRow {
  enum: string
  name: string
  values: Partial<Record<Family, { number: number; since: number }>>
}

interface FamilyTables {
  versions: string[]
  interfaces: Record<string, [number, string, string][]>
}

const read = (name: string): unknown => JSON.parse(readFileSync(join(root, 'test', 'facts', name), 'utf8'))
export const vtables = read('vtables.json') as Record<Family, FamilyTables>
export const enums = read('enums.json') as Record<Family, Record<string, Record<string, [number, string]>>>

/** '10.8' → 8; 'rtx1.7' → 7. */
export const minor = (version: string): number => Number(version.split('.').pop())

/** Spaces and where `const` stands do not make another type. */
export function normalize(parameters: string): string {
  if (!parameters) return ''
  return parameters
    .split(',')
    .map((parameter) =>
      parameter
        .replace(/\bnvinfer1::|\bstd::/g, '')
        .replace(/\s+/g, ' ')
        .trim()
        .replace(/^const (\w+)/, '$1 const')
        .replace(/ ?([*&]) ?/g, '$1')
        .replace(/\*const$/, '*')
        .replace(/^(\w+) const$/, '$1'),
    )
    .join(',')
}

export function splitSignature(signature: string): [method: string, parameters: string] {
  const open = signature.indexOf('(')
  return open < 0 ? [signature, ''] : [signature.slice(0, open), signature.slice(open + 1, -1)]
}

/** The rows of one interface in one family; the second `~` is the deleting destructor, the first is left out. */
export function factRows(
  family: Family,
  name: string,
): { index: number; method: string; parameters: string; since: number }[] {
  const rows = vtables[family].interfaces[name] ?? []
  const destructors = rows.filter(([, signature]) => signature === '~').length
  let seen = 0
  return rows.flatMap(([index, signature, since]) => {
    if (signature === '~' && destructors > 1 && ++seen === 1) return []
    const [method, parameters] = splitSignature(signature)
    return [{ index, method, parameters, since: minor(since) }]
  })
}
