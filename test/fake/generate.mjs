// Writes the C++ classes of the fake TensorRT of one family from the facts: node generate.mjs trt10 OUT.h
// Methods that the fake implements are pure virtual with the return types below (the facts have none); every other
// entry is a trap that says what was called. Nothing here comes from native/tensorrt, so that one checks the other.
import { readFileSync, writeFileSync } from 'node:fs'
import { returns, callbacks, publics } from './returns.mjs'

const [family, out] = process.argv.slice(2)
const facts = (name) => JSON.parse(readFileSync(new URL(`../facts/${name}.json`, import.meta.url), 'utf8'))[family]
const { interfaces } = facts('vtables')
const enums = facts('enums')

const split = (signature) => {
  const open = signature.indexOf('(')
  return [signature.slice(0, open), signature.slice(open + 1, -1)]
}
const number = (version) => Number(version.split('.').pop())

const lines = [
  '// Generated from test/facts by test/fake/generate.mjs.',
  '#pragma once',
  '#include <cstddef>',
  '#include <cstdint>',
  '',
]
lines.push('namespace fake { void* trap(char const* interface, int index, char const* method) noexcept; }')
lines.push('using cudaStream_t = void*;', 'using cudaEvent_t = void*;', '')

const enumerations = (prefix) =>
  Object.entries(enums)
    .filter(([name]) => (prefix ? name.startsWith(prefix) : !name.includes('::')))
    .map(([name, values]) => {
      const rows = Object.entries(values).map(([key, [value]]) => `${key} = ${value}`)
      return `enum class ${name.replace(prefix, '')} : int32_t { ${rows.join(', ')} };`
    })

lines.push('namespace nvinfer1 {', ...enumerations(''))
lines.push(
  'struct Dims64 { int32_t nbDims; int64_t d[8]; };',
  'using Dims = Dims64;',
  'struct Weights { DataType type; void const* values; int64_t count; };',
  'struct InterfaceInfo { char const* kind; int32_t major; int32_t minor; };',
  'using AsciiChar = char; using ErrorDesc = char const*;',
  'using BuilderFlags = uint32_t; using NetworkDefinitionCreationFlags = uint32_t; using TensorFormats = uint32_t;',
  'using TacticSources = uint32_t; using SerializationFlags = uint32_t; using TempfileControlFlags = uint32_t; using QuantizationFlags = uint32_t; using AllocatorFlags = uint32_t; using PluginLibraryHandle = void*;',
  'class IPluginRegistry; class IDebugListener; class IStreamWriter; class IAlgorithmSelector; class IInt8Calibrator; class ILayer;',
)
for (const name of [...Object.keys(publics), ...callbacks])
  if (interfaces[name] || publics[name]) lines.push(`class ${name};`)

const destructor = (name) => `  virtual ~${name}() = default;`
const traps = []

function body(name, table, namespace = 'nvinfer1') {
  const rows = []
  let destroyed = false
  for (const [index, signature] of interfaces[name]) {
    if (signature === '~') {
      if (!destroyed) rows.push(destructor(name))
      destroyed = true
      continue
    }
    const [method, parameters] = split(signature)
    const type = table?.[signature] ?? table?.[method]
    // TensorRT-RTX follows 11
    const result = typeof type === 'object' ? (type[family] ?? type.trt11) : type
    // Two overloads share a name in the table only where the table gives the whole signature.
    if (result && !(table[signature] === undefined && overloaded(name, method))) {
      rows.push(`  virtual ${result} ${method}(${parameters}) noexcept = 0;  // ${index}`)
    } else {
      rows.push(`  virtual void* slot${index}() noexcept { return fake::trap("${name}", ${index}, "${signature}"); }`)
    }
  }
  traps.push([name, namespace])
  return rows
}
const overloaded = (name, method) => interfaces[name].filter((row) => split(row[1])[0] === method).length > 1

// What the library calls back: the application's classes, every entry declared.
for (const name of callbacks) {
  if (!interfaces[name]) continue
  lines.push(`class ${name} {`, ' public:', ...body(name, returns[name]), '};')
}
// Called directly, as the parser's classes are.
lines.push('class IPluginRegistry {', ' public:', ...body('IPluginRegistry', returns.IPluginRegistry), '};')
lines.push('namespace apiv {')
for (const name of Object.keys(returns)) {
  if (!name.startsWith('V') || !interfaces[name]) continue
  lines.push(`class ${name} {`, ' public:', ...body(name, returns[name]), '};')
}
lines.push('}  // namespace apiv')
for (const [name, implementation] of Object.entries(publics)) {
  if (!interfaces[implementation]) continue
  const extra = interfaces[name] ? body(name, {}) : [destructor(name)]
  if (name === 'ILayer') {
    lines.push(
      `class ${name} {`,
      ' public:',
      ...extra,
      `  apiv::${implementation}* mLayer = nullptr;`,
      '  void* mImpl = nullptr;',
      '};',
    )
    continue
  }
  lines.push(`class ${name} {`, ' public:', ...extra, `  apiv::${implementation}* mImpl = nullptr;`, '};')
}
lines.push('}  // namespace nvinfer1', '')

lines.push(
  'namespace nvonnxparser {',
  'using nvinfer1::IBuilderConfig;',
  'using OnnxParserFlags = uint32_t;',
  'class IRefitterObserver;',
)
lines.push(...enumerations('nvonnxparser::'), 'class IParserError;')
for (const name of ['IParserError', 'IParser', 'IParserRefitter'])
  lines.push(`class ${name} {`, ' public:', ...body(name, returns[name], 'nvonnxparser'), '};')
lines.push('}  // namespace nvonnxparser', '')

// The first minor version of every entry, for posing as an older library.
lines.push(
  'namespace fake {',
  'struct TableFacts { char const* name; int count; short const* since; char const* const* methods; };',
)
for (const [name] of traps) {
  const rows = interfaces[name]
  lines.push(`inline constexpr short since${name}[] = {${rows.map((row) => number(row[2])).join(', ')}};`)
  lines.push(
    `inline constexpr char const* methods${name}[] = {${rows.map((row) => JSON.stringify(row[1])).join(', ')}};`,
  )
}
lines.push('inline constexpr TableFacts tables[] = {')
for (const [name] of traps) lines.push(`  {"${name}", ${interfaces[name].length}, since${name}, methods${name}},`)
lines.push('};')
// The first minor version of every enumerator, to refuse those that an older library does not know.
lines.push(
  'struct EnumeratorFacts { char const* enumeration; int value; int since; };',
  'inline constexpr EnumeratorFacts enumerators[] = {',
)
for (const [name, values] of Object.entries(enums)) {
  for (const [value, since] of Object.values(values)) lines.push(`  {"${name}", ${value}, ${number(since)}},`)
}
lines.push('};', '}  // namespace fake', '')

writeFileSync(out, lines.join('\n'))
