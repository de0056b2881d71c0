// A module of a model in JavaScript within the thread that it is in: found, loaded, and asked. It knows nothing of
// threads.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expected, TensorRTError } from '../../errors.js'
import { dtypeOf } from '../../kserve/tensor.js'
import { Tensor } from '../../tensor.js'
import { type ModuleResult, resultsOf, thrownBy, type Wanted } from './answers.js'
import type { Endings } from './endings.js'
import { type ModuleFailed, stackWithin, textOf } from './failed.js'
import { fitsShape, type ModuleStart, shapeOf, type TensorSpec } from './module-start.js'
import type { JavaScriptModel, ModelContext, ModelRequest } from './types.js'
import { isError } from '../../base/kinds.js'

export type { ModuleResult, ModuleValue } from './answers.js'
export { type ModuleStart, type TensorSpec } from './module-start.js'

/** Of one request: what a module is asked. */
export interface ModuleRequest extends Wanted, Pick<ModelRequest, 'id' | 'inputs' | 'shapes' | 'parameters'> {
  readonly place?: ((spec: TensorSpec, shape: readonly number[]) => Tensor | undefined) | undefined
}

/** Why a module cannot be loaded. */
export class ModuleFailure extends Error {
  /** Where its code threw, for the log. */
  readonly at: string | undefined

  constructor(
    message: string,
    { start, cause }: { readonly start?: ModuleStart | undefined; readonly cause?: unknown } = {},
  ) {
    super(message, { cause })
    this.at = start === undefined ? undefined : stackWithin(start, cause)
  }
}

/** A failed load, for the server. */
export function notLoaded(error: unknown): ModuleFailed {
  return {
    failure: isError(error) ? error.message : textOf(error),
    at: error instanceof ModuleFailure ? error.at : undefined,
  }
}

export class ModuleRunner {
  readonly start: ModuleStart
  readonly #model: JavaScriptModel

  private constructor(start: ModuleStart, model: JavaScriptModel) {
    this.start = start
    this.#model = model
  }

  /** @throws ModuleFailure (as a rejection) with the file, and what is wrong */
  static async load(start: ModuleStart, signal: AbortSignal): Promise<ModuleRunner> {
    const model = await importModel(start)
    const { name, version, folder, config, parameters, instance } = start
    const context: ModelContext = { name, version, folder, config, parameters, instance, signal }
    try {
      await model.load?.(context)
    } catch (error) {
      throw new ModuleFailure(`load() of model '${name}' failed: ${textOf(error)}`, { start, cause: error })
    }
    return new ModuleRunner(start, model)
  }

  /** How many calls of execute() may be under way at once. */
  get concurrency(): number {
    return this.#model.concurrency ?? 1
  }

  /** A result for each request, in their order; never rejected. */
  async execute(requests: readonly ModuleRequest[], endings: Endings): Promise<readonly ModuleResult[]> {
    const { start } = this
    try {
      const asked = requests.map((request, i) => askedOf(start, request, endings, i))
      const answers: unknown = await this.#model.execute(asked, {
        get signal() {
          return endings.batchSignal
        },
      })
      return resultsOf(start, requests, answers)
    } catch (error) {
      return thrownBy(start, requests, error)
    }
  }

  /** @throws Error (as a rejection) with what unload() threw */
  async unload(): Promise<void> {
    try {
      await this.#model.unload?.()
    } catch (error) {
      throw new Error(`unload() of model '${this.start.name}' failed: ${textOf(error)}`, { cause: error })
    }
  }
}

async function importModel(start: ModuleStart): Promise<JavaScriptModel> {
  const { name, folder, file } = start
  const path = join(folder, file)
  checkTypes(start)
  const exported = await imported(start, path)
  if (!('default' in exported))
    throw new ModuleFailure(`${file} of model '${name}' has no default export: write export default defineModel({ … })`)
  const model = exported['default'] as JavaScriptModel | null | undefined
  if (typeof model !== 'object' || model === null || typeof model.execute !== 'function')
    throw new ModuleFailure(
      `Expected an object with the function execute as the default export of ${file} of model '${name}' but received ${describe(model)}`,
    )
  checkConcurrency(model, `${file} of model '${name}'`)
  for (const other of ['load', 'unload']) {
    const given: unknown = Reflect.get(model, other)
    if (given !== undefined && typeof given !== 'function')
      throw new ModuleFailure(
        `Expected a function for ${other} of ${file} of model '${name}' but received ${describe(given)}`,
      )
  }
  return model
}

function checkConcurrency({ concurrency = 1 }: JavaScriptModel, owner: string): void {
  if (Number.isInteger(concurrency) && concurrency >= 1 && concurrency <= 1024) return
  throw new ModuleFailure(
    `Expected a whole number from 1 to 1024 for concurrency of ${owner} but received ${describe(concurrency)}`,
  )
}

async function imported(start: ModuleStart, path: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await import(pathToFileURL(path).href)) as Readonly<Record<string, unknown>>
  } catch (error) {
    throw new ModuleFailure(`${start.file} of model '${start.name}' cannot be loaded: ${textOf(error)}`, {
      start,
      cause: error,
    })
  }
}

/** Node 22.18 and 23.6 are the first that strip types. */
function checkTypes({ name, file }: ModuleStart): void {
  const strips = 'typescript' in process.features && Boolean(process.features.typescript)
  if (/\.[cm]?ts$/.test(file) && !strips)
    throw new ModuleFailure(
      `${file} of model '${name}' needs a Node that strips types, 22.18 or newer (of 23, 23.6); this is ${process.version}: give model.js or model.mjs`,
    )
}

/** A request as the module sees it. */
function askedOf(start: ModuleStart, request: ModuleRequest, endings: Endings, index: number): ModelRequest {
  const { id, inputs, shapes, wanted, parameters } = request
  return {
    ...{ id, inputs, shapes, outputs: wanted, parameters },
    get signal() {
      return endings.signalOf(index)
    },
    output: (name, shape) => outputOf(start, request, name, shape),
  }
}

function outputOf(start: ModuleStart, request: ModuleRequest, name: string, shape: readonly number[]): Tensor {
  const spec = start.outputs.find((each) => each.name === name)
  if (spec === undefined || spec.datatype === 'BYTES') {
    const names = start.outputs.filter(({ datatype }) => datatype !== 'BYTES').map((each) => `'${each.name}'`)
    throw expected(
      `an output that is no TYPE_STRING (${names.join(', ') || 'there is none'})`,
      `output() of model '${start.name}'`,
      name,
    )
  }
  const wanted = shapeOf(start, spec, request.rows)
  if (Array.isArray(shape) && fitsShape(shape, wanted))
    return request.place?.(spec, shape) ?? Tensor.zeros(dtypeOf[spec.datatype], shape)
  const received = Array.isArray(shape) ? `[${shape.join(',')}]` : describe(shape)
  throw new TensorRTError(
    'ERR_TRT_SHAPE',
    `Expected the shape [${wanted.join(',')}] for output '${name}' of model '${start.name}' but received ${received}`,
  )
}
