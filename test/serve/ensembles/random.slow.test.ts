// Random graphs of up to eight steps on every runtime: an ensemble gives what its steps give when they are called one
// after the other, and nothing between engines is copied.
import t, { type Test } from 'tap'
import { Cut } from '../../../lib/base/cancellation.js'
import type { WireTensor } from '../../../lib/kserve/tensor.js'
import type { Models } from '../../../lib/serve/models/manager.js'
import { everyRuntime, leftovers, rtx, type Runtime } from '../../lanes/rig.js'
import { Random } from '../../support/random.js'
import { randomFloats } from '../../support/values.js'
import { floats, repository, wire } from '../models/folders.js'
import { copied, modelsFor, settingsFor, specs, staying, watchEngines } from './engines.js'
import { ensemble, type EnsembleText, served } from './rig.js'

const graphs = 12

interface Step {
  readonly model: keyof typeof specs
  readonly inputs: Readonly<Record<string, string>>
  readonly outputs: Readonly<Record<string, string>>
}

interface Graph {
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  /** Each after those whose outputs it takes. */
  readonly steps: readonly Step[]
}

function randomGraph(seed: number): Graph {
  const random = new Random(seed)
  const tensors = ['I0', 'I1', 'I2'].slice(0, 1 + random.below(3))
  const inputs = [...tensors]
  const used = new Set<string>()
  const steps = Array.from({ length: 1 + random.below(8) }, (_, at): Step => {
    const names = Object.keys(specs) as (keyof typeof specs)[]
    const model = names[random.below(names.length)] as keyof typeof specs
    const take = (): string => {
      const tensor = inputs.find((name) => !used.has(name)) ?? random.pick(tensors)
      used.add(tensor)
      return tensor
    }
    const given = specs[model].outputs.filter((_, i) => i === 0 || random.below(2) === 0)
    const step: Step = {
      model,
      inputs: Object.fromEntries(specs[model].inputs.map(({ name }) => [name, take()])),
      outputs: Object.fromEntries(given.map(({ name }, i) => [name, `T${at}_${i}`])),
    }
    tensors.push(...Object.values(step.outputs))
    return step
  })
  const given = tensors.filter((name) => !inputs.includes(name))
  const outputs = given.filter((name) => !used.has(name) || random.below(4) === 0)
  return { inputs: inputs.filter((name) => used.has(name)), outputs, steps }
}

function textOf({ inputs, outputs, steps }: Graph, seed: number): EnsembleText {
  const random = new Random(seed)
  const map = (of: Readonly<Record<string, string>>): string =>
    Object.entries(of)
      .map(([name, tensor]) => `${name}=${tensor}`)
      .join(', ')
  const lines = steps.map(({ model, inputs: taken, outputs: given }) => `${model}(${map(taken)} -> ${map(given)})`)
  const shuffled = lines.map((line) => ({ line, at: random.below(1000) })).sort((a, b) => a.at - b.at)
  return {
    inputs: inputs.map((name) => `${name} FP32 [3]`),
    outputs: outputs.map((name) => `${name} FP32 [3]`),
    steps: shuffled.map(({ line }) => line),
    maxBatch: 16,
  }
}

/** The steps, one after the other. */
async function byHand(
  models: Models,
  { steps, outputs }: Graph,
  inputs: readonly WireTensor[],
): Promise<Readonly<Record<string, number[]>>> {
  const tensors = new Map(inputs.map((tensor) => [tensor.name, tensor]))
  for (const step of steps) {
    const taken = Object.entries(step.inputs).map(([name, tensor]) => ({
      ...(tensors.get(tensor) as WireTensor),
      name,
    }))
    const answer = await models.snapshot.find(step.model).infer({ inputs: taken }, new Cut())
    for (const tensor of answer)
      if (step.outputs[tensor.name] !== undefined) tensors.set(step.outputs[tensor.name] as string, tensor)
  }
  return Object.fromEntries(outputs.map((name) => [name, floats(tensors.get(name) as WireTensor)]))
}

const byName = (answer: readonly WireTensor[]): Readonly<Record<string, number[]>> =>
  Object.fromEntries(answer.map((tensor) => [tensor.name, floats(tensor)]))

async function onRuntime(t: Test, runtime: Runtime): Promise<void> {
  const engines = watchEngines(t)
  const all = Array.from({ length: graphs }, (_, seed) => randomGraph(seed))
  const files = Object.assign({}, ...all.map((graph, seed) => ensemble(`e${seed}`, textOf(graph, seed)))) as Record<
    string,
    string
  >
  const folder = repository(t, { ...modelsFor(runtime), ...files })
  const { models } = await served(folder, { engine: settingsFor(runtime) })
  for (const [seed, graph] of all.entries()) {
    const random = new Random(seed + 1000)
    const rows = 1 + random.below(5)
    const inputs = graph.inputs.map((name) => wire(name, [...randomFloats([rows, 3], random, 9)], [rows, 3]))
    const wanted = await byHand(models, graph, inputs)
    const servable = models.snapshot.find(`e${seed}`)
    const part = [graph.outputs[random.below(graph.outputs.length)] as string]
    const before = copied(engines)
    const whole = await servable.infer({ inputs }, new Cut())
    const fromClient = copied(engines) - before
    const some = await servable.infer({ inputs, outputs: part }, new Cut())
    t.same(byName(whole), wanted, `${graph.steps.length} steps`)
    t.same(byName(some), Object.fromEntries(part.map((name) => [name, wanted[name]])), 'one output alone')
    const taken = graph.steps
      .flatMap((step) => Object.values(step.inputs))
      .filter((name) => graph.inputs.includes(name)).length
    t.equal(fromClient, taken * rows * 12, 'what the client sent was copied, and nothing else')
    t.same([staying(engines), models.inFlight], [0, 0])
    t.equal(servable.counters().requests, 2)
  }
  const many = Array.from({ length: 40 }, async (_, i) => {
    const graph = all[i % graphs] as Graph
    const inputs = graph.inputs.map((name) => wire(name, [...randomFloats([1, 3], i, 9)], [1, 3]))
    const answer = await models.snapshot.find(`e${i % graphs}`).infer({ inputs }, new Cut())
    return { answer: byName(answer), wanted: await byHand(models, graph, inputs) }
  })
  for (const { answer, wanted } of await Promise.all(many)) t.same(answer, wanted, 'many at once')
  await models.close()
}

for (const runtime of [...everyRuntime, rtx]) await t.test(runtime.name, (t) => onRuntime(t, runtime))

t.same(leftovers(rtx), {})
