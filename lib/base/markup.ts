declare const made: unique symbol

/**
 * HTML or SVG that is well-formed XML too, in which every text is escaped. Only this file makes it, so that no plain
 * text is taken for it.
 */
export type Markup = string & { readonly [made]: true }

type Attributes = Readonly<Record<string, string | number | undefined>>
type Child = Markup | readonly Markup[] | undefined

/** A text that anybody may have written, such as a layer's name. What XML cannot hold is a question mark. */
export function text(value: string | number): Markup {
  return escaped(String(value)) as Markup
}

/** An element; a number among its attributes has two decimals at most. */
export function element(name: string, attributes: Attributes = {}, ...children: Child[]): Markup {
  const given = Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [` ${key}="${attributeText(value)}"`],
  )
  const content = joined(children.flatMap((child) => child ?? []))
  const end = content === '' && empty.has(name) ? '/>' : `>${content}</${name}>`
  return `<${name}${given.join('')}${end}` as Markup
}

export function joined(parts: readonly Markup[], between = ''): Markup {
  return parts.join(between) as Markup
}

/** The style sheet of a page or drawing: ours, so not escaped; it has no `<` or `&`. */
export function styleSheet(rules: string): Markup {
  return `<style>${rules}</style>` as Markup
}

/** What is told where the pointer rests, and of a drawing to those who do not see it. */
export const hint = (words: string): Markup => element('title', {}, text(words))

/** Words in a drawing. */
export const label = (words: string | number, attributes: Attributes): Markup =>
  element('text', attributes, text(words))

/** A drawing (SVG) that stands alone, with its style sheet. */
export function drawing(
  { left = 0, width, height }: { readonly left?: number; readonly width: number; readonly height: number },
  title: string,
  rules: string,
  ...parts: Child[]
): string {
  const viewBox = [left, 0, width, height].map(coordinate).join(' ')
  const attributes = { xmlns: 'http://www.w3.org/2000/svg', width, height, viewBox, role: 'img' }
  return `${element('svg', attributes, hint(title), styleSheet(rules), ...parts)}\n`
}

/** A line through points, or (`polygon`) what they enclose. */
export function polyline(
  points: readonly (readonly [x: number, y: number])[],
  style: string | undefined,
  name: 'polyline' | 'polygon' = 'polyline',
  ...children: Markup[]
): Markup {
  const path = points.map(([x, y]) => `${coordinate(x)},${coordinate(y)}`).join(' ')
  return element(name, { points: path, class: style }, ...children)
}

/** A number of a path or a list of points. */
export function coordinate(value: number): string {
  return String(Math.round(value * 100) / 100)
}

/** What HTML or SVG closes without an end tag. */
const empty: ReadonlySet<string> = new Set([
  'br',
  'circle',
  'col',
  'hr',
  'line',
  'meta',
  'path',
  'polygon',
  'polyline',
  'rect',
])

const attributeText = (value: string | number): string =>
  typeof value === 'number' ? coordinate(value) : escaped(value)

function escaped(value: string): string {
  return value
    .replace(/[<>&"]/g, (c) => `&#${c.charCodeAt(0)};`)
    .replace(/[^\t\n\r -\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '?')
}
