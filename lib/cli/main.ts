/** The program `trt`, on a Node that it runs on. */
import { basename } from 'node:path'
import { argv, stderr, stdout } from 'node:process'
import { exitCodes } from './exit-codes.js'
import { wholeFile } from './output/whole.js'
import { runTrt } from './program.js'
import { codeOfSignal, Session } from './session.js'

const session = new Session({
  name: basename(argv[1] ?? 'trt', '.js'),
  stdout: wholeFile(stdout, endWithoutResults),
  stderr,
})

// The first asks the command to end, which leaves no half file; the second ends it. Node.js handles SIGHUP by its
// default even below nohup: the process would end without a word.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (!session.signal.aborted) return session.interrupt(signal)
    session.warn(
      `received ${signal} while ending: exits now with ${codeOfSignal[signal]}, without waiting for the rest`,
    )
    process.exit(codeOfSignal[signal])
  })
}
// Whatever ends it: a bar hides the cursor.
process.on('exit', () => session.end())
stdout.on('error', endWithoutResults)
// A warning names options; Node's own listener, if warnings are on, would print them as they are.
if (process.listenerCount('warning') > 0) {
  process.removeAllListeners('warning')
  process.on('warning', ({ name, message }) =>
    session.warn(name === 'TensorRTWarning' ? `warning: ${message}` : `(node:${process.pid}) ${name}: ${message}`),
  )
}
// Messages that nobody reads end no work.
stderr.on('error', () => {})

process.exitCode = await runTrt(argv.slice(2), session)

/** The reader of a pipe closed it, as `| head` does; or results cannot be written, as on a full disk. */
function endWithoutResults({ code, message }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE') return session.outlivesReaders ? undefined : process.exit()
  session.warn(`error: Cannot write the results: ${message}`)
  process.exit(exitCodes.failed)
}
