import { cpSync } from 'node:fs'
import { join } from 'node:path'
import type { buildFakes } from '../fake/build.js'
import { controlFakes } from '../fake/control.js'
import { processFolder } from '../support/folders.js'
import type { FakeFamily } from './fakes.js'

/**
 * A second TensorRT 10, which says that it is of an older version: a copy is a library of its own. It is gone when the
 * process ends.
 */
export function olderFamily(
  fakes: Awaited<ReturnType<typeof buildFakes>>,
  version: readonly [10, number, number],
): FakeFamily {
  const folder = processFolder()
  const path = join(folder, 'trt10')
  cpSync(fakes.trt10, path, { recursive: true })
  const { runtime: control, parser } = controlFakes({ ...fakes, trt10: path }).trt10
  for (const library of [control, parser]) library.set({ version: version.join('.') })
  return { name: 'TensorRT 10', fullName: `TensorRT ${version.join('.')}`, version, path, control, parser }
}
