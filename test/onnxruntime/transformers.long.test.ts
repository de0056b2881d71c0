// transformers.js 4 on models of six architectures that are made here, texts, pictures and sound in, pipelines and
// generate(): the same numbers as on onnxruntime-node, by each way in.
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { processFolder } from '../support/folders.js'
import { App } from './installing.js'
import { writeTinyModels } from './tiny-models/index.js'

const program = `
  import * as transformers from '@huggingface/transformers'
  const { AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer, env, pipeline, RawImage } = transformers
  env.allowRemoteModels = false
  env.localModelPath = 'models'
  const [device] = process.argv.slice(2)
  const options = { dtype: 'fp32', ...(device && { device }) }
  const plain = (value) => JSON.parse(JSON.stringify(value, (_, each) => {
    if (typeof each === 'bigint') return Number(each)
    const { type, dims, data } = each ?? {}
    return dims && data ? { type, dims, data: Array.from(data, Number) } : each
  }))
  const answers = {}
  const providers = new Set()
  const see = ({ sessions }) => {
    for (const session of Object.values(sessions)) providers.add(session.provider ?? 'theirs')
  }
  const use = async (task, model, ...args) => {
    const made = await pipeline(task, model, options)
    see(made.model)
    answers[task] = plain(await made(...args))
    await made.dispose()
  }
  const generate = async (Model, name, more) => {
    const [tokenizer, model] = [await AutoTokenizer.from_pretrained(name), await Model.from_pretrained(name, options)]
    see(model)
    const texts = tokenizer(['the night begins', 'a city'], { padding: true })
    answers[name] = plain(await model.generate({ ...texts, max_new_tokens: 10, ...more }))
    await model.dispose()
  }
  const image = new RawImage(Uint8ClampedArray.from({ length: 40 * 30 * 3 }, (_, i) => (i * 7919) % 256), 40, 30, 3)
  const sound = Float32Array.from({ length: 16000 }, (_, i) => Math.sin((i * i) / 40000))

  await use('feature-extraction', 'bert-features', ['the cat reads', 'a small dog sings here .'])
  await use('text-classification', 'bert-classes', ['this is good', 'never a bad day in the city !'], { top_k: 2 })
  await use('text2text-generation', 't5', ['the cat reads', 'a small dog'], { max_new_tokens: 12 })
  await generate(AutoModelForSeq2SeqLM, 't5', {})
  await use('text-generation', 'gpt2', 'the river', { max_new_tokens: 12, do_sample: false })
  await generate(AutoModelForCausalLM, 'gpt2', { return_dict_in_generate: true })
  await use('image-classification', 'vit', image, { top_k: 4 })
  await use('automatic-speech-recognition', 'wav2vec2', sound)
  await use('zero-shot-image-classification', 'clip', image, ['cat', 'red tree', 'the house'])
  console.log(JSON.stringify({ answers, providers: [...providers] }))`

interface Answer {
  readonly answers: Readonly<Record<string, unknown>>
  readonly providers: readonly string[]
}

const app = new App(processFolder())
await app.install({ '@huggingface/transformers': '^4.3' }, program, 'installed')
await app.npm('ci')

t.test('six architectures of transformers.js, by each way in', async (t) => {
  t.equal(realpathSync(app.link), realpathSync(app.door), 'npm ci leaves it there')
  writeTinyModels(join(app.folder, 'models'))
  const answer = async (before: readonly string[] = [], device?: string): Promise<Answer> =>
    (await app.answer(before, device === undefined ? [] : [device])) as Answer

  const overridden = await answer()
  app.use('theirs')
  const theirs = await answer()
  t.same(theirs.providers, ['theirs'])
  t.equal(Object.keys(theirs.answers).length, 9)
  const preload = ['--import', 'node-tensorrt/onnxruntime/register']
  const ours: Readonly<Record<string, Answer>> = {
    overrides: overridden,
    'the symbol': await answer(preload, 'auto'),
    '--require': await answer(['--require', 'node-tensorrt/onnxruntime']),
  }
  for (const [way, { answers, providers }] of Object.entries(ours)) {
    t.same(providers, ['cpu'], way)
    for (const [what, value] of Object.entries(theirs.answers)) t.strictSame(answers[what], value, `${what} by ${way}`)
  }
  await t.rejects(answer(preload), /Unsupported device: "cpu"/, 'what stands under the symbol has no devices there')
})
