/**
 * The models of this folder as a repository that a server takes: their files as they are, but for the size and names of
 * a model of the user's.
 */
import { existsSync } from 'node:fs'
import { copyFile, cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { packageRoot } from '../../lib/base/package.js'
import { TensorRTError } from 'node-tensorrt'
import { inspectModel, readModel, writeModel } from 'node-tensorrt/onnx'
import { resnet50 } from '../../test/support/networks/index.js'

export interface RepositoryOptions {
  /** An ONNX file of the user's; a ResNet-50 with seeded weights where there is none. */
  readonly model?: string
  /** A file with the names of its classes, one in each line. */
  readonly labels?: string
  /** The side of the seeded model's input. */
  readonly size?: number
  /** Factor of the seeded model's channels. */
  readonly width?: number
  readonly backend: 'cpu' | 'tensorrt'
}

/** What of the files depends on the model. */
interface Facts {
  readonly input: string
  readonly output: string
  readonly side: number
  readonly classes: number
}

const seeded: Facts = { input: 'images', output: 'logits', side: 224, classes: 1000 }
/** Those whose text names the size, the classes or a tensor of the model. */
const texts = [
  'preprocess/config.pbtxt',
  'preprocess/1/model.js',
  'resnet50/config.pbtxt',
  'postprocess/config.pbtxt',
  'classify/config.pbtxt',
]

export class Repository {
  readonly folder: string
  readonly #options: RepositoryOptions
  readonly #facts: Facts

  private constructor(folder: string, options: RepositoryOptions, facts: Facts) {
    this.folder = folder
    this.#options = options
    this.#facts = facts
  }

  /** Puts all four models into a folder, in place of what was there. */
  static async put(folder: string, options: RepositoryOptions): Promise<Repository> {
    const repository = new Repository(folder, options, await factsOf(options))
    await rm(folder, { recursive: true, force: true })
    await cp(join(packageRoot(), 'examples/serve-ensemble/models'), folder, { recursive: true })
    await mkdir(join(folder, 'classify/1'))
    for (const path of texts) await repository.#rewrite(path, (text) => repository.#adapted(text))
    await repository.#putLabels()
    await repository.putVersion(1)
    return repository
  }

  /**
   * A version of the ResNet-50, with a seed of its own; of a file the same again. Written beside and renamed, so that
   * nobody sees half of it.
   */
  async putVersion(version: number): Promise<void> {
    const { model, size, width } = this.#options
    const beside = join(this.folder, `resnet50/.${version}`)
    await mkdir(beside)
    if (model !== undefined) await copyFile(model, join(beside, 'model.onnx'))
    else
      await writeFile(
        join(beside, 'model.onnx'),
        writeModel(
          resnet50.modelOf({
            batch: 'N',
            seed: version,
            ...(size !== undefined && { size }),
            ...(width !== undefined && { width }),
          }),
        ),
      )
    await rename(beside, join(this.folder, `resnet50/${version}`))
  }

  /** Whether requests of several clients run as one batch; a server takes it up when it loads the model again. */
  async setBatching(on: boolean): Promise<void> {
    const line = on ? 'dynamic_batching { }' : '# dynamic_batching { }'
    await this.#rewrite('resnet50/config.pbtxt', (text) => text.replace(/^(# )?dynamic_batching .*$/m, line))
  }

  #adapted(text: string): string {
    const { input, output, side, classes } = this.#facts
    const backend = this.#options.backend === 'cpu' ? 'onnxruntime' : 'tensorrt'
    return (
      text
        .replaceAll('"images"', JSON.stringify(input))
        .replaceAll('"logits"', JSON.stringify(output))
        .replaceAll(/(?<!\.)\b256\b/g, String(shortSideOf(side)))
        // not the 0.224 of a standard deviation
        .replaceAll(/(?<!\.)\b224\b/g, String(side))
        .replaceAll('1000', String(classes))
        .replace('"onnxruntime"', JSON.stringify(backend))
    )
  }

  async #putLabels(): Promise<void> {
    const target = join(this.folder, 'resnet50/labels.txt')
    if (this.#options.labels !== undefined) return await copyFile(this.#options.labels, target)
    const names = Array.from({ length: this.#facts.classes }, (_, i) => `class ${i}`)
    await writeFile(target, `${names.join('\n')}\n`)
  }

  async #rewrite(path: string, change: (text: string) => string): Promise<void> {
    const file = join(this.folder, path)
    await writeFile(file, change(await readFile(file, 'utf8')))
  }
}

/** In the proportion of torchvision's 256 and 224. */
export const shortSideOf = (side: number): number => Math.round((side * 256) / 224)

async function factsOf({ model, size }: RepositoryOptions): Promise<Facts> {
  if (model === undefined) return { ...seeded, ...(size !== undefined && { side: size }) }
  if (!existsSync(model)) throw new TensorRTError('ERR_TRT_FILE', `There is no file ${model}`)
  const { inputs, outputs } = inspectModel(await readModel(model))
  const [[input], [output]] = [inputs, outputs]
  const [batch, channels, height, width] = input?.shape ?? []
  const classes = output?.shape?.[1]
  if (
    inputs.length !== 1 ||
    outputs.length !== 1 ||
    typeof batch === 'number' ||
    channels !== 3 ||
    typeof width !== 'number' ||
    height !== width ||
    typeof classes !== 'number'
  )
    // prettier-ignore
    throw new TensorRTError(
      'ERR_TRT_SHAPE',
      `Expected a model with an input [batch, 3, side, side] and an output [batch, classes], the batch dynamic, but received ${shapesOf(inputs)} and ${shapesOf(outputs)}`,
    )
  return { input: input?.name ?? '', output: output?.name ?? '', side: width, classes }
}

const shapesOf = (
  values: readonly { readonly name: string; readonly shape?: readonly unknown[] | undefined }[],
): string => values.map(({ name, shape }) => `${name} [${shape?.join(', ') ?? '?'}]`).join(', ')
