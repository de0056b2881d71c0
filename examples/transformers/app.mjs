// node app.mjs MODEL: numbers for 200 texts (feature-extraction), by transformers.js, which runs models by
// onnxruntime-node. MODEL is the folder of a model, or its name on the hub. It says nothing of node-tensorrt: the
// command that starts it does.
import { existsSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { env, pipeline } from '@huggingface/transformers'
import { withDelay } from './delay.mjs'

const [model = 'Xenova/all-MiniLM-L6-v2'] = process.argv.slice(2)
const isFolder = existsSync(model)
if (isFolder) {
  env.allowRemoteModels = false
  env.localModelPath = `${dirname(resolve(model))}/`
}
const extractor = await pipeline('feature-extraction', isFolder ? basename(model) : model, { dtype: 'fp32' })
const words = 'the cat and the dog sleep in the red house by the river . a small horse runs at night'.split(' ')
const text = (i, length) =>
  Array.from({ length }, (_, k) => words[(i * 7 + k * (1 + (i % 3))) % words.length]).join(' ')
await extractor(text(0, 20))

const { result, ...measured } = await withDelay(async () => {
  const sums = []
  for (let i = 0; i < 200; i++) {
    const { data } = await extractor(text(i, 20 + (i % 60)), { pooling: 'mean', normalize: true })
    sums.push(data.reduce((sum, value, k) => sum + value * ((k % 7) - 3), 0))
  }
  return sums
})
await extractor.dispose()
console.log(JSON.stringify({ answer: result, ...measured }))
