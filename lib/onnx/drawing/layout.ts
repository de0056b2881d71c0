export interface Point {
  readonly x: number
  readonly y: number
}

interface Sized {
  readonly id: string
  readonly width: number
  readonly height: number
}

interface Labelled {
  readonly from: string
  readonly to: string
  readonly label: string
}

/** Something that has a place; `x` and `y` are its middle. */
export interface Placed<T> extends Point {
  readonly item: T
  readonly width: number
  readonly height: number
}

export interface Route<T> {
  readonly item: T
  readonly points: readonly Point[]
  /** The middle of its label, where it has one. */
  readonly label?: Point | undefined
}

export interface Layout<N, E> {
  readonly width: number
  readonly height: number
  readonly placed: readonly Placed<N>[]
  readonly routes: readonly Route<E>[]
}

/** What is used of dagre. */
interface Dagre {
  readonly Graph: new (options: { readonly multigraph: boolean }) => DagreGraph
  readonly layout: (graph: DagreGraph) => void
}

interface DagreGraph {
  setGraph(options: Readonly<Record<string, string | number>>): void
  setNode(id: string, size: { readonly width: number; readonly height: number }): void
  setEdge(from: string, to: string, label: object, name: string): void
  graph(): { readonly width?: number | undefined; readonly height?: number | undefined }
  node(id: string): Point
  edge(from: string, to: string, name: string): Point & { readonly points: readonly Point[] }
}

const margin = 16

/**
 * Layers from top to bottom, with few crossings (dagre, which is loaded when it is needed); the same each time.
 * @see https://github.com/dagrejs/dagre/wiki
 */
export async function laidOut<N extends Sized, E extends Labelled>(
  nodes: readonly N[],
  edges: readonly E[],
): Promise<Layout<N, E>> {
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
    ranker: nodes.length > 200 ? 'longest-path' : 'network-simplex',
  })
  for (const { id, width, height } of nodes) graph.setNode(id, { width, height })
  for (const [i, { from, to, label }] of edges.entries()) graph.setEdge(from, to, labelSize(label), String(i))
  layout(graph)
  const { width = 0, height = 0 } = graph.graph()
  const placed = nodes.map((item) => {
    const { x, y } = graph.node(item.id)
    return { item, x, y, width: item.width, height: item.height }
  })
  const routes = edges.map((item, i) => {
    const { points, x, y } = graph.edge(item.from, item.to, String(i))
    return { item, points, ...(item.label !== '' && { label: { x, y } }) }
  })
  return { width, height, placed, routes }
}

const labelSize = (label: string) => (label === '' ? {} : { width: label.length * 5.8 + 4, height: 12, labelpos: 'c' })
