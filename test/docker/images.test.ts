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
const installing = names.filter((name) => name !== 'Dockerfile.dev')
const apps = installing.filter((name) => name !== 'Dockerfile.serve')
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
const isHealthCheck = (command: readonly string[], image: string): boolean =>
  image === 'Dockerfile.serve'
    ? command.slice(0, 2).join(' ') === 'node -e' && command[2]?.includes('127.0.0.1:8000/v2/health/ready') === true
    : command.slice(0, 3).join(' ') === 'node-tensorrt doctor --require' && command.includes('run')

t.test('each image: not root, bases by exact tags that are arguments', (t) => {
  t.same(names.sort(), ['Dockerfile', 'Dockerfile.cpu', 'Dockerfile.cuda', 'Dockerfile.dev', 'Dockerfile.serve'])
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

t.test('each image: npm ci without scripts, the package by name or tarball, volumes, a health check', (t) => {
  const stages = installing.map((name) => {
    const { all, last } = instructions(name)
    const runs = textsOf(all, 'RUN').filter((text) => /^npm /.test(text))
    t.equal(runs.length, 2, name)
    for (const text of runs) t.match(text, /--ignore-scripts/, `${name}: ${text}`)
    t.match(runs[0], /^npm ci /)
    t.same(
      textsOf(all, 'ARG').filter((text) => text.startsWith('NODE_TENSORRT=')),
      [`NODE_TENSORRT=node-tensorrt@${version}`],
    )
    const volumes = name === 'Dockerfile.serve' ? ['/models'] : ['/cache/engines', '/cache/timing']
    t.same(JSON.parse(textsOf(last, 'VOLUME')[0] ?? '[]'), volumes)
    const [health = ''] = textsOf(last, 'HEALTHCHECK')
    t.ok(isHealthCheck(JSON.parse(health.replace(/^CMD /, '')) as string[], name), `${name}: ${health}`)
    const [command = ''] = textsOf(last, 'CMD')
    t.equal(typeof (JSON.parse(command) as string[])[0], 'string', `${name}: no shell is between it and its signals`)
    t.same(
      textsOf(last, 'RUN').filter((text) => !text.startsWith('apt-get ')),
      [],
      `${name}: the image has no leftovers of npm`,
    )
    return all
      .slice(0, all.length - last.length)
      .filter(({ keyword, text }) => keyword !== 'ARG' || text.startsWith('NODE_'))
  })
  for (const [index, stage] of stages.entries())
    if (apps.includes(installing[index] ?? '')) t.same(stage, stages[0], 'the app is made in the same way for each')
  t.end()
})

t.test('the image of the server: its ports, its peers as CI tests them, and a command without npx', (t) => {
  const { last } = instructions('Dockerfile.serve')
  t.same(textsOf(last, 'EXPOSE'), ['8000 8001 8002'])
  t.same(JSON.parse(textsOf(last, 'CMD')[0] ?? ''), ['node-tensorrt', 'serve', '--model-repository', '/models'])
  const { dependencies, optionalDependencies } = JSON.parse(read('docker/serve/package.json')) as Record<
    'dependencies' | 'optionalDependencies',
    Record<string, string>
  >
  const { peerDependencies } = JSON.parse(read('package.json')) as { peerDependencies: Record<string, string> }
  for (const [name, wanted] of Object.entries({ ...dependencies, ...optionalDependencies })) {
    t.ok(name in peerDependencies, `${name} is a peer`)
    const { version } = JSON.parse(read(`node_modules/${name}/package.json`)) as { version: string }
    t.equal(wanted, version, name)
  }
  t.end()
})

t.test('docs/serving.md starts the server without npx in units and images', (t) => {
  const page = read('docs/serving.md')
  const section = page.slice(page.indexOf('## Under systemd, Docker and Kubernetes'))
  t.match(section, /^exec node_modules\/\.bin\/node-tensorrt serve /m)
  t.match(section, /^ExecStart=\S+\/node_modules\/\.bin\/node-tensorrt serve /m)
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

t.test('compose.yaml: the app on the CPU and on a GPU, and the server', (t) => {
  const { services, volumes } = parse(read('docker/compose.yaml'), { merge: true }) as {
    services: Record<string, Service>
    volumes: Record<string, unknown>
  }
  t.same(Object.keys(services), ['cpu', 'gpu', 'serve'])
  for (const [name, service] of Object.entries(services)) {
    t.match(
      service,
      {
        init: name !== 'serve',
        read_only: true,
        tmpfs: ['/tmp'],
        user: '1000:1000',
        cap_drop: ['ALL'],
        profiles: [name],
      },
      name,
    )
    const [kind, ...command] = service.healthcheck.test
    t.equal(kind, 'CMD')
    const { dockerfile, args } = service.build
    t.ok(isHealthCheck(command, dockerfile), name)
    const { all, last } = instructions(dockerfile)
    const [health = ''] = textsOf(last, 'HEALTHCHECK')
    t.same(command, JSON.parse(health.replace(/^CMD /, '')), `${name}: the same as ${dockerfile}'s`)
    const mounted = service.volumes.map(
      (volume) => volume.replace(/\$\{.*?\}/, 'models').split(':') as [string, string],
    )
    t.same(
      mounted.map(([, place]) => place),
      JSON.parse(textsOf(last, 'VOLUME')[0] ?? '[]'),
    )
    if (name !== 'serve') for (const [volume] of mounted) t.ok(volume in volumes, volume)
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
  t.notOk(services['serve']?.deploy)
  t.end()
})

t.test('docker/README.md has the versions that the images take', (t) => {
  const page = read('docker/README.md')
  const values = installing
    .flatMap((name) => textsOf(instructions(name).all, 'ARG'))
    .map((text) => text.split('=').slice(1).join('='))
  for (const value of new Set(values)) t.ok(page.includes(value), value)
  t.end()
})
