import { type Flags, type FlagValues, usedFlags, numberIn, type Refuse, whole } from '../flags.js'
import { inputFlag, pictureFlags } from '../options/data.js'
import { engineFlags } from '../options/engine.js'
import { shapeFlags } from '../options/shapes.js'
import { forceFlag } from '../output/writable.js'

/** What a command can ask of a model that takes pictures. */
export const taskNames = ['classify', 'detect', 'segment', 'blur', 'tensors'] as const

export type TaskName = (typeof taskNames)[number]

/** How blur hides, in pictures and in frames. */
export const blurFlags = {
  '--method <NAME>': ['of blur: how it hides; blur unless given', ['blur', 'pixelate', 'fill']],
  '--grow <FACTOR>': ['of blur: boxes are enlarged by it before they are hidden; 1.3 unless given', numberIn(0.1, 10)],
  '--strength <PART>': [
    'of blur: of the blur or of its squares, a part of the longer side of what is hidden; 0.1 unless given',
    numberIn(0.01, 1),
  ],
} as const satisfies Flags

/** The flags of `trt run`. */
export const runFlags = {
  ...inputFlag,
  '--random': 'random numbers for inputs that are not given, as trtexec makes them',
  '--seed <N>': ['another seed gives other numbers', whole(0), 1],
  ...pictureFlags,
  '--task <NAME>': ["what the answer is; the preset's own unless given. tensors: the outputs as they are", taskNames],
  '--batch <N>': [
    'how many pictures run together at most, where the first dimension of inputs and outputs is open; 1 unless given',
    whole(1),
  ],
  '--labels <FILE>':
    "the classes' names: a file with a line each, or cat,dog; or coco80, coco90, coco91, imagenet, voc",
  '--top <K>': ['of classify: how many classes; 5 unless given', whole(1)],
  '--activation <NAME>': [
    "of classify: what makes scores of the model's numbers; the preset's own unless given. none: they are scores",
    ['softmax', 'sigmoid', 'none'],
  ],
  '--threshold <SCORE>': ['of detect, blur and segment: what is found has a higher score', numberIn(0, 1)],
  '--draw <WHAT>': ['of segment: what is written; overlay unless given', ['overlay', 'mask', 'cutout']],
  ...blurFlags,
  '--require-found': 'of detect, blur and segment: exit code 3 where a picture has nothing that was found',
  '-o, --output <PATH>':
    'where outputs are written, or pictures with what was found: a folder, or a file whose ending says the format',
  '--format <FORMAT>': ['of tensors in a folder; npy unless given', ['npy', 'npz', 'json', 'raw']],
  ...engineFlags,
  ...shapeFlags,
  ...forceFlag,
} as const satisfies Flags

export type RunFlags = FlagValues<typeof runFlags>

/** What would have no effect: a flag that is of other tasks. */
export function refuseForeign<Task extends string>(
  flags: object,
  tasksOf: Readonly<Record<string, readonly Task[]>>,
  task: Task,
  refuse: Refuse,
): void {
  for (const flag of usedFlags(flags, Object.keys(tasksOf)))
    if (!tasksOf[flag]!.includes(task)) refuse(`${flag} is of ${tasksOf[flag]!.join(', ')}, and not of ${task}`)
}
