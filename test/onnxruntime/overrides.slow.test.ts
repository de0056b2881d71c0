// A package of other people's that imports onnxruntime-node by name, with npm's overrides that lead it to this package:
// what npm makes of them, install after install, and that the package's answers are those of onnxruntime-node.
import { cpSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import sharp from 'sharp'
import t from 'tap'
import { root, run } from '../package/support.js'
import { temporaryFolder } from '../support/folders.js'

const folder = temporaryFolder(t)
const modules = join(folder, 'node_modules')
const quietly = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts']
const npm = (...args: string[]): Promise<string> => run('npm', [...args, ...quietly], folder)

/** A tarball of what is built here: as `npm run pack` makes it, which tarball.slow.test.ts sees to, but faster. */
async function tarball(): Promise<string> {
  const stage = join(folder, 'package')
  const filter = (path: string): boolean => ['', '.js', '.json', '.proto'].includes(extname(path))
  cpSync(join(root, 'dist', 'lib'), join(stage, 'dist', 'lib'), { recursive: true, filter })
  cpSync(join(root, 'onnxruntime-node'), join(stage, 'onnxruntime-node'), { recursive: true })
  const binary = join('prebuilds', `${process.platform}-${process.arch}`, 'node-tensorrt.node')
  cpSync(join(root, 'build', 'Release', 'node_tensorrt.node'), join(stage, binary))
  const { devDependencies: _, ...manifest } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<
    string,
    unknown
  >
  writeFileSync(join(stage, 'package.json'), JSON.stringify(manifest))
  await run('tar', ['-czf', 'node-tensorrt.tgz', 'package'], folder)
  return 'file:node-tensorrt.tgz'
}

const manifest = {
  name: 'app',
  version: '1.0.0',
  private: true,
  type: 'module',
  dependencies: {
    '@gutenye/ocr-node': '1.4.8',
    'node-tensorrt': await tarball(),
    'onnxruntime-native': 'npm:onnxruntime-node@1.30.0',
    'onnxruntime-node': 'file:node_modules/node-tensorrt/onnxruntime-node',
  },
  overrides: { 'onnxruntime-node': '$onnxruntime-node' },
}

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

const answer = async (): Promise<Answer> =>
  JSON.parse(await run(process.execPath, ['--no-warnings', 'app.js'], folder)) as Answer

t.test('a reader of text on onnxruntime-node runs here without a changed line, and gives the same', async (t) => {
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(folder, 'app.js'), program)
  const words = ['No changed line', 'at all 2026'].map((text, i) => `<text x="30" y="${80 + 90 * i}">${text}</text>`)
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="480" height="220" font-size="46">${words.join('')}</svg>`
  await sharp(Buffer.from(svg)).flatten({ background: 'white' }).png().toFile(join(folder, 'text.png'))

  await npm('install')
  const door = join(modules, 'node-tensorrt', 'onnxruntime-node')
  for (const again of ['install', 'ci']) {
    await npm(again)
    t.equal(realpathSync(join(modules, 'onnxruntime-node')), realpathSync(door), `npm ${again} leaves it there`)
  }

  const ours = await answer()
  t.same(ours.providers, ['cpu', 'cpu'])
  t.match(
    ours.lines.map(({ text }) => text),
    [/No changed line/, /at all 2026/],
  )
  rmSync(join(modules, 'onnxruntime-node'))
  symlinkSync('onnxruntime-native', join(modules, 'onnxruntime-node'))
  const theirs = await answer()
  t.same(theirs.providers, ['theirs', 'theirs'])
  t.same(ours.lines, theirs.lines)
})
