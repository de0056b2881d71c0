import { InvalidArgumentError } from 'commander'
import type { Engine } from '../../engine.js'
import type { CalibrationData, CompareOptions, Comparison } from '../../quantization/index.js'
import { newCommand } from '../command.js'
import { exitCodes } from '../exit-codes.js'
import { type Flags, type FlagValues, list, numberIn, type Refuse, whole } from '../flags.js'
import { allDataFlags, type DataJob, dataJobOf, dataOf, filesOfData, firstBatch } from '../options/data.js'
import { engineFlags, isBuilt, loadEngine, openingShapes, refusePlace } from '../options/engine.js'
import { declaredInputsOf, refuseShapes } from '../options/model.js'
import { refuseFiles } from '../output/writable.js'
import { early } from '../refusal.js'
import { shapeFlags, shapesOf } from '../options/shapes.js'
import { plural } from '../../benchmark/report/numbers.js'
import type { Session } from '../session.js'

const compareFlags = {
  '--random <N>': ['so many batches of random numbers from -1 to 1 instead of --data; 1 unless given', whole(1)],
  '--layers': 'of ONNX files: every value that both compute under one name',
  '--seed <N>': ['with --random: another seed gives other numbers', whole(0, 2 ** 31 - 1)],
  '--atol <LIST>': [
    'as numpy.allclose has it: exit with 3 where |other - reference| > atol + rtol |reference|; 1e-8 unless given. One number, or NAME:NUMBER of outputs, with commas',
    tolerances,
  ],
  '--rtol <LIST>': ['the same relative to the reference; 1e-5 where only --atol is given', tolerances],
  '--min-cosine <C>': [
    'exit with 3 where an output has less; 0.99 unless this or another tolerance is given',
    numberIn(-1, 1),
  ],
  '--min-psnr <DB>': ['exit with 3 where an output has less', numberIn(0, Infinity)],
  '--max-absolute <D>': ['exit with 3 where a value differs by more', numberIn(0, Infinity)],
  ...engineFlags,
  ...shapeFlags,
  ...allDataFlags,
} as const satisfies Flags

type CompareFlags = FlagValues<typeof compareFlags>

/** `trt compare`: {@link compare} of `node-tensorrt/quantization`, held against a tolerance. */
export const command = newCommand('compare', {
  example: 'model.onnx model-int8.onnx --data photos/ --preset imagenet',
  arguments: { '<reference>': 'a plan or an ONNX file', '<other>': 'the one that is held against it' },
  flags: compareFlags,
  run: async ({ flags, session, refuse }, first: string, second: string) => {
    refuseIdle(flags, refuse)
    await refusePlace(flags, refuse)
    await early(() => refuseFiles({ models: [first, second] }, refuse))
    const job = await dataJobOf(flags, first, session, refuse)
    await early(() => refuseFiles({ needed: filesOfData(job, flags) }, refuse))
    for (const model of [first, second]) await refuseShapes(model, flags, { needed: job === undefined }, refuse)
    await refuseOtherInputs(first, second, refuse)
    await refuseNames(flags, first, refuse)
    if (job !== undefined) await firstBatch(job, first, true, session, refuse)
    const found = await (flags.layers ? byLayer : byOutput)({ flags, job, session }, first, second)
    const beyond = Object.entries(found.outputs).filter(([, difference]) => whyBeyond(difference, flags).length > 0)
    session.result({ ...found, beyond: beyond.map(([name]) => name) }, () => account(session, found))
    for (const [name, difference] of beyond)
      session.warn(`beyond the tolerance: ${name}, ${whyBeyond(difference, flags).join(', ')}`)
    return beyond.length > 0 ? exitCodes.unmet : exitCodes.done
  },
})

/** What would have no effect. */
function refuseIdle(flags: CompareFlags, refuse: Refuse): void {
  const { data = flags.input, random, layers, backend, device, tensorrt } = flags
  if (data !== undefined && random !== undefined) refuse('--random stands for --data: give one of them')
  if (data !== undefined && flags.seed !== undefined) refuse('--seed is of --random, and --data was given')
  if (layers && ((backend !== undefined && backend !== 'cpu') || device !== undefined || tensorrt !== undefined))
    refuse('--layers compares on the CPU: leave out --backend, --device and --tensorrt')
}

/** Models that take different data. */
async function refuseOtherInputs(first: string, second: string, refuse: Refuse): Promise<void> {
  const [a, b] = await early(() => Promise.all([first, second].map(declaredInputsOf)))
  if (a === undefined || b === undefined) return
  const [names, others] = [a, b].map((inputs) => inputs.map(({ name }) => name).sort()) as [string[], string[]]
  if (names.join('\n') === others.join('\n')) return
  refuse(
    `Models are compared on the same data: ${first} has the inputs ${names.join(', ')}, and ${second} ${others.join(', ')}`,
    'ERR_TRT_UNKNOWN_INPUT',
  )
}

/** Tolerances of outputs that the model has not; of layers any value has a name. */
async function refuseNames({ atol, rtol, layers }: CompareFlags, model: string, refuse: Refuse): Promise<void> {
  const names = Object.keys({ ...atol, ...rtol }).filter((name) => name !== '')
  if (names.length === 0 || layers || (await isBuilt(model))) return
  const { inspectModel, readModel } = await import('../../onnx/index.js')
  const outputs = inspectModel(await readModel(model)).outputs.map(({ name }) => name)
  const unknown = names.find((name) => !outputs.includes(name))
  if (unknown === undefined) return
  const flag = atol !== undefined && Object.hasOwn(atol, unknown) ? '--atol' : '--rtol'
  refuse(`The model has no output ${JSON.stringify(unknown)} for ${flag}: it has ${outputs.join(', ')}`)
}

/** What is compared with what was asked, on what. */
interface Comparing {
  readonly flags: CompareFlags
  readonly job: DataJob | undefined
  readonly session: Session
}

async function byOutput({ flags, job, session }: Comparing, first: string, second: string): Promise<Comparison> {
  const { compare } = await import('../../quantization/index.js')
  await using a = await opened(flags, first, session)
  await using b = await opened(flags, second, session)
  const data = await dataFor({ flags, job, session }, a)
  const { maxBatches } = flags
  const options = { signal: session.signal, maxBatches, ...closenessOf(flags) }
  return await compare(asCompared(a, first), asCompared(b, second), data, options)
}

/**
 * On the CPU the file: of that `compare` has float16 rounded and Q/DQ run as it stands, which an engine of
 * onnxruntime's does not.
 */
function asCompared(engine: Engine, path: string): Engine | string {
  return engine.backend === 'cpu' ? path : engine
}

async function byLayer({ flags, job, session }: Comparing, first: string, second: string): Promise<Comparison> {
  const { compareLayers } = await import('../../quantization/index.js')
  await using engine = await opened({ ...flags, backend: 'cpu' }, first, session)
  const data = await dataFor({ flags, job, session }, engine)
  return await compareLayers(first, second, data, {
    signal: session.signal,
    maxBatches: flags.maxBatches,
    ...closenessOf(flags),
  })
}

function closenessOf({ atol, rtol }: CompareFlags): Pick<CompareOptions, 'atol' | 'rtol'> {
  return { atol: toleranceOf(atol), rtol: toleranceOf(rtol) }
}

/** A number of all outputs, which `''` stands for, or numbers by name. */
type Tolerances = Readonly<Record<string, number>>

function toleranceOf(given: Tolerances | undefined): CompareOptions['atol'] {
  return given !== undefined && Object.hasOwn(given, '') ? given[''] : given
}

/** `1e-3`, or `scores:1e-3,boxes:1e-2`: a name may have colons of its own, so the last one counts. */
function tolerances(text: string, before: Tolerances = {}): Tolerances {
  const found: Record<string, number> = { ...before }
  for (const part of list(text)) {
    const [, name = '', number = ''] = /^(?:(.+):)?([^:]*)$/.exec(part) ?? []
    if (Object.hasOwn(found, name)) throw new InvalidArgumentError('Expected one number for each output.')
    found[name] = numberIn(0, Number.MAX_VALUE)(number)
  }
  const names = Object.keys(found)
  if (names.length === 0 || (names.includes('') && names.length > 1))
    throw new InvalidArgumentError('Expected one number for all outputs, or NAME:NUMBER for each that is meant.')
  return found
}

async function opened(flags: CompareFlags, path: string, session: Session): Promise<Engine> {
  return loadEngine(path, flags, session, { shapes: await openingShapes(path, flags) })
}

async function dataFor({ flags, job, session }: Comparing, engine: Engine): Promise<CalibrationData> {
  const inputs = engine.inputNames.map((name) => engine.inputs[name]!)
  if (job !== undefined) return dataOf(job, inputs, session)
  const { randomInputs } = await import('../../benchmark/index.js')
  const shapes = shapesOf(flags)
  return Array.from({ length: flags.random ?? 1 }, (_, i) =>
    randomInputs(inputs, { shapes, seed: (flags.seed ?? 1) + i }),
  )
}

type Difference = Comparison['outputs'][string]

/** What of it is beyond what was asked, with both numbers. NaN is beyond whatever is asked. */
function whyBeyond(
  { cosine, psnr, maxAbsolute, nonFinite, outside = 0, count }: Difference,
  flags: CompareFlags,
): string[] {
  const { minPsnr, maxAbsolute: most, atol, rtol } = flags
  const isAsked = [flags.minCosine, minPsnr, most, atol, rtol].some((tolerance) => tolerance !== undefined)
  const minCosine = flags.minCosine ?? (isAsked ? -Infinity : 0.99)
  return [
    ...(outside > 0 ? [`${outside} of ${plural(count + nonFinite, 'number')} beyond --atol and --rtol`] : []),
    ...(nonFinite > 0 ? [`${plural(nonFinite, 'number')} not finite`] : []),
    ...(cosine >= minCosine || minCosine === -Infinity ? [] : [`cosine ${cosine} < ${minCosine}`]),
    ...(psnr >= (minPsnr ?? -Infinity) ? [] : [`PSNR ${psnr} dB < ${minPsnr}`]),
    ...(maxAbsolute <= (most ?? Infinity) ? [] : [`greatest difference ${maxAbsolute} > ${most}`]),
  ]
}

function account(session: Session, { batches, outputs }: Comparison): string {
  const hasBounds = Object.values(outputs).some(({ outside }) => outside !== undefined)
  const rows = Object.entries(outputs).map(([name, difference]) => [
    name,
    difference.cosine.toFixed(6),
    difference.psnr.toFixed(1),
    difference.maxAbsolute.toPrecision(3),
    difference.meanAbsolute.toPrecision(3),
    difference.top1 === undefined ? '' : difference.top1.toFixed(3),
    difference.nonFinite > 0 ? String(difference.nonFinite) : '',
    ...(hasBounds ? [String(difference.outside ?? '')] : []),
  ])
  const head = ['output', 'cosine', 'PSNR dB', 'max abs', 'mean abs', 'top-1', 'non-finite']
  const table = session.table([...head, ...(hasBounds ? ['outside'] : [])], rows)
  return `${table}\n\n${plural(batches, 'batch', 'batches')}`
}
