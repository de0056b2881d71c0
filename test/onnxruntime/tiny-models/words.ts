const special = ['[PAD]', '[UNK]', '[CLS]', '[SEP]'] as const

/** Words that the tiny models know; what is none of them becomes [UNK]. */
const words = [
  ...'the a an of to and in is it this that was with for on as at by from are be not you we they he she all one'.split(' '),
  ...'photo picture cat dog tiger horse house tree red green blue small large good bad day night river city'.split(' '),
  ...'reads writes runs sleeps sings falls opens closes begins ends never always soon later here there . , ! ?'.split(' '),
] // prettier-ignore

const vocabulary: readonly string[] = [...special, ...words]

/** How many tokens there are. */
export const tokenCount = vocabulary.length

/** The numbers of the tokens that mean something else than a word. */
export const tokenIds = { pad: 0, unknown: 1, start: 2, end: 3 } as const

const token = (id: number) => ({
  id,
  content: vocabulary[id],
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: false,
  special: true,
})

const around = (...ids: readonly (readonly ['SpecialToken' | 'Sequence', string])[]) =>
  ids.map(([kind, id]) => ({ [kind]: { id, type_id: 0 } }))

/** tokenizer.json and tokenizer_config.json of a tokenizer of whole words, each text between [CLS] and [SEP]. */
export function tokenizerFiles(tokenizerClass: string): Readonly<Record<string, object>> {
  const [start, end] = ['[CLS]', '[SEP]']
  return {
    'tokenizer.json': {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: special.map((_, id) => token(id)),
      normalizer: { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true }, // prettier-ignore
      pre_tokenizer: { type: 'BertPreTokenizer' },
      post_processor: {
        type: 'TemplateProcessing',
        single: around(['SpecialToken', start], ['Sequence', 'A'], ['SpecialToken', end]),
        pair: around(['SpecialToken', start], ['Sequence', 'A'], ['SpecialToken', end], ['Sequence', 'B']),
        special_tokens: {
          [start]: { id: start, ids: [tokenIds.start], tokens: [start] },
          [end]: { id: end, ids: [tokenIds.end], tokens: [end] },
        },
      },
      decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
      model: {
        type: 'WordPiece',
        unk_token: '[UNK]',
        continuing_subword_prefix: '##',
        max_input_chars_per_word: 100,
        vocab: Object.fromEntries(vocabulary.map((word, id) => [word, id])),
      },
    },
    'tokenizer_config.json': {
      tokenizer_class: tokenizerClass,
      pad_token: '[PAD]',
      unk_token: '[UNK]',
      cls_token: start,
      sep_token: end,
      bos_token: start,
      eos_token: end,
      model_max_length: 128,
      clean_up_tokenization_spaces: true,
    },
  }
}

/** A tokenizer of letters, whose answers repeat, as connectionist temporal classification has them. */
export function letterFiles(): Readonly<Record<string, object>> {
  const letters = ['<pad>', '<s>', '</s>', '<unk>', '|', ...'E T A O I N S H R D L U'.split(' ')]
  return {
    'tokenizer.json': {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: letters.slice(0, 4).map((content, id) => ({ ...token(id), content })),
      normalizer: null,
      pre_tokenizer: { type: 'Split', pattern: { Regex: '' }, behavior: 'Isolated', invert: false },
      post_processor: null,
      decoder: { type: 'CTC', pad_token: '<pad>', word_delimiter_token: '|', cleanup: true },
      model: {
        type: 'WordPiece',
        unk_token: '<unk>',
        continuing_subword_prefix: '',
        max_input_chars_per_word: 100,
        vocab: Object.fromEntries(letters.map((letter, id) => [letter, id])),
      },
    },
    'tokenizer_config.json': {
      tokenizer_class: 'Wav2Vec2CTCTokenizer',
      pad_token: '<pad>',
      bos_token: '<s>',
      eos_token: '</s>',
      unk_token: '<unk>',
      word_delimiter_token: '|',
      model_max_length: 1024,
    },
  }
}

/** How many letters there are. */
export const letterCount = 17
