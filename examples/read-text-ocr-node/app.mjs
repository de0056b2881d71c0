// node app.mjs PICTURE...: what is written in pictures, by @gutenye/ocr-node, which runs models by
// onnxruntime-node. It says nothing of node-tensorrt: the command that starts it does.
import Ocr from '@gutenye/ocr-node'
import { withDelay } from './delay.mjs'

const pictures = process.argv.slice(2)
const reader = await Ocr.create()
await reader.detect(pictures[0] ?? 'text.png')

const { result, ...measured } = await withDelay(async () => {
  const pages = []
  for (const picture of pictures) pages.push(await reader.detect(picture))
  return pages
})
const answer = result.map((lines) => lines.map(({ text, mean }) => [text, mean]))
console.log(JSON.stringify({ answer, ...measured }))
