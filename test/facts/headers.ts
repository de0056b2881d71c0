// Vtable indices as the compiler sees them in TensorRT's real headers: a generated C++ program prints, for every row,
// the index in the pointer to the member. Nothing of the headers is kept.
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cargoCrate, crateInRegistry } from './crates.js'

const run = promisify(execFile)

export interface Row {
  interface: string
  method: string
  parameters: string
}

/** Index in the table; what kind of value the method returns; null where these headers have no such method. */
export type Found = { index: number; kind: string } | null

export interface HeaderSet {
  family: string
  folder: string
  /** Further folders for the compiler, with a cuda_runtime_api.h. */
  include: string[]
}

const crate = { name: 'trtx-sys', version: '0.9.1+rtx1.7' }
const inCrate = 'TensorRT-Headers'

/** The headers that cargo has or can fetch; a text says why there are none. */
export async function cargoHeaders(): Promise<HeaderSet[] | string> {
  const fetched = await cargoCrate(crate)
  if (typeof fetched === 'string') return fetched
  const folder = join(fetched.folder, inCrate)
  const names: Record<string, string> = {
    'TRT-Enterprise-11.4': 'trt11',
    'TRT-RTX-1.5': 'rtx1.5',
    'TRT-RTX-1.6': 'rtx1.6',
    'TRT-RTX-1.7': 'rtx1.7',
  }
  return Object.entries(names)
    .filter(([name]) => existsSync(join(folder, name, 'NvInfer.h')))
    .map(([name, family]) => ({ family, folder: join(folder, name), include: [folder] }))
}

/** `--include DIR` or NODE_TENSORRT_HEADERS=DIR names headers of the family that their NvInferVersion.h says. */
export async function namedHeaders(argv: readonly string[] = process.argv): Promise<HeaderSet[]> {
  const at = argv.indexOf('--include')
  const folder = at >= 0 ? argv[at + 1] : process.env['NODE_TENSORRT_HEADERS']
  if (!folder) return []
  const major = await define(folder, 'MAJOR')
  const minor = await define(folder, 'MINOR')
  const rtx = existsSync(join(folder, 'NvInferVersion.h')) && major < 10
  return [
    {
      family: rtx ? `rtx${major}.${minor}` : `trt${major}`,
      folder,
      include: [crateInRegistry(crate)].filter((found) => found !== undefined).map((found) => join(found, inCrate)),
    },
  ]
}

async function define(folder: string, part: 'MAJOR' | 'MINOR'): Promise<number> {
  // The macro may refer to another one, so the preprocessor says what it is.
  const { stdout } = await run('sh', [
    '-c',
    `printf '#include "NvInferVersion.h"\\nNV_TENSORRT_${part}\\n' | c++ -E -P -x c++ -I "$0" -`,
    folder,
  ])
  return Number(stdout.trim().split('\n').pop())
}

/** 10.15 → 15, for facts that came later than these headers. */
export const headerMinor = (set: HeaderSet): Promise<number> => define(set.folder, 'MINOR')

export async function haveCompiler(): Promise<boolean> {
  return run('c++', ['--version']).then(
    () => true,
    () => false,
  )
}

// Names that the rows shorten, as the compiler must read them.
function parametersFor({ interface: name, parameters }: Row): string {
  return parameters
    .replace(/\bSeverity\b/, `${name}::Severity`)
    .replace(/\b(ErrorCode|ErrorDesc)\b/g, name === 'IErrorRecorder' ? 'IErrorRecorder::$1' : '$1')
    .replace('IErrorRecorder::ErrorCode', 'nvinfer1::ErrorCode')
    .replace(/(\S+) bindings\[\]/, '$1*')
    .replace(/(.+) names\[\]/, '$1*')
}

const preamble = (onnx: boolean) => `
#include <NvInfer.h>
${onnx ? '#include <NvOnnxParser.h>' : ''}
#include <cstdio>
#include <cstring>
#include <type_traits>
template <class R> constexpr char const* kind() {
  using V = std::remove_cv_t<std::remove_reference_t<R>>;
  if (std::is_void_v<R>) return "void";
  if (std::is_reference_v<R> || std::is_pointer_v<V>) return "pointer";
  if (std::is_same_v<V, bool>) return "bool";
  if (std::is_floating_point_v<V>) return "float";
  if (std::is_enum_v<V> || std::is_integral_v<V>) return sizeof(V) == 8 ? "word" : sizeof(V) == 4 ? "int" : "byte";
  return sizeof(V) > 16 ? "memory" : "registers";
}
template <class P> long slot(P pointer) {
  long words[2];
  static_assert(sizeof pointer == sizeof words, "");
  std::memcpy(words, &pointer, sizeof words);
#if defined(__aarch64__)
  return words[1] & 1 ? words[0] / 8 : -1;
#else
  return words[0] & 1 ? (words[0] - 1) / 8 : -1;
#endif
}
template <class... A> struct Pick {
  template <class C, class R> static void row(int n, R (C::*p)(A...)) { std::printf("%d %ld %s\\n", n, slot(p), kind<R>()); }
  template <class C, class R> static void row(int n, R (C::*p)(A...) const) { std::printf("%d %ld %s\\n", n, slot(p), kind<R>()); }
};
// Members are asked for by a class that derives from theirs, so that protected ones can be.
using namespace nvinfer1;
using namespace nvinfer1::apiv;
`

/** What the headers say of every row, in the rows' order. Destructors cannot be pointed to and are null. */
export async function indexesFromHeaders(set: HeaderSet, rows: readonly Row[]): Promise<Found[]> {
  const folder = mkdtempSync(join(tmpdir(), 'headers-'))
  try {
    const source = join(folder, 'rows.cc')
    const binary = join(folder, 'rows')
    const found: Found[] = rows.map(() => null)
    // Rows of methods that these headers lack do not compile: their lines are taken out, and the rest tried again.
    let left = rows.map((_, index) => index).filter((index) => rows[index]?.method !== '~')
    for (let attempt = 0; ; attempt++) {
      const lines = [preamble(true)]
      const places = new Map<number, number>()
      const write = (text: string) => lines.push(...text.split('\n'))
      lines.splice(0, 1, ...preamble(true).split('\n'))
      for (const index of left) {
        const row = rows[index] as Row
        const parser = row.interface.startsWith('IParser')
        write(`void row${index}() {`)
        if (parser) write('using namespace nvonnxparser;')
        places.set(lines.length + 1, index)
        const owner = parser ? `nvonnxparser::${row.interface}` : row.interface
        write(`Pick<${parametersFor(row)}>::row(${index}, &${owner}::${row.method}); }`)
      }
      write(`int main() { ${left.map((index) => `row${index}();`).join(' ')} }`)
      writeFileSync(source, lines.join('\n'))
      const flags = [
        '-std=c++17',
        '-O0',
        '-w',
        '-fmax-errors=0',
        '-fno-diagnostics-show-caret',
        '-I',
        set.folder,
        ...set.include.flatMap((dir) => ['-I', dir]),
      ]
      const errors = await run('c++', [...flags, source, '-o', binary], { maxBuffer: 1 << 28 }).then(
        () => '',
        (error: unknown) => (error as { stderr?: string }).stderr ?? String(error),
      )
      if (!errors) break
      const bad = new Set(
        [...errors.matchAll(/rows\.cc:(\d+):\d+: error/g)].map((match) => places.get(Number(match[1]))),
      )
      const next = left.filter((index) => !bad.has(index))
      if (attempt > 4 || next.length === left.length)
        throw new Error(`the headers in ${set.folder} do not compile: ${errors.slice(0, 2000)}`)
      left = next
    }
    const { stdout } = await run(binary)
    for (const line of stdout.trim().split('\n')) {
      const [row, index, kind] = line.split(' ')
      found[Number(row)] = { index: Number(index), kind: kind ?? '' }
    }
    return found
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
