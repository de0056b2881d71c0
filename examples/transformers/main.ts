/** transformers.js before and after, without a changed line. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { bert, writeModelFiles } from '../../test/onnxruntime/tiny-models/index.js'
import { compare, compareCommand, type CompareGiven } from '../event-loop/comparing.js'
import { main, note, wholeNumber } from '../support/program.js'

const command = compareCommand(
  'transformers',
  'What transformers.js does to the event loop, on onnxruntime-node and on node-tensorrt.',
)
  .argument('[MODEL]', 'the folder of a model for feature-extraction, or its name on the hub (default: a seeded one)')
  .option('--layers <NUMBER>', 'how many layers the seeded model has', wholeNumber, 6)

main(command, async (given: CompareGiven & { readonly layers: number }, [model]) =>
  compare(given, {
    name: 'transformers',
    title: 'The event loop while transformers.js makes features of texts',
    dependencies: { '@huggingface/transformers': '^4.3.0' },
    preload: ['--require', 'node-tensorrt/onnxruntime'],
    args: [model === undefined ? seeded(resolve(given.out, 'seeded-bert'), given.layers) : pathOf(model)],
    count: (answer) => (answer as readonly unknown[]).length,
  }),
)

/** The folder of a model as large as MiniLM, with seeded weights. */
function seeded(folder: string, layers: number): string {
  note(`A BERT with seeded weights, in ${folder}: its answers mean nothing, what it takes is what a trained one takes.`)
  writeModelFiles(folder, bert('features', { hidden: 384, heads: 12, layers }))
  return folder
}

/** A folder by its full path; a name on the hub as it is. */
function pathOf(model: string): string {
  return existsSync(model) ? resolve(model) : model
}
