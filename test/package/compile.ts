// Compiles several programs one after the other, as `tsc` would each: in one process, which parses what they share once and is warm after the first. Its argument: a list of
// lists of the compiler's arguments. It prints what TypeScript says of each.
import { argv, stdout } from 'node:process'
import ts from 'typescript'

/** Declarations by path and by how they are understood: a program leaves them as they are. */
const declarations = new Map<string, ts.SourceFile | undefined>()

function hostOf(options: ts.CompilerOptions): ts.CompilerHost {
  const host = ts.createCompilerHost(options)
  const read = host.getSourceFile.bind(host)
  host.getSourceFile = (path, how, ...rest) => {
    if (!/\.d\.[cm]?ts$/.test(path)) return read(path, how, ...rest)
    const key = `${path} ${typeof how === 'object' ? `${how.languageVersion} ${how.impliedNodeFormat}` : how}`
    if (!declarations.has(key)) declarations.set(key, read(path, how, ...rest))
    return declarations.get(key)
  }
  return host
}

/** Neither TypeScript's own library nor @types, which no change of ours can break, and which take most of the time. */
const isForeign = (program: ts.Program, file: ts.SourceFile): boolean =>
  program.isSourceFileDefaultLibrary(file) || file.fileName.includes('/node_modules/@types/')

function compile(args: readonly string[]): string {
  const { options, fileNames, errors } = ts.parseCommandLine(args)
  const host = hostOf(options)
  const program = ts.createProgram(fileNames, options, host)
  const files = program.getSourceFiles().filter((file) => !isForeign(program, file))
  const found = [
    ...errors,
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...files.flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]),
    ...(options.noEmit ? [] : program.emit().diagnostics),
  ]
  return ts.formatDiagnostics(ts.sortAndDeduplicateDiagnostics(found), host)
}

stdout.write(JSON.stringify((JSON.parse(argv[2] ?? '') as string[][]).map(compile)))
