// @ts-check
import js from '@eslint/js'
import { defineConfig, globalIgnores } from 'eslint/config'
import tseslint from 'typescript-eslint'

/**
 * The rooms of lib/, from the top to the ground: a file imports its own room and those below it. Those on one floor do
 * not know each other. onnx/index.ts, the entry point, stands above the room of its other files: it has the steps too.
 */
const rooms = [
  ['index.ts'],
  ['cli/'],
  ['client/', 'serve/'],
  ['tasks/', 'onnxruntime/'],
  ['video/'],
  ['vision/'],
  ['quantization/'],
  ['inspection.ts', 'capabilities.ts'],
  ['onnx/index.ts'],
  ['engine.ts', 'refitter.ts'],
  ['engine/'],
  ['benchmark/'],
  ['cache/'],
  ['builder.ts'],
  ['building/'],
  ['plan.ts'],
  ['plan/'],
  ['log.ts'],
  ['backend/'],
  ['device-tensor.ts'],
  ['steps/'],
  ['onnx/'],
  ['kserve/', 'tensor-files/'],
  ['tensor.ts'],
  ['tensor/'],
  ['base/'],
  ['errors.ts'],
  ['disposal.ts'],
]

/** Files that are a room of their own inside of the folder of another. */
const entries = rooms.flat().filter((room) => !room.endsWith('/') && room.includes('/'))

/** What has another class in another realm, and so is told by what it is. */
const builtIns =
  /\w*Array|\w*ArrayBuffer|DataView|Map|Set|RegExp|Promise|Date|Error|(Range|Type|Aggregate|Syntax)Error|URL|AbortSignal|Blob|Object/
const ofAnyRealm = {
  selector: `BinaryExpression[operator='instanceof'][right.name=/^(${builtIns.source})$/]`,
  message: 'False for a value of another realm: ask node:util/types or lib/base/kinds.ts.',
}

/**
 * What a room may not import: as a statement, as a call, or in a type.
 *
 * @returns {import('eslint').Linter.Config}
 */
function rulesOf(/** @type {string} */ room, /** @type {number} */ floor) {
  const isFolder = room.endsWith('/')
  const isWithin = entries.includes(room)
  const foreign = rooms
    .slice(0, floor + 1)
    .flat()
    .filter((other) => other !== room)
  const names = foreign.map((other) => (other.endsWith('/') ? `${other}.*` : other.replace('.ts', '\\.js')))
  const regex = `^${isFolder || isWithin ? '(\\.\\./)+' : '\\./'}(${names.join('|')})$`
  const message = `lib/${room} imports only what lies below it: see the rooms in eslint.config.mjs.`
  const selector = `:matches(ImportExpression, TSImportType) Literal[value=/${regex.replaceAll('/', '\\/')}/]`
  return {
    files: [isFolder ? `lib/${room}**/*.ts` : `lib/${room}`],
    ignores: isFolder ? entries.map((entry) => `lib/${entry}`) : [],
    rules: {
      'no-restricted-imports': ['error', { patterns: [{ regex, message }] }],
      'no-restricted-syntax': ['error', { selector, message }, ofAnyRealm],
    },
  }
}

/**
 * Where a file of lib/ is in no room, nothing is right.
 *
 * @type {import('eslint').Linter.Config[]}
 */
const downwards = [
  {
    files: ['lib/**/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        { selector: 'Program', message: 'This file is in none of the rooms in eslint.config.mjs.' },
      ],
    },
  },
  ...rooms.flatMap((floor, height) => floor.map((room) => rulesOf(room, height))),
]

/** @typedef {import('@typescript-eslint/types').TSESTree.VariableDeclarator} Declarator */

/** Calls of the library that take options. */
const takesOptions =
  /^(load|open|attach|build|infer|inferSync|stream|benchmark|serve|toTensor|readImage|writeImage|openVideo)$/

/**
 * TypeScript checks the names of options where they are written, if a type is named there. It does not check a constant
 * without a type that is spread or passed on: an option that moved would be found only when the bench runs.
 *
 * @type {import('eslint').Rule.RuleModule}
 */
const typedOptions = {
  create(context) {
    const check = (/** @type {import('estree').Node} */ node) => {
      const { references } = context.sourceCode.getScope(node)
      const definition = references.find(({ identifier }) => identifier === node)?.resolved?.defs[0]
      if (definition?.type !== 'Variable') return
      const { id, init } = /** @type {Declarator} */ (definition.node)
      const value = init?.type === 'TSAsExpression' ? init.expression : init
      if (id.typeAnnotation === undefined && value?.type === 'ObjectExpression')
        context.report({ node, message: 'Write `satisfies` and a type where this constant is defined.' })
    }
    return {
      'ObjectExpression > SpreadElement > Identifier': check,
      [`CallExpression[callee.name=${takesOptions}] > Identifier.arguments`]: check,
      [`CallExpression[callee.property.name=${takesOptions}] > Identifier.arguments`]: check,
    }
  },
}

export default defineConfig(
  globalIgnores([
    'dist/',
    'build/',
    'prebuilds/',
    '.cache/',
    '.tap/',
    'out/',
    'coverage/',
    'lib/onnx/onnx_pb.ts',
    'lib/kserve/messages/*_pb.ts',
    'test/types/',
  ]),
  js.configs.recommended,
  {
    rules: {
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-console': 'off',
      // prettier breaks code; comments are broken by hand. Strings and addresses stay whole.
      'max-len': [
        'error',
        {
          code: 120,
          ignoreUrls: true,
          ignoreStrings: true,
          ignoreTemplateLiterals: true,
          ignoreRegExpLiterals: true,
          ignorePattern: 'eslint-disable|^import |^export .* from ',
        },
      ],
      'object-shorthand': 'error',
      'prefer-const': 'error',
    },
  },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // A number in a message is what it looks like.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      // Arrow functions of one line are the style here.
      '@typescript-eslint/no-confusing-void-expression': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', ignoreRestSiblings: true }],
      '@typescript-eslint/consistent-type-imports': ['error', { disallowTypeAnnotations: false }],
      // An index into a typed array inside a loop that is bounded by its length.
      '@typescript-eslint/no-non-null-assertion': 'off',
      // What JavaScript hands over is checked at run time too, whatever its type says.
      '@typescript-eslint/no-unnecessary-condition': 'off',
      // `DType | string` tells a reader what strings are meant.
      '@typescript-eslint/no-redundant-type-constituents': 'off',
      // An async function may be one for its type's sake: a method of an interface, a test.
      '@typescript-eslint/require-await': 'off',
      // There are no enums here (erasableSyntaxOnly), and looking for them takes a tenth of the time.
      '@typescript-eslint/no-unsafe-enum-assignment': 'off',
    },
  },
  ...downwards,
  {
    // One listener for each signal, however many wait for it: lib/base/cancellation.ts sees to that.
    files: ['lib/**/*.ts'],
    ignores: ['lib/base/cancellation.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['clearImmediate', 'setImmediate', 'structuredClone'].map((name) => ({
          name,
          message: 'A window of jsdom has none, and fake timers of tests hold it: import it of node:timers.',
        })),
      ],
      'no-restricted-properties': [
        'error',
        ...['addEventListener', 'onabort'].map((property) => ({
          property,
          message: 'Use onAbort() or within() of lib/base/cancellation.ts.',
        })),
      ],
    },
  },
  {
    files: ['bench/**/*.ts'],
    plugins: { bench: { rules: { 'typed-options': typedOptions } } },
    rules: { 'bench/typed-options': 'error' },
  },
  {
    // Tests hand over what the types forbid, and tap's t.test() is awaited by its parent.
    files: ['test/**/*.ts'],
    rules: {
      '@typescript-eslint/no-floating-promises': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-explicit-any': 'off',
    },
  },
  {
    // The scripts' types are checked by `tsc -p scripts`.
    files: ['**/*.mjs'],
    languageOptions: {
      globals: Object.fromEntries(
        [
          'Buffer',
          'URL',
          'clearInterval',
          'clearTimeout',
          'console',
          'fetch',
          'process',
          'setInterval',
          'setTimeout',
          'structuredClone',
        ].map((name) => [name, 'readonly']),
      ),
    },
  },
)
