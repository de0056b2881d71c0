// A certificate for localhost, made anew for each run: what TLS of a test needs.
import { generateKeyPairSync, sign } from 'node:crypto'

function der(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const inner = Buffer.concat(content)
  const [high, low] = [inner.length >> 8, inner.length & 255]
  const length = high > 0 ? [0x82, high, low] : low > 127 ? [0x81, low] : [low]
  return Buffer.concat([Buffer.from([tag, ...length]), inner])
}

const [sequence, set, integer, bits, octets, oid, text, bool] = [0x30, 0x31, 2, 3, 4, 6, 0x0c, 1]
/** Years from 2050 on are in the other form. */
const [utcTime, time] = [0x17, 0x18]

/** Signed by itself, with ECDSA and SHA-256, for `localhost` and 127.0.0.1. */
export function selfSigned(): { readonly key: string; readonly cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const ecdsaWithSha256 = der(sequence, der(oid, Buffer.from('2a8648ce3d040302', 'hex')))
  const name = der(
    sequence,
    der(set, der(sequence, der(oid, Buffer.from('550403', 'hex')), der(text, Buffer.from('localhost')))),
  )
  const validity = der(sequence, der(utcTime, Buffer.from('200101000000Z')), der(time, Buffer.from('20991231235959Z')))
  const names = der(sequence, der(0x82, Buffer.from('localhost')), der(0x87, Buffer.from([127, 0, 0, 1])))
  const extensions = der(
    sequence,
    der(sequence, der(oid, Buffer.from('551d11', 'hex')), der(octets, names)),
    der(
      sequence,
      der(oid, Buffer.from('551d13', 'hex')),
      der(bool, Buffer.from([255])),
      der(octets, der(sequence, der(bool, Buffer.from([255])))),
    ),
  )
  const body = der(
    sequence,
    der(0xa0, der(integer, Buffer.from([2]))),
    der(integer, Buffer.from([1])),
    ecdsaWithSha256,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  )
  const certificate = der(
    sequence,
    body,
    ecdsaWithSha256,
    der(bits, Buffer.from([0]), sign('sha256', body, privateKey)),
  )
  const lines = certificate.toString('base64').replace(/(.{64})/g, '$1\n')
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  }
}
