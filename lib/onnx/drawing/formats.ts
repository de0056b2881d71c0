import { checkedChoice } from '../../base/checks.js'
import { coordinate, drawing, element, hint, label, type Markup, polyline } from '../../base/markup.js'
import { type Arrow, type Box, boxColours, type BoxKind, type DrawnGraph } from './graph.js'

/** A picture that browsers show, or what Graphviz makes one of. */
export type DrawingFormat = 'svg' | 'dot'

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedFormat(format: unknown = 'svg'): DrawingFormat {
  return checkedChoice(format, 'format', ['svg', 'dot'])
}

export async function drawn(graph: DrawnGraph, format: DrawingFormat): Promise<string> {
  return format === 'svg' ? svgOf(graph) : dotOf(graph)
}

/**
 * A graph in the language of Graphviz.
 * @see https://graphviz.org/doc/info/lang.html
 */
function dotOf({ title, boxes, arrows }: DrawnGraph): string {
  return [
    `digraph ${quoted(title)} {`,
    '  graph [rankdir=TB, fontname="Helvetica"]',
    '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=11]',
    '  edge [fontname="Helvetica", fontsize=9, color="#5b6876"]',
    ...boxes.map(boxLine),
    ...arrows.map(arrowLine),
    '}\n',
  ].join('\n')
}

function boxLine({ id, kind, title, lines, hint }: Box): string {
  const { fill, edge } = boxColours[kind]
  return `  ${quoted(id)} [label=${quoted([title, ...lines].join('\n'))}, tooltip=${quoted(hint)}, fillcolor="${fill}", color="${edge}"]`
}

function arrowLine({ from, to, label, isInner }: Arrow): string {
  const words = label === '' ? [] : [`label=${quoted(label)}`]
  const attributes = isInner === true ? [...words, 'style=dashed'] : words
  return `  ${quoted(from)} -> ${quoted(to)}${attributes.length === 0 ? '' : ` [${attributes.join(', ')}]`}`
}

/** Within quotes a backslash begins an escape, such as the one of a new line. */
function quoted(text: string): string {
  return `"${text
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('\n', '\\n')
    .replaceAll(/\p{Cc}/gu, '?')}"`
}

const titleHeight = 18
const lineHeight = 14
const padding = 9

/** A graph as a picture that needs nothing else, readable on white and on black. */
async function svgOf({ title, boxes, arrows }: DrawnGraph): Promise<string> {
  const { width, height, places, routes } = await laidOut(boxes, arrows)
  const rules = style(new Set(boxes.map(({ kind }) => kind)))
  const lines = arrows.map((arrow, i) => drawArrow(arrow, routes[i]!))
  const nodes = boxes.map((box, i) => drawBox(box, places[i]!))
  return drawing({ width, height }, title, rules, lines, nodes)
}

/** As much room as the text needs: 7 units for a letter of 13, 6 for one of 11, about. */
function sizeOf({ title, lines }: Box): Extent {
  const longest = Math.max(title.length * 7.8, ...lines.map((line) => line.length * 6.3))
  return { width: Math.ceil(longest) + 2 * padding, height: 2 * padding + titleHeight + lines.length * lineHeight - 4 }
}

function drawBox(item: Box, { x, y, width, height }: Point & Extent): Markup {
  const [left, top] = [x - width / 2, y - height / 2]
  const lines = item.lines.map((line, i) =>
    label(line, { x, y: top + padding + titleHeight + (i + 1) * lineHeight - 7, class: 'line' }),
  )
  return element(
    'g',
    { class: `box ${item.kind}` },
    hint(item.hint),
    element('rect', { x: left, y: top, width, height, rx: 5 }),
    label(item.title, { x, y: top + padding + 11, class: 'name' }),
    lines,
  )
}

function drawArrow({ label: words, isInner }: Arrow, { points, x, y }: Route): Markup {
  return element(
    'g',
    { class: isInner === true ? 'arrow inner' : 'arrow' },
    element('path', { d: smooth(points) }),
    polyline(head(points), undefined, 'polygon'),
    words === '' ? undefined : label(words, { x, y: y + 3 }),
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

function head(points: readonly Point[]): [x: number, y: number][] {
  const [from, tip] = [points.at(-2)!, points.at(-1)!]
  const length = Math.hypot(tip.x - from.x, tip.y - from.y) || 1
  const [dx, dy] = [(tip.x - from.x) / length, (tip.y - from.y) / length]
  const corner = (side: number): [x: number, y: number] => [
    tip.x - 7 * dx - side * 3.5 * dy,
    tip.y - 7 * dy + side * 3.5 * dx,
  ]
  return [[tip.x, tip.y], corner(1), corner(-1)]
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

interface Point {
  readonly x: number
  readonly y: number
}

interface Extent {
  readonly width: number
  readonly height: number
}

/** Its own place is the middle of its label. */
interface Route extends Point {
  readonly points: readonly Point[]
}

/** Where boxes (by their middles) and arrows are. */
interface Layout extends Extent {
  readonly places: readonly (Point & Extent)[]
  readonly routes: readonly Route[]
}

/** What is used of dagre. */
interface Dagre {
  readonly Graph: new (options: { readonly multigraph: boolean }) => DagreGraph
  readonly layout: (graph: DagreGraph) => void
}

interface DagreGraph {
  setGraph(options: Readonly<Record<string, string | number>>): void
  setNode(id: string, size: Extent): void
  setEdge(from: string, to: string, label: object, name: string): void
  graph(): { readonly width?: number | undefined; readonly height?: number | undefined }
  node(id: string): Point
  edge(from: string, to: string, name: string): Route
}

const margin = 16

/**
 * Layers from top to bottom, with few crossings (dagre, which is loaded when it is needed); the same each time.
 * @see https://github.com/dagrejs/dagre/wiki
 */
async function laidOut(boxes: readonly Box[], arrows: readonly Arrow[]): Promise<Layout> {
  // its declarations lack the extensions that TypeScript needs to resolve them for a module
  const { Graph, layout } = (await import('@dagrejs/dagre')) as unknown as Dagre
  const graph = new Graph({ multigraph: true })
  graph.setGraph({
    rankdir: 'TB',
    nodesep: 24,
    edgesep: 16,
    ranksep: 26,
    marginx: margin,
    marginy: margin,
    ranker: boxes.length > 200 ? 'longest-path' : 'network-simplex',
  })
  const sizes = boxes.map(sizeOf)
  boxes.forEach(({ id }, i) => graph.setNode(id, sizes[i]!))
  arrows.forEach(({ from, to, label }, i) => graph.setEdge(from, to, labelSize(label), String(i)))
  layout(graph)
  const { width = 0, height = 0 } = graph.graph()
  return {
    width,
    height,
    places: boxes.map(({ id }, i) => ({ ...graph.node(id), ...sizes[i]! })),
    routes: arrows.map(({ from, to }, i) => graph.edge(from, to, String(i))),
  }
}

const labelSize = (label: string) => (label === '' ? {} : { width: label.length * 5.8 + 4, height: 12, labelpos: 'c' })
