import { coordinate, element, type Markup, styleSheet, text } from '../../base/markup.js'
import { boxColours } from './colours.js'
import type { Arrow, Box, BoxKind, DrawnGraph } from './graph.js'
import { laidOut, type Placed, type Point, type Route } from './layout.js'

const titleHeight = 18
const lineHeight = 14
const padding = 9

/** A graph as a picture that needs nothing else, readable on white and on black. */
export async function svgOf({ title, boxes, arrows }: DrawnGraph): Promise<string> {
  const { width, height, placed, routes } = await laidOut(boxes.map(sized), arrows)
  const attributes = {
    xmlns: 'http://www.w3.org/2000/svg',
    width,
    height,
    viewBox: `0 0 ${coordinate(width)} ${coordinate(height)}`,
  }
  const drawing = element(
    'svg',
    { ...attributes, role: 'img' },
    element('title', {}, text(title)),
    styleSheet(style(new Set(boxes.map(({ kind }) => kind)))),
    routes.map(drawRoute),
    placed.map(drawBox),
  )
  return `${drawing}\n`
}

/** As much room as the text needs: 7 units for a letter of 13, 6 for one of 11, about. */
function sized(box: Box): Box & { readonly width: number; readonly height: number } {
  const longest = Math.max(box.title.length * 7.8, ...box.lines.map((line) => line.length * 6.3))
  const height = 2 * padding + titleHeight + box.lines.length * lineHeight - 4
  return { ...box, width: Math.ceil(longest) + 2 * padding, height }
}

function drawBox({ item, x, y, width, height }: Placed<Box>): Markup {
  const [left, top] = [x - width / 2, y - height / 2]
  const lines = item.lines.map((line, i) =>
    element('text', { x, y: top + padding + titleHeight + (i + 1) * lineHeight - 7, class: 'line' }, text(line)),
  )
  return element(
    'g',
    { class: `box ${item.kind}` },
    element('title', {}, text(item.hint)),
    element('rect', { x: left, y: top, width, height, rx: 5 }),
    element('text', { x, y: top + padding + 11, class: 'name' }, text(item.title)),
    lines,
  )
}

function drawRoute({ item, points, label }: Route<Arrow>): Markup {
  return element(
    'g',
    { class: item.isInner === true ? 'arrow inner' : 'arrow' },
    element('path', { d: smooth(points) }),
    element('polygon', { points: head(points) }),
    label === undefined ? undefined : element('text', { x: label.x, y: label.y + 3 }, text(item.label)),
  )
}

/** Rounded at each corner but the ends. */
function smooth(points: readonly Point[]): string {
  const [first, ...rest] = points
  const at = ({ x, y }: Point): string => `${coordinate(x)},${coordinate(y)}`
  const curves = rest.slice(0, -1).map((corner, i) => `Q${at(corner)} ${at(between(corner, rest[i + 1]!))}`)
  const lead = rest.length > 1 ? `L${at(between(first!, rest[0]!))}` : ''
  return `M${at(first!)}${lead}${curves.join('')}L${at(rest.at(-1)!)}`
}

const between = (a: Point, b: Point): Point => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 })

function head(points: readonly Point[]): string {
  const [from, tip] = [points.at(-2)!, points.at(-1)!]
  const length = Math.hypot(tip.x - from.x, tip.y - from.y) || 1
  const [dx, dy] = [(tip.x - from.x) / length, (tip.y - from.y) / length]
  const corner = (side: number): string =>
    `${coordinate(tip.x - 7 * dx - side * 3.5 * dy)},${coordinate(tip.y - 7 * dy + side * 3.5 * dx)}`
  return `${coordinate(tip.x)},${coordinate(tip.y)} ${corner(1)} ${corner(-1)}`
}

function style(kinds: ReadonlySet<BoxKind>): string {
  const boxes = [...kinds]
    .sort()
    .map((kind) => `.${kind} rect{fill:${boxColours[kind].fill};stroke:${boxColours[kind].edge}}`)
  return [
    'text{font:11px system-ui,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;text-anchor:middle}',
    '.box text{fill:#16202b}.box .name{font-size:13px;font-weight:600}.box .line{fill:#3d4a57}',
    '.arrow path{fill:none;stroke:#8793a0}.arrow polygon{fill:#8793a0}.arrow.inner path{stroke-dasharray:4 3}',
    '.arrow text{fill:#5b6876;font-size:10px;paint-order:stroke;stroke:#fff;stroke-width:3px}',
    ...boxes,
    '@media (prefers-color-scheme:dark){:root{background:#12181f}.arrow text{fill:#9aa7b4;stroke:#12181f}}',
  ].join('\n')
}
