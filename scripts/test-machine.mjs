// @ts-check
// npm run test:machine [-- bare|tools|gpu]: the lines of README.md and the steps of docker/Dockerfile.cpu and
// Dockerfile.serve on a machine that has nothing: a root file system made for it by debootstrap, with Node and npm, and
// the package as it is packed. `bare`: with nothing else installed; `tools`: with what README names for a checkout,
// where its demo and its tests run, too: without ffmpeg, then with it; `gpu`: with Python alone and without a network,
// the kit for a GPU machine (scripts/gpu-kit.mjs) on the fakes. A table of commands, seconds and exit codes; it
// fails if one of them did.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { argv, execPath } from 'node:process'
import { pathToFileURL } from 'node:url'
import { globSync } from 'tinyglobby'
import { begin, giveNode, held, makeBase, runIn, stopAll, user } from './bare-machine.mjs'
import { followRepository, install, own } from './bare-repository.mjs'
import { buildLib } from './build.mjs'
import { expanded, readDockerfile } from './dockerfile.mjs'
import { followKit } from './gpu/dry.mjs'
import { kitMaker } from './gpu-kit.mjs'
import { ensureNode } from './nodes.mjs'
import { collect, Failure, main, root, runQuietly, say } from './support.mjs'

/** @typedef {import('./bare-machine.mjs').Place} Place */
/** @typedef {import('./dockerfile.mjs').Stage} Stage */
/** @typedef {{ where: string, command: string, seconds: number, code: number | string, output: string }} Row */

/** That of docker/'s images. */
const nodeVersion = '24.21.0'
const photos = join(root, 'node_modules/@vladmandic/face-api/demo')
/** Debian's packages of what README.md names for a checkout. */
const tools = ['cmake', 'g++', 'make', 'python3', 'python3-pip']
const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** @type {Row[]} */
const rows = []

const took = (
  /** @type {string} */ where,
  /** @type {string} */ command,
  /** @type {Omit<Row, 'where' | 'command'>} */ ended,
) => {
  rows.push({ where, command, ...ended })
  say(
    `${ended.code === 0 ? 'ok    ' : 'FAILED'} ${ended.seconds.toFixed(1).padStart(6)} s  ${where}: ${command.replaceAll(/\s+/g, ' ')}`,
  )
  if (ended.code !== 0) say(failures(ended.output))
  return ended.code === 0
}

/** The test files that failed, and the end of the output. */
const failures = (/** @type {string} */ output) => {
  const lines = output.trimEnd().split('\n')
  const failed = lines.flatMap((line, i) =>
    /^FAILED /.test(line) && i < lines.length - 30 ? lines.slice(i, i + 30) : [],
  )
  return [...failed, ...lines.slice(-30)].join('\n')
}

/** What README.md says to run, in its order, as its own tests read it (test/docs). */
const fencesOfReadme = async () => {
  await buildLib()
  /** @type {typeof import('../test/docs/pages.js')} */
  const { codeLanguages, readPage } = await import(pathToFileURL(join(root, 'dist', 'test', 'docs', 'pages.js')).href)
  return readPage('README.md').fences.filter(({ language }) => codeLanguages.includes(language))
}

/** Files that README speaks of as a reader's own, and that no other line makes. */
const readersFiles = /\b(model|yolov8n|resnet50)\.(onnx|plan)\b|\blabels\.txt\b/

/** What Python is needed for; CenterFace comes in a wheel. */
const ofPython = /\bpython3?\b|\bpip\b|\bcenterface\//
/** Commands of a checkout. */
const ofRepository = /\bnpm (?:ci|run)\b/

/** The package's name where it is installed: the tarball. */
const withTarball = (/** @type {string} */ line, /** @type {string} */ tarball) =>
  /\bnpm (?:i|install|add)\b/.test(line)
    ? line.replaceAll(/(^|\s)node-tensorrt(?:@\S+)?(?=\s|$)/g, `$1${tarball}`)
    : line

/** Lines of a fence; one that ends with a backslash goes on. */
const linesOf = (/** @type {string} */ text) =>
  text
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => line.replace(/\s+#\s.*$/, '').trim())
    .filter((line) => line !== '' && !line.startsWith('#'))

/**
 * What README says, in an empty folder that has the reader's photographs.
 *
 * @param {string} where
 * @param {string} machine
 * @param {{ tarball: string, hasPython: boolean }} given
 */
const followReadme = async (where, machine, { tarball, hasPython }) => {
  const folder = `${user.home}/app`
  const seen = join(machine, folder)
  mkdirSync(join(seen, 'photos'), { recursive: true })
  for (const [index, name] of ['sample1.jpg', 'sample2.jpg', 'sample3.jpg'].entries()) {
    cpSync(join(photos, name), join(seen, 'photos', `${index + 1}.jpg`))
    if (index === 0) cpSync(join(photos, name), join(seen, 'photo.jpg'))
  }
  cpSync(tarball, join(machine, user.home, basename(tarball)))
  await own(machine, user.home)
  /** @type {Place} */
  const place = { root: machine, folder, as: String(user.id), env: { HOME: user.home, PATH: path, LANG: 'C.UTF-8' } }
  let first = 0
  let isAnswered = false
  for (const [index, { language, text, machine: on, notRun }] of (await fencesOfReadme()).entries()) {
    const lacks = readersFiles.exec(text)?.[0] ?? (!hasPython && ofPython.test(text) ? 'Python' : undefined)
    if (
      on !== 'cpu' ||
      ofRepository.test(text) ||
      (notRun !== undefined && !/install|PyPI/.test(notRun)) ||
      lacks !== undefined
    ) {
      if (lacks !== undefined) say(`         ${where}: a fence is left out that needs ${lacks}`)
      continue
    }
    const file = `program-${index}.mjs`
    if (language === 'js') writeFileSync(join(seen, file), text)
    for (const line of language === 'js'
      ? [`node ${file}`]
      : linesOf(text).map((line) => withTarball(line, `../${basename(tarball)}`))) {
      const ended = await runIn(place, ['bash', '-c', line])
      took(where, line, ended)
      if (!isAnswered) first += ended.seconds
    }
    if (language === 'js' && !isAnswered) {
      isAnswered = true
      say(`         ${where}: from nothing to the first answer ${first.toFixed(0)} s`)
    }
  }
  if (!isAnswered) throw new Failure('README.md has no program that runs on a bare machine')
}

const copyOf = async (/** @type {string} */ from, /** @type {string} */ to) => {
  const { code, output } = await held(['cp', '-a', '--reflink=auto', from, to])
  if (code !== 0) throw new Failure(`${output}\ncopying a root file system failed (${code})`)
}

/**
 * How the container of an image is used.
 *
 * @typedef {object} Image
 * @property {string} file
 * @property {string} folder of docker/, where the tarball goes
 * @property {Record<string, string>} env
 * @property {RegExp} listening what the server prints, with its port
 * @property {(machine: string) => Promise<void>} [prepare] gives the container what is mounted there
 * @property {(url: string) => Promise<{ isWell: boolean, output: string }>} ask
 */

/** @type {readonly Image[]} */
const images = [
  {
    file: 'Dockerfile.cpu',
    folder: 'app',
    env: { PORT: '0', HOST: '127.0.0.1' },
    listening: /listening on (\d+)/,
    ask: async (url) => {
      const answer = await fetch(url, { method: 'POST', body: readFileSync(join(photos, 'sample1.jpg')) })
      const output = await answer.text()
      return { isWell: answer.status === 200 && Array.isArray(JSON.parse(output).found), output }
    },
  },
  {
    file: 'Dockerfile.serve',
    folder: 'serve',
    env: {},
    listening: /HTTP +http:\/\/\S+:(\d+)/,
    prepare: async (machine) => {
      /** @type {typeof import('../test/serve/operations/repository.js')} */
      const { addOneNode } = await import(pathToFileURL(join(root, 'dist/test/serve/operations/repository.js')).href)
      addOneNode(join(machine, 'models'), 'identity')
    },
    ask: async (url) => {
      const inputs = [{ name: 'x', shape: [1, 4], datatype: 'FP32', data: [1, 2, 3, 4] }]
      const answer = await fetch(`${url}v2/models/identity/infer`, { method: 'POST', body: JSON.stringify({ inputs }) })
      const output = await answer.text()
      return { isWell: answer.status === 200 && JSON.parse(output).outputs[0].data.join() === '1,2,3,4', output }
    },
  },
]

/**
 * The steps of an image, each stage in a root file system of its own; then its container: the server and the health
 * check, by the user of the image and on a read-only root file system, as compose.yaml has it.
 *
 * @param {string} where
 * @param {string} base
 * @param {string} tarball
 * @param {Image} image
 */
const followDockerfile = async (where, base, tarball, image) => {
  const { file, folder } = image
  const context = `${base}-${folder}-context`
  cpSync(join(root, 'docker'), context, { recursive: true, filter: (from) => basename(from) !== 'node_modules' })
  cpSync(tarball, join(context, folder, basename(tarball)))
  const { args, stages } = readDockerfile(readFileSync(join(context, file), 'utf8'))
  const node = expanded('${NODE_IMAGE}', valuesOf(args))
  if (!node.startsWith(`node:${nodeVersion}-`))
    throw new Failure(`${file} begins with ${node}; scripts/test-machine.mjs has Node ${nodeVersion}`)
  const given = { NODE_TENSORRT: `./${basename(tarball)}` }
  for (const [index, stage] of stages.entries()) {
    const machine = `${base}-${folder}-stage${index}`
    await copyOf(base, machine)
    const isLast = index === stages.length - 1
    const names = Object.fromEntries(stages.map(({ name }, at) => [name, `${base}-${folder}-stage${at}`]))
    const container = await build(where, machine, stage, { context, names, given })
    if (!container.isWell) return
    if (isLast) {
      await image.prepare?.(machine)
      await useContainer(`${where} ${file}`, container, image)
    }
  }
}

const valuesOf = (/** @type {import('./dockerfile.mjs').Step[]} */ steps) =>
  Object.fromEntries(steps.flatMap(({ words }) => words.map((word) => word.split(/=(.*)/s).slice(0, 2))))

/** @typedef {{ place: Place, isWell: boolean, command: string[], health: string[] }} Container */

/**
 * @param {string} where
 * @param {string} machine
 * @param {Stage} stage
 * @param {{ context: string, names: Record<string, string>, given: Record<string, string> }} around
 * @returns {Promise<Container>}
 */
const build = async (where, machine, stage, { context, names, given }) => {
  /** @type {Container} */
  const container = {
    place: { root: machine, folder: '/', as: 'root', env: { HOME: '/root', PATH: path }, writable: [] },
    isWell: true,
    command: [],
    health: [],
  }
  const { place } = container
  /** @type {Record<string, string>} */
  const values = {}
  for (const { keyword, text, words, flags, list } of stage.steps) {
    const folder = (/** @type {string} */ to) => join(machine, to.startsWith('/') ? '' : place.folder, to)
    if (keyword === 'ARG') Object.assign(values, valuesOf([{ keyword, text, words, flags, list }]), given)
    else if (keyword === 'ENV')
      for (const word of words) {
        const [name = '', value = ''] = word.split(/=(.*)/s)
        place.env[name] = expanded(value, { ...values, ...place.env })
      }
    else if (keyword === 'WORKDIR') mkdirSync(folder((place.folder = text)), { recursive: true })
    else if (keyword === 'USER') place.as = text
    else if (keyword === 'VOLUME') place.writable = list ?? []
    else if (keyword === 'CMD') container.command = list ?? []
    else if (keyword === 'HEALTHCHECK') container.health = list ?? []
    else if (keyword === 'COPY') {
      const { from } = flags
      const source = from === undefined ? context : (names[from] ?? '')
      await copy(words, flags, { from: source, to: folder })
    } else if (keyword === 'RUN') {
      const { root: from, folder: at, as, env } = place
      const ended = await runIn({ root: from, folder: at, as, env: { ...env, ...values } }, ['/bin/sh', '-c', text])
      container.isWell = took(where, `RUN ${text}`, ended)
      if (!container.isWell) return container
    }
  }
  return container
}

/**
 * @param {string[]} words
 * @param {Record<string, string>} flags
 * @param {{ from: string, to: (path: string) => string }} places
 */
const copy = async (words, flags, { from, to }) => {
  const target = words.at(-1) ?? ''
  const sources = words.slice(0, -1).flatMap((word) => {
    const name = word.replace(/^\//, '')
    return /[*?]/.test(name) ? globSync(name, { cwd: from }) : [name]
  })
  for (const source of sources) {
    const isFolder = target.endsWith('/')
    const place = isFolder ? join(to(target), basename(source)) : to(target)
    if (!existsSync(join(from, source))) throw new Failure(`COPY ${source}: it is not there`)
    mkdirSync(dirname(place), { recursive: true })
    await runQuietly('cp', ['-aT', join(from, source), place], { what: `copying ${source}` })
    const chown = flags['chown']
    if (chown) await runQuietly('chown', ['-R', chown, place], { what: `giving ${source} to ${chown}` })
  }
}

/**
 * The container of the image: its server, which is asked and ended by SIGTERM, and the health check, with as many tries
 * as Docker has.
 *
 * @param {string} where
 * @param {Container} container
 * @param {Image} image
 */
const useContainer = async (where, { place, command, health }, image) => {
  const begun = Date.now()
  const server = begin({ ...place, env: { ...place.env, ...image.env } }, command)
  let output = ''
  const ended = new Promise((resolve) => server.once('close', (code, signal) => resolve(code ?? signal)))
  const listening = new Promise((resolve) => {
    for (const stream of [server.stdout, server.stderr])
      stream.setEncoding('utf8').on('data', (text) => {
        output += text
        const [, port] = image.listening.exec(output) ?? []
        if (port) resolve(port)
      })
  })
  const port = await Promise.race([listening, ended.then(() => undefined)])
  const since = () => (Date.now() - begun) / 1000
  if (typeof port !== 'string')
    return void took(where, `CMD ${command.join(' ')}`, { seconds: since(), code: 'no server', output })
  let checked = await runIn(place, health)
  for (let tries = 1; checked.code !== 0 && tries < 3; tries++) checked = await runIn(place, health)
  took(where, `HEALTHCHECK ${health.join(' ')}`, checked)
  const { isWell, output: answer } = await image.ask(`http://127.0.0.1:${port}/`)
  const code = isWell ? 0 : 'a wrong answer'
  took(where, `CMD ${command.join(' ')}, and a request`, { seconds: since(), code, output: output + answer })
  // its process in the root file system; the one that was begun made the mounts
  const pids = (await collect('pgrep', ['-g', String(server.pid)])).output.trim().split('\n').map(Number)
  process.kill(Math.max(...pids), 'SIGTERM')
  took(where, 'SIGTERM', { seconds: since(), code: /** @type {number | string} */ (await ended), output })
}

/** @returns {Promise<string>} the tarball as it is published */
const packed = async (/** @type {string} */ folder) => {
  await runQuietly(execPath, [join(root, 'scripts', 'pack.mjs'), '--to', folder], { what: 'packing the package' })
  const [name] = readdirSync(folder).filter((each) => each.endsWith('.tgz'))
  if (name === undefined) throw new Failure('npm run pack made no tarball')
  return join(folder, name)
}

/** @type {Record<string, (where: string, base: string, tarball: string) => Promise<void>>} */
const machines = {
  bare: async (where, base, tarball) => {
    await copyOf(base, `${base}-bare`)
    await followReadme(where, `${base}-bare`, { tarball, hasPython: false })
    for (const image of images) await followDockerfile(where, base, tarball, image)
  },
  tools: async (where, base, tarball) => {
    const machine = `${base}-tools`
    await copyOf(base, machine)
    if (!(await install({ where, machine, path }, tools, took))) return
    await followReadme(where, machine, { tarball, hasPython: true })
    const lines = (await fencesOfReadme()).flatMap(({ text }) => (ofRepository.test(text) ? linesOf(text) : []))
    await followRepository({ where, machine, path }, lines, took)
  },
}

await main(async () => {
  const known = ['gpu', ...Object.keys(machines)]
  const wanted = argv.length > 2 ? argv.slice(2) : known
  const unknown = wanted.find((name) => !known.includes(name))
  if (unknown) throw new Failure(`there is no machine ${unknown}; there are ${known.join(', ')}`)
  const folder = mkdtempSync(join(tmpdir(), 'node-tensorrt-machine-'))
  const clear = () => {
    stopAll()
    spawnSync('rm', ['-rf', '--one-file-system', folder])
  }
  for (const [signal, code] of /** @type {const} */ ([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ]))
    process.once(signal, () => {
      clear()
      process.exit(code)
    })
  try {
    const base = join(folder, 'base')
    const suite = await makeBase(base)
    if (wanted.includes('gpu')) {
      await copyOf(base, `${base}-gpu`)
      await followKit(`gpu ${suite}`, `${base}-gpu`, await kitMaker(), took)
    }
    const others = wanted.filter((name) => name !== 'gpu')
    if (others.length > 0) {
      const tarball = await packed(folder)
      giveNode(base, await ensureNode(nodeVersion))
      for (const name of others) await machines[name]?.(`${name} ${suite}`, base, tarball)
    }
  } finally {
    clear()
  }
  for (const { where, command, seconds, code } of rows)
    console.log(
      `${where.padEnd(16)} ${seconds.toFixed(1).padStart(7)} s  exit ${code}  ${command.replaceAll(/\s+/g, ' ')}`,
    )
  const failed = rows.filter(({ code }) => code !== 0).length
  console.log(`${rows.length - failed} passed, ${failed} failed, 0 skipped`)
  if (failed > 0 || rows.length === 0) process.exitCode = 1
})
