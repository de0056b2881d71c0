// What the front-end counts beside the engines, by versions.
import t from 'tap'
import type { FaultKind } from '../../../lib/serve/faults.js'
import { FrontEndCounts } from '../../../lib/serve/operations/front-end-counts.js'

const of = (name: string, version = '1') => ({ name, version })

t.test('refused requests are counted, and the time of failures that an engine has counted', (t) => {
  const counts = new FrontEndCounts()
  const end = (
    model: string,
    fault: FaultKind | undefined,
    reachedModel: boolean,
    version: string | undefined = '1',
    hasResult = false,
  ) => counts.onInfer({ model, version, fault, reachedModel, hasResult, durationNs: 10 })
  end('a', undefined, true)
  end('a', 'INVALID_ARG', false)
  end('a', 'INVALID_ARG', false)
  end('a', 'UNAVAILABLE', true)
  end('a', 'INVALID_ARG', false, '2')
  end('ab', 'INVALID_ARG', false)
  end('a', 'INVALID_ARG', true, '1', true) // NaN that was to be JSON: the engine has it as a success
  counts.onInfer({
    model: 'made up',
    version: undefined,
    fault: 'NOT_FOUND',
    reachedModel: false,
    hasResult: false,
    durationNs: 10,
  })
  t.strictSame([counts.refused(of('a')), counts.failedNs(of('a'))], [2, 10])
  t.strictSame([counts.refused(of('a', '2')), counts.failedNs(of('a', '2'))], [1, 0])
  t.strictSame([counts.refused(of('made up')), counts.failedNs(of('b'))], [0, 0])
  counts.forget('a', '2')
  t.strictSame([counts.refused(of('a')), counts.refused(of('a', '2'))], [2, 0])
  counts.forget('a')
  t.strictSame([counts.refused(of('a')), counts.refused(of('ab'))], [0, 1], 'ab is another model')
  t.end()
})
