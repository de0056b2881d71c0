// Which requests' JSON is read once for many.
import t from 'tap'
import { Heads } from '../../../lib/serve/http/heads.js'

const limits = { jsonDepth: 100, maxInputBytes: 2 ** 20 }

function head(id: string, more: object = { parameters: { binary_data_size: 8 } }): Buffer {
  return Buffer.from(JSON.stringify({ id, inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [2], ...more }] }))
}

t.test('the same bytes are read once, others are not taken for them', (t) => {
  const heads = new Heads(limits)
  const given = head('a')
  const first = heads.read(given)
  t.equal(heads.read(head('a')), first)
  given.fill(0x20) // a chunk of a socket, whose memory is somebody else's now
  t.equal(heads.read(head('a')), first)
  t.equal(heads.read(head('b')).id, 'b')
  t.equal(heads.read(head('a')).id, 'a')
  t.same(heads.read(head('a')), first)
  t.end()
})

t.test('elements, long heads and what is wrong are read each time', (t) => {
  const heads = new Heads(limits)
  for (const bytes of [head('a', { data: [1, 2] }), head('a'.repeat(5000))]) t.not(heads.read(bytes), heads.read(bytes))
  for (let i = 0; i < 2; i++) t.throws(() => heads.read(head('a', {})), /no field is set/)
  t.end()
})

t.test('what is kept does not grow with the lengths that clients choose', (t) => {
  const heads = new Heads(limits)
  const ids = Array.from({ length: 200 }, (_, i) => 'x'.repeat(i))
  const documents = ids.map((id) => heads.read(head(id)))
  const kept = ids.filter((id, i) => heads.read(head(id)) === documents[i])
  t.ok(kept.length <= 64, `${kept.length} are kept`)
  t.equal(heads.read(head('x')).id, 'x')
  t.end()
})
