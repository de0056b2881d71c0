import { isDeepStrictEqual } from 'node:util'
import type t from 'tap'

/**
 * `t.same` of many numbers. tap walks through them one by one, 100 times slower than Node does: here only where they
 * differ, to show where.
 */
export function same(
  test: Pick<typeof t, 'pass' | 'same'>,
  found: unknown,
  wanted: unknown,
  message = 'should be equivalent',
): void {
  if (isDeepStrictEqual(found, wanted)) return void test.pass(message)
  const caller = { stack: '' }
  Error.captureStackTrace(caller, same)
  test.same(found, wanted, message, { stack: caller.stack })
}
