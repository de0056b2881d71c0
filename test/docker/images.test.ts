// What docker/ says, held against what it is to be: users, read-only file systems, health checks, versions, and against
// each other.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DockerfileParser } from 'dockerfile-ast'
import t from 'tap'
import { parse } from 'yaml'
import { packageRoot } from '../../lib/base/package.js'

const root = packageRoot()
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const names = readdirSync(join(root, 'docker')).filter((name) => name.startsWith('Dockerfile'))
const apps = names.filter((name) => name !== 'Dockerfile.dev')
const { version } = JSON.parse(read('package.json')) as { version: string }

interface Instruction {
  readonly keyword: string
  readonly text: string
}

/** The instructions of a file, and of its last stage alone. */
function instructions(name: string): { readonly all: readonly Instruction[]; readonly last: readonly Instruction[] } {
  const parsed = DockerfileParser.parse(read(`docker/${name}`)).getInstructions()
  const all = parsed.map((each) => ({ keyword: each.getKeyword(), text: each.getArgumentsContent() ?? '' }))
  return { all, last: all.slice(all.findLastIndex(({ keyword }) => keyword === 'FROM')) }
}

const textsOf = (list: readonly Instruction[], wanted: string): string[] =>
  list.filter(({ keyword }) => keyword === wanted).map(({ text }) => text)

/** The command of a health check, in a Dockerfile or in compose.yaml. */
const isHealthCheck = (command: readonly string[]): boolean =>
  command.slice(0, 3).join(' ') === 'node-tensorrt doctor --require' && command.includes('run')

t.test('each image: not root, bases by exact tags that are arguments', (t) => {
  t.same(names.sort(), ['Dockerfile', 'Dockerfile.cpu', 'Dockerfile.cuda', 'Dockerfile.dev'])
  for (const name of names) {
    const { all, last } = instructions(name)
    t.match(read(`docker/${name}`), /^# never built/, `${name} says on its first line whether it was built`)
    t.same(textsOf(last, 'USER'), ['1000:1000'], name)
    for (const image of textsOf(all, 'FROM')) t.match(image, /\$\{\w+\}/, `${name}: ${image} is an argument's`)
    const tags = textsOf(all, 'ARG').filter((text) => /_(IMAGE|TAG)=/.test(text))
    t.ok(tags.length > 0)
    for (const tag of tags) t.match(tag, /\d+\.\d+/, `${name}: ${tag} is exact`)
    t.notMatch(textsOf(all, 'FROM').join(' ') + tags.join(' '), /latest/)
  }
  t.end()
})

t.test('each image of the app: npm ci without scripts, the package by name or tarball, caches, a health check', (t) => {
  const stages = apps.map((name) => {
    const { all, last } = instructions(name)
    const runs = textsOf(all, 'RUN').filter((text) => /^npm /.test(text))
    t.equal(runs.length, 2, name)
    for (const text of runs) t.match(text, /--ignore-scripts/, `${name}: ${text}`)
    t.match(runs[0], /^npm ci /)
    t.same(
      textsOf(all, 'ARG').filter((text) => text.startsWith('NODE_TENSORRT=')),
      [`NODE_TENSORRT=node-tensorrt@${version}`],
    )
    t.same(JSON.parse(textsOf(last, 'VOLUME')[0] ?? '[]'), ['/cache/engines', '/cache/timing'])
    const [health = ''] = textsOf(last, 'HEALTHCHECK')
    t.ok(isHealthCheck(JSON.parse(health.replace(/^CMD /, '')) as string[]), `${name}: ${health}`)
    t.same(
      textsOf(last, 'RUN').filter((text) => !text.startsWith('apt-get ')),
      [],
      `${name}: the image has no leftovers of npm`,
    )
    return all
      .slice(0, all.length - last.length)
      .filter(({ keyword, text }) => keyword !== 'ARG' || text.startsWith('NODE_'))
  })
  for (const stage of stages) t.same(stage, stages[0], 'the app is made in the same way for each')
  t.end()
})

t.test('the image for development has what .ci/run looks for', (t) => {
  const text = read('.ci/run')
  const pairs = (/^ *for pair in ([^;]+); do$/m.exec(text)?.[1] ?? '')
    .split(' ')
    .map((pair) => pair.split(':')[1] ?? '')
  const wanted = [
    ...pairs,
    ...[...text.matchAll(/missing\+=\(([a-z][\w -]*)\)/g)].flatMap(([, list = '']) => list.split(' ')),
  ]
  t.ok(wanted.includes('cmake') && wanted.includes('python3-pip'))
  const installed = textsOf(instructions('Dockerfile.dev').all, 'RUN').join(' ').split(/\s+/)
  for (const name of wanted) t.ok(installed.includes(name), name)
  t.end()
})

interface Service {
  readonly profiles: readonly string[]
  readonly build: {
    readonly context: string
    readonly dockerfile: string
    readonly args: Readonly<Record<string, string>>
  }
  readonly healthcheck: { readonly test: readonly string[] }
  readonly volumes: readonly string[]
  readonly deploy?: { readonly resources: { readonly reservations: { readonly devices: readonly object[] } } }
}

t.test('compose.yaml: the app on the CPU and on a GPU', (t) => {
  const { services, volumes } = parse(read('docker/compose.yaml'), { merge: true }) as {
    services: Record<string, Service>
    volumes: Record<string, unknown>
  }
  t.same(Object.keys(services), ['cpu', 'gpu'])
  for (const [name, service] of Object.entries(services)) {
    t.match(
      service,
      { init: true, read_only: true, tmpfs: ['/tmp'], user: '1000:1000', cap_drop: ['ALL'], profiles: [name] },
      name,
    )
    const [kind, ...command] = service.healthcheck.test
    t.equal(kind, 'CMD')
    t.ok(isHealthCheck(command), name)
    const { dockerfile, args } = service.build
    const { all, last } = instructions(dockerfile)
    const [health = ''] = textsOf(last, 'HEALTHCHECK')
    t.same(command, JSON.parse(health.replace(/^CMD /, '')), `${name}: the same as ${dockerfile}'s`)
    const mounted = service.volumes.map((volume) => volume.split(':') as [string, string])
    t.same(
      mounted.map(([, place]) => place),
      JSON.parse(textsOf(last, 'VOLUME')[0] ?? '[]'),
    )
    for (const [volume] of mounted) t.ok(volume in volumes, volume)
    for (const [argument, value] of Object.entries(args)) {
      const fallback = /^\$\{\w+:-(.*)\}$/.exec(value)?.[1] ?? ''
      t.ok(
        textsOf(all, 'ARG').includes(`${argument}=${fallback}`),
        `${name}: ${argument} is ${dockerfile}'s, with the same value`,
      )
    }
  }
  t.match(services['gpu']?.deploy?.resources.reservations.devices, [{ driver: 'nvidia', capabilities: ['gpu'] }])
  t.notOk(services['cpu']?.deploy)
  t.end()
})

t.test('docker/README.md has the versions that the images take', (t) => {
  const page = read('docker/README.md')
  const values = apps
    .flatMap((name) => textsOf(instructions(name).all, 'ARG'))
    .map((text) => text.split('=').slice(1).join('='))
  for (const value of new Set(values)) t.ok(page.includes(value), value)
  t.end()
})
