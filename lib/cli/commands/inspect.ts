import { extname } from 'node:path'
import type { NamedShapes } from '../../backend/backend.js'
import { saveText } from '../../base/files.js'
import type { DeploymentCheck } from '../../building/deployment.js'
import type { ModelInspection, ParserVerdict, PlanInspection } from '../../inspection.js'
import { newCommand } from '../command.js'
import { exitCodes } from '../exit-codes.js'
import { type Flags, type FlagValues, list, type Refuse, whole } from '../flags.js'
import { builderFlags } from '../options/builder.js'
import { backendFlags, isBuilt, placeFlags, placeOf } from '../options/engine.js'
import { refuseShapes } from '../options/model.js'
import { parseShapes, shapeFlags } from '../options/shapes.js'
import { grouped, plural } from '../../benchmark/report/numbers.js'
import { bytesText, dimsText, durationText, shortened } from '../output/format.js'
import { layersText } from '../output/layers.js'
import type { Row } from '../output/table.js'
import { forceFlag, refuseFiles } from '../output/writable.js'
import { early } from '../refusal.js'
import type { Session } from '../session.js'
import { flagSpelling } from '../spelling.js'

const inspectFlags = {
  '--shapes <SHAPES>': [
    'of inputs that the model leaves open, for the size of its values: images:1x3x640x640',
    parseShapes,
  ],
  '--for <RUNTIME>': ['check a model for deployment: exit code 3 if TensorRT would not take it', ['tensorrt']],
  '--layers': 'of a plan: open it and time its layers, which needs a GPU',
  '--draw <FILE>': 'draw the graph (of a plan its layers, on a GPU), as .svg, or as .dot for Graphviz',
  '--around <NAMES>': ['draw only what is near these nodes or values', list],
  '--depth <N>': ['how many steps from them (3)', whole(0)],
  ...placeFlags,
  ...forceFlag,
} as const satisfies Flags

type InspectFlags = FlagValues<typeof inspectFlags>

/** `trt inspect`: `inspect` and `drawLayers` of `node-tensorrt`, and `drawModel` of `node-tensorrt/onnx`. */
export const command = newCommand('inspect', {
  example: 'model.onnx --draw model.svg\nmodel.onnx --for tensorrt\nmodel.plan --layers',
  arguments: { '<model>': 'an ONNX file or a plan' },
  flags: inspectFlags,
  run: async ({ flags, session, refuse }, path: string) => {
    const { shapes, layers, draw, for: target } = flags
    const { signal } = session
    refuseIdle(flags, refuse)
    const format = draw === undefined ? undefined : formatOf(draw, refuse)
    await early(() => refuseFiles({ models: [path], outputs: [draw], force: flags.force }, refuse))
    const built = await isBuilt(path)
    if (built && shapes !== undefined)
      refuse(`--shapes is of a model, and ${path} is a plan: its shapes were decided when it was built`)
    if (built && target !== undefined) refuse(`--for is of a model, and ${path} is a plan: it is built already`)
    if (layers && !built)
      refuse(`--layers is of a plan, and ${path} is none: build it first, or see trt compare --layers`)
    await refuseShapes(path, flags, { needed: false, partial: true }, refuse)
    const { inspect: inspectFile } = await import('../../inspection.js')
    const found = await inspectFile(path, { tensorrt: placeOf(flags), shapes, layers, for: target, signal })
    if (draw !== undefined && format !== undefined)
      await saveText(draw, await (found.kind === 'plan' ? layersDrawn : modelDrawn)(path, format, flags, signal))
    session.result(found, () => (found.kind === 'plan' ? planText(session, found) : modelText(session, found)))
    if (draw !== undefined) session.note(`drawn to ${draw}`)
    return found.kind === 'model' && found.deployment?.ready === false ? exitCodes.unmet : exitCodes.done
  },
})

type Format = 'svg' | 'dot'

function formatOf(file: string, refuse: Refuse): Format {
  const format = extname(file).slice(1).toLowerCase()
  if (format === 'svg' || format === 'dot') return format
  return refuse(`--draw takes a name that ends in .svg or .dot, not ${file}`)
}

/** What would have no effect. */
function refuseIdle({ draw, around, depth }: InspectFlags, refuse: Refuse): void {
  if (around !== undefined && draw === undefined) refuse('--around is of --draw, which was not given')
  if (depth !== undefined && around === undefined) refuse('--depth is of --around, which was not given')
}

async function modelDrawn(path: string, format: Format, { around, depth, shapes }: InspectFlags): Promise<string> {
  const { drawModel, readModel } = await import('../../onnx/index.js')
  const model = await readModel(path)
  return early(() => drawModel(model, { format, around, depth, shapes }))
}

/** The layers of a built plan, which only an engine tells. */
async function layersDrawn(path: string, format: Format, flags: InspectFlags, signal: AbortSignal): Promise<string> {
  const { drawLayers } = await import('../../benchmark/layer-drawing.js')
  const { Engine } = await import('../../engine.js')
  await using engine = await Engine.load(path, { backend: 'tensorrt', tensorrt: placeOf(flags), signal })
  const { document } = await engine.layers({ iterations: 1, signal })
  return await drawLayers(document, { format })
}

function modelText(session: Session, found: ModelInspection): string {
  const { inputs, outputs, domains, opset, producer, irVersion, operators, nodeCount, externalFiles, size, tensorrt } =
    found
  const metadata = Object.entries(found.metadata)
  const others = Object.entries(domains).filter(([domain]) => domain !== 'ai.onnx')
  const { activations, unknown } = size
  const fields = session.fields([
    ['model', `ONNX, graph ${found.name || 'without a name'}`],
    ['made by', `${producer.name} ${producer.version}`.trim() || undefined],
    // an entry may be a list of a thousand names: `--json` has it whole
    [
      'metadata',
      metadata.map(([key, value]) => `${key}: ${shortened(value.replace(/\s+/g, ' '), 100)}`).join('\n') || undefined,
    ],
    [
      'operators',
      `opset ${opset}, IR version ${irVersion}${others.map(([domain, version]) => `, ${domain} ${version}`).join('')}`,
    ],
    [
      'parameters',
      `${grouped(size.stored.elements)} in ${plural(size.stored.tensors, 'tensor')}, ${bytesText(size.stored.bytes)}`,
    ],
    [
      'types',
      Object.entries(size.types)
        .map(([type, { elements, bytes }]) => `${type}: ${grouped(elements)}, ${bytesText(bytes)}`)
        .join('\n') || undefined,
    ],
    [
      'values',
      activations === undefined
        ? `of unknown size: ${unknown.slice(0, 3).join(', ')}${unknown.length > 3 ? ' …' : ''} (--shapes may help)`
        : `${bytesText(activations.peakBytes)} at most at the same time, at ${activations.peakAt}; ${bytesText(activations.totalBytes)} in all, before anything is fused`,
    ],
    ['other files', externalFiles.join('\n') || undefined],
    ['TensorRT', session.spelling(verdictText(tensorrt))],
  ])
  return [
    fields,
    endsTable(session, inputs, outputs),
    session.table([plural(nodeCount, 'node'), 'times'], Object.entries(operators)),
    ...(found.deployment === undefined ? [] : [deploymentText(session, found.deployment)]),
  ].join('\n\n')
}

const deploymentSpelling = flagSpelling(
  Object.keys({ ...builderFlags, ...backendFlags, ...shapeFlags }).map((flag) => flag.split(' ', 1)[0]!),
)

/** Whether the model is ready for TensorRT, and what is not. Remedies name flags of `trt build` and `trt run`. */
function deploymentText(session: Session, { ready, operators, findings }: DeploymentCheck): string {
  const how = operators === 'parser' ? 'parsed by this TensorRT' : 'compared with those that TensorRT 10.15 documents'
  const verdict = `For TensorRT: ${ready ? 'no obstacle found' : 'not ready'} (operators: ${how})`
  const lines = findings.map(({ severity, code, message }) =>
    session.prose(deploymentSpelling(`${severity}: ${message} (${code})`)),
  )
  const note = lines.some((line) => line.includes(' --'))
    ? [`These flags are those of ${session.name} build and ${session.name} run.`]
    : []
  return [verdict, ...lines, ...note].join('\n')
}

/** The parser's own list of what it cannot run stands a node a line. */
function verdictText(verdict: ParserVerdict): string {
  if (verdict.takes === true) return `takes it: ${plural(verdict.network.layers, 'layer')} before anything is fused`
  if (verdict.takes === undefined) return `not asked: ${verdict.reason}`
  return `does not take it: ${verdict.reason.replaceAll('; node ', '\nnode ')}`
}

function planText(session: Session, found: PlanInspection): string {
  const { info, size, sha256, source, savedAt, savedBy, engine } = found
  const opened = engine !== undefined && 'inputs' in engine ? engine : undefined
  const fields = session.fields([
    ['plan', `${info.library}, ${bytesText(size)}`],
    ['sha256', sha256],
    ['known by', source === 'sidecar' ? 'its sidecar' : 'its header alone: there is no sidecar beside it'],
    ['GPU', info.gpu && `${info.gpu.name}, compute capability ${info.gpu.computeCapability}`],
    ['system', info.system && `${info.system.os} ${info.system.arch}`],
    ['built', info.builtAt && `${info.builtAt} in ${durationText(info.buildMs ?? 0)}, by ${info.builtBy ?? '?'}`],
    ['saved', savedAt && `${savedAt}, by ${savedBy ?? '?'}`],
    ['settings', info.settings && settingsText(info.settings)],
    ['profiles', info.profiles?.map(profileText).join('\n') || undefined],
    ['weights', info.network && `${bytesText(info.network.weightBytes)}, before TensorRT chose their types`],
    [
      'opened',
      engine && (opened?.description ?? session.spelling(`not here: ${(engine as { reason: string }).reason}`)),
    ],
  ])
  const { network } = info
  const parts = [fields]
  if (network === undefined && opened)
    parts.push(endsTable(session, Object.values(opened.inputs), Object.values(opened.outputs)))
  if (network !== undefined) {
    const types = Object.entries(network.layerTypes).map(([type, count]) => [type, count ?? 0])
    parts.push(endsTable(session, network.inputs, network.outputs))
    parts.push(session.table(['layers of the network', 'times'], types))
  }
  if (opened?.layers !== undefined) parts.push(layersText(session, opened.layers))
  return parts.join('\n\n')
}

function settingsText(settings: object): string {
  const entries = Object.entries(settings).map(([name, value]) => [name, settingText(value)] as const)
  return entries.flatMap(([name, text]) => (text === '' ? [] : `${name}: ${text}`)).join('\n')
}

/** Nothing of what is off or empty; of a list its parts, of what has names each with what is its own. */
function settingText(value: unknown): string {
  if (value === false) return ''
  if (typeof value !== 'object' || value === null) return String(value)
  if (Array.isArray(value)) return value.map(settingText).join(', ')
  const isNamed = (each: unknown): boolean => typeof each === 'object' && !Array.isArray(each)
  return Object.entries(value)
    .map(([name, each]) => (isNamed(each) ? `${name} (${settingText(each)})` : `${name} ${settingText(each)}`))
    .join(', ')
}

function profileText(profile: readonly NamedShapes[], i: number): string {
  const ranges = profile.map(
    ({ name, min, opt, max }) => `${name} ${dimsText(min)} … ${dimsText(opt)} … ${dimsText(max)}`,
  )
  return `${i}: ${ranges.join(', ') || 'static shapes'}`
}

/** A tensor, or a value of a model that may be none. */
interface End {
  readonly name: string
  readonly kind?: string | undefined
  readonly dtype?: string | undefined
  readonly shape?: Parameters<typeof dimsText>[0]
}

/** Inputs and outputs, a row each. */
function endsTable(session: Session, inputs: readonly End[], outputs: readonly End[]): string {
  const rows = (end: string, values: readonly End[]): Row[] =>
    values.map(({ name, kind = 'tensor', dtype = '', shape }) => [
      end,
      name,
      kind === 'tensor' ? dtype : kind,
      dimsText(shape),
    ])
  return session.table(['', 'name', 'type', 'shape'], [...rows('input', inputs), ...rows('output', outputs)])
}
