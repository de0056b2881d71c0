// A package of other people's that imports onnxruntime-node by name, with npm's overrides that lead it to this package:
// that npm leaves them so, and that the package's answers are those of onnxruntime-node. `npm ci`, which takes long, is
// in transformers.long.test.ts.
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import t from 'tap'
import { processFolder } from '../support/folders.js'
import { App } from './installing.js'

const program = `
  import { InferenceSession } from 'onnxruntime-node'
  import Ocr from '@gutenye/ocr-node'
  const { create } = InferenceSession
  const providers = []
  InferenceSession.create = async (...args) => {
    const session = await create.apply(InferenceSession, args)
    providers.push(session.provider ?? 'theirs')
    return session
  }
  const lines = await (await Ocr.create()).detect('text.png')
  console.log(JSON.stringify({ providers, lines }))`

interface Answer {
  readonly providers: readonly string[]
  readonly lines: readonly { readonly text: string }[]
}

const app = new App(processFolder())
await app.install({ '@gutenye/ocr-node': '1.4.8' }, program, 'linked')

t.test('a reader of text on onnxruntime-node runs here without a changed line, and gives the same', async (t) => {
  const answer = async (): Promise<Answer> => (await app.answer()) as Answer
  const words = ['No changed line', 'at all 2026'].map((text, i) => `<text x="30" y="${80 + 90 * i}">${text}</text>`)
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="480" height="220" font-size="46">${words.join('')}</svg>`
  await sharp(Buffer.from(svg)).flatten({ background: 'white' }).png().toFile(join(app.folder, 'text.png'))
  t.equal(realpathSync(app.link), realpathSync(app.door), 'npm install leaves it there')

  const ours = await answer()
  t.same(ours.providers, ['cpu', 'cpu'])
  t.match(
    ours.lines.map(({ text }) => text),
    [/No changed line/, /at all 2026/],
  )
  app.use('theirs')
  const theirs = await answer()
  t.same(theirs.providers, ['theirs', 'theirs'])
  t.same(ours.lines, theirs.lines)
})
