import { InvalidArgumentError } from 'commander'
import { type ExpectedPrecision, precisionTypes } from '../../benchmark/inspector.js'
import type { EngineLayers } from '../../benchmark/types.js'
import { newCommand } from '../command.js'
import { exitCodes } from '../exit-codes.js'
import { list, numberIn, whole } from '../flags.js'
import { loadEngine, placeFlags, refusePlace } from '../options/engine.js'
import { refuseShapes } from '../options/model.js'
import { profileOf, shapeFlags } from '../options/shapes.js'
import { refuseFiles } from '../output/writable.js'
import { durationText } from '../output/format.js'
import { layersText } from '../output/layers.js'
import { early } from '../refusal.js'
import type { Session } from '../session.js'

/** `trt audit`: {@link Engine.layers}. */
export const command = newCommand('audit', {
  example: 'model.plan --expect fp16 --min-share 0.9',
  arguments: { '<model>': 'a plan, or an ONNX file that is built first' },
  flags: {
    '--iterations <N>': ['how many executions are timed, 1000 at most; 10 unless given', whole(1, 1000)],
    '--profile <N>': ['the optimization profile whose best shapes it runs at', whole(0, 2 ** 31 - 1)],
    '--expect <PRECISIONS>': [
      'exit with 3 where one of them is absent, or has less than --min-share: fp32, fp16, bf16, int8, fp8, int4, fp4',
      precisions,
    ],
    '--min-share <SHARE>': ['the least share of the time, from 0 to 1', numberIn(0, 1)],
    '--strict': 'exit with 3 where anything is warned of',
    ...placeFlags,
    ...shapeFlags,
  },
  run: async ({ flags, session, refuse }, path: string) => {
    const { iterations, profile, minShare, expect, strict } = flags
    if (minShare !== undefined && expect === undefined)
      refuse('--min-share is of the precisions of --expect, which was not given')
    await refusePlace(flags, refuse)
    await early(() => refuseFiles({ models: [path] }, refuse))
    await refuseShapes(path, flags, { needed: true }, refuse)
    await using engine = await loadEngine(path, { ...flags, backend: 'tensorrt' }, session, {
      shapes: profileOf(flags),
    })
    const found = await engine.layers({ iterations, profile, expect, minShare, signal: session.signal })
    session.result(found, () => account(session, found))
    for (const warning of found.warnings) session.warn(warning)
    const isUnmet = expect?.some((precision) => !isMet(found, precision, minShare)) ?? false
    return isUnmet || (strict && found.warnings.length > 0) ? exitCodes.unmet : exitCodes.done
  },
})

/** What cannot be told does not hold. */
function isMet({ limited, precisions }: EngineLayers, precision: ExpectedPrecision, minShare = 0): boolean {
  const found = precisions.find((each) => each.precision === precisionTypes[precision])
  return limited === undefined && found !== undefined && found.layers > 0 && found.timeShare >= minShare
}

function precisions(text: string, before: readonly ExpectedPrecision[] = []): ExpectedPrecision[] {
  const unknown = list(text).find((name) => !Object.hasOwn(precisionTypes, name))
  if (unknown === undefined) return [...before, ...(list(text) as ExpectedPrecision[])]
  throw new InvalidArgumentError(`Expected some of ${Object.keys(precisionTypes).join(', ')}, with commas.`)
}

function account(session: Session, found: EngineLayers): string {
  const { count, totalMs, iterations, shapes, limited } = found
  const shapesText = Object.entries(shapes).map(([name, shape]) => `${name}:${shape.join('x')}`)
  const fields = session.fields([
    ['layers', String(count)],
    ['time', `${durationText(totalMs)}, all layers one after the other; ${iterations} executions`],
    ['shapes', shapesText.join(', ') || undefined],
    ['limited', limited],
  ])
  return `${fields}\n\n${layersText(session, found)}`
}
