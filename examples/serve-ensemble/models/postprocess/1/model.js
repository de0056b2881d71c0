// The scores of all classes become the name and the probability of the best one.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Tensor } from 'node-tensorrt'
import { defineModel } from 'node-tensorrt/serve'
import { softmax, topK } from 'node-tensorrt/vision'

let labels = ['']

export default defineModel({
  // once for each instance, before its first request
  async load({ folder, parameters }) {
    const text = await readFile(join(folder, parameters.labels ?? 'labels.txt'), 'utf8')
    labels = text.trimEnd().split('\n')
  },

  execute: (requests) =>
    requests.map((request) => {
      const best = topK(softmax(Object(request.inputs.scores)), 1, { labels }).flat()
      const score = Float32Array.from(best, (each) => each.score)
      return { label: best.map(({ label = '' }) => label), score: Tensor.from(score, [best.length, 1]) }
    }),
})
