// @ts-check
// node scripts/generate-serving-messages.mjs: lib/serve/config/model_config_pb.ts, made of model_config.proto beside it by buf and protoc-gen-es, which
// are fetched into a temporary folder. The generated enumerations become objects: `erasableSyntaxOnly` forbids TypeScript's own.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { main, root } from './support.mjs'

await main(async () => {
  const tools = mkdtempSync(join(tmpdir(), 'protogen-'))
  try {
    execFileSync('npm', ['install', '--silent', '--prefix', tools, '@bufbuild/buf', '@bufbuild/protoc-gen-es@2.17.0'], { stdio: 'inherit' })
    const template = {
      version: 'v2',
      plugins: [{ local: 'protoc-gen-es', out: 'lib/serve/config', opt: ['target=ts', 'import_extension=js'] }],
    }
    const PATH = `${join(tools, 'node_modules', '.bin')}:${process.env['PATH'] ?? ''}`
    execFileSync('buf', ['generate', 'lib/serve/config', '--template', JSON.stringify(template)], {
      cwd: root,
      env: { ...process.env, PATH },
      stdio: 'inherit',
    })
    const file = join(root, 'lib', 'serve', 'config', 'model_config_pb.ts')
    writeFileSync(file, withoutEnums(readFileSync(file, 'utf8')))
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
