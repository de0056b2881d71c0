import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Plan } from '../../lib/index.js'
import { Builder, type BuildInfo } from '../../lib/index.js'
import { oneNode } from '../support/models.js'

/** A folder of one test, and the path of a plan in it. */
export const inFolder = (
  t: { readonly testdir: (content?: Record<string, string>) => string },
  name = 'model.plan',
): string => join(t.testdir({}), name)

/** A small real plan; another for another width. */
export const smallPlan = (width = 4): Promise<Plan<BuildInfo>> => new Builder().build(oneNode('Relu', [1, width]))

export interface SidecarFile {
  format: string
  version: number
  plans: Record<string, { size: number; savedAt: string; savedBy: string; info: Record<string, unknown> }>
}

export const readSidecar = async (plan: string): Promise<SidecarFile> =>
  JSON.parse(await readFile(`${plan}.json`, 'utf8')) as SidecarFile

/** Changes what the sidecar says of how its only plan came about. */
export async function editInfo(plan: string, change: Record<string, unknown>): Promise<void> {
  const sidecar = await readSidecar(plan)
  for (const entry of Object.values(sidecar.plans)) Object.assign(entry.info, change)
  await writeFile(`${plan}.json`, JSON.stringify(sidecar))
}
