// @ts-check
// What bench/ort.ts measures: a folder with @gutenye/ocr-node on onnxruntime-node, and one with the same on this
// package, which stands in the place that overrides lead to.
import { cpSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, runQuietly, withLock } from './support.mjs'

const dependencies = { '@gutenye/ocr-node': '1.4.8', 'onnxruntime-node': '1.30.0' }
const quietly = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts']

/** @returns {Promise<{ ours: string, theirs: string }>} the two folders */
export const ensureOcrApps = () =>
  withLock('ocr-apps', async () => {
    const folder = join(root, 'build', 'bench', 'ocr')
    const [ours, theirs, complete] = [join(folder, 'ours'), join(folder, 'theirs'), join(folder, 'complete')]
    if (!existsSync(complete)) {
      rmSync(folder, { recursive: true, force: true })
      mkdirSync(theirs, { recursive: true })
      const manifest = { private: true, dependencies, overrides: { 'onnxruntime-node': '$onnxruntime-node' } }
      writeFileSync(join(theirs, 'package.json'), JSON.stringify(manifest))
      await runQuietly('npm', ['install', ...quietly], { what: 'installing @gutenye/ocr-node', cwd: theirs })
      const peer = join(theirs, 'node_modules', 'onnxruntime-node')
      cpSync(theirs, ours, { recursive: true, filter: (path) => path !== peer, verbatimSymlinks: true })
      symlinkSync(root, join(ours, 'node_modules', 'node-tensorrt'))
      writeFileSync(complete, '')
    }
    // a copy: what a link leads to would look for node-tensorrt beside itself
    cpSync(join(root, 'onnxruntime-node'), join(ours, 'node_modules', 'onnxruntime-node'), { recursive: true })
    return { ours, theirs }
  })
