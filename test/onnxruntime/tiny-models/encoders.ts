import { writeModel, type Value } from '../../../lib/onnx/index.js'
import { ints, scalar } from '../../support/values.js'
import { Layers, type Size } from './layers.js'
import { letterCount, letterFiles, tokenCount, tokenizerFiles } from './words.js'

/** The files of a model, by their path in its folder: bytes, or what becomes JSON. */
export type ModelFiles = Readonly<Record<string, object>>

/** Small enough that a run takes less than a millisecond. */
export const small: Size = { hidden: 32, heads: 2, layers: 2 }

const labels = (...names: readonly string[]) => ({
  id2label: Object.fromEntries(names.map((name, i) => [i, name])),
  label2id: Object.fromEntries(names.map((name, i) => [name, i])),
})

const pictureFile = (type: string, side: number) => ({
  'preprocessor_config.json': {
    image_processor_type: type,
    do_resize: true,
    size: { height: side, width: side },
    resample: 2,
    do_rescale: true,
    rescale_factor: 1 / 255,
    do_normalize: true,
    image_mean: [0.5, 0.5, 0.5],
    image_std: [0.5, 0.5, 0.5],
  },
})

/** The inputs that texts have, and their tokens after all layers. */
function readTexts(layers: Layers): { readonly tokens: Value; readonly mask: Value } {
  const [ids, mask] = ['input_ids', 'attention_mask'].map((name) =>
    layers.graph.input(name, 'int64', ['batch_size', 'sequence_length']),
  ) as [Value, Value]
  return { tokens: layers.encode(layers.embed(ids, tokenCount), layers.maskBias(mask)), mask }
}

/** The input that pictures have, and the mean of their tokens after all layers. */
function seePictures(layers: Layers, side: number, patch: number): Value {
  const pixels = layers.graph.input('pixel_values', 'float32', ['image_batch_size', 3, side, side])
  const places = layers.weight([(side / patch) ** 2, layers.size.hidden], 1)
  const tokens = layers.encode(layers.add(layers.patches(pixels, patch), places))
  return layers.node('ReduceMean', [tokens], { axes: [1], keepdims: 0 })
}

/** BERT: numbers of each token, or two classes of the text. */
export function bert(kind: 'features' | 'classes', size: Size = small): ModelFiles {
  const layers = new Layers('bert', 11, size)
  const { tokens, mask } = readTexts(layers)
  const { hidden } = size
  if (kind === 'features') layers.output('last_hidden_state', tokens, ['batch_size', 'sequence_length', hidden])
  else layers.output('logits', layers.linear(layers.meanOfTokens(tokens, mask), hidden, 2), ['batch_size', 2])
  return {
    'config.json': {
      model_type: 'bert',
      architectures: [kind === 'features' ? 'BertModel' : 'BertForSequenceClassification'],
      hidden_size: hidden,
      ...labels('NEGATIVE', 'POSITIVE'),
    },
    ...tokenizerFiles('BertTokenizer'),
    'onnx/model.onnx': writeModel(layers.graph.toModel()),
  }
}

/** The encoder of T5, as {@link t5} has it. */
export function textEncoder(seed: number, size: Size): Uint8Array {
  const layers = new Layers('encoder', seed, size)
  const { tokens } = readTexts(layers)
  layers.output('last_hidden_state', tokens, ['batch_size', 'sequence_length', size.hidden])
  return writeModel(layers.graph.toModel())
}

/** ViT: four classes of a picture. */
export function vit(size: Size = small): ModelFiles {
  const layers = new Layers('vit', 12, size)
  const seen = seePictures(layers, 32, 8)
  layers.output('logits', layers.linear(seen, size.hidden, 4), ['image_batch_size', 4])
  return {
    'config.json': {
      model_type: 'vit',
      architectures: ['ViTForImageClassification'],
      image_size: 32,
      ...labels('cat', 'dog', 'tree', 'house'),
    },
    ...pictureFile('ViTImageProcessor', 32),
    'onnx/model.onnx': writeModel(layers.graph.toModel()),
  }
}

/** wav2vec 2.0: letters of what is said. */
export function wav2vec2(size: Size = small): ModelFiles {
  const layers = new Layers('wav2vec2', 13, size)
  const { hidden } = size
  const sound = layers.graph.input('input_values', 'float32', ['batch_size', 'samples'])
  const heard = layers.node('Unsqueeze', [sound, layers.constant(ints(1))])
  const convolve = (x: Value, from: number, width: number, stride: number): Value => {
    const weight = layers.weight([hidden, from, width], 1 / Math.sqrt(from * width))
    return layers.node('Tanh', [layers.node('Conv', [x, weight], { strides: [stride] })])
  }
  const frames = layers.node('Transpose', [convolve(convolve(heard, 1, 40, 20), hidden, 16, 16)], { perm: [0, 2, 1] })
  const logits = layers.linear(layers.encode(frames), hidden, letterCount)
  layers.output('logits', logits, ['batch_size', 'frames', letterCount])
  return {
    'config.json': { model_type: 'wav2vec2', architectures: ['Wav2Vec2ForCTC'], hidden_size: hidden },
    ...letterFiles(),
    'preprocessor_config.json': {
      feature_extractor_type: 'Wav2Vec2FeatureExtractor',
      processor_class: 'Wav2Vec2Processor',
      feature_size: 1,
      padding_value: 0,
      sampling_rate: 16000,
      do_normalize: true,
      return_attention_mask: false,
    },
    'onnx/model.onnx': writeModel(layers.graph.toModel()),
  }
}

/** CLIP: how well each text is said of each picture. */
export function clip(size: Size = small): ModelFiles {
  const layers = new Layers('clip', 14, size)
  const { hidden } = size
  const { tokens, mask } = readTexts(layers)
  const embedded = (x: Value): Value => {
    const projected = layers.node('MatMul', [x, layers.weight([hidden, hidden], 1 / Math.sqrt(hidden))])
    return layers.node('LpNormalization', [projected], { axis: -1, p: 2 })
  }
  const texts = embedded(layers.meanOfTokens(tokens, mask))
  const pictures = embedded(seePictures(layers, 32, 8))
  const turned = layers.node('Transpose', [texts], { perm: [1, 0] })
  const alike = layers.node('Mul', [layers.node('MatMul', [pictures, turned]), layers.constant(scalar(10))])
  layers.output('logits_per_image', alike, ['image_batch_size', 'batch_size'])
  layers.output('logits_per_text', layers.node('Transpose', [alike], { perm: [1, 0] }), ['batch_size', 'image_batch_size']) // prettier-ignore
  layers.output('text_embeds', texts, ['batch_size', hidden])
  layers.output('image_embeds', pictures, ['image_batch_size', hidden])
  return {
    'config.json': { model_type: 'clip', architectures: ['CLIPModel'], projection_dim: hidden },
    ...tokenizerFiles('CLIPTokenizer'),
    ...pictureFile('CLIPImageProcessor', 32),
    'onnx/model.onnx': writeModel(layers.graph.toModel()),
  }
}
