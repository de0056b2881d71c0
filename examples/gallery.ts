/** The pictures of docs/gallery: what detectors, blurs, frames and masks give with trained weights. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Command } from 'commander'
import { packageRoot } from '../lib/base/package.js'
import { Detector, FaceBlur, presets, Segmenter } from 'node-tensorrt/tasks'
import {
  alignedCrop,
  arcfacePoints,
  type Box,
  centerCrop,
  clipBox,
  crop,
  drawBoxes,
  drawPolygons,
  type Image,
  letterbox,
  overlay,
  padToSquare,
  readImage,
  type Size,
  stretch,
  writeImage,
} from 'node-tensorrt/vision'
import { finderPath } from './read-text/reader.js'
import { writtenPicture } from './read-text/written.js'
import { framed, grid } from './support/grid.js'
import { centerFace, facePhoto, note } from './support/program.js'

const backend = 'cpu'
/** Of CenterFace, for pictures of 1920 pixels. */
const input = { maxSide: 960 }
/** Of each picture, in pixels; a file has 60 kB at most. */
const width = 760

const { out } = new Command('gallery')
  .description('Makes the pictures of docs/gallery.')
  .option('--out <DIR>', 'the folder to write them to', join(packageRoot(), 'docs/gallery'))
  .parse()
  .opts<{ out: string }>()

await mkdir(out, { recursive: true })
const photo = await readImage(facePhoto(1))
const text = await writtenPicture()
await faces(centerFace('node scripts/gallery.mjs'))
await frames()
await writing()

/** Boxes and landmarks, aligned faces, and the three ways to hide them. */
async function faces(model: string): Promise<void> {
  await using detector = await Detector.load(model, { preset: 'centerface', backend, input })
  const found = (await detector.detect(photo)).filter(({ score }) => score > 0.5)
  const labelled = found.map(({ box, score, landmarks }) => ({ box, label: score.toFixed(2), landmarks }))
  await save('faces-detected', [await resized(await drawBoxes(photo, labelled), width)])

  const aligned = found.map(({ landmarks = [] }) => framed(photo, alignedCrop(photo, landmarks, arcfacePoints, 112)))
  await save('faces-aligned', await Promise.all(aligned))

  const hidden: Image[] = []
  for (const method of ['blur', 'pixelate', 'fill'] as const) {
    await using blur = await FaceBlur.load(model, {
      preset: 'centerface',
      backend,
      input,
      scoreThreshold: 0.5,
      blur: { method },
    })
    const { image, regions } = await blur.blur(photo)
    if (regions.length !== found.length) throw new Error(`Expected ${found.length} regions but found ${regions.length}`)
    const boxes = regions.map(({ box }) => box)
    hidden.push(await resized(image, width / 3, around(boxes, image)))
  }
  await save('faces-blurred', hidden)
}

/** How one photograph lies in a square input. */
async function frames(): Promise<void> {
  const side = 180
  const ways = [
    letterbox(photo, side, { fill: 114 }),
    padToSquare(photo, side, { fill: 114 }),
    centerCrop(photo, side, { resize: side }),
    stretch(photo, side),
  ]
  await save('frames', await Promise.all(ways.map((frame) => framed(photo, frame))))
}

/** Lines of text, and the values of the same model as a mask. */
async function writing(): Promise<void> {
  await using detector = await Detector.load(finderPath, { preset: 'dbnet', backend })
  const outlines = (await detector.detect(text)).map(({ corners = [] }) => corners)
  const preset = {
    task: 'segment',
    input: presets.dbnet.input,
    output: { decide: 'threshold', threshold: 0.3 },
    source: 'PaddleOCR',
  } as const
  await using segmenter = await Segmenter.load(finderPath, { preset, backend })
  const pictures = [await drawPolygons(text, outlines), await overlay(text, await segmenter.segment(text))]
  await save('text', await Promise.all(pictures.map((picture) => resized(picture, width / 2))))
}

/** What is around boxes, with half as much again on each side, within the picture. */
function around(boxes: readonly Box[], picture: Size): Box {
  const left = Math.min(...boxes.map(([x]) => x))
  const top = Math.min(...boxes.map(([, y]) => y))
  const right = Math.max(...boxes.map(([x, , side]) => x + side))
  const bottom = Math.max(...boxes.map(([, y, , side]) => y + side))
  const margin = (bottom - top) / 2
  return clipBox([left - margin, top - margin, right - left + 2 * margin, bottom - top + 2 * margin], picture)
}

/** A part of a picture, so many pixels wide. */
function resized(picture: Image, to: number, part: Box = [0, 0, picture.width, picture.height]): Promise<Image> {
  const size = { width: Math.round(to), height: Math.round((to * part[3]) / part[2]) }
  return framed(picture, crop(picture, part, size), 'lanczos')
}

/** Pictures side by side. */
async function save(name: string, pictures: readonly Image[]): Promise<void> {
  const path = join(out, `${name}.jpg`)
  await writeImage(grid(pictures, { gap: 8, background: 245 }), path, { quality: 82, optimize: true })
  note(path)
}
