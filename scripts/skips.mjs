// @ts-check
// The reasons for which a test may be skipped where CI is set. Whatever else is skipped there is a failure: nobody
// would see that it no longer runs.

/** @type {readonly (readonly [reason: RegExp, why: string])[]} */
const allowed = [
  [/^unshare cannot mount here$/, 'a container may forbid it'],
  [/^no real headers: /, 'cargo brings them: the facts were held against them when they were last changed'],
  [/^this machine has TensorRT$/, 'what is said where there is none'],
  [/^the page says: \S/, 'a fence of a page that is not run, for the reason that stands above it'],
  [/^ffmpeg is not installed here$/, '.ci/run installs it if it may: without that right the other tests run'],
  [/^this machine has no IPv6$/, 'a container may have none'],
  [/^node-gyp cannot build in this path: /, 'a checkout whose path has a space, which test:long makes on purpose'],
  [/^there is a GPU: /, 'what is said where there is none'],
]

/** @param {{ title: string, reason: string }} skipped */
export const isAllowed = ({ reason }) => allowed.some(([pattern]) => pattern.test(reason))
