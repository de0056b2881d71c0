// JSON of requests, read so that no number changes: what a double cannot hold is found in the text itself.
import { isAscii, isUtf8 } from 'node:buffer'
import { type Fault, invalid } from '../faults.js'
import { diagnosed } from './json-fault.js'

/**
 * JSON.parse with a reviver that sees texts of numbers is there from Node 22 on only; this does with two parses of a
 * rare kind of text.
 */
export interface ParsedJson {
  readonly plain: unknown
  /**
   * The same with null in place of each number that is written with a point or an exponent: those are no integers, as
   * in Triton.
   */
  readonly exact: unknown
}

/**
 * @throws Fault INVALID_ARG with Triton's text and the byte at which it stops to be JSON; or that it is nested deeper
 * than `depth`
 */
export function parseJson(given: Uint8Array, depth: number): ParsedJson {
  const bytes = withoutMark(given)
  const text = textOf(bytes)
  if (isTooDeep(bytes, depth))
    throw invalid(`Unable to parse 'data': JSON nesting depth exceeds maximum allowed limit (${depth})`)
  const plain = parsed(text, bytes)
  return { plain, exact: mayHaveFractions.test(text) ? parsed(textOf(withoutFractions(bytes)), bytes) : plain }
}

/** Also of a text within the text, for which the second parse changes nothing. */
const mayHaveFractions = /\d[.eE]/

function parsed(text: string, bytes: Uint8Array): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw invalid(diagnosed(bytes))
  }
}

function textOf(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (isAscii(buffer)) return buffer.toString('latin1')
  if (!isUtf8(buffer)) throw invalid(diagnosed(bytes))
  return buffer.toString()
}

/** Of a text that begins with the mark of its encoding. */
function withoutMark(bytes: Uint8Array): Uint8Array {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes
}

/** Arrays and objects that are around `data` of an input: the request, `inputs`, the input. */
const aroundData = 3

const [quote, backslash, point, smallE, capitalE] = [0x22, 0x5c, 0x2e, 0x65, 0x45]
const [openArray, openObject, closeArray, closeObject] = [0x5b, 0x7b, 0x5d, 0x7d]

function isTooDeep(bytes: Uint8Array, depth: number): boolean {
  const most = depth + aroundData
  if (!hasAsMany(bytes, most)) return false
  let level = 0
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!
    if (byte === quote) i = endOfString(bytes, i)
    else if (byte === openArray || byte === openObject) {
      if (++level >= most) return true
    } else if (byte === closeArray || byte === closeObject) level--
  }
  return false
}

/** Whether so many arrays and objects begin anywhere: to find few of them takes no time. */
function hasAsMany(bytes: Uint8Array, count: number): boolean {
  let found = 0
  for (const open of [openArray, openObject])
    for (let at = bytes.indexOf(open); at >= 0; at = bytes.indexOf(open, at + 1)) if (++found >= count) return true
  return false
}

function endOfString(bytes: Uint8Array, start: number): number {
  let i = start + 1
  while (i < bytes.length && bytes[i] !== quote) i += bytes[i] === backslash ? 2 : 1
  return i
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39
}

/** Null in place of each number that is written with a point or an exponent; of bytes that are JSON. */
function withoutFractions(bytes: Uint8Array): Uint8Array {
  // such a number has three bytes or more
  const result = Buffer.allocUnsafe(Math.ceil((bytes.length * 4) / 3))
  let [i, length] = [0, 0]
  while (i < bytes.length) {
    const start = i
    const byte = bytes[i++]!
    let isFraction = false
    if (byte === quote) i = endOfString(bytes, start) + 1
    else if (byte === minus || isDigit(byte))
      for (; isOfNumber(bytes[i]); i++)
        isFraction ||= bytes[i] === point || bytes[i] === smallE || bytes[i] === capitalE
    if (isFraction) length += result.write('null', length, 'latin1')
    else for (let at = start; at < i; at++) result[length++] = bytes[at]!
  }
  return result.subarray(0, length)
}

const [plus, minus] = [0x2b, 0x2d]

function isOfNumber(byte: number | undefined): boolean {
  return isDigit(byte) || byte === point || byte === smallE || byte === capitalE || byte === plus || byte === minus
}

export type JsonObject = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Names of what is wrong as Triton's: they end `Unable to parse 'NAME': `. */
const kinds = {
  array: 'non-array as array',
  object: 'non-object as object',
  string: 'non-string as string',
  boolean: 'non-boolean as boolean',
  unsigned: 'non-unsigned-integer as unsigned-integer',
} as const

/** A member that has to be there. @throws Fault INVALID_ARG */
function member(object: unknown, name: string): unknown {
  const value = isObject(object) ? object[name] : undefined
  if (value === undefined)
    throw invalid(`Unable to parse '${name}': attempt to access non-existing object member '${name}'`)
  return value
}

function wrongKind(name: string, kind: keyof typeof kinds, why = `attempt to access JSON ${kinds[kind]}`): Fault {
  return invalid(`Unable to ${name === 'classification' ? 'set' : 'parse'} '${name}': ${why}`)
}

/** @throws Fault INVALID_ARG with Triton's text */
export function arrayOf(object: unknown, name: string): readonly unknown[] {
  const value = member(object, name)
  if (!Array.isArray(value)) throw wrongKind(name, 'array')
  return value as unknown[]
}

/** @throws Fault INVALID_ARG with Triton's text */
export function stringOf(object: unknown, name: string): string {
  const value = member(object, name)
  if (typeof value !== 'string') throw wrongKind(name, 'string')
  return value
}

/** @throws Fault INVALID_ARG with Triton's text */
export function booleanOf(value: unknown, name: string): boolean {
  if (typeof value !== 'boolean') throw wrongKind(name, 'boolean')
  return value
}

/** A whole number from 0 on that a double holds exactly. @throws Fault INVALID_ARG with Triton's text */
export function unsignedOf(value: unknown, name: string): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value >= 2 ** 64)
    throw wrongKind(name, 'unsigned')
  if (!Number.isSafeInteger(value)) throw wrongKind(name, 'unsigned', `a whole number beyond 2^53 is not exact in JSON`)
  return value
}
