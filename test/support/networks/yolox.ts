import type { ModelProto, Value } from '../../../lib/onnx/index.js'
import { type Feature, type ModelOptions, Network, sizeOf } from './network.js'

export interface YoloXOptions extends ModelOptions {
  /** `'nano'` (912,159 parameters; depthwise convolutions) or `'tiny'` (5,055,855); `'nano'` when not given. */
  readonly variant?: 'nano' | 'tiny'
  /** COCO's 80 when not given. */
  readonly classes?: number
}

/**
 * By what the channels of the largest are multiplied, and whether 3 × 3 convolutions are depthwise ones with a 1 × 1
 * behind them.
 */
const variants = { nano: { width: 0.25, depthwise: true }, tiny: { width: 0.375, depthwise: false } } as const

type Levels = readonly [Feature, Feature, Feature]

/**
 * YOLOX, as Megvii-BaseDetection/YOLOX exports it (not decoded), with seeded weights.
 *
 * Input `images`: float32 [batch, 3, 416, 416], BGR from 0 to 255; sides must be multiples of 32. Output `output`:
 * float32 [batch, 3549, 85]: centre and logarithm of sides in cells, from their own cell, objectness, and each class;
 * rows by level, row and column. Objectness and classes are lowered so that a few dozen rows pass a threshold of 0.3.
 */
export function modelOf(options: YoloXOptions = {}): ModelProto {
  const { variant = 'nano', classes = 80 } = options
  const net = new Network(`yolox_${variant}`, options)
  const layers = new Layers(net, variants[variant])
  // of a picture's bytes: filters whose sum is zero see how much neighbours differ, not how bright they are
  const levels = neck(layers, backbone(layers, net.input('images', sizeOf(options.size, 416), 200)))
  const rows = levels.map((level, i) => head(layers, level, i, classes))
  const count = levels.reduce((sum, { width, height }) => sum + width * height, 0)
  net.output('output', net.graph.node('Concat', rows, { axis: 1 }), [count, 5 + classes])
  return net.toModel()
}

/** The blocks of YOLOX, whose channels are told for the largest variant. */
class Layers {
  readonly net: Network
  readonly #width: number
  readonly #depthwise: boolean

  constructor(net: Network, { width, depthwise }: { readonly width: number; readonly depthwise: boolean }) {
    this.net = net
    this.#width = width
    this.#depthwise = depthwise
  }

  /** A pixel of 2 × 2 becomes one of four times as many channels. */
  focus(name: string, input: Feature, channels: number): Feature {
    const { graph } = this.net
    const int = (values: readonly number[]) => this.net.constant('focus', BigInt64Array.from(values, BigInt))
    const [end, axes, steps] = [int([2 ** 31, 2 ** 31]), int([2, 3]), int([2, 2])]
    // upper left, lower left, upper right, lower right
    const parts = [
      [0, 0],
      [1, 0],
      [0, 1],
      [1, 1],
    ].map((from) => graph.node('Slice', [input.value, int(from), end, axes, steps]))
    const value = graph.node('Concat', parts, { axis: 1 })
    const half = { ...input, value, channels: input.channels * 4, width: input.width / 2, height: input.height / 2 }
    return this.base(`${name}.conv`, half, channels, 3)
  }

  base(name: string, input: Feature, channels: number, kernel: number, stride = 1): Feature {
    return this.#layer(`${name}.conv`, input, Math.trunc(channels * this.#width), { kernel, stride })
  }

  /** 3 × 3, depthwise where the variant is. */
  spatial(name: string, input: Feature, channels: number, stride = 1): Feature {
    if (!this.#depthwise) return this.base(name, input, channels, 3, stride)
    const deep = this.#layer(`${name}.dconv.conv`, input, input.channels, { kernel: 3, stride, groups: input.channels })
    return this.base(`${name}.pconv`, deep, channels, 1)
  }

  /** Half of it through bottlenecks, half around them. */
  csp(name: string, input: Feature, channels: number, repeats: number, shortcut = true): Feature {
    let x = this.base(`${name}.conv1`, input, channels / 2, 1)
    const around = this.base(`${name}.conv2`, input, channels / 2, 1)
    for (let i = 0; i < repeats; i++) {
      const inside = this.spatial(
        `${name}.m.${i}.conv2`,
        this.base(`${name}.m.${i}.conv1`, x, channels / 2, 1),
        channels / 2,
      )
      x = shortcut ? this.net.add(x, inside) : inside
    }
    return this.base(`${name}.conv3`, this.net.concat(x, around), channels, 1)
  }

  /** SPP: what the largest values are in 5 × 5, 9 × 9 and 13 × 13. */
  pyramidPooling(name: string, input: Feature, channels: number): Feature {
    const x = this.base(`${name}.conv1`, input, channels / 2, 1)
    return this.base(
      `${name}.conv2`,
      this.net.concat(x, ...[5, 9, 13].map((kernel) => this.net.maxPool(x, kernel, 1))),
      channels,
      1,
    )
  }

  #layer(
    name: string,
    input: Feature,
    channels: number,
    options: { kernel: number; stride?: number; groups?: number },
  ): Feature {
    return this.net.convolution(name, input, channels, { activation: 'silu', epsilon: 1e-3, ...options })
  }
}

/** An 8th, 16th and 32nd of the input's size. */
function backbone(layers: Layers, input: Feature): Levels {
  const name = 'backbone.backbone'
  const stage = (number: number, x: Feature, channels: number, repeats: number) =>
    layers.csp(`${name}.dark${number}.1`, layers.spatial(`${name}.dark${number}.0`, x, channels, 2), channels, repeats)
  const fine = stage(3, stage(2, layers.focus(`${name}.stem`, input, 64), 128, 1), 256, 3)
  const middle = stage(4, fine, 512, 3)
  const pooled = layers.pyramidPooling(`${name}.dark5.1`, layers.spatial(`${name}.dark5.0`, middle, 1024, 2), 1024)
  return [fine, middle, layers.csp(`${name}.dark5.2`, pooled, 1024, 1, false)]
}

/** Down to the finest level, and back up to the coarsest. */
function neck(layers: Layers, [fine, middle, coarse]: Levels): Levels {
  const { net } = layers
  const first = layers.base('backbone.lateral_conv0', coarse, 512, 1)
  const joined = layers.csp('backbone.C3_p4', net.concat(net.resize(first, middle), middle), 512, 1, false)
  const second = layers.base('backbone.reduce_conv1', joined, 256, 1)
  const small = layers.csp('backbone.C3_p3', net.concat(net.resize(second, fine), fine), 256, 1, false)
  const medium = layers.csp(
    'backbone.C3_n3',
    net.concat(layers.spatial('backbone.bu_conv2', small, 256, 2), second),
    512,
    1,
    false,
  )
  const large = layers.csp(
    'backbone.C3_n4',
    net.concat(layers.spatial('backbone.bu_conv1', medium, 512, 2), first),
    1024,
    1,
    false,
  )
  return [small, medium, large]
}

/** One level's rows: classes and boxes by convolutions of their own. */
function head(layers: Layers, level: Feature, index: number, classes: number): Value {
  const { net } = layers
  const stem = layers.base(`head.stems.${index}`, level, 256, 1)
  const branch = (name: string) =>
    layers.spatial(`head.${name}.${index}.1`, layers.spatial(`head.${name}.${index}.0`, stem, 256), 256)
  const predicted = (name: string, x: Feature, channels: number, gain: number, offset: (channel: number) => number) =>
    net.convolution(`head.${name}.${index}`, x, channels, { norm: false, gain, offset })
  const ofClasses = predicted('cls_preds', branch('cls_convs'), classes, 6, () => -2)
  const boxes = branch('reg_convs')
  const ofBoxes = predicted('reg_preds', boxes, 4, 4, (channel) => (channel < 2 ? 0.5 : 1))
  const ofObject = predicted('obj_preds', boxes, 1, 6, () => -2)
  const [object, all] = [ofObject, ofClasses].map((part) => ({
    ...part,
    value: net.graph.node('Sigmoid', [part.value]),
  })) as [Feature, Feature]
  return net.rows(net.concat(ofBoxes, object, all), 5 + classes)
}
