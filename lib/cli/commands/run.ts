import type { Command } from 'commander'
import { exitCodes } from '../exit-codes.js'
import { withEngineOptions } from '../options/engine.js'
import { withShapeOptions } from '../options/builder.js'
import { counted } from '../output/format.js'
import { refuseOutputs, withForce } from '../output/writable.js'
import { action, choice, each, newCommand, numberIn, sizeOf, usageError, whole } from '../parsing.js'
import { openEngine } from '../run/engine.js'
import type { RunGiven } from '../run/given.js'
import { jobOf, type RunJob } from '../run/job.js'
import { presetHelp, saidText } from '../run/preset.js'
import { filesOfRun } from '../run/outputs.js'
import { answerPictures } from '../run/pictures.js'
import { isPictureFile, saveAnswers, type Target } from '../run/target.js'
import { taskNames } from '../run/tasks.js'
import { runTensors } from '../run/tensors.js'
import type { Session } from '../session.js'

const examples = `resnet50.onnx cat.jpg --preset imagenet --labels imagenet
yolov8n.onnx photos/ --preset yolov8 --labels coco80 -o drawn/
centerface.onnx 'photos/*.jpg' --preset centerface --task blur -o blurred/
model.plan --input images=images.npy -o outputs.npz
model.onnx --random --shapes images:1x3x224x224`

/** `trt run`: {@link Engine.infer} on tensors of files, or one of the tasks of `node-tensorrt/tasks` on pictures. */
export function command(session: Session): Command {
  const run = newCommand(session, 'run', examples)
    .addHelpText('after', presetHelp(session))
    .argument('<model>', 'a plan or an ONNX file')
    .argument(
      '[files...]',
      'pictures, or files of tensors: .npy, .npz, .json, .raw; folders and patterns of them. One inference for each',
    )
    .option('--input <NAME=FILE>', 'the tensor of an input; may come several times', each)
    .option('--random', 'random numbers for inputs that are not given, as trtexec makes them')
    .option('--seed <N>', 'another seed gives other numbers', whole(0), 1)
    .option(
      '--preset <NAME>',
      'how pictures become the input, by the family of models, such as imagenet, yolov8 or efficientdet:d1; or a preset in a file of JSON. Models that ultralytics exported say it themselves',
    )
    .addOption(
      choice(
        '--task <NAME>',
        "what the answer is; the preset's own unless given. tensors: the outputs as they are",
        taskNames,
      ),
    )
    .option(
      '--size <SIZE>',
      "the input's size where the model leaves it open: 640, or 640x480 (width x height)",
      sizeOf,
    )
    .option(
      '--max-side <PIXELS>',
      "where the input's size follows from the picture: its longer side at most; 1920 unless given",
      whole(1),
    )
    .option('--limit-pixels <N>', 'a picture of more pixels is not read; 268402689 unless given', whole(1))
    .option(
      '--batch <N>',
      'how many pictures run together at most, where the first dimension of inputs and outputs is open; 1 unless given',
      whole(1),
    )
    .option('--labels <FILE>', "the classes' names, a line each; or coco80, coco90, coco91, imagenet, voc")
    .option('--top <K>', 'of classify: how many classes; 5 unless given', whole(1))
    .addOption(
      choice(
        '--activation <NAME>',
        "of classify: what makes scores of the model's numbers; the preset's own unless given. none: they are scores",
        ['softmax', 'sigmoid', 'none'],
      ),
    ) // prettier-ignore
    .option('--threshold <SCORE>', 'of detect, blur and segment: what is found has a higher score', numberIn(0, 1))
    .addOption(
      choice('--draw <WHAT>', 'of segment: what is written; overlay unless given', ['overlay', 'mask', 'cutout']),
    )
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
    .option('--require-found', 'of detect, blur and segment: exit code 3 where a picture has nothing that was found')
    .option(
      '-o, --output <PATH>',
      'where outputs are written, or pictures with what was found: a folder, or a file whose ending says the format',
    )
    .addOption(choice('--format <FORMAT>', 'of tensors in a folder; npy unless given', ['npy', 'npz', 'json', 'raw']))
    .addHelpText('after', help)
  return action(
    withForce(withShapeOptions(withEngineOptions(run))),
    session,
    async (given: RunGiven, model: string, files: readonly string[]) => {
      const job = await jobOf(given, model, files, usageError(run))
      if ('task' in job && job.said !== undefined) session.note(saidText(job.said))
      await refuseOutputs(filesOfRun(model, given, job), usageError(run))
      await using engine = await openEngine(model, given, 'task' in job ? job.given : job.pictures, session)
      const {
        head,
        rows,
        right,
        without = 0,
        ...found
      } = 'task' in job ? await answerPictures(engine, job, session) : await runTensors(engine, job, session)
      const document = {
        model,
        backend: engine.backend,
        runtime: engine.description,
        ...('task' in job && { task: job.task }),
        ...found,
      }
      if (hasAnswers(job)) await saveAnswers(job.target.path, document)
      session.result(document, () =>
        [...(rows.length > 0 ? [session.table(head, rows, { right })] : []), writtenText(job.target, found)]
          .join('\n\n')
          .trimEnd(),
      )
      if (found.failed.length > 0) return exitCodes.failed
      if (!given.requireFound || without === 0) return exitCodes.done
      session.warn(
        `Nothing was found in ${without} of ${counted(found.results.length, 'picture')}, and --require-found was given`,
      )
      return exitCodes.unmet
    },
  )
}

const help = `
Outputs:
  of tensors       their least, mean and greatest number; --output writes them:
                   FILE.npz, .npy, .json (as trtexec's --exportOutput) or .raw,
                   or a folder
  of a task        a table; --output FILE.json or FILE.jsonl writes the answers,
                   a folder or FILE.jpg, .png … pictures with what was found
  of blur          how many regions were hidden in each picture; where nothing
                   was found, no picture is written
  --json           one document: { model, backend, task, results, failed }
A file that cannot be read is told and the others are done: exit code 1.`

type WithAnswers = RunJob & { readonly target: { readonly path: string } }

/** Whether the answers of a task go to a file in the end; lines of JSON are there as they come. */
function hasAnswers(job: RunJob): job is WithAnswers {
  return 'task' in job && job.target?.kind === 'file' && job.target.ending === '.json'
}

/** Where everything went, in a line. */
function writtenText(
  target: Target | undefined,
  { results }: { readonly results: readonly { readonly written?: unknown }[] },
): string {
  if (target === undefined) return results.length === 0 ? 'Nothing was run' : ''
  const files = results.flatMap(({ written }) => written ?? [])
  if (results.length === 0 && target.kind === 'file') return 'Nothing was run'
  if (isPictureFile(target) && files.length === 0) return 'Nothing was written'
  if (target.kind === 'file') return `Written to ${target.path}`
  return `${counted(files.length, 'file')} written to ${target.path}`
}
