// The types, in a folder outside of the project: programs as a stranger writes them in each module mode, and what
// TypeScript has to refuse.
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { installPackage } from '../engine/installed.js'
import { temporaryFolder } from '../support/folders.js'
import { long } from '../support/tiers.js'
import { readText, root, run } from './support.js'

// what of it is packed is held by tarball.slow.test.ts
const folder = temporaryFolder(t)
installPackage(folder, { addon: false })
for (const name of ['onnxruntime-node', 'onnxruntime-common', '@types'])
  symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
// what overrides of onnxruntime-node point at, beside the real one
cpSync(join(root, 'onnxruntime-node'), join(folder, 'node_modules', 'onnxruntime-stand-in'), { recursive: true })

/** Today's TypeScript, and the one before it. */
const compilers = ['typescript-native', ...(long ? ['typescript'] : [])].map((name) =>
  join(root, 'node_modules', name, 'bin/tsc'),
)
const strict = [
  '--strict',
  '--exactOptionalPropertyTypes',
  '--noUncheckedIndexedAccess',
  '--types',
  'node',
  '--target',
  'es2022',
]

/**
 * Compiles programs in the stranger's folder, each a list of arguments of tsc; tells what TypeScript says of each,
 * which is nothing where all is well.
 */
async function tsc(...programs: readonly (readonly string[])[]): Promise<string[]> {
  const said: string[] = []
  for (const args of programs) {
    const compiling = compilers.map((compiler) =>
      run(process.execPath, [compiler, ...strict, '--pretty', 'false', ...args], folder).catch((error: unknown) => {
        const { stdout, message } = error as Error & { stdout?: string }
        return stdout || message
      }),
    )
    said.push((await Promise.all(compiling)).join(''))
  }
  return said
}

interface Mode {
  readonly name: string
  readonly extension: 'mts' | 'cts'
  readonly lib: string
  readonly options: readonly string[]
}

// TypeScript refuses to require ES modules under node16
const everyMode: readonly Mode[] = [
  { name: 'ESM, node16', extension: 'mts', options: ['--module', 'node16'], lib: 'es2022' },
  { name: 'ESM, nodenext', extension: 'mts', options: ['--module', 'nodenext'], lib: 'es2023,esnext.disposable,dom' },
  {
    name: 'ESM, bundler',
    extension: 'mts',
    options: ['--module', 'esnext', '--moduleResolution', 'bundler'],
    lib: 'esnext',
  },
  { name: 'CommonJS, node20', extension: 'cts', options: ['--module', 'node20'], lib: 'es2022' },
  { name: 'CommonJS, nodenext', extension: 'cts', options: ['--module', 'nodenext'], lib: 'es2022,dom' },
]
const modes = everyMode.filter(({ name }) => long || name.endsWith('nodenext'))

const programs = readdirSync(join(root, 'test/types/programs')).map((file) => ({
  file,
  text: readText(`test/types/programs/${file}`),
}))

/** What a program's last comment says that it prints, without the addon, which a tarball may have or not. */
const toPrint = (program: string): string => {
  const [, said = ''] = programs.find(({ file }) => file === `${program}.ts`)?.text.split('\n// It prints:\n') ?? []
  return said.replaceAll(/^\/\/ /gm, '')
}
/**
 * What was printed, by what was run: modes that differ in how types are found make the same code, which is run once.
 */
const ran = new Map<string, string>()

const inModes = modes.map(({ name, extension, options, lib }) => {
  const place = name.replace(/\W+/g, '-')
  mkdirSync(join(folder, place))
  // the types of onnxruntime itself need those of the browser
  const here = programs.filter(({ text }) => lib.includes('dom') || !/'.*onnxruntime(-node)?'/.test(text))
  const files = here.map(({ file, text }) => {
    const path = join(place, file.replace(/ts$/, extension))
    writeFileSync(join(folder, path), text)
    return path
  })
  // the declarations are the same in each mode, and with those of browsers they take longer than all programs
  const skip = String(!long && name !== 'ESM, nodenext')
  return { name, extension, files, args: [...options, '--lib', lib, '--skipLibCheck', skip, ...files] }
})

const entries = ['', '/benchmark', '/onnx', '/onnxruntime/register', '/quantization', '/tasks', '/vision']
writeFileSync(join(folder, 'entries.mts'), entries.map((entry) => `import 'node-tensorrt${entry}'\n`).join(''))

cpSync(join(root, 'test/types/refused.ts'), join(folder, 'refused.mts'))
const half = `
  import { Tensor } from 'node-tensorrt'
  export const made: Tensor<'float16'> = new Tensor('float16', new Float16Array(2), [2])
  export const from: Tensor<'float16'> = Tensor.from(new Float16Array(2))
  // @ts-expect-error it is no float32
  export const wrong: Tensor<'float32'> = Tensor.from(new Float16Array(2))`
writeFileSync(join(folder, 'half.mts'), half)

const moreIn: Readonly<Record<string, readonly string[]>> = {
  'ESM, nodenext': ['entries.mts'],
  'CommonJS, nodenext': ['refused.mts'],
}
const checked = ['--noEmit', '--skipLibCheck', '--module', 'nodenext', '--lib']
const [saidOfHalf, ...saidOfPrograms] = await tsc(
  [...checked, 'esnext', 'half.mts'],
  // every entry with all that it declares in one of them, and in another what has to be refused
  ...inModes.map(({ name, args }) => [...args, ...(moreIn[name] ?? [])]),
)

/** Messages of tsc about refused.mts, with the lines that belong to them. */
const ofRefused = /^refused\.mts.*\n(?: .*\n)*/gm

for (const [i, { name, extension, files }] of inModes.entries()) {
  t.test(`${name}: the programs compile and run`, async (t) => {
    t.equal(saidOfPrograms[i]?.replaceAll(ofRefused, ''), '')
    for (const file of files) {
      const program = basename(file, `.${extension}`)
      const path = file.replace(/ts$/, 'js')
      const code = `${extension} ${readFileSync(join(folder, path), 'utf8')}`
      const output =
        ran.get(code) ?? (await run(process.execPath, ['--no-warnings', path], folder, { NODE_TENSORRT_PORTABLE: '1' }))
      ran.set(code, output)
      t.not(output, '', `${program} printed something`)
      t.equal(output, toPrint(program), program)
    }
  })
}

t.test('what TypeScript has to refuse, it refuses', async (t) => {
  t.same(saidOfPrograms.flatMap((said) => said.match(ofRefused) ?? []), []) // prettier-ignore
})

t.test('Float16Array, for those whose library has it', async (t) => {
  t.equal(saidOfHalf, '')
})
