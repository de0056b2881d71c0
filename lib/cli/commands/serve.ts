import { setFlagsFromString } from 'node:v8'
import { type Command, Option } from 'commander'
import { guideUrl } from '../../base/guide-url.js'
import { reworded, TensorRTError } from '../../errors.js'
import { type FlagRule, flagRules, flagUsage } from '../../serve/flags.js'
import { newCommand } from '../command.js'
import { exitCodes } from '../exit-codes.js'
import { type Refuse, refusing } from '../flags.js'
import { plural } from '../../benchmark/report/numbers.js'
import type { Session } from '../session.js'
import type { LogServeOptions, ServeOptions } from '../../serve/public-types.js'
import type { ModelServer } from '../../serve/operations/server.js'

const example = `--model-repository models
--model classifier=model.onnx
--model-repository models --http-port=8080 --model-control-mode=poll`

/** `trt serve`: a server that takes Triton's flags, until it is told to end. */
export function command(session: Session): Command {
  const texts = new Map<string, string[]>()
  const serve: Command = newCommand('serve', {
    example,
    flags: {},
    notes: () => [
      `\n${session.prose(`Triton's other flags are known, too. Which have no effect, and which are refused: ${guideUrl('serving.md')}`)}`,
    ],
    run: async ({ refuse }) => {
      session.jsonIndent = 0
      // of a switch commander has no text
      for (const { name, value } of flagRules)
        if (value === 'switch' && serve.getOptionValue(new Option(`--${name}`).attributeName()) === true)
          texts.set(name, [''])
      const { options, ignored } = await readFlags(texts, serve.args, refuse)
      return await run(session, options, ignored, refuse)
    },
  })(session)
  for (const rule of flagRules) serve.addOption(optionOf(rule, texts))
  return serve
    .configureHelp({ minWidthToWrap: 24 }) // beside Triton's longest flag
    .allowUnknownOption()
    .allowExcessArguments()
}

/** Texts are collected as they stand: what they are is for lib/serve to say. Only what has an effect is in the help. */
function optionOf(rule: FlagRule, texts: Map<string, string[]>): Option {
  const { name, about, fallback, use, choices } = rule
  const option = new Option(
    flagUsage(rule),
    fallback === undefined ? about : `${about} (default: ${fallback})`,
  ).hideHelp(use !== 'used')
  return (choices === undefined ? option : option.choices(choices)).argParser((text) => {
    const all = [...(texts.get(name) ?? []), text]
    texts.set(name, all)
    return all
  })
}

async function readFlags(texts: Map<string, string[]>, rest: readonly string[], refuse: Refuse) {
  const [{ optionsOfFlags }, { FlagError, unknownFlag }] = await Promise.all([
    import('../../serve/operations/flag-options.js'),
    import('../../serve/operations/flag-values.js'),
  ])
  const [first] = rest
  if (first?.startsWith('-')) return refuse(unknownFlag(first).message)
  if (first !== undefined)
    return refuse(
      `unexpected argument ${first}: the folder of the models is given with --model-repository, one model file with --model NAME=${first}`,
    )
  try {
    return optionsOfFlags(texts)
  } catch (error) {
    if (error instanceof FlagError) return refuse(error.message)
    throw error
  }
}

async function run(
  session: Session,
  options: ServeOptions,
  ignored: readonly string[],
  refuse: Refuse,
): Promise<number> {
  const { checkedServeOptions } = await import('../../serve/options.js')
  const [{ start }, { closeWithin, serveUntil }] = await Promise.all([
    import('../../serve/operations/start.js'),
    import('../../serve/operations/exit.js'),
  ])
  const settings = refusing(refuse, () => checkedServeOptions({ ...withLog(options, session), signal: session.signal }))
  sparePauses()
  session.outlivesReaders = true
  if (session.json) logLines(session, settings.log)
  const server = await start(settings, ignored).catch((error: unknown) => {
    throw withRemedy(error)
  })
  session.result({ ...server.addresses, ...server.summary }, () => addressText(session, server, options))
  const left = await serveUntil(server, session.signal)
  if (left === 0) {
    await server.close()
    return exitCodes.done
  }
  session.warn(`${plural(left, 'request')} had not ended after ${settings.exitTimeoutMs / 1000} s`)
  // what runs on a lane may go on for long, and would keep the process
  if (!(await closeWithin(server, graceMs))) process.exit(exitCodes.failed)
  return exitCodes.failed
}

const graceMs = 1000

const ports = '--http-port, --grpc-port and --metrics-port give others, 0 any that is free'
const addresses =
  '--http-address, --grpc-address and --metrics-address take those of this machine; 0.0.0.0 is all of them'

/** What a user of the command can do about a place where it cannot listen, by the code of the fault. */
const remedies: Readonly<Record<string, string>> = {
  EADDRINUSE: ports,
  EACCES: ports,
  EADDRNOTAVAIL: addresses,
  ENOTFOUND: addresses,
}

function withRemedy(error: unknown): unknown {
  if (!(error instanceof TensorRTError) || error.code !== 'ERR_TRT_SERVER') return error
  const remedy = remedies[(error.cause as NodeJS.ErrnoException | undefined)?.code ?? '']
  return remedy === undefined ? error : reworded(error, `${error.message}. ${remedy}`)
}

/** The log goes to stderr. Its first line makes the other lines there JSON, too. */
function withLog(options: ServeOptions, session: Session): ServeOptions {
  const log = typeof options.log === 'object' ? options.log : {}
  const write = (line: string): unknown => {
    logLines(session, log)
    return session.stderr.write(line)
  }
  return { ...options, log: { ...log, destination: { write } } }
}

/** Gives messages of the command the form of the log, so that a reader of stderr parses each line. */
function logLines(session: Session, log: LogServeOptions | undefined): void {
  const time = log?.format === 'ISO8601' ? (): string => new Date().toISOString() : Date.now
  session.toLogLine ??= (level, msg) => JSON.stringify({ level, time: time(), msg })
}

/**
 * Bodies are read in pieces of 64 KiB outside of V8's heap, which makes V8 begin to mark its heap many times a second.
 * The process is this command's own: serve() leaves V8 as it is.
 */
function sparePauses(): void {
  setFlagsFromString('--no-incremental-marking')
}

function addressText(session: Session, server: ModelServer, { modelControlMode }: ServeOptions): string {
  const { http, grpc, metrics } = server.addresses
  const { models, failed } = server.summary
  const none =
    modelControlMode === 'explicit' && failed.length === 0 ? 'none is loaded' : 'none is served: the log says why'
  return session.fields([
    ['HTTP', http?.url],
    ['gRPC', grpc?.url],
    ['metrics', metrics?.url],
    ['models', models.length === 0 ? none : `${models.length} ready`],
    ['failed', failed.length === 0 ? undefined : failed.map(({ name }) => name).join(', ')],
  ])
}
