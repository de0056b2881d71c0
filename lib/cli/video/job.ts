import { stat } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import { withoutCredentials } from '../../video/programs/credentials.js'
import { containerNames, containers } from '../../video/writing/codecs.js'
import { checkedWriting } from '../../video/writing/options.js'
import { checkedReading } from '../../video/reading/options.js'
import type { OpenVideoOptions, WriteVideoOptions } from '../../video/index.js'
import { usedFlags, type Refuse, refusing } from '../flags.js'
import type { Files } from '../output/writable.js'
import { filesAt } from '../run/files.js'
import { refuseForeign } from '../run/flags.js'
import { labelsOf, taskFlags } from '../run/job.js'
import { filesOf } from '../run/outputs.js'
import { presetList, presetOf, presetOfModel, type SaidPreset } from '../run/preset.js'
import { pathsIn, type Target, targetOf } from '../run/target.js'
import type { TaskFlags } from '../run/tasks.js'
import { type VideoFlags, type VideoTask, videoTasks } from './flags.js'

/** A video, and where it goes. */
export interface Item {
  /** As ffmpeg is given it. */
  readonly source: string
  /** For messages: a URL without its password. */
  readonly name: string
  readonly path: string | undefined
}

/** What the command line asks for, held against itself. */
export interface VideoJob {
  readonly task: VideoTask
  readonly flags: TaskFlags
  readonly items: readonly Item[]
  readonly target: Target | undefined
  readonly reading: OpenVideoOptions
  readonly writing: WriteVideoOptions
  /** What the model said of itself, where no preset was given. */
  readonly said: SaidPreset | undefined
}

/** @throws TensorRTError ERR_TRT_FILE where a video is not there */
export async function videoJobOf(flags: VideoFlags, inputs: readonly string[], refuse: Refuse): Promise<VideoJob> {
  const said = flags.preset === undefined ? await presetOfModel(flags.model, flags.task) : undefined
  const preset = flags.preset === undefined ? said : await presetOf(flags.preset, refuse)
  if (preset === undefined)
    return refuse(`--preset is needed, how frames become the input; of families there are\n${presetList()}`)
  const own = preset.preset.task
  const task = flags.task ?? (own as VideoTask)
  if (!videoTasks.includes(task))
    refuse(`--task takes ${videoTasks.join(', ')} for videos, and ${own}, the preset's own, is none of them`)
  if (task !== 'blur' && own !== task)
    refuse(`--task ${task} needs a preset of that task: ${flags.preset ?? said?.name} is one of ${own}`)
  refuseForeign(flags, tasksOf, task, refuse)
  refuseIdle(flags, refuse)
  const labels = await labelsOf(flags.labels)
  const ofTask = taskFlags({ ...flags, labels }, task, preset, said, refuse)
  const sources = await sourcesOf(inputs, refuse)
  const target = await targetOf(flags.output)
  refuseTarget(task, target, sources, refuse)
  const { start, end, every, hardware, ffmpeg, codec, encoderPreset, quality, odd } = flags
  const reading = { start, end, every, hardware, ffmpeg }
  const audio = flags.audio ? undefined : (false as const)
  const writing = { codec, preset: encoderPreset, quality, odd, ffmpeg, audio, overwrite: true }
  const items = itemsOf(sources, target, task)
  // what a codec does not take is known before a model is opened
  const check = (): void => {
    checkedReading(reading)
    for (const { path } of items) if (path !== undefined) checkedWriting(path, writing)
  }
  refusing(refuse, check, (message) => message.replace(' for preset ', ' for --encoder-preset '))
  return { task, flags: ofTask, items, target, reading, writing, said }
}

/** What is read, and what is written. */
export function filesOfVideo(flags: VideoFlags, { items, target }: VideoJob): Files {
  const sources = items.map(({ source }) => source)
  return filesOf(flags, sources, target, () => items.flatMap(({ path }) => path ?? []))
}

const tasksOf: Readonly<Record<string, readonly VideoTask[]>> = {
  '--labels': ['detect', 'segment'],
  '--every': ['detect', 'segment'],
  '--method': ['blur'],
  '--grow': ['blur'],
  '--strength': ['blur'],
}

/** What would have no effect. */
function refuseIdle(flags: VideoFlags, refuse: Refuse): void {
  const { output, every, json, jsonl } = flags
  const [written] = usedFlags(flags, ['--codec', '--encoder-preset', '--quality', '--odd', '--no-audio'])
  if (output === undefined && written !== undefined) refuse(`${written} is of --output, which was not given`)
  if (output !== undefined && every !== undefined)
    refuse('--every is for answers alone: with --output all frames are written')
  if (json === true && jsonl === true)
    refuse('--json prints one document in the end, --jsonl a line for each frame: give one of them')
}

const isUrl = (text: string): boolean => /^[a-z][a-z0-9+.-]+:\/\//i.test(text)

async function sourcesOf(inputs: readonly string[], refuse: Refuse): Promise<string[]> {
  const { pictureExtensions } = await import('../../vision/pictures.js')
  const all: string[] = []
  for (const input of inputs) {
    if (isUrl(input)) all.push(input)
    else {
      if ((await stat(input).catch(() => undefined))?.isDirectory() === true)
        refuse(`${input} is a folder: name its videos, or a pattern such as '${input.replace(/\/+$/, '')}/*.mp4'`)
      all.push(...(await filesAt(input, 'pictures')))
    }
  }
  const picture = all.find((path) => pictureExtensions.includes(extname(path).toLowerCase()) && !/\.gif$/i.test(path))
  if (picture !== undefined) refuse(`${picture} is a picture: trt run takes pictures, trt video takes videos`)
  return [...new Set(all)]
}

const endings: readonly string[] = containerNames.flatMap((name) => containers[name].extensions)

function refuseTarget(task: VideoTask, target: Target | undefined, sources: readonly string[], refuse: Refuse): void {
  if (target === undefined)
    return task === 'blur' ? refuse('--task blur needs --output: a folder, or a file for one video') : undefined
  if (target.kind === 'file' && !endings.includes(target.ending))
    refuse(`--output takes a folder, or a file that ends in ${endings.join(', ')}, not ${target.path}`)
  if (target.kind === 'file' && sources.length > 1)
    refuse(`--output takes a folder for ${sources.length} videos, not one file`)
}

const suffixes = { detect: 'detected', blur: 'blurred', segment: 'segmented' } as const

/** In a folder a video is called as its source is, and of its kind where that can be written. */
function itemsOf(sources: readonly string[], target: Target | undefined, task: VideoTask): Item[] {
  const named = sources.map((source) => (isUrl(source) ? basename(new URL(source).pathname) || 'video' : source))
  const ending = (name: string): string =>
    endings.includes(extname(name).toLowerCase()) ? extname(name).toLowerCase() : '.mp4'
  const paths =
    target?.kind === 'folder'
      ? pathsIn(target.path, named, (name) => `-${suffixes[task]}${ending(name)}`)
      : [target?.path]
  return sources.map((source, index) => ({ source, name: withoutCredentials(source), path: paths[index] }))
}
