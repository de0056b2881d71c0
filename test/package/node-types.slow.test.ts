// The declarations of all entries, checked without skipLibCheck, against the newest @types/node that is known and the
// oldest that is supported. The tsconfig is the one of docs/guides/bundlers.md.
import t from 'tap'
import { compiledAgainst, installedTypes } from './node-types.js'

t.test('the newest @types/node that is known', async (t) => {
  const { version, said } = await compiledAgainst(t, installedTypes('types-node-newest'))
  t.match(version, /^26\./)
  t.equal(said, '')
})

t.test('the oldest line of @types/node that is supported', async (t) => {
  const { version, said } = await compiledAgainst(t, installedTypes('@types/node'))
  t.match(version, /^20\.19\./)
  t.equal(said, '')
})
