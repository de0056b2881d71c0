import type { BuildInfo } from '../../plan/info.js'
import { newCommand } from '../command.js'
import { builderFlags, builderOptions, filesOfBuild, refuseBuilder } from '../options/builder.js'
import { refuseShapes } from '../options/model.js'
import { profileOf, shapeFlags } from '../options/shapes.js'
import { plural } from '../../benchmark/report/numbers.js'
import { bytesText, dimsText, durationText } from '../output/format.js'
import { buildListener } from '../output/progress.js'
import { forceFlag, refuseFiles } from '../output/writable.js'
import { early } from '../refusal.js'
import type { Session } from '../session.js'

const example = `model.onnx --fp16 --output model.plan
model.onnx --min-shapes images:1x3x224x224 --opt-shapes images:8x3x224x224 \\
      --max-shapes images:32x3x224x224 --output model.plan`

/** `trt build`: {@link Builder.build}, and {@link Plan.save}. */
export const command = newCommand('build', {
  example,
  arguments: { '<model>': 'an ONNX file' },
  flags: {
    '-o, --output <FILE>': { required: 'where the plan is saved, and its sidecar beside it' },
    ...shapeFlags,
    ...builderFlags,
    ...forceFlag,
  },
  run: async ({ flags, session, refuse }, model: string) => {
    await refuseBuilder(flags, refuse)
    const { output, force } = flags
    await early(() => refuseFiles({ models: [model], ...filesOfBuild(flags), plan: output, force }, refuse))
    await refuseShapes(model, flags, { needed: true, range: true }, refuse)
    const shapes = profileOf(flags)
    const [{ Builder }, progress] = [await import('../../builder.js'), session.progress()]
    await using builder = new Builder(builderOptions(flags))
    const { signal } = session
    const plan = await builder.build(model, { shapes, signal, onProgress: buildListener(progress) })
    await plan.save(output, { signal, overwrite: force === true })
    const facts = { plan: output, bytes: plan.bytes.length, sha256: plan.sha256, ...plan.info }
    session.result(facts, () => account(session, output, plan.bytes.length, plan.info))
  },
})

function account(session: Session, path: string, bytes: number, info: BuildInfo): string {
  const { library, gpu, settings, buildMs, network, conversion } = info
  const fields = session.fields([
    ['plan', `${path}, ${bytesText(bytes)}`],
    [
      'built by',
      `${library} in ${durationText(buildMs)}${gpu === undefined ? '' : `, for ${gpu.name} (${gpu.computeCapability})`}`,
    ],
    ['precision', `${settings.precision.join(', ') || 'fp32'}${settings.stronglyTyped ? ', strongly typed' : ''}`],
    [
      'converted',
      conversion &&
        `${plural(conversion.converted, 'node')} to ${conversion.precision}, ${conversion.kept.length} kept in float32`,
    ],
    ['network', `${plural(network.layers, 'layer')}, ${bytesText(network.weightBytes)} of weights`],
  ])
  return `${fields}\n\n${session.table(['', 'name', 'type', 'shape', 'min', 'opt', 'max'], tensorRows(info))}`
}

function tensorRows({ network, profiles }: BuildInfo): string[][] {
  const rangeOf = (name: string): string[] => {
    const ranges = profiles
      .map((profile) => profile.find((each) => each.name === name))
      .filter((range) => range !== undefined)
    return (['min', 'opt', 'max'] as const).map((end) => ranges.map((range) => dimsText(range[end])).join('\n'))
  }
  return [
    ...network.inputs.map(({ name, dtype, shape }) => ['in', name, dtype, dimsText(shape), ...rangeOf(name)]),
    ...network.outputs.map(({ name, dtype, shape }) => ['out', name, dtype, dimsText(shape)]),
  ]
}
