// @ts-check
// node scripts/generate-serving-messages.mjs: lib/kserve/messages/*_pb.ts, made of the files *.proto beside them by buf
// and protoc-gen-es, which are fetched into a temporary folder. The generated enumerations become objects:
// `erasableSyntaxOnly` forbids TypeScript's own.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { main, root } from './support.mjs'

const messages = 'lib/kserve/messages'

await main(async () => {
  const tools = mkdtempSync(join(tmpdir(), 'protogen-'))
  try {
    execFileSync('npm', ['install', '--silent', '--prefix', tools, '@bufbuild/buf', '@bufbuild/protoc-gen-es@2.17.0'], {
      stdio: 'inherit',
    })
    const template = {
      version: 'v2',
      plugins: [{ local: 'protoc-gen-es', out: messages, opt: ['target=ts', 'import_extension=js'] }],
    }
    const PATH = `${join(tools, 'node_modules', '.bin')}:${process.env['PATH'] ?? ''}`
    execFileSync('buf', ['generate', messages, '--template', JSON.stringify(template)], {
      cwd: root,
      env: { ...process.env, PATH },
      stdio: 'inherit',
    })
    for (const name of readdirSync(join(root, messages)).filter((each) => each.endsWith('_pb.ts'))) {
      const file = join(root, messages, name)
      writeFileSync(file, withoutEnums(readFileSync(file, 'utf8')))
    }
  } finally {
    rmSync(tools, { recursive: true, force: true })
  }
})

/** `export enum A { B = 1 }` as an object of the same names, and a type of its values. */
function withoutEnums(/** @type {string} */ text) {
  return text.replaceAll(/^export enum (\w+) \{\n([^}]*)^\}/gm, (_, name, body) => {
    const members = String(body).replaceAll(/^( *\w+) = (-?\d+),$/gm, '$1: $2,')
    return `export const ${name} = {\n${members}} as const;\nexport type ${name} = (typeof ${name})[keyof typeof ${name}];`
  })
}
