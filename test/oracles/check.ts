// What the converted and quantized forms of a model have to be: valid by ONNX's checker, built by TensorRT-RTX wherever
// the model itself is, and in half precision what the model is by
// ONNX's reference evaluator, which rounds after each node; onnxruntime's CPU does not.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { Builder, Engine, Tensor } from '../../lib/index.js'
import { convertPrecision, elementTypeNumber, type HalfPrecision, writeModel } from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import { Calibrator, quantize } from '../../lib/quantization/index.js'
import { onnxPythonPath } from '../support/tensorrt.js'
import { bytesOf, cosine } from '../support/values.js'
import type { Case } from './net.js'

/** A tensor between this process and Python's; the type is ONNX's number. */
interface Told {
  readonly type: number
  readonly shape: readonly number[]
  readonly data: string
}

interface Job {
  readonly model: Uint8Array
  readonly inputs?: Case['inputs']
}

export interface Answer {
  /** Why it is not valid. */
  readonly valid: string | null
  readonly outputs?: Readonly<Record<string, Told>>
  readonly failed?: string
}

const program = fileURLToPath(new URL('../../../test/oracles/onnx_oracle.py', import.meta.url))

const told = (tensor: Tensor): Told => ({
  type: elementTypeNumber(tensor.dtype),
  shape: tensor.shape,
  data: bytesOf(tensor).toString('base64'),
})

/** What ONNX's own package says of models, all in one process of Python. */
export async function askOnnx(jobs: readonly Job[]): Promise<readonly Answer[]> {
  const given = jobs.map(({ model, inputs }) => ({
    model: Buffer.from(model).toString('base64'),
    ...(inputs && { inputs: Object.fromEntries(Object.entries(inputs).map(([name, tensor]) => [name, told(tensor)])) }),
  }))
  const child = spawn('python3', ['-B', program], {
    env: { ...process.env, PYTHONPATH: onnxPythonPath },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(JSON.stringify(given))
  let text = ''
  for await (const part of child.stdout.setEncoding('utf8')) text += part as string
  return JSON.parse(text) as Answer[]
}

/** A model in another form. */
interface Form {
  readonly of: Case
  readonly what: string
  readonly model: Uint8Array
  readonly precision?: HalfPrecision
  readonly isEvaluated: boolean
  /** Whether TensorRT-RTX is to build it. */
  readonly isBuilt: boolean
}

async function formsOf(each: Case): Promise<Form[]> {
  const original = writeModel(each.model)
  const ranges = each.measured ? await rangesOf(each, original) : undefined
  const forms: Form[] = [
    { of: each, what: 'float32', model: original, isEvaluated: each.against === 'evaluator', isBuilt: true },
  ]
  for (const precision of ['fp16', 'bf16'] as const)
    for (const keepIO of [true, false]) {
      const { model } = convertPrecision(parseModel(original), precision, {
        keepIO,
        ...(ranges && { ranges, dataMax: 65504 }),
      })
      const what = `${precision}${keepIO ? '' : ', inputs and outputs too'}`
      forms.push({
        of: each,
        what,
        model: writeModel(model),
        precision,
        isEvaluated: keepIO && each.against !== 'nothing',
        isBuilt: keepIO,
      })
    }
  if (each.unquantized) return forms
  for (const weights of ['int8', 'float32'] as const) {
    const { model } = await quantize(original, calibratorOf(each), { weights })
    forms.push({
      of: each,
      what: `INT8, weights of ${weights}`,
      model: writeModel(model),
      isEvaluated: false,
      isBuilt: weights === 'int8',
    })
  }
  return forms
}

const calibratorOf = ({ inputs }: Case): Calibrator<'minmax'> => new Calibrator([inputs], { algorithm: 'minmax' })

async function rangesOf(each: Case, original: Uint8Array): Promise<Record<string, { min: number; max: number }>> {
  const { ranges } = await calibratorOf(each).calibrate(original)
  return Object.fromEntries(Array.from(ranges, ([name, { amax }]) => [name, { min: -amax, max: amax }]))
}

/** Which of the forms TensorRT-RTX does not build, and why. */
async function refusals(forms: readonly Form[]): Promise<ReadonlyMap<Form, string>> {
  await using builder = new Builder({ isolation: 'none', optimizationLevel: 0 })
  const refused = new Map<Form, string>()
  for (const form of forms) {
    if (!form.isBuilt) continue
    try {
      await builder.build(form.model)
    } catch (error) {
      refused.set(form, (error as Error).message)
    }
  }
  return refused
}

type Outputs = Readonly<Record<string, Tensor>>

/** The numbers of all outputs, one after the other by name. */
const numbersOf = (outputs: Outputs): number[] =>
  Object.keys(outputs)
    .sort()
    .flatMap((name) => Array.from(outputs[name]!.toFloat32().data))

async function onCpu({ model, inputs }: Case): Promise<Outputs> {
  await using engine = await Engine.load(writeModel(model), { backend: 'cpu' })
  return { ...(await engine.infer(inputs)) }
}

const dtypes = { 1: 'float32', 6: 'int32', 7: 'int64', 9: 'bool' } as const

function tensorOf({ type, shape, data }: Told): Tensor {
  const bytes = Uint8Array.from(Buffer.from(data, 'base64'))
  return Tensor.fromBytes(dtypes[type as keyof typeof dtypes], bytes.buffer, shape)
}

const outputsOf = ({ outputs = {} }: Answer): Outputs =>
  Object.fromEntries(Object.entries(outputs).map(([name, each]) => [name, tensorOf(each)]))

/** What is wrong with what a half gives; nothing where all is well. */
function wrong({ of: each, precision = 'fp16' }: Form, answer: Answer, wanted: Outputs): string | undefined {
  if (answer.outputs === undefined) return answer.failed ?? 'it was not evaluated'
  const [found, numbers] = [numbersOf(outputsOf(answer)), numbersOf(wanted)]
  const nonFinite = found.filter((value, i) => !Number.isFinite(value) && Number.isFinite(numbers[i])).length
  if (nonFinite > 0) return `${nonFinite} of ${found.length} numbers are not finite`
  if (each.exact) {
    const other = found.findIndex((value, i) => value !== numbers[i])
    return other < 0 ? undefined : `${numbers[other]} became ${found[other]}`
  }
  const least = each.least?.[precision] ?? { fp16: 0.999, bf16: 0.98 }[precision]
  const like = cosine(found, numbers)
  return like >= least ? undefined : `a cosine of ${like}, below ${least}`
}

/** Holds each form of the cases against the oracles. */
export async function checkCases(t: Test, cases: readonly Case[]): Promise<void> {
  const forms: Form[] = []
  for (const each of cases) {
    const made = await formsOf(each).catch(
      (error: unknown) => void t.error(error as Error, `${each.name}: it is converted and quantized`),
    )
    forms.push(...(made ?? []))
  }
  const asked = askOnnx(
    forms.map(({ of: { inputs }, model, isEvaluated }) => ({ model, ...(isEvaluated && { inputs }) })),
  )
  const [answers, refused] = await Promise.all([asked, refusals(forms)])
  const buildable = new Set(
    forms.filter((form) => form.what === 'float32' && !refused.has(form)).map((form) => form.of),
  )
  t.ok(buildable.size > 0.8 * cases.length, `${buildable.size} of ${cases.length} are built in float32`)
  for (const each of cases) {
    const original = forms.findIndex((form) => form.of === each && form.what === 'float32')
    const wanted = each.against === 'evaluator' ? outputsOf(answers[original] as Answer) : await onCpu(each)
    await t.test(each.name, (t) => {
      for (const [i, form] of forms.entries()) {
        if (form.of !== each) continue
        const answer = answers[i] as Answer
        t.equal(answer.valid, null, `${form.what}: valid`)
        if (form.isBuilt && buildable.has(each)) t.equal(refused.get(form), undefined, `${form.what}: built`)
        if (form.precision && form.isEvaluated && answer.valid === null)
          t.equal(wrong(form, answer, wanted), undefined, `${form.what}: what it computes`)
      }
      t.end()
    })
  }
}
