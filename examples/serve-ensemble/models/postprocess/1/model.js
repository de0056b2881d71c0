// Scores of a thousand classes become the best one's name and probability.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { defineModel } from 'node-tensorrt/serve'
import { Tensor } from 'node-tensorrt'
import { softmax, topK } from 'node-tensorrt/vision'

let labels = []

export default defineModel({
  // once for each instance, before the first request
  async load({ folder, parameters }) {
    const file = join(folder, parameters.labels)
    labels = (await readFile(file, 'utf8')).trimEnd().split('\n')
  },

  async execute(requests) {
    return requests.map(({ inputs }) => {
      const best = topK(softmax(inputs.scores), 1, { labels }).flat()
      const rows = [best.length, 1]
      const score = Tensor.from(
        Float32Array.from(best, ({ score }) => score),
        rows,
      )
      return { label: { shape: rows, data: best.map(({ label }) => label) }, score }
    })
  },
})
