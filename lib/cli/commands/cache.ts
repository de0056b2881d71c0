import { Command } from 'commander'
import { isThere } from '../../base/files.js'
import { commandOf, configured } from '../command.js'
import type { Refuse } from '../flags.js'
import { plural } from '../../benchmark/report/numbers.js'
import { bytesText } from '../output/format.js'
import { needFolder } from '../output/writable.js'
import { early } from '../refusal.js'
import type { Session } from '../session.js'

const cacheFlags = {
  '--folder <DIR>': 'of the cache; else $NODE_TENSORRT_CACHE, or the one in the home folder',
} as const

/** `trt cache list`, `trt cache clear`: the plans that {@link EngineCache} keeps. */
export function command(session: Session): Command {
  return configured(new Command('cache'), session)
    .addHelpText('after', `\nExample:\n  ${session.name} cache list`)
    .addCommand(listing(session).description('list them, the one that was not used for longest first'))
    .addCommand(clearing(session).description('remove them, but for those in use'))
}

function listing(session: Session): Command {
  return commandOf(session, 'cache list', {
    example: '',
    flags: cacheFlags,
    run: async ({ flags: { folder }, refuse }) => {
      await using cache = await open(folder, refuse)
      const entries = await cache.entries({ signal: session.signal })
      const total = entries.reduce((sum, { bytes }) => sum + bytes, 0)
      session.result(entries, () => {
        if (entries.length === 0) return 'No plan is kept.'
        const rows = entries.map(({ key, bytes, usedAt }) => [
          key.slice(0, 12),
          bytesText(bytes),
          usedAt.toISOString().slice(0, 16).replace('T', ' '),
        ])
        return `${session.table(['plan', 'size', 'last used (UTC)'], rows)}\n${plural(entries.length, 'plan')}, ${bytesText(total)}`
      })
    },
  })
}

function clearing(session: Session): Command {
  return commandOf(session, 'cache clear', {
    example: '',
    flags: cacheFlags,
    run: async ({ flags: { folder }, refuse }) => {
      await using cache = await open(folder, refuse)
      const before = await cache.entries({ signal: session.signal })
      await cache.clear({ signal: session.signal })
      const kept = await cache.entries({ signal: session.signal })
      const removed = before.length - kept.length
      session.result(
        { removed, kept: kept.length },
        () => `${plural(removed, 'plan')} removed${kept.length > 0 ? `, ${kept.length} in use kept` : ''}`,
      )
    },
  })
}

async function open(folder: string | undefined, refuse: Refuse) {
  if (folder === '') refuse('--folder takes the path of a folder, and received nothing')
  // one that is not there is a cache that nobody used yet
  if (folder !== undefined && (await isThere(folder))) await early(() => needFolder(folder))
  const { EngineCache } = await import('../../cache/engine-cache.js')
  return new EngineCache({ folder })
}
