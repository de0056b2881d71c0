// @ts-check
// Other versions of Node for test:long: the oldest that package.json allows of each line, and newer ones. From their
// npm packages, once, into the user's cache.
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder, collect, Failure, withLock } from './support.mjs'

/** @type {Record<string, Record<string, string>>} versions, with the packages' digests by architecture */
export const nodes = {
  '20.19.0': { x64: 'sha512-HzVYgEgabV/n3nP2F9mcxS0Nxgg99jynX9CMovakLmSYTuTdQRbbtw0yadY8+qKcqXfiDAtb2hmtR7nDPzclGA==' },
  '22.12.0': { x64: 'sha512-4khrFzyJU/IdeFo3m5vByubF9TkuPHJzJbKyOWtJp6tXofuNEV+t+d4w6+i9tSYJIjlaZIv8Xbm8hlL5UXIBaQ==' },
  '24.21.0': { x64: 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==' },
  '26.10.0': { x64: 'sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==' },
}

/** @type {Record<string, Record<string, string>>} the same of a version on which the package does not run */
const tooOld = {
  '18.20.8': { x64: 'sha512-JWUTwZ9vMOjZXMtiBc74OZn12DXb4skKfY4Nlyc17Ss8BTaxjwkXAw6xZb0Ck5afUYU/neBbrHjo9O3baF34ww==' },
}

/** @returns {Promise<string>} the path of its executable */
export const ensureNode = async (/** @type {string} */ version) => {
  const digest = { ...nodes, ...tooOld }[version]?.[process.arch]
  if (!digest) throw new Failure(`no Node ${version} is known for ${process.platform} ${process.arch}`)
  const cache = cacheFolder()
  const folder = join(cache, `node-${version}`)
  const name = `node-${process.platform}-${process.arch}`
  const path = join(folder, 'node_modules', name, 'bin', 'node')
  const fetch = async () => {
    if (existsSync(path)) return
    // complete, or not there
    const temporary = mkdtempSync(join(cache, `node-${version}.`))
    const args = ['install', '--prefix', temporary, '--no-audit', '--no-fund', '--ignore-scripts', `${name}@${version}`]
    const { code, output } = await collect('npm', args, { cwd: temporary })
    if (code !== 0) throw new Failure(`Node ${version} could not be fetched:\n${output}`)
    const lock = JSON.parse(readFileSync(join(temporary, 'package-lock.json'), 'utf8'))
    const got = lock.packages[`node_modules/${name}`]?.integrity
    if (got !== digest)
      throw new Failure(`Node ${version} is not the one that is known: expected ${digest} but received ${got}`)
    rmSync(folder, { recursive: true, force: true })
    renameSync(temporary, folder)
  }
  await withLock(`node-${version}`, fetch, cache)
  return path
}
