const grey = { fill: '#f1f3f5', edge: '#5b6876' }

/** Pale, with a dark edge: text on it is black, in light and in dark. */
export const boxColours = {
  input: { fill: '#e2ecfb', edge: '#2f6fc9' },
  output: { fill: '#e2ecfb', edge: '#2f6fc9' },
  compute: { fill: '#dff3ee', edge: '#0e7c66' },
  activation: { fill: '#fdf0d9', edge: '#b26a00' },
  normalization: { fill: '#ece7fa', edge: '#6a4fc4' },
  pooling: { fill: '#eaf4dc', edge: '#5c7f1f' },
  quantize: { fill: '#fbe3ec', edge: '#b8336a' },
  shape: grey,
  other: { fill: '#ffffff', edge: '#5b6876' },
  more: { fill: '#fff6e0', edge: '#8a5a00' },
  fp32: grey,
  fp16: { fill: '#dff3ee', edge: '#0e7c66' },
  bf16: { fill: '#e2ecfb', edge: '#2f6fc9' },
  int8: { fill: '#fdf0d9', edge: '#b26a00' },
  fp8: { fill: '#fbe3ec', edge: '#b8336a' },
  int4: { fill: '#ece7fa', edge: '#6a4fc4' },
  fp4: { fill: '#ece7fa', edge: '#6a4fc4' },
} as const satisfies Record<string, { readonly fill: string; readonly edge: string }>

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

/** A long text without its middle: names of nodes differ at their ends, and begin with where they are from. */
export function shortText(text: string, most = 44): string {
  if (text.length <= most) return text
  const end = Math.ceil((most - 1) * 0.7)
  return `${text.slice(0, most - 1 - end)}…${text.slice(-end)}`
}
