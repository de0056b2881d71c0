// What kill.slow.test.ts runs as a process of its own: MODE PATH PLANS…
import { cpSync } from 'node:fs'
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'
import { argv, stdout } from 'node:process'

const [mode, path = '', ...rest] = argv.slice(2)

/** Copies the folder of `path` before each call of the file system: what a process that is killed there leaves. */
async function copyBeforeCalls(path: string, copies: string): Promise<void> {
  let calls = 0
  const counting = (owner: object, names: readonly string[]): void => {
    const functions = owner as Record<string, (...args: unknown[]) => unknown>
    for (const name of names) {
      const original = functions[name]
      functions[name] = function (this: unknown, ...args) {
        cpSync(dirname(path), join(copies, String(calls++)), { recursive: true })
        return original?.apply(this, args)
      }
    }
  }
  const file = await fs.open(argv[1] ?? '')
  counting(Object.getPrototypeOf(file) as object, ['read', 'write', 'sync', 'readFile'])
  await file.close()
  counting(fs, ['open', 'rename', 'rm', 'stat', 'lstat', 'realpath', 'readdir'])
  syncBuiltinESMExports()
}

const { Plan } = await import('../../lib/plan.js')
/** As a builder would have made it, so that a sidecar has something to say. */
const read = async (bare: string) => {
  const { bytes, info, sha256 } = await Plan.load(bare)
  return new Plan(bytes, { ...info, builtBy: bare }, sha256)
}

if (mode === 'forever') {
  const plans = await Promise.all(rest.map(read))
  for (let i = 0; ; i++) {
    await plans[i % plans.length]?.save(path)
    if (i === 0) stdout.write('saved\n')
  }
} else if (mode === 'copied') {
  const plan = await read(rest[0] ?? '')
  await copyBeforeCalls(path, rest[1] ?? '')
  await plan.save(path)
} else if (mode === 'times') {
  const plan = await read(rest[0] ?? '')
  for (let i = 0; i < Number(rest[1]); i++) await plan.save(path)
} else if (mode === 'full') {
  // ever less stands in the way, of a disk of 8 MiB that has the small plan: the large one has 2.2 MB
  const [small, large] = await Promise.all(rest.map(read))
  const target = join(path, 'model.plan')
  const rounds = []
  for (let free = 0; free <= 4096; free += free < 64 ? 4 : 512) {
    await fs.rm(join(path, 'filler'), { force: true })
    await small?.save(target)
    await fs.writeFile(join(path, 'filler'), '')
    const filler = await fs.open(join(path, 'filler'), 'a')
    const { bavail, bsize } = await fs.statfs(path)
    await filler.write(new Uint8Array(Math.max(0, bavail * bsize - free * 1024)))
    await filler.close()
    const failure = await large?.save(target).catch((error: unknown) => error)
    const { code = 'saved', cause } = (failure ?? {}) as { code?: string; cause?: { code?: string } }
    const { sha256 } = await Plan.load(target)
    rounds.push({ free, code, cause: cause?.code, sha256, files: (await fs.readdir(path)).sort() })
  }
  stdout.write(JSON.stringify(rounds))
}
