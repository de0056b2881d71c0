import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findPeer } from './peer.js'

/** The installed package that has onnxruntime's library. */
export interface RuntimePackage {
  readonly name: RuntimeName
  readonly folder: string
  readonly version: string | undefined
}

type RuntimeName = (typeof names)[number]

/**
 * The names that onnxruntime-node is installed under, in the order they are looked for. The first is an alias, for
 * programs whose overrides put this package in the place of onnxruntime-node:
 * `"onnxruntime-native": "npm:onnxruntime-node@^1.30.0"`.
 */
const names = ['onnxruntime-native', 'onnxruntime-node'] as const

/**
 * Where onnxruntime-node is installed, under its own name or the alias; nothing where it is not. One that has no
 * library counts where there is no better one, since an error has to name it. The folder onnxruntime-node of this
 * package, which overrides lead to, does not count.
 */
export function findRuntimePackage(): RuntimePackage | undefined {
  const found = names.map(installed).filter((one) => one !== undefined && !one.leadsBack)
  return found.find((one) => one !== undefined && existsSync(join(one.folder, 'bin'))) ?? found[0]
}

/** The module that onnxruntime-node is. Throws where it is not installed. */
export function findRuntimeModule(): string {
  const found = findRuntimePackage()
  if (found !== undefined) return findPeer(found.name)
  if (isRuntimeReplaced()) throw new Error('onnxruntime-node is a part of node-tensorrt here, and there is no other')
  return findPeer('onnxruntime-node')
}

/** Whether onnxruntime-node is this package's stand-in for it, to which overrides lead. */
export function isRuntimeReplaced(): boolean {
  return installed('onnxruntime-node')?.leadsBack === true
}

function installed(name: RuntimeName): (RuntimePackage & { readonly leadsBack: boolean }) | undefined {
  try {
    const path = findPeer(`${name}/package.json`)
    const { version, standsFor } = JSON.parse(readFileSync(path, 'utf8')) as { version?: string; standsFor?: string }
    return { name, folder: dirname(path), version, leadsBack: standsFor !== undefined }
  } catch {
    return undefined
  }
}
