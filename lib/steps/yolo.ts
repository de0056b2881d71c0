/** The decoders of the families of YOLO in nodes. */
import { cellsOf, checkedLevels, type LevelAnchors, yoloStrides } from './anchors/index.js'
import { checkedWhole } from '../base/checks.js'
import {
  centredRows,
  columns,
  cornersOf,
  type DecoderSteps,
  inputSizeOf,
  objectScores,
  only,
  type Ranking,
  sizeText,
} from './boxes.js'
import type { StepGraph } from './graph.js'
import { canBe, knownSide, type Output, wrongOutputs } from './outputs.js'
import type { Size } from './pixels/types.js'

/** YOLO v8, 11: [N, 4 + C + M, P]. */
export function yolo(graph: StepGraph, outputs: readonly Output[], { own }: DecoderSteps): Ranking {
  const masks = checkedWhole(own['coefficients'] ?? 0, 'coefficients', 0, 65536)
  const wanted = `[N, 4 + classes${masks > 0 ? ` + ${masks}` : ''}, boxes]`
  // prototypes have four dimensions, and stay
  const candidates = masks > 0 ? outputs.filter(({ shape }) => shape?.length !== 4) : outputs
  const output = only(candidates, [undefined, undefined, undefined], wanted)
  const channels = knownSide(output, 1, wanted)
  const classes = channels - 4 - masks
  if (classes <= 0) throw wrongOutputs(wanted, outputs)
  const rows = graph.transpose(output.name, [0, 2, 1])
  return {
    scores: columns(graph, rows, 4, 4 + classes),
    count: knownSide(output, 2, wanted),
    classes,
    boxes: ({ pick }) => centredRows(graph, pick(columns(graph, rows, 0, 4))),
    coefficients: masks === 0 ? undefined : ({ pick }) => pick(columns(graph, rows, 4 + classes, channels)),
  }
}

/** YOLO v5, v7, decoded by the model, [N, P, 5 + C], or maps of the levels. */
export function withAnchors(graph: StepGraph, outputs: readonly Output[], steps: DecoderSteps): Ranking {
  const levels = checkedLevels(steps.own['anchors'])
  const [first] = outputs
  if (outputs.length > 1 || first?.shape?.length !== 3) return yoloMaps(graph, outputs, levels, inputSizeOf(steps))
  const { name } = first
  const wanted = '[N, boxes, 5 + classes]'
  const width = knownSide(first, 2, wanted)
  if (width < 5) throw wrongOutputs(wanted, outputs)
  return {
    ...objectScores(graph, name, width),
    count: knownSide(first, 1, wanted),
    boxes: ({ pick }) => centredRows(graph, pick(columns(graph, name, 0, 4))),
  }
}

/** From the finest level on: [N, A * (5 + C), rows, columns]. */
function yoloMaps(graph: StepGraph, outputs: readonly Output[], anchors: readonly LevelAnchors[], size: Size): Ranking {
  const wanted = `${anchors.length} maps [N, anchors * (5 + classes), rows, columns] ${sizeText(size)}`
  const isMap = (output: Output): boolean => canBe(output, [undefined, undefined, undefined, undefined])
  if (outputs.length !== anchors.length || !outputs.every(isMap)) throw wrongOutputs(wanted, outputs)
  const maps = outputs
    .map((output) => ({ output, rows: knownSide(output, 2, wanted), across: knownSide(output, 3, wanted) }))
    .sort((a, b) => b.rows * b.across - a.rows * a.across)
    .map((map, level) => ({
      ...map,
      own: anchors[level]!,
      width: knownSide(map.output, 1, wanted) / anchors[level]!.length,
    }))
  const { width } = maps[0]!
  const isRight = maps.every(
    (map) => size.width % map.across === 0 && size.width * map.rows === size.height * map.across && map.width === width,
  )
  if (!isRight || !Number.isInteger(width) || width < 5) throw wrongOutputs(wanted, outputs)
  const parts = maps.map(({ output, rows, across, own }) => {
    const cells = graph.reshape(output.name, [0, own.length, width, rows * across])
    return graph.reshape(graph.transpose(cells, [0, 1, 3, 2]), [0, own.length * rows * across, width])
  })
  // of sigmoids, since scores are products of them
  const rows = graph.node('Sigmoid', [graph.concat(parts, 1)])
  const numbers = maps.flatMap(({ rows, across, own }) =>
    own.flatMap((sides) =>
      Array.from({ length: rows * across }, (_, cell) => {
        const stride = size.width / across
        return [cell % across, Math.floor(cell / across), stride, stride, ...sides]
      }),
    ),
  )
  return {
    ...objectScores(graph, rows, width),
    count: numbers.length,
    boxes: ({ pick, pickStored }) => {
      const twice = graph.mul(pick(columns(graph, rows, 0, 4)), graph.float(2))
      const own = pickStored(Float32Array.from(numbers.flat()), 6)
      const centres = graph.add(graph.sub(columns(graph, twice, 0, 2), graph.float(0.5)), columns(graph, own, 0, 2))
      const sides = columns(graph, twice, 2, 4)
      return cornersOf(
        graph,
        graph.mul(centres, columns(graph, own, 2, 4)),
        graph.mul(graph.mul(sides, sides), columns(graph, own, 4, 6)),
      )
    },
  }
}

/** YOLOX: [N, P, 5 + C], whose boxes are not decoded. */
export function yolox(graph: StepGraph, outputs: readonly Output[], steps: DecoderSteps): Ranking {
  const size = inputSizeOf(steps)
  const cells = cellsOf(size, yoloStrides)
  const count = cells.length / 3
  const wanted = `[N, ${count}, 5 + classes] ${sizeText(size)}`
  const output = only(outputs, [undefined, count, undefined], wanted)
  const width = knownSide(output, 2, wanted)
  if (width < 5) throw wrongOutputs(wanted, outputs)
  return {
    ...objectScores(graph, output.name, width),
    count,
    boxes: ({ pick, pickStored }) => {
      const rows = pick(columns(graph, output.name, 0, 4))
      const own = pickStored(cells, 3)
      const stride = columns(graph, own, 2, 3)
      const centres = graph.mul(graph.add(columns(graph, rows, 0, 2), columns(graph, own, 0, 2)), stride)
      return cornersOf(graph, centres, graph.mul(graph.node('Exp', [columns(graph, rows, 2, 4)]), stride))
    },
  }
}
