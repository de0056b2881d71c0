import { TensorRTError } from '../../errors.js'
import type { ModelProto } from '../../onnx/index.js'

/** What single nodes are chosen by, with the options that said so. */
export interface NodeFlags {
  readonly names: readonly [option: string, values: readonly string[] | undefined]
  readonly operators: readonly [option: string, values: readonly string[] | undefined]
}

/**
 * A name that no node has is a slip of the pen: what was to be spared would not be. @throws TensorRTError
 * ERR_TRT_INVALID_ARGUMENT
 */
export async function refuseUnknownNodes(model: ModelProto, { names, operators }: NodeFlags): Promise<void> {
  if (names[1] === undefined && operators[1] === undefined) return
  const { nodesOf } = await import('../../onnx/index.js')
  const nodes = [...nodesOf(model)]
  // one without a name goes by its first output, as the reports have it
  refuse('node', names, new Set(nodes.map(({ name, output }) => name || (output.find((value) => value !== '') ?? ''))))
  refuse('operator', operators, new Set(nodes.map(({ opType }) => opType)))
}

function refuse(what: string, [option, values = []]: NodeFlags['names'], known: ReadonlySet<string>): void {
  const unknown = values.find((name) => !known.has(name))
  if (unknown === undefined) return
  const some = [...known].filter((name) => name !== '')
  const others = some.length > mostNamed ? `, … (trt inspect --draw shows all ${some.length})` : ''
  throw new TensorRTError(
    'ERR_TRT_INVALID_ARGUMENT',
    `The model has no ${what} ${JSON.stringify(unknown)} for ${option}: it has ${some.slice(0, mostNamed).join(', ') || 'none with a name'}${others}`,
  )
}

const mostNamed = 12
