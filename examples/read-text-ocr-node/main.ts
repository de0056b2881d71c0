/** @gutenye/ocr-node, which imports onnxruntime-node by name: before and after, without a changed line. */
import { resolve } from 'node:path'
import { writeImage } from 'node-tensorrt/vision'
import { compare, compareCommand, type CompareGiven } from '../event-loop/comparing.js'
import { writtenPicture } from '../read-text/written.js'
import { checkThere, main, wholeNumber } from '../support/program.js'

const command = compareCommand(
  'read-text-ocr-node',
  'What @gutenye/ocr-node does to the event loop, on onnxruntime-node and on node-tensorrt.',
)
  .argument('[PICTURE...]', 'pictures with text in them')
  .option('--rounds <NUMBER>', 'how often each is read', wholeNumber, 6)

main(command, async (given: CompareGiven & { readonly rounds: number }, pictures) => {
  const written = resolve(given.out, 'written.png')
  if (pictures.length === 0) await writeImage(await writtenPicture(), written)
  checkThere(...pictures)
  const paths = pictures.length === 0 ? [written] : pictures.map((path) => resolve(path))
  return compare(given, {
    name: 'read-text-ocr-node',
    title: 'The event loop while @gutenye/ocr-node reads pictures',
    dependencies: { '@gutenye/ocr-node': '1.4.8', 'onnxruntime-node': '^1.30.0' },
    preload: ['--import', 'node-tensorrt/onnxruntime/register'],
    args: Array.from({ length: given.rounds }, () => paths).flat(),
    count: (answer) => (answer as readonly unknown[][]).flat().length,
  })
})
