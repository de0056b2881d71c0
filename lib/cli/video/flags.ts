import { type Flags, type FlagValues, numberIn, whole } from '../flags.js'
import { engineFlags } from '../options/engine.js'
import { shapeFlags } from '../options/shapes.js'
import { forceFlag } from '../output/writable.js'
import { sizeFlag } from '../options/data.js'
import { blurFlags } from '../run/flags.js'

/** What is done with the frames of videos. */
export const videoTasks = ['detect', 'blur', 'segment'] as const

export type VideoTask = (typeof videoTasks)[number]

/** The flags of `trt video`. */
export const videoFlags = {
  '--model <FILE>': { required: 'a plan or an ONNX file' },
  '--preset <NAME>':
    'how frames become the input, by the family of models, such as yolov8 or centerface; or a preset in a file of JSON. Models that ultralytics exported say it themselves',
  '--task <NAME>': ["what is done with the frames; the preset's own unless given", videoTasks],
  '-o, --output <PATH>':
    'where videos are written, with what was found drawn or hidden: a folder, or a file for one video',
  '--jsonl': 'a line of JSON for each frame, as it is done',
  '--labels <FILE>':
    "of detect and segment: the classes' names: a file with a line each, or cat,dog; or coco80, coco90, coco91, imagenet, voc",
  '--threshold <SCORE>': ['what is found has a higher score', numberIn(0, 1)],
  ...sizeFlag,
  '--max-side <PIXELS>': [
    "where the input's size follows from the frame: its longer side at most; 1920 unless given",
    whole(1),
  ],
  '--batch <N>': ['how many frames run together at most, also of several videos; 1 unless given', whole(1)],
  '--lanes <N>': ['how many runs compute at once; 2 unless given, 1 with --batch or --threads', whole(1)],
  '--parallel <N>': ['how many videos are under way at once; 4 unless given', whole(1)],
  ...blurFlags,
  '--require-found': 'exit code 3 where a video has nothing that was found',
  '--start <SECONDS>': ['frames that are shown before are left out', numberIn(-1e9, 1e9)],
  '--end <SECONDS>': ['frames that are shown then or later are left out', numberIn(-1e9, 1e9)],
  '--every <N>': ['without --output: of so many frames the first is looked at', whole(1)],
  '--hardware <NAME>': ['what decodes; none unless given', ['none', 'cuda']],
  '--ffmpeg <PATH>': 'the program, or the folder that has it and ffprobe; else FFMPEG_PATH, else PATH',
  '--codec <NAME>': ['h264 unless given; vp9 in .webm', ['h264', 'hevc', 'vp9', 'av1', 'ffv1']],
  '--encoder-preset <NAME>': 'of h264 and hevc: ultrafast to veryslow; veryfast unless given',
  '--quality <CRF>': [
    'lower is better and larger; 23 of h264, 28 of hevc, 31 of vp9, 35 of av1 unless given',
    numberIn(0, 63),
  ],
  '--odd <WHAT>': [
    'what becomes of a side that is odd, which h264, hevc and av1 cannot have',
    ['refuse', 'crop', 'pad'],
  ],
  '--no-audio': 'no sounds; else they are copied as they are',
  ...engineFlags,
  ...shapeFlags,
  ...forceFlag,
} as const satisfies Flags

export type VideoFlags = FlagValues<typeof videoFlags> & { readonly json?: true | undefined }
