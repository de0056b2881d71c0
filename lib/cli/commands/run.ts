import { newCommand } from '../command.js'
import { plural } from '../../benchmark/report/numbers.js'
import { firstBatch } from '../options/data.js'
import { refusePlace } from '../options/engine.js'
import { refuseShapes } from '../options/model.js'
import { needFile, refuseFiles } from '../output/writable.js'
import { early, Refusal } from '../refusal.js'
import { openEngine, opensSizes } from '../run/engine.js'
import type { Refuse } from '../flags.js'
import { type RunFlags, runFlags } from '../run/flags.js'
import { SkippedEntries } from '../run/files.js'
import { stemOf } from '../run/inputs.js'
import { jobOf, type RunJob } from '../run/job.js'
import { exitCodeOf, filesOfRun } from '../run/outputs.js'
import { answerPictures } from '../run/pictures.js'
import { presetHelp, saidText } from '../run/preset.js'
import { isPictureFile, saveAnswers, type Target } from '../run/target.js'
import { withStdin } from '../run/stdin.js'
import { runTensors } from '../run/tensors.js'
import type { Session } from '../session.js'

const examples = `resnet50.onnx - --preset imagenet < cat.jpg
resnet50.onnx cat.jpg --preset imagenet --labels imagenet
yolov8n.onnx photos/ --preset yolov8 --labels coco80 -o drawn/
centerface.onnx 'photos/*.jpg' --preset centerface --task blur -o blurred/
model.plan --input images=images.npy -o outputs.npz
model.onnx --random --shapes images:1x3x224x224`

/** `trt run`: {@link Engine.infer} on tensors of files, or one of the tasks of `node-tensorrt/tasks` on pictures. */
export const command = newCommand('run', {
  example: examples,
  arguments: {
    '<model>': 'a plan or an ONNX file',
    '[files...]':
      'pictures, or files of tensors: .npy, .npz, .json, .raw; folders and patterns of them; - is stdin. One inference for each',
  },
  flags: runFlags,
  notes: (session) => [presetHelp(session), help],
  run: async ({ flags: asked, session, refuse }, model: string, paths: readonly string[]) => {
    const { data: files, ...flags } = await withStdin({ ...asked, data: paths }, session, refuse)
    await refusePlace(flags, refuse)
    const skipped = new SkippedEntries()
    const job = await early(() => jobOf(flags, model, files, refuse, skipped)).catch(async (error: unknown) => {
      // of two files that are not there, the model is told first
      if (error instanceof Refusal && error.error.code === 'ERR_TRT_FILE') await early(() => needFile(model))
      throw error
    })
    const task = 'task' in job ? job.task : undefined
    if ('task' in job && job.said !== undefined) session.note(saidText(job.said))
    skipped.report(session, 'task' in job || job.pictures !== undefined ? 'pictures' : 'tensors')
    await early(() => refuseFiles(filesOfRun(model, flags, job), refuse))
    await refuseUnfitting(model, flags, job, session, refuse)
    await using engine = await openEngine(model, flags, 'task' in job ? job.flags : job.pictures, session)
    const ran = 'task' in job ? await answerPictures(engine, job, session) : await runTensors(engine, job, session)
    const { head, rows, without, ...found } = ran
    const document = { model, backend: engine.backend, runtime: engine.description, task, ...found }
    if (hasAnswers(job)) await saveAnswers(job.target.path, document)
    session.result(document, () =>
      [...(rows.length > 0 ? [session.table(head, rows)] : []), writtenText(job.target, found)].join('\n\n').trimEnd(),
    )
    return exitCodeOf(session, flags, ran, 'picture')
  },
})

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

/** Shapes and tensors that do not fit the model, before it is opened; of several files each is told when it comes. */
async function refuseUnfitting(
  model: string,
  flags: RunFlags,
  job: RunJob,
  session: Session,
  refuse: Refuse,
): Promise<void> {
  if ('task' in job) return refuseShapes(model, flags, { needed: false, opensSizes: opensSizes(job.flags) }, refuse)
  const { named, random, files, pictures } = job
  const one = files.length === 1 && pictures === undefined
  if (one || named.length > 0) {
    const tensors = { ...job, files: one ? files : [], pictures: undefined, batch: undefined, unread: undefined }
    await firstBatch(tensors, model, random === undefined && (one || files.length === 0), session, refuse)
  }
  const needs = {
    needed: random !== undefined && files.length === 0,
    given: named.map(({ name }) => name),
    opensSizes: opensSizes(pictures),
  }
  await refuseShapes(model, flags, needs, refuse)
}

type WithAnswers = RunJob & { readonly target: { readonly path: string } }

/** Whether the answers of a task go to a file in the end; lines of JSON are there as they come. */
function hasAnswers(job: RunJob): job is WithAnswers {
  return 'task' in job && job.target?.kind === 'file' && job.target.ending === '.json'
}

interface Written {
  readonly file?: string | undefined
  readonly written?: string | readonly string[] | undefined
}

/** Where everything went, in a line; of sources with equal names, a line for each. */
function writtenText(target: Target | undefined, { results }: { readonly results: readonly Written[] }): string {
  if (target === undefined) return results.length === 0 ? 'Nothing was run' : ''
  const files = results.flatMap(({ written }) => written ?? [])
  if (results.length === 0 && target.kind === 'file') return 'Nothing was run'
  if (isPictureFile(target) && files.length === 0) return 'Nothing was written'
  if (target.kind === 'file') return `Written to ${target.path}`
  return [`${plural(files.length, 'file')} written to ${target.path}`, ...renamedLines(results)].join('\n')
}

/** The files of each source that has the name of another one, which their own names do not tell. */
function renamedLines(results: readonly Written[]): readonly string[] {
  const stems = results.map(({ file = '' }) => stemOf(file).toLowerCase())
  const isAgain = (stem: string, index: number): boolean =>
    stems.indexOf(stem) !== index || stems.lastIndexOf(stem) !== index
  return results.flatMap(({ file = '', written }, index) =>
    written !== undefined && isAgain(stems[index]!, index) ? `  ${file}: ${[written].flat().join(', ')}` : [],
  )
}
