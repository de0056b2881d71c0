// @ts-check
// A bare root file system of the release that this machine's apt archive has, and commands in it: for test-machine.mjs.
// Each command has mounts of its own, which end with it, whatever ends it.
import { spawn } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { execPath } from 'node:process'
import { pythonWithPip } from './wheels.mjs'
import { collect, Failure, root, runQuietly, say } from './support.mjs'

/** A user of the root file system. */
export const user = { id: 1000, name: 'user', home: '/home/user' }

/** @returns {{ mirror: string, suite: string }} the archive that apt is configured for, and its release */
export const archive = () => {
  const [, suite = ''] = /^VERSION_CODENAME=(\S+)$/m.exec(readFileSync('/etc/os-release', 'utf8')) ?? []
  const folder = '/etc/apt/sources.list.d'
  const files = [
    '/etc/apt/sources.list',
    ...(existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []),
  ]
  for (const text of files.filter((path) => existsSync(path)).map((path) => readFileSync(path, 'utf8'))) {
    for (const block of text.split(/\n\s*\n/)) {
      const field = (/** @type {string} */ name) =>
        new RegExp(`^${name}:\\s*(.+)$`, 'm').exec(block)?.[1]?.split(/\s+/) ?? []
      const [mirror] = field('URIs')
      if (mirror && field('Suites').includes(suite)) return { mirror, suite }
    }
    const line = new RegExp(`^deb\\s+(?:\\[[^\\]]*\\]\\s+)?(\\S+)\\s+${suite}\\s`, 'm').exec(text)
    if (line?.[1]) return { mirror: line[1], suite }
  }
  throw new Failure(`apt has no archive of ${suite} among its sources`)
}

/** Makes the root file system; debootstrap is installed where it is missing. */
export const makeBase = async (/** @type {string} */ base) => {
  if (process.getuid?.() !== 0) throw new Failure('a root file system is made by root alone')
  if ((await collect('debootstrap', ['--version'])).code !== 0) {
    await runQuietly('apt-get', ['update', '-qq'], { what: 'asking for packages' })
    await runQuietly('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'debootstrap'], {
      what: 'installing debootstrap',
    })
  }
  const { mirror, suite } = archive()
  say(`making a bare ${suite} …`)
  const made = await held(['unshare', '--mount', 'debootstrap', '--variant=minbase', suite, base, mirror])
  if (made.code !== 0) throw new Failure(`${made.output}\ndebootstrap failed (${made.code})`)
  for (const name of ['pts', 'shm']) mkdirSync(join(base, 'dev', name), { recursive: true })
  const entry = `${user.name}:x:${user.id}:${user.id}::${user.home}:/bin/bash\n`
  writeFileSync(join(base, 'etc/passwd'), readFileSync(join(base, 'etc/passwd'), 'utf8') + entry)
  writeFileSync(join(base, 'etc/group'), `${readFileSync(join(base, 'etc/group'), 'utf8')}${user.name}:x:${user.id}:\n`)
  for (const name of ['resolv.conf', 'hosts'])
    if (existsSync(`/etc/${name}`)) copyFileSync(`/etc/${name}`, join(base, 'etc', name))
  await giveSettings(base)
  return suite
}

/** Where certificates lie that npm and pip are to trust: no package of the system writes there. */
const certificates = '/usr/local/etc/certificates.crt'

/**
 * How packages are got here, by npm and by pip: the registry, a proxy, certificates. What is not set has their
 * defaults.
 */
const giveSettings = async (/** @type {string} */ base) => {
  const { output } = await collect('npm', ['config', 'list', '--json'])
  const npm = JSON.parse(output)
  const set = (/** @type {string} */ key) => typeof npm[key] === 'string' && npm[key] !== ''
  const python = pythonWithPip()
  const pip = python === undefined ? '' : (await collect(python, ['-m', 'pip', 'config', 'list'])).output
  const pairs = [...pip.matchAll(/\.(index-url|extra-index-url|cert|proxy)='(.*)'$/gm)].map(
    ([, key = '', value = '']) => [key, value],
  )
  const given = Object.fromEntries(pairs)
  const keys = ['registry', 'proxy', 'https-proxy', 'noproxy'].filter(set)
  const npmrc = [...keys.map((key) => `${key}=${npm[key]}`), ...(set('cafile') ? [`cafile=${certificates}`] : [])]
  const pipConf = Object.entries(given).map(([key, value]) => `${key} = ${key === 'cert' ? certificates : value}`)
  mkdirSync(join(base, 'usr/local/etc'), { recursive: true })
  writeFileSync(join(base, 'usr/local/etc/npmrc'), ['update-notifier=false', ...npmrc, ''].join('\n'))
  writeFileSync(join(base, 'etc/pip.conf'), ['[global]', ...pipConf, ''].join('\n'))
  const trusted = [npm.cafile, given['cert']].find((path) => typeof path === 'string' && existsSync(path))
  if (trusted) copyFileSync(trusted, join(base, certificates))
}

/** Puts a Node and this machine's npm into a root file system, as an archive of nodejs.org has them. */
export const giveNode = (/** @type {string} */ place, /** @type {string} */ node) => {
  const local = join(place, 'usr/local')
  mkdirSync(join(local, 'bin'), { recursive: true })
  copyFileSync(node, join(local, 'bin/node'))
  const headers = join(dirname(dirname(node)), 'include')
  if (existsSync(headers)) cpSync(headers, join(local, 'include'), { recursive: true })
  const npm = process.env['npm_execpath'] ?? join(dirname(dirname(execPath)), 'lib/node_modules/npm/bin/npm-cli.js')
  if (!/npm-cli\.js$/.test(npm) || !existsSync(npm)) throw new Failure(`npm is not at ${npm}: use npm run test:machine`)
  cpSync(dirname(dirname(realpathSync(npm))), join(local, 'lib/node_modules/npm'), { recursive: true })
  for (const name of ['npm', 'npx']) symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(local, 'bin', name))
}

/**
 * @typedef {object} Place where a command runs
 * @property {string} root the root file system
 * @property {string} folder the current one, seen from there
 * @property {string} as whose it is: 'root', or `user` and group as docker has them, 1000:1000
 * @property {Record<string, string>} env
 * @property {boolean} [isOffline] without a network but for this machine itself
 * @property {string[]} [writable] with it the root file system is read-only but for /tmp, which is new, and these
 */

/** Variables by which a network may be reached; they are no part of what is installed. */
const proxies = () => Object.entries(process.env).filter(([name]) => /^(https?|no|all)_proxy$/i.test(name))

/** @returns {string[]} */
const argumentsFor = (
  /** @type {Place} */ { root, folder, as, env, isOffline, writable },
  /** @type {string[]} */ command,
) => {
  const quoted = (/** @type {string} */ text) => `'${text.replaceAll("'", String.raw`'\''`)}'`
  const at = (/** @type {string} */ path) => quoted(join(root, path))
  const readOnly = [
    `mount --bind ${at('/')} ${at('/')}`,
    ...(writable ?? []).map((path) => `mount --bind ${at(path)} ${at(path)}`),
    `mount -o remount,bind,ro ${at('/')}`,
    `mount -t tmpfs tmpfs ${at('/tmp')}`,
  ]
  const mounts = [
    ...(writable ? readOnly : []),
    ...(isOffline ? ['ip link set lo up'] : []),
    `mount -t proc proc ${at('/proc')}`,
    `mount -t tmpfs tmpfs ${at('/dev/shm')}`,
    `mount -t devpts -o newinstance,ptmxmode=0666 devpts ${at('/dev/pts')}`,
  ]
  const network = isOffline ? {} : Object.fromEntries(proxies())
  const variables = Object.entries({ ...network, ...env }).map(([name, value]) => quoted(`${name}=${value}`))
  const [uid, gid = uid] = as === 'root' ? ['0', '0'] : as.split(':')
  const inside = `cd ${quoted(folder)} && exec ${command.map(quoted).join(' ')}`
  const enter = `exec chroot --userspec=${uid}:${gid} ${quoted(root)} /usr/bin/env -i ${variables.join(' ')} /bin/bash -c ${quoted(inside)}`
  const namespaces = ['--mount', '--pid', ...(isOffline ? ['--net'] : [])]
  return [...namespaces, '--fork', '--kill-child', '/bin/bash', '-ec', [...mounts, enter].join('\n')]
}

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set()

/** Ends what is under way, with all that it has begun. */
export const stopAll = () => {
  for (const { pid } of running) if (pid !== undefined) process.kill(-pid, 'SIGKILL')
}

/** Begins a command with a process group of its own, which `stopAll` ends. */
const beginHeld = (/** @type {string[]} */ [command = '', ...args]) => {
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  running.add(child)
  child.once('close', () => running.delete(child))
  return child
}

/** @typedef {{ code: number | string, output: string, seconds: number }} Ended */

/** Runs a command of this machine to its end; `stopAll` ends it. */
export const held = (/** @type {string[]} */ command) => endOf(beginHeld(command))

/** Begins a command there. */
export const begin = (/** @type {Place} */ place, /** @type {string[]} */ command) =>
  beginHeld(['unshare', ...argumentsFor(place, command)])

/** Runs a command there to its end. */
export const runIn = (/** @type {Place} */ place, /** @type {string[]} */ command) => endOf(begin(place, command))

const endOf = (/** @type {ReturnType<typeof beginHeld>} */ child) => {
  const begun = Date.now()
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  return new Promise((/** @type {(ended: Ended) => void} */ resolve) => {
    child.once('error', (error) => resolve({ code: error.message, output, seconds: 0 }))
    child.once('close', (code, signal) =>
      resolve({ code: code ?? signal ?? 1, output, seconds: (Date.now() - begun) / 1000 }),
    )
  })
}
