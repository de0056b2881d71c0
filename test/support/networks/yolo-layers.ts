import type { Value } from '../../../lib/onnx/index.js'
import type { Feature, Network } from './network.js'

/** How often blocks of small variants are repeated, of how often those of the largest are. */
const depth = 0.33

/** The blocks that ultralytics' YOLOs are made of; channels and repeats are told for the largest variant. */
export class YoloLayers {
  readonly #net: Network
  readonly #width: number

  /** @param width by what the channels of the largest are multiplied */
  constructor(net: Network, width: number) {
    this.#net = net
    this.#width = width
  }

  convolution(name: string, input: Feature, channels: number, kernel: number, stride = 1, padding?: number): Feature {
    return this.layer(name, input, this.#channels(channels), kernel, stride, padding)
  }

  /** C3: half of it through bottlenecks, half around them. */
  csp(name: string, input: Feature, channels: number, repeats: number, shortcut = true): Feature {
    const outer = this.#channels(channels)
    let x = this.layer(`${name}.cv1`, input, outer / 2, 1)
    const around = this.layer(`${name}.cv2`, input, outer / 2, 1)
    for (let i = 0; i < repeated(repeats); i++) {
      const inside = this.layer(`${name}.m${i}.cv2`, this.layer(`${name}.m${i}.cv1`, x, outer / 2, 1), outer / 2, 3)
      x = shortcut ? this.#net.add(x, inside) : inside
    }
    return this.layer(`${name}.cv3`, this.#net.concat(x, around), outer, 1)
  }

  /** C2f: two halves, the second through bottlenecks one after the other, and all that they gave side by side. */
  c2f(name: string, input: Feature, channels: number, repeats: number, shortcut = true): Feature {
    const outer = this.#channels(channels)
    const both = this.layer(`${name}.cv1`, input, outer, 1)
    const halves = this.#net.graph.nodeWithOutputs('Split', [both.value], 2, { axis: 1 }) as [Value, Value]
    const parts = halves.map((value) => ({ ...both, value, channels: outer / 2 })) as [Feature, ...Feature[]]
    for (let i = 0; i < repeated(repeats); i++) {
      const x = parts.at(-1)!
      const inside = this.layer(`${name}.m.${i}.cv2`, this.layer(`${name}.m.${i}.cv1`, x, outer / 2, 3), outer / 2, 3)
      parts.push(shortcut ? this.#net.add(x, inside) : inside)
    }
    return this.layer(`${name}.cv2`, this.#net.concat(...parts), outer, 1)
  }

  /** SPPF: what the largest values are in 5 × 5, 9 × 9 and 13 × 13. */
  pyramidPooling(name: string, input: Feature): Feature {
    const pooled = [this.layer(`${name}.cv1`, input, input.channels / 2, 1)] as [Feature, ...Feature[]]
    for (let i = 0; i < 3; i++) pooled.push(this.#net.maxPool(pooled[i]!, 5, 1))
    return this.layer(`${name}.cv2`, this.#net.concat(...pooled), input.channels, 1)
  }

  doubledBeside(input: Feature, beside: Feature): Feature {
    return this.#net.concat(this.#net.resize(input, beside), beside)
  }

  beside(a: Feature, b: Feature): Feature {
    return this.#net.concat(a, b)
  }

  /** A convolution whose channels are as they are told. */
  layer(name: string, input: Feature, channels: number, kernel: number, stride = 1, padding?: number): Feature {
    const own = padding === undefined ? {} : { padding }
    return this.#net.convolution(name, input, channels, { kernel, stride, activation: 'silu', epsilon: 1e-3, ...own })
  }

  #channels(channels: number): number {
    return Math.ceil((channels * this.#width) / 8) * 8
  }
}

function repeated(times: number): number {
  return Math.max(Math.round(times * depth), 1)
}
