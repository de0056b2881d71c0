import type { ModelTensor, TensorInfo } from '../backend/backend.js'
import { checkedObject } from '../base/checks.js'
import { TensorRTError } from '../errors.js'
import type { AnyTensor, DeviceTensor } from '../device-tensor.js'
import { checkedDType, type DType, dtypes, type Tensor } from '../tensor.js'

/** Data types by name: how the inputs or outputs of an engine are declared. */
export type TensorTypes = Readonly<Record<string, DType>>

/** The names of such types. */
export type TensorName<T extends TensorTypes> = keyof T & string

/**
 * Where outputs are to be: brought to the host, which is the default, or left on the device as a {@link DeviceTensor};
 * all of them, or each by its name (those that are not named on the host).
 */
export type OutputLocation<O extends TensorTypes = TensorTypes> =
  'host' | 'device' | { readonly [N in TensorName<O>]?: 'host' | 'device' | undefined }

/** The tensor that an output of this name is, for such a location. */
export type LocatedTensor<D extends DType, L, N = never> = 0 extends 1 & L
  ? Tensor<D> // `any`, where an interface of somebody's own is held against Engine
  : L extends 'device'
    ? DeviceTensor<D>
    : L extends 'host' | undefined
      ? Tensor<D>
      : string extends N
        ? AnyTensor<D>
        : N extends keyof L
          ? LocatedTensor<D, L[N]>
          : Tensor<D>

/**
 * Tensors by name. Records of this package have no prototype, so that every name is just a name. `L`: their {@link
 * OutputLocation}.
 */
export type TensorRecord<T extends TensorTypes = TensorTypes, L = 'host'> = {
  -readonly [N in keyof T]: LocatedTensor<T[N], L, N>
}

/** What is known of a model's inputs or outputs, by name. */
export type TensorInfos<T extends TensorTypes = TensorTypes> = { readonly [N in keyof T]: TensorInfo<T[N]> }

/** The tensors that go into an engine, by name. */
export type InputRecord<I extends TensorTypes = TensorTypes> = { readonly [N in keyof I]: AnyTensor<I[N]> }

/** The name where there is one alone; nothing where there are several. */
type OnlyName<T extends TensorTypes, N = TensorName<T>> =
  N extends TensorName<T> ? ([TensorName<T>] extends [N] ? N : never) : never

/** The tensor that may stand for the record: of a model with one input, or of one of which nothing is declared. */
export type BareInput<I extends TensorTypes = TensorTypes> = AnyTensor<I[OnlyName<I>]>

/** What a bare tensor gives: of a model with one output, or of one of which nothing is declared. */
export type BareOutput<O extends TensorTypes = TensorTypes, L = 'host'> = LocatedTensor<O[OnlyName<O>], L, OnlyName<O>>

/**
 * What a bare tensor may be given for, without the option outputs: `never` for a model with several outputs.
 */
export type BareInputForOne<I extends TensorTypes, O extends TensorTypes> = [OnlyName<O>] extends [never]
  ? never
  : BareInput<I>

/** The outputs that were asked for by name: those alone; where the names are known at run time only, perhaps. */
export type SelectedOutputs<O extends TensorTypes, W, L = 'host'> = W extends readonly (infer N)[]
  ? number extends W['length']
    ? string extends keyof O
      ? TensorRecord<TensorTypes, L>
      : Partial<TensorRecord<O, L>>
    : TensorRecord<Pick<O, N & TensorName<O>>, L>
  : TensorRecord<O, L>

/**
 * What may be said of a model before it is loaded. It is held against the model then: `ready` is rejected with
 * ERR_TRT_DECLARATION where it is not so.
 */
export interface Declaration<I extends TensorTypes = TensorTypes, O extends TensorTypes = TensorTypes> {
  /** The data types of all inputs of the model, by name. */
  readonly inputs?: I | undefined
  /**
   * The data types of the outputs that are wanted, by name; {@link Engine.infer} gives these alone unless it is told
   * otherwise.
   */
  readonly outputs?: O | undefined
}

/** A part of a declaration, which has to be given where its type is: a type that nobody checks would be a lie. */
type Declared<Name extends string, T extends TensorTypes> = string extends keyof T
  ? unknown
  : { readonly [K in Name]: T }

/** The data types of inputs and outputs, by name; each has to be given where its type parameter is. */
export type DeclaredTypes<I extends TensorTypes, O extends TensorTypes> = Declaration<I, O> &
  Declared<'inputs', I> &
  Declared<'outputs', O>

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedDeclaration({ inputs, outputs }: { inputs?: unknown; outputs?: unknown }): Declaration {
  return {
    ...(inputs !== undefined && { inputs: checkedTypes(inputs, 'inputs') }),
    ...(outputs !== undefined && { outputs: checkedTypes(outputs, 'outputs') }),
  }
}

function checkedTypes(types: unknown, option: string): TensorTypes {
  const given = checkedObject(types, option, "data types by name, such as { images: 'float32' },")
  const entries = Object.entries(given)
  for (const [name, dtype] of entries) checkedDType(dtype as DType, dtypes, `${option}.${name}`)
  return Object.freeze(Object.assign(Object.create(null) as object, Object.fromEntries(entries)))
}

/** @throws TensorRTError ERR_TRT_DECLARATION that says both what was declared and what the model has */
export function checkDeclaration(
  { inputs, outputs }: Declaration,
  model: { readonly inputs: readonly ModelTensor[]; readonly outputs: readonly ModelTensor[] },
): void {
  if (inputs !== undefined) hold('inputs', inputs, model.inputs, true)
  if (outputs !== undefined) hold('outputs', outputs, model.outputs, false)
}

function hold(what: 'inputs' | 'outputs', declared: TensorTypes, infos: readonly ModelTensor[], all: boolean): void {
  const wrong = Object.keys(declared).find((name) => infos.find((info) => info.name === name)?.dtype !== declared[name])
  const undeclared = all ? infos.find(({ name }) => declared[name] === undefined)?.name : undefined
  const name = wrong ?? undeclared
  if (name === undefined) return
  const was = listed(Object.entries(declared))
  const has = listed(infos.map((info) => [info.name, info.dtype]))
  throw new TensorRTError('ERR_TRT_DECLARATION', `The ${what} were declared as ${was} but the model has ${has}`, {
    details: {
      [what.slice(0, -1)]: name,
      declared,
      model: Object.fromEntries(infos.map((info) => [info.name, info.dtype])),
    },
  })
}

function listed(entries: readonly (readonly [name: string, dtype: string])[]): string {
  return `{ ${entries.map(([name, dtype]) => `${JSON.stringify(name)}: ${dtype}`).join(', ')} }`
}
