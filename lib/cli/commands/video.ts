import { newCommand } from '../command.js'
import { plural } from '../../benchmark/report/numbers.js'
import { refusePlace } from '../options/engine.js'
import { refuseShapes } from '../options/model.js'
import { needFile, refuseFiles } from '../output/writable.js'
import { early } from '../refusal.js'
import { openEngine, opensSizes } from '../run/engine.js'
import { distinctNames } from '../run/files.js'
import { exitCodeOf } from '../run/outputs.js'
import { presetHelp, saidText } from '../run/preset.js'
import { videoFlags, type VideoFlags } from '../video/flags.js'

const examples = `in.mp4 --model centerface.onnx --preset centerface --task blur -o blurred.mp4
a.mp4 b.mp4 --model yolov8n.onnx --preset yolov8 --labels coco80 -o drawn/
in.mp4 --model yolov8n.onnx --preset yolov8 --every 5 --jsonl`

/** `trt video`: tasks of `node-tensorrt/tasks` on the frames of videos. */
export const command = newCommand('video', {
  example: examples,
  arguments: { '<videos...>': 'files, patterns of them, or URLs; several go through one engine side by side' },
  flags: videoFlags,
  notes: (session) => [presetHelp(session), help],
  run: async ({ flags, session, refuse }, inputs: readonly string[]) => {
    const { filesOfVideo, videoJobOf } = await import('../video/job.js')
    const { answerVideos, videoHead, videoRow } = await import('../video/run.js')
    const { findPrograms } = await import('../../video/programs/find.js')
    const { model } = flags
    await refusePlace(flags, refuse)
    await early(() => needFile(model))
    const job = await early(() => videoJobOf(flags, inputs, refuse))
    const { task } = job
    if (job.said !== undefined) session.note(saidText(job.said))
    await early(() => refuseFiles(filesOfVideo(flags, job), refuse))
    await refuseShapes(model, flags, { needed: false, opensSizes: opensSizes(job.flags) }, refuse)
    // before a model is opened, which may take minutes
    await findPrograms({ ffmpeg: flags.ffmpeg, signal: session.signal })
    await using engine = await openEngine(model, { ...flags, lanes: lanesOf(flags) }, job.flags, session)
    const { results, failed } = await answerVideos(engine, job, flags, session)
    const names = distinctNames(results.map(({ source }) => source))
    const table = (): string =>
      session.table(
        videoHead,
        results.map((each) => videoRow(each, names)),
      )
    const without = results.filter(({ regions }) => regions === 0)
    for (const { source, frames, written = '' } of without) {
      const still = task !== 'blur' ? '' : `, and ${written} shows all that it does`
      session.warn(`${source}: nothing was found in any of its ${plural(frames, 'frame')}${still}`)
    }
    const document = { model, backend: engine.backend, runtime: engine.description, task, results, failed }
    if (flags.jsonl !== true) session.result(document, () => (results.length === 0 ? 'No video was done' : table()))
    else if (results.length > 0) session.note(table())
    return exitCodeOf(session, flags, { results, failed, without: without.length }, 'video')
  },
})

/**
 * Two, since frames come one after the other from programs that decode and encode: what one run leaves of the
 * processor, or of a GPU, the other one takes.
 */
function lanesOf({ lanes, batch, threads }: VideoFlags): number {
  return lanes ?? (batch === undefined && threads === undefined ? 2 : 1)
}

const help = `
Outputs:
  --output         videos with the times, colours and sounds of their sources
  without          answers alone: a table, --json one document
                   { model, task, results, failed }, --jsonl a line a frame
                   { source, number, pts, found }
A video that fails is told and the others are done: exit code 1. What was
written until then, also until ctrl-C, is a file that plays, and is said to be
a part.`
