// Between tensors of requests and those of engines: names, rows, shapes and options. It is made of plain data and
// engines, so that it serves in any thread.
import { isArrayBuffer } from 'node:util/types'
import { Fault, faultOf, invalid } from '../faults.js'
import { dtypeOf, elementBytes, type WireTensor } from '../../kserve/tensor.js'
import { isOnDevice, type PlacedRequest, type PlacedTensor, reshaped } from './engine-steps.js'
import {
  type CheckedRequest,
  clientShape,
  modelShape,
  type RequestRules,
  requestText,
  type TensorRule,
} from './request-checks.js'
import type { ServableRequest } from './servable.js'
import type { Cut } from '../../base/cancellation.js'
import { countTexts } from '../../base/packed-texts.js'
import type { AnyTensor } from '../../device-tensor.js'
import { type Engine, runWithCut } from '../../engine.js'
import { TensorRTError } from '../../errors.js'
import { bytesOfTensor, elementCount, Tensor, trustedTensor } from '../../tensor.js'
import { stillPacked } from '../../tensor/texts.js'

export type RunOptions = NonNullable<Parameters<typeof runWithCut>[2]>

/** What is known of a model of engines: plain data, which goes to a thread as it is. */
export interface EngineFacts {
  readonly rules: RequestRules
  /** Names of all outputs, where the engine has others beside them. */
  readonly wanted: readonly string[] | undefined
  /** Levels of priority. */
  readonly levels: number
  /** By level, 0 for the default one: whether the parameter `timeout` of a request limits its wait. */
  readonly takesTimeout: readonly boolean[]
  /** Shape tensors whose values begin with the rows of the batch, which clients do not give. */
  readonly countsRows: readonly string[]
}

/** An engine and the rows that it has not answered yet. */
export interface Busy {
  readonly engine: Engine
  /** The number of its GPU; -1 for the CPU. */
  readonly device: number
  rows: number
}

/** Engines of one model. */
export class EngineTensors<B extends Busy = Busy> {
  readonly facts: EngineFacts
  readonly engines: readonly B[]

  constructor(facts: EngineFacts, engines: readonly B[]) {
    this.facts = facts
    this.engines = engines
  }

  get devices(): readonly number[] {
    return this.engines.map(({ device }) => device)
  }

  /** The one with the fewest rows under way, of those on a device where one is named that it has an engine on. */
  leastBusy(device?: number): B {
    const there = device === undefined ? this.engines : this.engines.filter((each) => each.device === device)
    return (there.length > 0 ? there : this.engines).reduce((best, each) => (each.rows < best.rows ? each : best))
  }

  /** On an engine of the device on which inputs are: they are all on one. */
  async runPlaced(
    { rows, inputs }: CheckedRequest<PlacedTensor>,
    request: PlacedRequest,
    cut: Cut,
  ): Promise<readonly PlacedTensor[]> {
    const { rules } = this.facts
    const device = request.inputs.find(isOnDevice)?.tensor.device
    const busy = this.leastBusy(device)
    const tensors = Object.create(null) as Record<string, AnyTensor>
    const views: Disposable[] = []
    busy.rows += rows
    try {
      for (const { rule, tensor } of inputs) {
        if (!isOnDevice(tensor)) tensors[rule.name] = this.modelTensor(rule, tensor, rows)
        else views.push((tensors[rule.name] = reshaped(tensor.tensor, modelShape(rules, rule, tensor.shape))))
      }
      const outputs = request.outputs ?? [...rules.outputs.keys()]
      const location = Object.fromEntries(
        outputs.map((name) => [name, request.keep.has(name) && !this.#hasTexts(name) ? 'device' : 'host'] as const),
      )
      const running = runWithCut(busy.engine, tensors, { ...this.optionsOf(request), outputs, location }, cut)
      for (const view of views.splice(0)) view[Symbol.dispose]() // the engine has them
      return this.#placedAnswer((await running) as Readonly<Record<string, AnyTensor>>)
    } finally {
      for (const view of views) view[Symbol.dispose]()
      busy.rows -= rows
    }
  }

  /** Texts come to the host alone. */
  #hasTexts(output: string): boolean {
    return this.facts.rules.outputs.get(output)?.datatype === 'BYTES'
  }

  #placedAnswer(results: Readonly<Record<string, AnyTensor>>): readonly PlacedTensor[] {
    const { rules } = this.facts
    return Object.entries(results).map(([name, tensor]) => {
      const rule = rules.outputs.get(name) as TensorRule
      const common = { name, datatype: rule.datatype, shape: clientShape(rules, rule, tensor.shape) }
      if (tensor.location === 'device') return { ...common, tensor, bytes: { length: tensor.byteLength } }
      return { ...common, bytes: bytesOfTensor(tensor) }
    })
  }

  optionsOf({
    outputs: named = [],
    priority = 0,
    timeoutUs = 0,
  }: Omit<ServableRequest, 'inputs'>): RunOptions | undefined {
    const { rules, wanted, levels, takesTimeout: takes } = this.facts
    // they are checked: as many as there are is all of them, which an engine needs no list for
    const outputs = named.length === 0 || named.length === rules.outputs.size ? wanted : named
    const level = levels > 1 && priority >= 1 && priority <= levels ? priority : 0
    const shortens = timeoutUs > 0 && takes[level] === true
    if (outputs === undefined && level === 0 && !shortens) return undefined
    return {
      outputs,
      ...(level > 0 && { priority: level }),
      ...(shortens && { queueTimeoutMs: Math.min(Math.max(timeoutUs, 1) / 1000, longestTimeout) }),
    }
  }

  modelTensor(rule: TensorRule, { datatype, shape, bytes }: WireTensor, rows: number): Tensor {
    const { rules, countsRows } = this.facts
    if (datatype === 'BYTES') return textTensor(bytes, modelShape(rules, rule, shape), rule.name, rules.model)
    const dtype = dtypeOf[datatype]
    if (rule.isShapeTensor && countsRows.includes(rule.name)) return withRows(dtype, bytes, rows)
    return Tensor.fromBytes(dtype, aligned(bytes, elementBytes[datatype]), modelShape(rules, rule, shape))
  }
}

const longestTimeout = 2 ** 31 - 1

/** @throws Fault INVALID_ARG with Triton's text, where these bytes are another number of texts, as a file's may be */
function textTensor(bytes: Uint8Array, shape: readonly number[], input: string, model: string): Tensor<'string'> {
  const [count, found] = [elementCount(shape), countTexts(bytes) ?? 0]
  if (found === count) return trustedTensor('string', stillPacked(bytes, count), shape)
  throw invalid(`expected ${count} string elements for inference input '${input}' for model '${model}', got ${found}`)
}

/** The same bytes, or a copy where elements would begin at odd places. */
function aligned(bytes: Uint8Array, element: number): Uint8Array<ArrayBuffer> {
  const isPlain = isArrayBuffer(bytes.buffer) && bytes.byteOffset % element === 0
  return isPlain ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes)
}

/** The values of a shape tensor with the rows of the batch before them. */
function withRows(dtype: Tensor['dtype'], bytes: Uint8Array, rows: number): Tensor {
  const count =
    dtype === 'int64'
      ? new Uint8Array(BigInt64Array.of(BigInt(rows)).buffer)
      : new Uint8Array(Int32Array.of(rows).buffer)
  const all = new Uint8Array(count.length + bytes.length)
  all.set(count)
  all.set(bytes, count.length)
  return Tensor.fromBytes(dtype, all, [all.length / count.length])
}

/** Triton's words for what a queue refuses; all else as it is. */
export function requestFault(error: unknown, id: string | undefined): Fault {
  if (error instanceof TensorRTError && error.code === 'ERR_TRT_QUEUE_FULL')
    return new Fault('UNAVAILABLE', `${requestText(id)}Exceeds maximum queue size`, error)
  if (error instanceof TensorRTError && error.code === 'ERR_TRT_QUEUE_TIMEOUT')
    return new Fault('UNAVAILABLE', 'Request timeout expired', error)
  return faultOf(error)
}
