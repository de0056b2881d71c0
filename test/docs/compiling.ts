// Fences as strict TypeScript: those of TypeScript and of JavaScript, modules and CommonJS.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, run } from '../package/support.js'
import { type Fence, isCommonJs } from './pages.js'
import { nameOf } from './running.js'

const compiler = join(root, 'node_modules/typescript-native/bin/tsc')
const strict = [
  '--strict',
  '--exactOptionalPropertyTypes',
  '--noUncheckedIndexedAccess',
  '--skipLibCheck',
  '--allowJs',
  '--checkJs',
]
const mode = ['--types', 'node', '--target', 'es2022', '--module', 'nodenext', '--lib', 'es2023,esnext.disposable']

/** What TypeScript says of each fence, which is nothing where all is well. One process for all of them. */
export async function compile(folder: string, fences: readonly Fence[]): Promise<(fence: Fence) => string> {
  const place = join(folder, 'types')
  mkdirSync(place, { recursive: true })
  const files = fences.map((fence) => {
    const file = `${nameOf(fence)}.${isCommonJs(fence) ? 'cjs' : 'mts'}`
    writeFileSync(join(place, file), isCommonJs(fence) ? fence.text : `${fence.text}export {}\n`)
    return file
  })
  if (files.length === 0) return () => ''
  const args = [compiler, '--noEmit', ...strict, ...mode, '--pretty', 'false', ...files]
  const said = await run(process.execPath, args, place).then(
    () => '',
    (error: unknown) => {
      const { stdout, message } = error as Error & { stdout?: string }
      return stdout || message
    },
  )
  // a message, with the lines below it that belong to it
  const messages = said.split(/\n(?=\S)/).filter((message) => message.trim() !== '')
  const fileOf = (message: string): string => /^([^()\s]+)\(\d+,\d+\)/.exec(message)?.[1] ?? ''
  return (fence) => {
    const own = messages.filter((message) => {
      const file = fileOf(message)
      return !files.includes(file) || file.startsWith(`${nameOf(fence)}.`)
    })
    return own.join('\n').trim()
  }
}
