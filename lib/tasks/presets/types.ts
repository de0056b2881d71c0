import type { GridOptions, NonMaxSuppressionOptions } from '../../vision/index.js'
import type {
  CenterFaceOptions,
  DbNetOptions,
  EfficientDetOptions,
  FinishedOptions,
  RetinaFaceOptions,
  RtDetrOptions,
  SsdOptions,
  YoloAnchorsOptions,
  YoloEndToEndOptions,
  YoloObbOptions,
  YoloOptions,
  YoloPoseOptions,
  YoloxOptions,
} from '../../vision/decoders/index.js'
import type { Filter } from '../../vision/index.js'
import type { InputSteps } from '../steps.js'

/** What the numbers of a classifier are, [N, C]. */
export interface ClassifyOutput {
  /**
   * `softmax` of logits; `none` where the model has done it; `sigmoid` where several classes may be right. Without a
   * preset it is to be given.
   */
  readonly activation?: 'softmax' | 'sigmoid' | 'none' | undefined
  /** The class that the first label names; 1 where class 0 is a background that the labels leave out; default 0. */
  readonly labelOffset?: number | undefined
  /** The output that is meant, where the model has several: its name, or its number in the model's order. */
  readonly tensor?: string | number | undefined
}

/** What every decoder of boxes has beside its own options. */
interface Finding {
  /**
   * Whether boxes are cut off at the picture's edges; `before`: before they suppress each other, as effdet has it, else
   * those that stay; default false.
   */
  readonly clip?: boolean | 'before' | undefined
  /**
   * Whether boxes go back to the picture as if its resized sides were whole pixels, as face-api has it, which moves
   * them by up to a part of a pixel of the input; with `padToSquare` and `start`. Default false: as the picture lies in
   * the input.
   */
  readonly wholeSides?: boolean | undefined
  /**
   * The outputs that are meant, where the model has others beside them: their names, or their numbers in the model's
   * order; default: all.
   */
  readonly tensors?: readonly (string | number)[] | undefined
}

/** As the decoders of `node-tensorrt/vision` take it; the size of the model's input is known. */
type Of<D extends string, O> = { readonly decoder: D } & Omit<O, 'size'> & Finding

/**
 * How a detector's outputs become boxes: the decoder of a family, with its options. `ultralytics` is `yolo` or
 * `yolo-end-to-end`, as the output's shape says.
 */
export type DetectOutput =
  | Of<'ultralytics' | 'yolo', YoloOptions>
  | Of<'yolo-anchors', YoloAnchorsOptions>
  | Of<'yolo-end-to-end', YoloEndToEndOptions>
  | Of<'yolo-pose', YoloPoseOptions>
  | Of<'yolo-obb', YoloObbOptions>
  | Of<'yolox', YoloxOptions>
  | Of<'retinaface', RetinaFaceOptions>
  | Of<'efficientdet', EfficientDetOptions>
  | Of<'ssd', SsdOptions>
  | Of<'centerface', CenterFaceOptions>
  | Of<'rtdetr', RtDetrOptions>
  | Of<'finished', FinishedOptions>
  | Of<'dbnet', DbNetOptions>
  | Of<'grid', GridOptions>

/** How a segmentation model's output becomes a mask. */
export interface SegmentOutput {
  /**
   * `threshold`: one channel, which is above `threshold` where something is. `argmax`: a channel for each class, the
   * greatest counts. `matte`: one channel, how opaque each pixel is, stretched to 0 to 1 as U²-Net's own code does.
   * `classes`: the numbers of classes themselves, whole numbers of 0 to 255, [N, height, width] or [N, 1, height,
   * width].
   */
  readonly decide: 'threshold' | 'argmax' | 'matte' | 'classes'
  /** Of `argmax`: how many classes the model has: then it is checked. */
  readonly classes?: number | undefined
  /** Of `threshold` and `matte`; default 0.5, of logits it is 0. */
  readonly threshold?: number | undefined
  /** Of `matte`: how it is made as large as the picture; default `linear`. */
  readonly filter?: Filter | undefined
  /** Default NCHW. */
  readonly layout?: 'NCHW' | 'NHWC' | undefined
  /** The output that is meant, where the model has several: its name, or its number in the model's order. */
  readonly tensor?: string | number | undefined
}

interface Common {
  /** How a picture becomes the model's input. */
  readonly input: InputSteps
  /**
   * Of a family whose models differ in size: what each scale adds. The model's input tells which it is, unless the name
   * does (`efficientdet:d7`).
   */
  readonly scales?: Readonly<Record<string, Scale>> | undefined
  /** The code that the preset follows. */
  readonly source: string
}

/** What a scale of a family adds to its preset. */
export interface Scale {
  /** What of the input is of the scale. */
  readonly input: InputSteps & {
    /** The side of the squares that the scale takes, in pixels. */
    readonly size: number
  }
  /** Options of the family's decoder. */
  readonly output?: Readonly<Record<string, unknown>> | undefined
}

/** A family of classifiers. */
export interface ClassifyPreset extends Common {
  /** The task that the preset is for: {@link Classifier}. */
  readonly task: 'classify'
  /** What the model's output is. */
  readonly output: ClassifyOutput
}

/** A family of detectors. */
export interface DetectPreset extends Common {
  /** The task that the preset is for: {@link Detector}. */
  readonly task: 'detect'
  /** How the model's outputs become boxes. */
  readonly output: DetectOutput
  /** How boxes that overlap are sorted out; `false`: not at all, since the model has done it. */
  readonly suppress: NonMaxSuppressionOptions | false
}

/** A family of segmentation models. */
export interface SegmentPreset extends Common {
  /** The task that the preset is for: {@link Segmenter}. */
  readonly task: 'segment'
  /** How the model's output becomes a mask. */
  readonly output: SegmentOutput
}

/** How a family of models is used, as plain data: a preset can be copied, changed, and given instead of a name. */
export type Preset = ClassifyPreset | DetectPreset | SegmentPreset
