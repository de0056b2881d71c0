import type { ExpectedPrecision } from '../../benchmark/inspector.js'
import type { EngineLayers } from '../../benchmark/types.js'
import { newCommand } from '../command.js'
import { exitCodes } from '../exit-codes.js'
import { list, numberIn, whole } from '../flags.js'
import { engineFlags, loadEngine } from '../options/engine.js'
import { profileOf, shapeFlags } from '../options/shapes.js'
import { durationText } from '../output/format.js'
import { layersText } from '../output/layers.js'
import type { Session } from '../session.js'

/** `trt audit`: {@link Engine.layers}. */
export const command = newCommand('audit', {
  example: 'model.plan --expect fp16 --min-share 0.9',
  arguments: { '<model>': 'a plan, or an ONNX file that is built first' },
  flags: {
    '--iterations <N>': ['how many executions are timed', whole(1)],
    '--profile <N>': ['the optimization profile whose best shapes it runs at', whole(0)],
    '--expect <PRECISIONS>': ['exit with 3 where one of them is absent, or has less than --min-share', list],
    '--min-share <SHARE>': ['the least share of the time, from 0 to 1', numberIn(0, 1)],
    ...engineFlags,
    ...shapeFlags,
  },
  run: async ({ flags, session, refuse }, path: string) => {
    const { iterations, profile, minShare } = flags
    const expect = flags.expect as ExpectedPrecision[] | undefined
    if (minShare !== undefined && expect === undefined)
      refuse('--min-share is of the precisions of --expect, which was not given')
    await using engine = await loadEngine(path, flags, session, { shapes: profileOf(flags) })
    const found = await engine.layers({ iterations, profile, expect, minShare, signal: session.signal })
    session.result(found, () => account(session, found))
    for (const warning of found.warnings) session.warn(warning)
    return expect !== undefined && found.warnings.length > 0 ? exitCodes.unmet : exitCodes.done
  },
})

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
