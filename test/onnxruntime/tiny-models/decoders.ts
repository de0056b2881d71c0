import { create } from '@bufbuild/protobuf'
import { AttributeProtoSchema, type ModelProto, writeModel, type Value } from '../../../lib/onnx/index.js'
import type { AttributeProto } from '../../../lib/onnx/index.js'
import { valueInfo } from '../../../lib/onnx/value-info.js'
import { type ModelFiles, small, textEncoder } from './encoders.js'
import { Layers, type Memory, type Size } from './layers.js'
import { tokenCount, tokenIds, tokenizerFiles } from './words.js'

const texts = ['batch_size', 'sequence_length']

/** The inputs for what a layer has kept of the tokens before, and its outputs for the next run. */
class Cache {
  readonly #layers: Layers
  readonly #shape: (length: string) => readonly (string | number)[]

  constructor(layers: Layers) {
    this.#layers = layers
    const { hidden, heads } = layers.size
    this.#shape = (length) => ['batch_size', heads, length, hidden / heads]
  }

  past(name: string, length: string): Memory {
    const [keys, values] = ['key', 'value'].map((part) =>
      this.#layers.graph.input(`past_key_values.${name}.${part}`, 'float32', this.#shape(length)),
    ) as [Value, Value]
    return { keys, values }
  }

  keep(name: string, { keys, values }: Memory, length: string): void {
    this.#layers.output(`present.${name}.key`, keys, this.#shape(length))
    this.#layers.output(`present.${name}.value`, values, this.#shape(length))
  }

  /** What was kept, with what is new after it. */
  join(past: Memory, now: Memory): Memory {
    const after = (a: Value, b: Value): Value => this.#layers.node('Concat', [a, b], { axis: 2 })
    return { keys: after(past.keys, now.keys), values: after(past.values, now.values) }
  }
}

/** GPT-2 with `past_key_values`: the next token, and what is kept of all tokens before. */
export function gpt2(size: Size = small): ModelFiles {
  const layers = new Layers('gpt2', 21, size)
  const cache = new Cache(layers)
  const ids = layers.graph.input('input_ids', 'int64', texts)
  const mask = layers.graph.input('attention_mask', 'int64', ['batch_size', 'total_sequence_length'])
  const places = layers.graph.input('position_ids', 'int64', texts)
  const pasts = Array.from({ length: size.layers }, (_, i) => cache.past(String(i), 'past_sequence_length'))
  const past = layers.sizeOf(pasts[0]!.keys, 2)
  const bias = layers.add(layers.causalBias(past, layers.sizeOf(mask, 1)), layers.maskBias(mask))
  let x = layers.add(layers.rows(ids, tokenCount), layers.rows(places, 128))
  for (const [i, before] of pasts.entries()) {
    const normed = layers.norm(x)
    const memory = cache.join(before, layers.memory(normed))
    cache.keep(String(i), memory, 'total_sequence_length')
    x = layers.add(x, layers.attention(normed, memory, bias))
    x = layers.add(x, layers.feedForward(layers.norm(x)))
  }
  layers.output('logits', layers.linear(layers.norm(x), size.hidden, tokenCount), [...texts, tokenCount])
  return {
    'config.json': {
      model_type: 'gpt2',
      architectures: ['GPT2LMHeadModel'],
      n_embd: size.hidden,
      n_head: size.heads,
      n_layer: size.layers,
      vocab_size: tokenCount,
      bos_token_id: tokenIds.start,
      eos_token_id: tokenIds.end,
    },
    'generation_config.json': { bos_token_id: tokenIds.start, eos_token_id: tokenIds.end, pad_token_id: tokenIds.pad },
    ...tokenizerFiles('GPT2Tokenizer'),
    'onnx/model.onnx': writeModel(layers.graph.toModel()),
  }
}

/** A branch of an If: it gives a value of the graph around it. */
function branch(name: string, value: Value, shape: readonly (string | number)[]): AttributeProto {
  const output = `${value}.${name}`
  const node = [{ opType: 'Identity', input: [value], output: [output] }]
  const g = { name, node, output: [valueInfo(output, 'float32', shape)] }
  return create(AttributeProtoSchema, { name, type: 5, g })
}

/** Gives Ifs, by their names, their branches, which GraphBuilder has no words for. */
function addBranches({ graph }: ModelProto, branches: ReadonlyMap<string, readonly AttributeProto[]>): void {
  for (const node of graph?.node ?? []) node.attribute.push(...(branches.get(node.name) ?? []))
}

/** The decoder of T5, with and without a cache in one file, as optimum writes it. */
function mergedDecoder(seed: number, size: Size): Uint8Array {
  const layers = new Layers('decoder', seed, size)
  const { graph } = layers
  const { hidden, heads } = size
  const cache = new Cache(layers)
  const mask = graph.input('encoder_attention_mask', 'int64', ['batch_size', 'encoder_sequence_length'])
  const ids = graph.input('input_ids', 'int64', ['batch_size', 'decoder_sequence_length'])
  const encoded = graph.input('encoder_hidden_states', 'float32', ['batch_size', 'encoder_sequence_length', hidden])
  const pasts = Array.from({ length: size.layers }, (_, i) => ({
    own: cache.past(`${i}.decoder`, 'past_decoder_sequence_length'),
    crossed: cache.past(`${i}.encoder`, 'encoder_sequence_length_out'),
  }))
  const cached = graph.input('use_cache_branch', 'bool', [1])
  const past = layers.sizeOf(pasts[0]!.own.keys, 2)
  const causal = layers.causalBias(past, layers.node('Add', [past, layers.sizeOf(ids, 1)]))
  const padding = layers.maskBias(mask)
  const shape = ['batch_size', heads, 'encoder_sequence_length_out', hidden / heads]
  const branches = new Map<string, readonly AttributeProto[]>()
  const either = (name: string, kept: Value, computed: Value): Value => {
    branches.set(name, [branch('then_branch', kept, shape), branch('else_branch', computed, shape)])
    return graph.node('If', [cached], {}, { name })
  }
  let x = layers.embed(ids, tokenCount, past)
  for (const [i, { own, crossed }] of pasts.entries()) {
    const normed = layers.norm(x)
    const memory = cache.join(own, layers.memory(normed))
    cache.keep(`${i}.decoder`, memory, 'past_decoder_sequence_length + 1')
    x = layers.add(x, layers.attention(normed, memory, causal))
    const fresh = layers.memory(encoded)
    const kept = {
      keys: either(`keys_${i}`, crossed.keys, fresh.keys),
      values: either(`values_${i}`, crossed.values, fresh.values),
    }
    cache.keep(`${i}.encoder`, kept, 'encoder_sequence_length_out')
    x = layers.add(x, layers.attention(layers.norm(x), kept, padding))
    x = layers.add(x, layers.feedForward(layers.norm(x)))
  }
  const logits = layers.linear(layers.norm(x), hidden, tokenCount)
  layers.output('logits', logits, ['batch_size', 'decoder_sequence_length', tokenCount])
  const model = graph.toModel()
  addBranches(model, branches)
  return writeModel(model)
}

/** T5: an encoder, and a decoder with `past_key_values` of itself and of what was encoded. */
export function t5(size: Size = small): ModelFiles {
  const special = {
    decoder_start_token_id: tokenIds.start,
    eos_token_id: tokenIds.end,
    pad_token_id: tokenIds.pad,
  }
  return {
    'config.json': {
      model_type: 't5',
      architectures: ['T5ForConditionalGeneration'],
      is_encoder_decoder: true,
      d_model: size.hidden,
      d_kv: size.hidden / size.heads,
      num_heads: size.heads,
      num_layers: size.layers,
      num_decoder_layers: size.layers,
      vocab_size: tokenCount,
      ...special,
    },
    'generation_config.json': special,
    ...tokenizerFiles('T5Tokenizer'),
    'onnx/encoder_model.onnx': textEncoder(22, size),
    'onnx/decoder_model_merged.onnx': mergedDecoder(23, size),
  }
}
