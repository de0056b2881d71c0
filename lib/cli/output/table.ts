import { createRequire } from 'node:module'
import { stripVTControlCharacters } from 'node:util'
import type CliTable from 'cli-table3'
import { wrapped } from './format.js'

export type Row = readonly (string | number)[]

const gap = '  '
/** No column becomes narrower than this, or than its head. */
const narrowest = 8

/** A number with its unit or without, and what stands where there is none. */
const isNumber = (cell: string): boolean => /^([-+]?(\d[\d.,]*(e[-+]\d+)?|Infinity)( \S+)?|NaN|-|)$/.test(cell)

/**
 * A table without frames that fits `width` columns: the widest of its own are wrapped until it does. Columns of numbers
 * stand at the right.
 */
export function tableText(head: readonly string[], rows: readonly Row[], width: number): string {
  const cells = rows.map((row) => head.map((_, column) => String(row[column] ?? '')))
  const widths = fitted(head, cells, width - gap.length * (head.length - 1))
  const isRight = (column: number): boolean =>
    cells.every((row) => isNumber(row[column]!)) && cells.some((row) => /\d/.test(row[column]!))
  const spaced = (cell: string, column: number): string =>
    column === head.length - 1 ? cell : cell.replaceAll(/$/gm, gap)
  const table = new (tables())({
    head: head.map(spaced),
    colWidths: widths.map((each, column) => (column === head.length - 1 ? each : each + gap.length)),
    colAligns: head.map((_, column) => (isRight(column) ? 'right' : 'left')),
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    chars: noFrame,
  })
  for (const row of cells)
    table.push(row.map((cell, column) => spaced(wrapped(cell, widths[column] as number, 'anywhere'), column)))
  return table.toString().replaceAll(/ +$/gm, '')
}

/** Loaded when there is a table: the start of a command that has none costs nothing of it. */
function tables(): typeof CliTable {
  return createRequire(import.meta.url)('cli-table3') as typeof CliTable
}

/** Of the longest line as it is seen. */
function widthOf(text: string): number {
  return Math.max(
    ...stripVTControlCharacters(text)
      .split('\n')
      .map((line) => line.length),
  )
}

/** The widths of columns that have so much room together, as far as they can have it. */
function fitted(head: readonly string[], cells: readonly (readonly string[])[], room: number): number[] {
  const widths = head.map((name, column) =>
    Math.max(...[name, ...cells.map((row) => row[column] as string)].map(widthOf)),
  )
  const least = head.map((name, column) => Math.min(widths[column] as number, Math.max(narrowest, widthOf(name))))
  for (let excess = widths.reduce((sum, each) => sum + each, 0) - room; excess > 0; excess--) {
    const wider = widths.map((each, column) => (each > (least[column] as number) ? each : 0))
    const widest = Math.max(...wider)
    if (widest === 0) break
    widths[wider.indexOf(widest)] = widest - 1
  }
  return widths
}

const places =
  'top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right left left-mid mid mid-mid right right-mid middle'

const noFrame = Object.fromEntries(places.split(' ').map((place) => [place, '']))
