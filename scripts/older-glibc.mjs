// @ts-check
// What links the prebuilt binary for older systems. The machine's own compiler makes the objects, so that they are as
// fast as a build on the machine itself; zig, of PyPI's wheel `ziglang`, links them with the symbols of an older glibc
// than the machine's, and libstdc++ statically. The wheel is fetched once.
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { collect, Failure, root } from './support.mjs'
import { ensureWheel } from './wheels.mjs'

/** The oldest glibc that the prebuilt binary loads on: that of RHEL 8 and Debian 10. */
export const oldestGlibc = '2.28'

const version = '0.15.2'

/** By Node's names of the architectures: what zig calls the machine, and the wheel. */
const machines = {
  x64: {
    machine: 'x86_64',
    megabytes: 94,
    sha256: ['806316453d1ede7174ed3fefb8e5348154629089c3bb5fe812dfd0e172fac130'],
  },
  arm64: {
    machine: 'aarch64',
    megabytes: 94,
    sha256: ['edc0aa60ec964a4cf462d40f68d7de242ddf37fd9a80f2afaee6397059463230'],
  },
}

/** Symbols that Node brings, and what the linker defines. */
const brought = /^(napi_|node_api_|_GLOBAL_OFFSET_TABLE_$)/

/**
 * What node-gyp, and so prebuildify, has in its environment to link for that glibc.
 *
 * @returns {Promise<Record<string, string>>}
 */
export const linkerForOlderSystems = async () => {
  const known = machines[/** @type {keyof typeof machines} */ (process.arch)]
  if (process.platform !== 'linux' || !known)
    throw new Failure(`zig ${version} is known for Linux on x64 and arm64 only`)
  const { machine, megabytes, sha256 } = known
  const wheel = {
    what: 'zig, which links for older systems,',
    name: 'ziglang',
    version,
    sha256,
    megabytes,
    folder: 'ziglang',
    files: ['zig'],
  }
  const { path, reason } = await ensureWheel(wheel)
  if (!path) throw new Failure(reason ?? 'zig was not fetched')
  const zig = join(path, 'zig')
  chmodSync(zig, 0o755) // Python's zipfile keeps no modes
  const folder = join(root, 'build', 'older-glibc')
  mkdirSync(folder, { recursive: true })
  const linker = join(folder, 'link')
  const words = [zig, 'cc', '-target', `${machine}-linux-gnu.${oldestGlibc}`]
  const libraries = [join(root, 'scripts', 'older-glibc.c'), ofCompiler('libstdc++.a'), ofCompiler('libgcc_s.so.1')]
  const quoted = (/** @type {string[]} */ list) => list.map((word) => `'${word}'`).join(' ')
  writeFileSync(linker, `#!/bin/sh\nexec ${quoted(words)} "$@" ${quoted(libraries)} -lm\n`, { mode: 0o755 })
  const cache = join(folder, 'cache')
  return { LINK: linker, ZIG_GLOBAL_CACHE_DIR: cache, ZIG_LOCAL_CACHE_DIR: cache }
}

/** The path of a library of the machine's compiler. */
const ofCompiler = (/** @type {string} */ name) => {
  const path = execFileSync(process.env['CXX'] || 'g++', [`-print-file-name=${name}`], { encoding: 'utf8' }).trim()
  if (!path.startsWith('/')) throw new Failure(`the compiler has no ${name}; g++ of Debian brings it`)
  return path
}

const isNewer = (/** @type {string} */ version) => {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = oldestGlibc.split('.').map(Number)
  return major > oldestMajor || (major === oldestMajor && minor > oldestMinor)
}

/**
 * What a binary needs that a system with the oldest glibc lacks: symbols of newer versions, and symbols that no library
 * is known to have. By `objdump`.
 *
 * @param {string} binary
 * @returns {Promise<string[]>} such as "pthread_create (GLIBC_2.34)"
 */
export const lackingOnOlderSystems = async (binary) => {
  const { code, output } = await collect('objdump', ['-T', binary])
  if (code !== 0) throw new Failure(`objdump cannot read ${binary} (Debian: apt-get install binutils):\n${output}`)
  const undefinedSymbols = output.split('\n').filter((line) => line.includes('*UND*') && !/^\S+\s+w\s/.test(line))
  if (undefinedSymbols.length === 0) throw new Failure(`objdump tells of no symbol that ${binary} needs`)
  return undefinedSymbols.flatMap((line) => {
    const [, versioned, name = ''] = /\s(?:\(?([A-Z][A-Z_]*_[0-9.]+)\)?\s+|Base\s+)?(\S+)$/.exec(line) ?? []
    if (versioned === undefined) return brought.test(name) ? [] : [`${name} (of no library)`]
    const [, glibc] = /^GLIBC_([0-9.]+)$/.exec(versioned) ?? []
    return glibc !== undefined && isNewer(glibc) ? [`${name} (${versioned})`] : []
  })
}
