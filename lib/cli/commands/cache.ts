import { Command } from 'commander'
import { TensorRTError } from '../../errors.js'
import { bytesText, counted } from '../output/format.js'
import { action, configured, newSubcommand } from '../parsing.js'
import type { Session } from '../session.js'
import { summaries } from '../summaries.js'

interface CacheGiven {
  readonly folder?: string | undefined
}

/** `trt cache list`, `trt cache clear`: the plans that {@link EngineCache} keeps. */
export function command(session: Session): Command {
  const cache = configured(new Command('cache'), session)
    .description(summaries.cache)
    .addHelpText('after', `\nExample:\n  ${session.name} cache list`)
  return cache.addCommand(listing(session)).addCommand(clearing(session))
}

function listing(session: Session): Command {
  const list = newSubcommand(session, 'cache', 'list', 'list them, the one that was not used for longest first')
  return action(withFolder(list), session, async ({ folder }: CacheGiven) => {
    await using cache = await open(folder)
    const entries = await cache.entries({ signal: session.signal })
    const total = entries.reduce((sum, { bytes }) => sum + bytes, 0)
    session.result(entries, () => {
      if (entries.length === 0) return 'No plan is kept.'
      const rows = entries.map(({ key, bytes, usedAt }) => [
        key.slice(0, 12),
        bytesText(bytes),
        usedAt.toISOString().slice(0, 16).replace('T', ' '),
      ])
      return `${session.table(['plan', 'size', 'last used (UTC)'], rows, { right: [1] })}\n${counted(entries.length, 'plan')}, ${bytesText(total)}`
    })
  })
}

function clearing(session: Session): Command {
  const clear = newSubcommand(session, 'cache', 'clear', 'remove them, but for those in use')
  return action(withFolder(clear), session, async ({ folder }: CacheGiven) => {
    await using cache = await open(folder)
    const before = await cache.entries({ signal: session.signal })
    await cache.clear({ signal: session.signal })
    const kept = await cache.entries({ signal: session.signal })
    const removed = before.length - kept.length
    session.result(
      { removed, kept: kept.length },
      () => `${counted(removed, 'plan')} removed${kept.length > 0 ? `, ${kept.length} in use kept` : ''}`,
    )
  })
}

function withFolder(command: Command): Command {
  return command.option('--folder <DIR>', 'of the cache; else $NODE_TENSORRT_CACHE, or the one in the home folder')
}

async function open(folder: string | undefined) {
  if (folder === '')
    throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', 'Expected a folder for --folder but received nothing')
  const { EngineCache } = await import('../../cache/engine-cache.js')
  return new EngineCache(folder === undefined ? {} : { folder })
}
