/** Whether this is `npm run test:long`: everything, at its large sizes. */
export const long = process.env['TRT_TEST_LONG'] === '1'

/** The size of a test: the first by default, the second for long runs. */
export const size = (short: number, large: number): number => (long ? large : short)
