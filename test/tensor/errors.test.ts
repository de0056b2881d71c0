import t from 'tap'
import { errorCodes, TensorRTError } from '../../lib/index.js'
import { describe, expected } from '../../lib/errors.js'

t.test('an error carries what a program needs', (t) => {
  const cause = new Error('why')
  const error = new TensorRTError('ERR_TRT_BUILD', 'no', { cause, log: ['[E] x'], details: { operator: 'Foo' } })
  t.match(error, {
    name: 'TensorRTError',
    code: 'ERR_TRT_BUILD',
    message: 'no',
    cause,
    log: ['[E] x'],
    details: { operator: 'Foo' },
  })
  t.ok(error instanceof Error)
  t.match(error.stack, /^TensorRTError: no|^Error: no/)
  const bare = new TensorRTError('ERR_TRT_PLAN', 'no')
  t.same([bare.log, bare.details, 'cause' in bare], [[], {}, false])
  for (const [code, meaning] of Object.entries(errorCodes))
    t.ok(/^ERR_TRT_[A-Z_]+$/.test(code) && meaning.length > 10, code)
  t.end()
})

t.test('describe says type and, where it is short, value', (t) => {
  class Own {
    one = 1
  }
  const rows: [unknown, string][] = [
    [null, 'null'],
    [undefined, 'undefined'],
    ['a', 'string "a"'],
    ['a'.repeat(61), `string "${'a'.repeat(57)}..."`],
    [1.5, 'number 1.5'],
    [NaN, 'number NaN'],
    [true, 'boolean true'],
    [5n, 'bigint 5'],
    [[1, 2], 'array [1, 2]'],
    [['a'], 'array of 1'],
    [new Array(9).fill(1), 'array of 9'],
    [{}, 'Object'],
    [Object.create(null), 'object'],
    [new Own(), 'Own'],
    [Symbol('s'), 'symbol'],
    [() => 1, 'function'],
  ]
  for (const [value, text] of rows) t.equal(describe(value), text)
  t.match(expected('a path', 'source', 5), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: 'Expected a path for source but received number 5',
  })
  t.end()
})

t.test('describe never throws', (t) => {
  const throwing = (): never => {
    throw new Error('no')
  }
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()
  const hostile = [
    revoked.proxy,
    new Proxy({}, { getPrototypeOf: throwing }),
    Object.create({
      get constructor() {
        return throwing()
      },
    }),
  ]
  for (const value of hostile) t.equal(describe(value), 'object')
  t.end()
})
