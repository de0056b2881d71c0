import type { Command } from 'commander'
import { exitCodes } from '../exit-codes.js'
import { withShapeOptions } from '../options/builder.js'
import { withEngineOptions } from '../options/engine.js'
import { counted } from '../output/format.js'
import { refuseOutputs, withForce } from '../output/writable.js'
import { action, choice, newCommand, numberIn, sizeOf, usageError, whole } from '../parsing.js'
import { openEngine } from '../run/engine.js'
import { presetHelp, saidText } from '../run/preset.js'
import type { Session } from '../session.js'
import { type VideoGiven, videoTasks } from '../video/given.js'

const examples = `in.mp4 --model centerface.onnx --preset centerface --task blur -o blurred.mp4
a.mp4 b.mp4 --model yolov8n.onnx --preset yolov8 --labels coco80 -o drawn/
in.mp4 --model yolov8n.onnx --preset yolov8 --every 5 --jsonl`

/** `trt video`: tasks of `node-tensorrt/tasks` on the frames of videos. */
export function command(session: Session): Command {
  const video = newCommand(session, 'video', examples)
    .addHelpText('after', presetHelp(session))
    .argument('<videos...>', 'files, patterns of them, or URLs; several go through one engine side by side')
    .requiredOption('--model <FILE>', 'a plan or an ONNX file')
    .option(
      '--preset <NAME>',
      'how frames become the input, by the family of models, such as yolov8 or centerface; or a preset in a file of JSON. Models that ultralytics exported say it themselves',
    )
    .addOption(choice('--task <NAME>', "what is done with the frames; the preset's own unless given", videoTasks))
    .option(
      '-o, --output <PATH>',
      'where videos are written, with what was found drawn or hidden: a folder, or a file for one video',
    )
    .option('--jsonl', 'a line of JSON for each frame, as it is done')
  withReading(withFinding(video))
  withWriting(video).addHelpText('after', help)
  return action(
    withForce(withShapeOptions(withEngineOptions(video))),
    session,
    async (given: VideoGiven, inputs: readonly string[]) => {
      const refuse = usageError(video)
      const { filesOfVideo, videoJobOf } = await import('../video/job.js')
      const { answerVideos, videoHead, videoRow } = await import('../video/run.js')
      const job = await videoJobOf(given, inputs, refuse)
      if (job.said !== undefined) session.note(saidText(job.said))
      await refuseOutputs(filesOfVideo(given, job), refuse)
      // before a model is opened, which may take minutes
      await (
        await import('../../video/programs/find.js')
      ).findPrograms({ ffmpeg: given.ffmpeg, signal: session.signal })
      await using engine = await openEngine(given.model, { ...given, lanes: lanesOf(given) }, job.given, session)
      const { results, failed } = await answerVideos(engine, job, given, session)
      const table = (): string => session.table(videoHead, results.map(videoRow), { right: [2, 3, 5] })
      for (const { source, frames, regions, written = '' } of results) {
        const still = job.task !== 'blur' ? '' : `, and ${written} shows all that it does`
        if (regions === 0)
          session.warn(`${source}: nothing was found in any of its ${counted(frames, 'frame')}${still}`)
      }
      const document = {
        model: given.model,
        backend: engine.backend,
        runtime: engine.description,
        task: job.task,
        results,
        failed,
      }
      if (given.jsonl !== true) session.result(document, () => (results.length === 0 ? 'No video was done' : table()))
      else if (results.length > 0) session.note(table())
      if (failed.length > 0) return exitCodes.failed
      const without = results.filter(({ regions }) => regions === 0).length
      if (given.requireFound !== true || without === 0) return exitCodes.done
      session.warn(
        `Nothing was found in ${without} of ${counted(results.length, 'video')}, and --require-found was given`,
      )
      return exitCodes.unmet
    },
  )
}

/**
 * Two, since frames come one after the other from programs that decode and encode: what one run leaves of the
 * processor, or of a GPU, the other one takes.
 */
function lanesOf({ lanes, batch, threads }: VideoGiven): number {
  return lanes ?? (batch === undefined && threads === undefined ? 2 : 1)
}

function withFinding(command: Command): Command {
  return command
    .option(
      '--labels <FILE>',
      "of detect and segment: the classes' names, a line each; or coco80, coco90, coco91, imagenet, voc",
    )
    .option('--threshold <SCORE>', 'what is found has a higher score', numberIn(0, 1))
    .option(
      '--size <SIZE>',
      "the input's size where the model leaves it open: 640, or 640x480 (width x height)",
      sizeOf,
    )
    .option(
      '--max-side <PIXELS>',
      "where the input's size follows from the frame: its longer side at most; 1920 unless given",
      whole(1),
    )
    .option('--batch <N>', 'how many frames run together at most, also of several videos; 1 unless given', whole(1))
    .option('--lanes <N>', 'how many runs compute at once; 2 unless given, 1 with --batch or --threads', whole(1))
    .option('--parallel <N>', 'how many videos are under way at once; 4 unless given', whole(1))
    .addOption(choice('--method <NAME>', 'of blur: how it hides; blur unless given', ['blur', 'pixelate', 'fill']))
    .option(
      '--grow <FACTOR>',
      'of blur: boxes are enlarged by it before they are hidden; 1.3 unless given',
      numberIn(0.1, 10),
    )
    .option(
      '--strength <PART>',
      'of blur: of the blur or of its squares, a part of the longer side of what is hidden; 0.1 unless given',
      numberIn(0.01, 1),
    )
    .option('--require-found', 'exit code 3 where a video has nothing that was found')
}

function withReading(command: Command): Command {
  return command
    .option('--start <SECONDS>', 'frames that are shown before are left out', numberIn(-1e9, 1e9))
    .option('--end <SECONDS>', 'frames that are shown then or later are left out', numberIn(-1e9, 1e9))
    .option('--every <N>', 'without --output: of so many frames the first is looked at', whole(1))
    .addOption(choice('--hardware <NAME>', 'what decodes; none unless given', ['none', 'cuda']))
    .option('--ffmpeg <PATH>', 'the program, or the folder that has it and ffprobe; else FFMPEG_PATH, else PATH')
}

function withWriting(command: Command): Command {
  return command
    .addOption(choice('--codec <NAME>', 'h264 unless given; vp9 in .webm', ['h264', 'hevc', 'vp9', 'av1', 'ffv1']))
    .option('--encoder-preset <NAME>', 'of h264 and hevc: ultrafast to veryslow; veryfast unless given')
    .option(
      '--quality <CRF>',
      'lower is better and larger; 23 of h264, 28 of hevc, 31 of vp9, 35 of av1 unless given',
      numberIn(0, 63),
    )
    .addOption(
      choice('--odd <WHAT>', 'what becomes of a side that is odd, which h264, hevc and av1 cannot have', [
        'refuse',
        'crop',
        'pad',
      ]),
    )
    .option('--no-audio', 'no sounds; else they are copied as they are')
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
