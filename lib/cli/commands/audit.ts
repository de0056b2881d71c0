import type { Command } from 'commander'
import type { ExpectedPrecision } from '../../benchmark/inspector.js'
import type { EngineLayers } from '../../benchmark/types.js'
import { exitCodes } from '../exit-codes.js'
import { type EngineGiven, engineOptions, withEngineOptions } from '../options/engine.js'
import { profileOf, type ShapesGiven, withShapeOptions } from '../options/builder.js'
import { tellBuild } from '../output/build-progress.js'
import { durationText, percentText, slowestLayers } from '../output/format.js'
import { action, list, newCommand, numberIn, whole } from '../parsing.js'
import type { Session } from '../session.js'

interface AuditGiven extends EngineGiven, ShapesGiven {
  readonly iterations?: number | undefined
  readonly profile?: number | undefined
  readonly expect?: readonly ExpectedPrecision[] | undefined
  readonly minShare?: number | undefined
}

/** `trt audit`: {@link Engine.layers}. */
export function command(session: Session): Command {
  const audit = newCommand(session, 'audit', 'model.plan --expect fp16 --min-share 0.9')
    .argument('<model>', 'a plan, or an ONNX file that is built first')
    .option('--iterations <N>', 'how many executions are timed', whole(1))
    .option('--profile <N>', 'the optimization profile whose best shapes it runs at', whole(0))
    .option('--expect <PRECISIONS>', 'exit with 3 where one of them is absent, or has less than --min-share', list)
    .option('--min-share <SHARE>', 'the least share of the time, from 0 to 1', numberIn(0, 1))
  return action(withShapeOptions(withEngineOptions(audit)), session, async (given: AuditGiven, path: string) => {
    const { iterations, profile, expect, minShare } = given
    if (minShare !== undefined && expect === undefined)
      audit.error('error: --min-share is of the precisions of --expect, which was not given', {
        exitCode: exitCodes.usage,
      })
    const { Engine } = await import('../../engine.js')
    const { signal } = session
    const shapes = profileOf(given)
    const onProgress = tellBuild(session.progress())
    await using engine = await Engine.load(path, {
      ...engineOptions(given),
      shapes,
      onProgress,
      signal,
    })
    const found = await engine.layers({ iterations, profile, expect, minShare, signal })
    session.result(found, () => account(session, found))
    for (const warning of found.warnings) session.warn(warning)
    return expect !== undefined && found.warnings.length > 0 ? exitCodes.unmet : exitCodes.done
  })
}

function account(session: Session, found: EngineLayers): string {
  const { count, precisions, totalMs, iterations, shapes, limited } = found
  const fields = session.fields([
    ['layers', String(count)],
    ['time', `${durationText(totalMs)}, all layers one after the other; ${iterations} executions`],
    [
      'shapes',
      Object.entries(shapes)
        .map(([name, shape]) => `${name}:${shape.join('x')}`)
        .join(', ') || undefined,
    ],
    ['limited', limited],
  ])
  const shares = precisions.map(({ precision, layers, timeShare }) => [precision, layers, percentText(timeShare)])
  const rows = slowestLayers(found).map(({ name, averageMs, medianMs, timeShare }) => [
    name,
    averageMs.toFixed(3),
    medianMs.toFixed(3),
    percentText(timeShare),
  ])
  return [
    fields,
    session.table(['precision', 'layers', 'of the time'], shares, { right: [2] }),
    session.table(['slowest layers', 'mean ms', 'median ms', 'share'], rows, { right: [1, 2, 3] }),
  ].join('\n\n')
}
