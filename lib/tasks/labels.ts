import { checkedArray } from '../base/checks.js'
import { onFile, readText } from '../base/files.js'
import { checkedPath } from '../base/source.js'
import { isUrl } from '../base/kinds.js'
import { expected, reworded, TensorRTError } from '../errors.js'
import { imagenet } from './imagenet.js'

/**
 * The names of classes: a list, the name of one that is here, or the path or `file:` URL of a file with a name on each
 * line.
 */
export type Labels = readonly string[] | keyof typeof labels | (string & {}) | URL

/** COCO's 80 classes, as YOLO numbers them. */
export const coco80: readonly string[] = Object.freeze(
  (
    'person,bicycle,car,motorcycle,airplane,bus,train,truck,boat,traffic light,fire hydrant,stop sign,parking meter,bench,bird,cat,dog,horse,sheep,cow,elephant,bear,zebra,giraffe,' +
    'backpack,umbrella,handbag,tie,suitcase,frisbee,skis,snowboard,sports ball,kite,baseball bat,baseball glove,skateboard,surfboard,tennis racket,bottle,wine glass,cup,fork,knife,spoon,bowl,' +
    'banana,apple,sandwich,orange,broccoli,carrot,hot dog,pizza,donut,cake,chair,couch,potted plant,bed,dining table,toilet,tv,laptop,mouse,remote,keyboard,cell phone,microwave,oven,toaster,' +
    'sink,refrigerator,book,clock,vase,scissors,teddy bear,hair drier,toothbrush'
  ).split(','),
)

/** COCO's own numbers, from 1 to 90, that have no class any more. */
const holes = [12, 26, 29, 30, 45, 66, 68, 69, 71, 83]

/**
 * COCO's classes by its own numbers, from 1: `coco90[0]` is class 1, a person; `N/A` where a number has none.
 * EfficientDet numbers its 90 outputs so.
 */
export const coco90: readonly string[] = Object.freeze(withHoles())

/** The same with the background before: `coco91[1]` is a person. torchvision and TensorFlow number so. */
export const coco91: readonly string[] = Object.freeze(['__background__', ...coco90])

/** Pascal VOC's 20 classes after the background, as torchvision's segmentation models number them. */
export const voc: readonly string[] = Object.freeze(
  '__background__,aeroplane,bicycle,bird,boat,bottle,bus,car,cat,chair,cow,diningtable,dog,horse,motorbike,person,pottedplant,sheep,sofa,train,tvmonitor'.split(
    ',',
  ),
)

/** Lists of classes by name. */
export const labels = Object.freeze({ coco80, coco90, coco91, imagenet, voc })

function withHoles(): string[] {
  const names = [...coco80]
  for (const number of holes) names.splice(number - 1, 0, 'N/A')
  return names
}

/** A copy of the list. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_FILE */
export async function checkedLabels(given: unknown): Promise<readonly string[] | undefined> {
  if (given === undefined) return undefined
  if (typeof given === 'string' && Object.hasOwn(labels, given)) return labels[given as keyof typeof labels]
  if (typeof given === 'string' || isUrl(given))
    return linesOf(checkedPath(given, 'labels')).catch((error: unknown) => {
      throw withList(error, given)
    })
  const names = checkedArray(given, 'labels', 'an array of names, or the path of a file of them,')
  const wrong = names.findIndex((name) => typeof name !== 'string')
  if (wrong >= 0) throw expected('a string', `labels[${wrong}]`, names[wrong])
  return names as string[]
}

/** The error of a text with commas that is not a file names the way to give a list. */
function withList(error: unknown, given: string | URL): unknown {
  if (typeof given !== 'string' || !given.includes(',') || !(error instanceof TensorRTError)) return error
  const names = given.split(',').map((name) => `'${name.trim()}'`)
  return reworded(error, `${error.message}. To fix: give names as an array, labels: [${names.join(', ')}]`)
}

/** Without the line that a last line break begins. */
async function linesOf(path: string): Promise<string[]> {
  const text = await onFile('read', path, () => readText(path))
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines
}
