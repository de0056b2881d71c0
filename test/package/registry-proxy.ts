// A proxy as companies have one: it lets a client through to the configured npm registry, and refuses every other host.
import { createServer, request, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { run } from './support.js'

export interface RegistryProxy {
  readonly url: string
  readonly registry: URL
  /** How many connections went to the registry. */
  readonly let: () => number
  /** Hosts that were asked for and refused. */
  readonly refused: () => readonly string[]
}

const portOf = ({ port, protocol }: URL): number => (port !== '' ? Number(port) : protocol === 'http:' ? 80 : 443)

export async function startRegistryProxy(
  t: { teardown(end: () => unknown): unknown },
  cwd: string,
): Promise<RegistryProxy> {
  const registry = new URL((await run('npm', ['config', 'get', 'registry'], cwd)).trim())
  let through = 0
  const refused: string[] = []
  const server: Server = createServer((asked, answer) => {
    const url = new URL(asked.url ?? '', registry)
    if (url.host !== registry.host) {
      refused.push(url.host)
      return void answer.writeHead(403).end('only the registry')
    }
    through++
    const onward = request(url, { method: asked.method, headers: asked.headers }, (given) => {
      answer.writeHead(given.statusCode ?? 502, given.headers)
      given.pipe(answer)
    })
    onward.on('error', () => answer.destroy())
    asked.pipe(onward)
  })
  server.on('connect', (asked, client, head) => {
    client.on('error', () => client.destroy())
    if (asked.url !== `${registry.hostname}:${portOf(registry)}`) {
      refused.push(asked.url ?? '')
      return client.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n')
    }
    through++
    const onward = connect(portOf(registry), registry.hostname, () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      onward.write(head)
      onward.pipe(client).pipe(onward)
    })
    onward.on('error', () => client.destroy())
    client.on('close', () => onward.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, registry, let: () => through, refused: () => refused }
}
