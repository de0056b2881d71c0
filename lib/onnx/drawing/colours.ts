import type { BoxKind } from './graph.js'

interface Colours {
  readonly fill: string
  readonly edge: string
}

const grey = { fill: '#f1f3f5', edge: '#5b6876' }

/** Pale, with a dark edge: text on it is black, in light and in dark. */
export const boxColours: Readonly<Record<BoxKind, Colours>> = {
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
}
