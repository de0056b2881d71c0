import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isText } from '../../base/checks.js'
import { isUrl } from '../../base/kinds.js'
import { expected, TensorRTError } from '../../errors.js'
import { withoutCredentials } from './credentials.js'

/** A source that a program opens by itself. */
export interface Input {
  /** As ffmpeg is given it: "file:" and an absolute path, or a URL. */
  readonly url: string
  /** For messages: a path, or a URL without its password. */
  readonly name: string
  /** The path, where it is a file of this machine. */
  readonly path: string | undefined
  /**
   * What stands before "-i": which protocols may be used, also by what the source names itself (a playlist, an .mp4
   * with parts elsewhere).
   */
  readonly options: readonly string[]
}

const ofFiles = 'file,pipe,crypto,data'
const ofNetworks = 'http,https,httpproxy,tcp,tls,udp,rtp,rtsp,rtsps,rtmp,rtmps,srt,crypto,data'

/** What a URL may begin with, in place of everything that an ffmpeg happens to have. */
const schemes = ['http', 'https', 'rtsp', 'rtsps', 'rtmp', 'rtmps', 'srt', 'udp', 'rtp', 'tcp']

/** What comes through a pipe of the program, which its stdin is unless said. */
export function pipeInput(name: string, descriptor = 0): Input {
  return { url: `pipe:${descriptor}`, name, path: undefined, options: ['-protocol_whitelist', ofFiles] }
}

/** A camera of this machine, by Video4Linux: `/dev/video0`. */
export function isDevice(path: string | undefined): path is string {
  return path !== undefined && /^\/dev\/(video\d+|v4l\/.+)$/.test(path)
}

export function deviceInput(path: string): Input {
  return { url: path, name: path, path: undefined, options: ['-f', 'v4l2'] }
}

/** A path, a `file:` URL, or a URL of a network. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedInput(source: unknown, name = 'source'): Input {
  const text = isUrl(source) ? source.href : source
  if (!isText(text)) throw expected('a path or a URL', name, source)
  if (isUrl(source) ? source.protocol === 'file:' : /^file:\//i.test(text)) return fileInput(pathOfUrl(text, name))
  // with one letter before the colon it is a drive of Windows, without "//" the name of a file
  const scheme = /^([a-z][a-z0-9+.-]+):\/\//i.exec(text)?.[1]?.toLowerCase()
  if (scheme === undefined && !isUrl(source)) return fileInput(resolve(text))
  if (scheme !== undefined && schemes.includes(scheme))
    return { url: text, name: withoutCredentials(text), path: undefined, options: ['-protocol_whitelist', ofNetworks] }
  throw expected(
    `a path, a file: URL or one of ${schemes.map((each) => `${each}:`).join(', ')}`,
    name,
    withoutCredentials(text),
  )
}

/** By "file:" a path stays one, whatever is in it ("a:b", "-i", "%d"). */
function fileInput(path: string): Input {
  return { url: fileUrl(path), name: path, path, options: ['-protocol_whitelist', ofFiles] }
}

/** How ffmpeg is given the path of a file, to read or to write. */
export function fileUrl(path: string): string {
  return `file:${path}`
}

function pathOfUrl(text: string, name: string): string {
  try {
    return fileURLToPath(text)
  } catch (cause) {
    throw new TensorRTError(
      'ERR_TRT_INVALID_ARGUMENT',
      `Expected a file: URL of this machine for ${name}: ${(cause as Error).message}`,
      {
        cause,
      },
    )
  }
}
