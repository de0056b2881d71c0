import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'
import { root, run } from '../package/support.js'
import { installed } from '../support/needs.js'

/** What runs the models of an app: this package in the place of onnxruntime-node, or onnxruntime-node itself. */
export type Runtime = 'ours' | 'theirs'

/** An app in a folder, with npm's overrides, and onnxruntime-node under another name beside it. */
export class App {
  readonly folder: string
  /** Where the overrides lead to. */
  readonly door: string
  readonly link: string

  constructor(folder: string) {
    this.folder = folder
    this.door = join(folder, 'node_modules', 'node-tensorrt', 'onnxruntime-node')
    this.link = join(folder, 'node_modules', 'onnxruntime-node')
  }

  /**
   * Installs the dependencies, and a program app.mjs. Call it before the first test: without the npm registry the whole
   * file is skipped.
   * @param native onnxruntime-node under its other name: installed as the guide says, or linked to that of the
   * repository, which takes no time
   */
  async install(
    dependencies: Readonly<Record<string, string>>,
    program: string,
    native: 'installed' | 'linked',
  ): Promise<void> {
    const manifest = {
      name: 'app',
      version: '1.0.0',
      private: true,
      dependencies: {
        ...dependencies,
        'node-tensorrt': await packBuilt(this.folder),
        ...(native === 'installed'
          ? { 'onnxruntime-native': 'npm:onnxruntime-node@1.30.0' }
          : { 'onnxruntime-common': '1.30.0' }),
        'onnxruntime-node': 'file:node_modules/node-tensorrt/onnxruntime-node',
      },
      overrides: { 'onnxruntime-node': '$onnxruntime-node' },
    }
    writeFileSync(join(this.folder, 'package.json'), JSON.stringify(manifest))
    writeFileSync(join(this.folder, 'app.mjs'), program)
    await this.npm('install')
    if (native === 'linked') {
      await this.npm('install') // again: it leaves the door where it is, and would take away what is linked
      symlinkSync(join(root, 'node_modules', 'onnxruntime-node'), join(dirname(this.link), 'onnxruntime-native'))
    }
  }

  /** Without install scripts and, where npm has them by now, without fetching packages anew. */
  async npm(command: string): Promise<void> {
    const quietly = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts']
    await installed(run('npm', [command, ...quietly], this.folder))
  }

  /** Puts one in the place of onnxruntime-node. */
  use(runtime: Runtime): void {
    rmSync(this.link)
    symlinkSync(runtime === 'ours' ? this.door : 'onnxruntime-native', this.link)
  }

  /** What the program prints, as JSON. */
  async answer(before: readonly string[] = [], after: readonly string[] = []): Promise<unknown> {
    const printed = await run(process.execPath, ['--no-warnings', ...before, 'app.mjs', ...after], this.folder)
    return JSON.parse(printed)
  }
}

/**
 * Puts a tarball of what is built here into the folder: what `npm run pack` makes, which tarball.slow.test.ts sees to,
 * but faster. Returns how a manifest there names it.
 */
export async function packBuilt(folder: string): Promise<string> {
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
  await run('tar', ['-cf', 'node-tensorrt.tar', 'package'], folder)
  return 'file:node-tensorrt.tar'
}
