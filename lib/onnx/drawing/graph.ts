/** Pale, with a dark edge: text on it is black, in light and in dark. */
const [grey, blue, green, amber, violet, pink] = [
  { fill: '#f1f3f5', edge: '#5b6876' },
  { fill: '#e2ecfb', edge: '#2f6fc9' },
  { fill: '#dff3ee', edge: '#0e7c66' },
  { fill: '#fdf0d9', edge: '#b26a00' },
  { fill: '#ece7fa', edge: '#6a4fc4' },
  { fill: '#fbe3ec', edge: '#b8336a' },
] as const

const nodes = { compute: green, activation: amber, normalization: violet, quantize: pink, shape: grey }
const precisions = { fp32: grey, fp16: green, bf16: blue, int8: amber, fp8: pink, int4: violet, fp4: violet }

export const boxColours = {
  ...nodes,
  ...precisions,
  input: blue,
  output: blue,
  pooling: { fill: '#eaf4dc', edge: '#5c7f1f' },
  other: { fill: '#ffffff', edge: '#5b6876' },
  more: { fill: '#fff6e0', edge: '#8a5a00' },
} as const

/** What a box is painted as. */
export type BoxKind = keyof typeof boxColours

/** A box of a drawing. */
export interface Box {
  readonly id: string
  readonly kind: BoxKind
  readonly title: string
  /** Below the title, each on a line of its own. */
  readonly lines: readonly string[]
  /** All of what had to be shortened. */
  readonly hint: string
}

/** An arrow between boxes, by their ids. */
export interface Arrow {
  readonly from: string
  readonly to: string
  readonly label: string
  /** Of what is read from inside of a node: the branch of an If. */
  readonly isInner?: boolean | undefined
}

/** What there is to draw, whatever it is of. */
export interface DrawnGraph {
  readonly title: string
  readonly boxes: readonly Box[]
  readonly arrows: readonly Arrow[]
}

/** The box of an input or output. */
export function endBox(kind: 'input' | 'output', name: string, line: string): Box {
  const id = `${kind} ${name}`
  return { id, kind, title: shortText(name), lines: line === '' ? [] : [line], hint: id }
}

/** A long text without its middle: names of nodes differ at their ends, and begin with where they are from. */
export function shortText(text: string, most = 44): string {
  if (text.length <= most) return text
  const end = Math.ceil((most - 1) * 0.7)
  return `${text.slice(0, most - 1 - end)}…${text.slice(-end)}`
}
