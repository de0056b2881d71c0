import type { Engine } from '../../engine.js'
import type { CalibrationData, Comparison } from '../../quantization/index.js'
import { newCommand } from '../command.js'
import { exitCodes } from '../exit-codes.js'
import { type Flags, type FlagValues, usedFlags, numberIn, type Refuse, whole } from '../flags.js'
import { dataFlags, type DataFlags, dataOf, withPreset } from '../options/data.js'
import { engineFlags, loadEngine, openingShapes } from '../options/engine.js'
import { shapeFlags, shapesOf } from '../options/shapes.js'
import { plural } from '../../benchmark/report/numbers.js'
import type { Session } from '../session.js'

const compareFlags = {
  '--random <N>': ['so many batches of random numbers from -1 to 1 instead of --data; 1 unless given', whole(1)],
  '--layers': 'of ONNX files: every value that both compute under one name',
  '--min-cosine <C>': ['exit with 3 where an output has less', numberIn(-1, 1), 0.99],
  '--min-psnr <DB>': ['exit with 3 where an output has less', numberIn(0, Infinity)],
  '--max-absolute <D>': ['exit with 3 where a value differs by more', numberIn(0, Infinity)],
  ...engineFlags,
  ...shapeFlags,
  ...dataFlags,
} as const satisfies Flags

type CompareFlags = Omit<FlagValues<typeof compareFlags>, 'preset'> & DataFlags

/** `trt compare`: {@link compare} of `node-tensorrt/quantization`, held against a tolerance. */
export const command = newCommand('compare', {
  example: 'model.onnx model-int8.onnx --data photos/ --preset imagenet',
  arguments: { '<reference>': 'a plan or an ONNX file', '<other>': 'the one that is held against it' },
  flags: compareFlags,
  run: async ({ flags: asked, session, refuse }, first: string, second: string) => {
    refuseIdle(asked, refuse)
    const flags = await withPreset(asked, refuse)
    const found = await (flags.layers ? byLayer : byOutput)(flags, first, second, session)
    const beyond = Object.entries(found.outputs).filter(([, difference]) => whyBeyond(difference, flags).length > 0)
    session.result({ ...found, beyond: beyond.map(([name]) => name) }, () => account(session, found))
    for (const [name, difference] of beyond)
      session.warn(`beyond the tolerance: ${name}, ${whyBeyond(difference, flags).join(', ')}`)
    return beyond.length > 0 ? exitCodes.unmet : exitCodes.done
  },
})

/** What would have no effect. */
function refuseIdle(flags: CompareFlags, refuse: Refuse): void {
  const { data, random, layers, backend, device, tensorrt } = flags
  if (data !== undefined && random !== undefined) refuse('--random stands for --data: give one of them')
  const [idle] = data === undefined ? usedFlags(flags, ['--preset', '--batch', '--max-batches']) : []
  if (idle !== undefined) refuse(`${idle} is of --data, which was not given`)
  if (layers && ((backend !== undefined && backend !== 'cpu') || device !== undefined || tensorrt !== undefined))
    refuse('--layers compares on the CPU: leave out --backend, --device and --tensorrt')
}

async function byOutput(flags: CompareFlags, first: string, second: string, session: Session): Promise<Comparison> {
  const { compare } = await import('../../quantization/index.js')
  await using a = await opened(flags, first, session)
  await using b = await opened(flags, second, session)
  const data = await dataFor(flags, a, session)
  const { maxBatches } = flags
  return await compare(asCompared(a, first), asCompared(b, second), data, { signal: session.signal, maxBatches })
}

/**
 * On the CPU the file: of that `compare` has float16 rounded and Q/DQ run as it stands, which an engine of
 * onnxruntime's does not.
 */
function asCompared(engine: Engine, path: string): Engine | string {
  return engine.backend === 'cpu' ? path : engine
}

async function byLayer(flags: CompareFlags, first: string, second: string, session: Session): Promise<Comparison> {
  const { compareLayers } = await import('../../quantization/index.js')
  await using engine = await opened({ ...flags, backend: 'cpu' }, first, session)
  const data = await dataFor(flags, engine, session)
  return await compareLayers(first, second, data, { signal: session.signal, maxBatches: flags.maxBatches })
}

async function opened(flags: CompareFlags, path: string, session: Session): Promise<Engine> {
  return loadEngine(path, flags, session, { shapes: await openingShapes(path, flags) })
}

async function dataFor(flags: CompareFlags, engine: Engine, session: Session): Promise<CalibrationData> {
  const inputs = engine.inputNames.map((name) => engine.inputs[name]!)
  const data = await dataOf(flags, inputs, session)
  if (data !== undefined) return data
  const { randomInputs } = await import('../../benchmark/index.js')
  const shapes = shapesOf(flags)
  return Array.from({ length: flags.random ?? 1 }, (_, i) => randomInputs(inputs, { shapes, seed: i + 1 }))
}

type Difference = Comparison['outputs'][string]

/** What of it is beyond what was asked, with both numbers. NaN is beyond whatever is asked. */
function whyBeyond(
  { cosine, psnr, maxAbsolute, nonFinite }: Difference,
  { minCosine, minPsnr, maxAbsolute: most }: CompareFlags,
): string[] {
  return [
    ...(nonFinite > 0 ? [`${plural(nonFinite, 'number')} not finite`] : []),
    ...(cosine >= minCosine ? [] : [`cosine ${cosine} < ${minCosine}`]),
    ...(psnr >= (minPsnr ?? -Infinity) ? [] : [`PSNR ${psnr} dB < ${minPsnr}`]),
    ...(maxAbsolute <= (most ?? Infinity) ? [] : [`greatest difference ${maxAbsolute} > ${most}`]),
  ]
}

function account(session: Session, { batches, outputs }: Comparison): string {
  const rows = Object.entries(outputs).map(([name, difference]) => [
    name,
    difference.cosine.toFixed(6),
    difference.psnr.toFixed(1),
    difference.maxAbsolute.toPrecision(3),
    difference.meanAbsolute.toPrecision(3),
    difference.top1 === undefined ? '' : difference.top1.toFixed(3),
    difference.nonFinite > 0 ? String(difference.nonFinite) : '',
  ])
  const table = session.table(['output', 'cosine', 'PSNR dB', 'max abs', 'mean abs', 'top-1', 'non-finite'], rows)
  return `${table}\n\n${plural(batches, 'batch', 'batches')}`
}
