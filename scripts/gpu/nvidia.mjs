// @ts-check
// Finds files of NVIDIA's, by their names and by what is in them: none may be in the kit for a GPU machine.
import { basename } from 'node:path'

const names =
  /^(lib(nv|cu(da|dart|dnn|blas|fft|rand|solver|sparse)|nccl|tensorrt)[\w-]*\.(so|a)(\.|$)|Nv[A-Z]\w*\.h$|cuda\w*\.h$|tensorrt\.tar)/
/** Functions that a library of NVIDIA's exports. The addon looks the same names up, but exports none of them. */
const functions =
  /^(createInfer\w+_INTERNAL|createNvOnnxParser\w*|getInferLibVersion|initLibNvInferPlugins|nvmlInit\w*|cuInit|cuda[A-Z]\w+)$/
/** The first bytes of plans, which have kernels of NVIDIA's in them. */
const magics = ['ftrt', 'ptrt']
/** Messages of Triton's protocol, under a BSD license: this package has them, too. */
const ownMessages = /^dist\/lib\/kserve\/messages\/\w+_pb\.js$/
const notice = /copyright[^\n]{0,60}nvidia corporation/i

/**
 * The names that an ELF library for x86-64 or arm64 defines for others.
 *
 * @param {Buffer} bytes
 * @returns {string[]} nothing if it is no such library
 */
export const definedSymbols = (bytes) => {
  if (bytes.length < 64 || bytes.toString('latin1', 0, 6) !== '\x7fELF\x02\x01') return []
  const [table, size, count] = [Number(bytes.readBigUInt64LE(40)), bytes.readUInt16LE(58), bytes.readUInt16LE(60)]
  const section = (/** @type {number} */ index) => {
    const at = table + index * size
    const [offset, length] = [Number(bytes.readBigUInt64LE(at + 24)), Number(bytes.readBigUInt64LE(at + 32))]
    return {
      type: bytes.readUInt32LE(at + 4),
      link: bytes.readUInt32LE(at + 40),
      data: bytes.subarray(offset, offset + length),
    }
  }
  const sections = Array.from({ length: count }, (_, index) => section(index))
  // SHT_DYNSYM
  return sections
    .filter(({ type }) => type === 11)
    .flatMap(({ data, link }) => {
      const strings = sections[link]?.data ?? Buffer.alloc(0)
      return Array.from({ length: Math.floor(data.length / 24) }, (_, index) => {
        const isDefined = data.readUInt16LE(index * 24 + 6) !== 0
        const at = data.readUInt32LE(index * 24)
        return isDefined ? strings.toString('latin1', at, strings.indexOf(0, at)) : ''
      }).filter((name) => name !== '')
    })
}

/**
 * Why a file is one of NVIDIA's.
 *
 * @param {string} path in the kit
 * @param {Buffer} bytes
 * @returns {string | undefined} nothing if it is not
 */
export const nvidiaReason = (path, bytes) => {
  if (names.test(basename(path))) return 'its name'
  const symbol = definedSymbols(bytes).find((name) => functions.test(name))
  if (symbol !== undefined) return `it defines ${symbol}`
  if (magics.includes(bytes.toString('latin1', 0, 4))) return 'it is a plan'
  if (ownMessages.test(path)) return undefined
  const [found] = notice.exec(bytes.toString('latin1')) ?? []
  return found === undefined ? undefined : `it says '${found}'`
}
