// Cycles of load, replace, failed load and unload, while connections ask all the time.
import { certain } from '../../support/waiting.js'
import type { Random } from '../../support/random.js'
import { GraphBuilder, writeModel } from '../../../lib/onnx/index.js'
import { Tensor } from '../../../lib/index.js'
import { Fault } from '../../../lib/serve/faults.js'
import type { Models } from '../../../lib/serve/models/manager.js'
import { floats, never, remove, write, wire } from './folders.js'

/** y = x + number, so that an answer says which model gave it. */
export function plus(number: number): Uint8Array {
  const g = new GraphBuilder({ name: `plus ${number}` })
  const weight = g.constant('w', Tensor.from(Float32Array.of(number), [1]))
  g.output(g.node('Add', [g.input('x', 'float32', ['N', 4]), weight], {}, { output: 'y' }), 'float32', ['N', 4])
  return writeModel(g.toModel())
}

/** What was seen by all connections. */
export interface Seen {
  answered: number
  /** Refused since the model was not there, at a time when it had not to be. */
  absent: number
  readonly wrong: string[]
}

/** What the files of the model are at a time, and what may answer. */
export interface Truth {
  /** Numbers of the models that were ready at any time. */
  readonly ready: Set<number>
  /** It is loaded, and nobody unloads it: each request has to be answered. */
  steady: boolean
}

/** Asks one request after the other, until it is told to end. */
export async function ask(models: Models, truth: Truth, seen: Seen, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const { steady } = truth
    try {
      const servable = models.snapshot.find('m')
      const leave = servable.enter()
      const slot = servable.reserve(16)
      try {
        slot.bytes.set(wire('x', [1, 2, 3, 4], [1, 4]).bytes)
        const answer = await servable.infer(
          { inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 4], bytes: slot.bytes }] },
          never(),
        )
        check(answer[0] === undefined ? [] : floats(answer[0]), truth, seen)
      } finally {
        slot.release()
        leave()
      }
    } catch (error) {
      if (error instanceof Fault && error.kind === 'NOT_FOUND' && !(steady && truth.steady)) seen.absent++
      else seen.wrong.push(String(error))
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Takes an answer. */
export function check(values: readonly number[], truth: Truth, seen: Seen): void {
  const number = (values[0] ?? Number.NaN) - 1
  if (truth.ready.has(number) && values.every((value, i) => value === i + 1 + number)) seen.answered++
  else seen.wrong.push(`an answer of a model that was never ready: ${values.join(' ')}`)
}

/** Load, replace, fail to replace, and now and then unload. */
export async function cycle(
  models: Pick<Models, 'load' | 'unload'>,
  folder: string,
  truth: Truth,
  number: number,
  random: Random,
  seen: Seen,
): Promise<void> {
  write(folder, { 'm/1/model.onnx': plus(number) })
  truth.ready.add(number)
  await models.load('m')
  truth.steady = true
  const before = seen.answered
  await certain(() => seen.answered > before || seen.wrong.length > 0)
  write(
    folder,
    random.chance(0.5)
      ? { 'm/1/model.onnx': 'broken' }
      : { 'm/config.pbtxt': 'max_batch_size: 4 input { name: "x" dims: [ 5 ] }' },
  )
  await models.load('m').then(
    () => seen.wrong.push('what is broken was loaded'),
    () => {},
  )
  remove(folder, 'm/config.pbtxt')
  if (!random.chance(0.25)) return
  truth.steady = false
  await models.unload('m')
}
