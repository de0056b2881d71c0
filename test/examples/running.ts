import { fileURLToPath } from 'node:url'
import { type Ended, runNode } from '../support/children.js'

export const cpu = ['--backend', 'cpu']

/** An example, as somebody starts it. */
export function example(name: string, args: readonly string[], env?: NodeJS.ProcessEnv): Promise<Ended> {
  return runNode(
    [fileURLToPath(new URL(`../../examples/${name}/main.js`, import.meta.url)), ...args, ...cpu],
    undefined,
    undefined,
    env,
  )
}
