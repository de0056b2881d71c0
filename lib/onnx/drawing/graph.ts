/** What a box is painted as. */
export type BoxKind =
  | 'input'
  | 'output'
  | 'compute'
  | 'activation'
  | 'normalization'
  | 'pooling'
  | 'quantize'
  | 'shape'
  | 'other'
  | 'more'
  | 'fp32'
  | 'fp16'
  | 'bf16'
  | 'int8'
  | 'fp8'
  | 'int4'
  | 'fp4'

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
