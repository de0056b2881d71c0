/** What videos may leave behind: their programs, which are children of this process. */
import { readdirSync, readFileSync } from 'node:fs'

/** The numbers of the processes ffmpeg and ffprobe that this one has started, and which run. */
export function programsOfVideos(): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      const [state, parent] = readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ')
      return (
        parent === String(process.pid) && state !== 'Z' && readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('ff')
      )
    } catch {
      return false // it is gone
    }
  })
}
