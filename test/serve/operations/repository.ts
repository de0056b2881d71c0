import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { oneNode } from '../../support/models.js'

/** A model of one node below a repository: rows of four numbers, on the CPU. */
export function addOneNode(
  repository: string,
  name: string,
  { op = 'Identity', version = '1', config = '' } = {},
): void {
  const folder = join(repository, name, version)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'model.onnx'), oneNode(op, ['n', 4]))
  if (config !== '') writeFileSync(join(repository, name, 'config.pbtxt'), config)
}

/** A model file in a new folder. */
export function addFile(folder: string, below: string, bytes: Uint8Array): void {
  mkdirSync(join(folder, below), { recursive: true })
  writeFileSync(join(folder, below, 'model.onnx'), bytes)
}

/** A folder that is taken for a model, and is none. */
export function addBroken(repository: string, name: string): void {
  mkdirSync(join(repository, name, '1'), { recursive: true })
  writeFileSync(join(repository, name, '1', 'model.onnx'), 'no model')
}
