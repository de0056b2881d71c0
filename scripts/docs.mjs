// @ts-check
// npm run docs [-- --check] [--out DIR]   the API reference and the guides as a static site in build/docs: typedoc over
// what package.json exports. A public name without a docstring, a type that is not exported, a link or an anchor that
// leads nowhere are errors. --check makes the site, and keeps nothing.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { Application, Converter, KindRouter, OptionDefaults } from 'typedoc'
import { checkLinks } from './docs/links.mjs'
import { copyPages, repository } from './docs/pages.mjs'
import { describeOnnx, machinery, named } from './docs/reference.mjs'
import { Failure, main, root, say } from './support.mjs'

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false }, out: { type: 'string' } } })
const out = values.out ?? join(root, 'build', values.check ? 'docs-check' : 'docs')
const pagesFolder = `${out}-pages`

/** The public name of each entry point of the package, and its source. @type {[string, string][]} */
const entries = Object.entries(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).exports).flatMap(
  ([name, { types }]) =>
    types === undefined
      ? []
      : [[name.replace(/^\./, 'node-tensorrt'), join(root, types.replace('/dist/', '/').replace(/\.d\.ts$/, '.ts'))]],
)

await main(async () => {
  const { readme, documents } = copyPages(pagesFolder)
  const app = await Application.bootstrap({
    name: 'node-tensorrt',
    tsconfig: join(root, 'scripts', 'docs', 'tsconfig.json'),
    // the types are checked by lint; here they are only read
    skipErrorChecking: true,
    entryPoints: entries.map(([, path]) => path),
    basePath: root,
    out,
    readme,
    projectDocuments: documents,
    disableGit: true,
    gitRevision: 'main',
    sourceLinkTemplate: `${repository}/blob/{gitRevision}/{path}#L{line}`,
    blockTags: [...OptionDefaults.blockTags, '@generated'],
    intentionallyNotExported: machinery,
    useFirstParagraphOfCommentAsSummary: true,
    excludeInternal: true,
    excludePrivate: true,
    excludeExternals: true,
    router: 'pages',
    headings: { readme: false, document: false },
    customCss: join(root, 'scripts', 'docs', 'site.css'),
    navigationLinks: { GitHub: repository },
    navigation: { includeCategories: false, includeGroups: false, includeFolders: false },
    sortEntryPoints: false,
    sort: ['kind', 'instance-first', 'alphabetical-ignoring-documents'],
    groupOrder: [
      ...['Guides', 'Project', 'Modules', 'Constructors', 'Methods', 'Accessors', 'Properties'],
      ...['Classes', 'Functions', 'Interfaces', 'Type Aliases', 'Variables', '*', 'References'],
    ],
    kindSortOrder: [
      'Document',
      'Module',
      'Class',
      'Function',
      'Variable',
      'Interface',
      'TypeAlias',
      'Constructor',
      'Method',
      'Accessor',
      'Property',
      'Reference',
    ],
    highlightLanguages: [
      ...OptionDefaults.highlightLanguages,
      'cpp',
      'diff',
      'docker',
      'ini',
      'mermaid',
      'python',
      'toml',
    ],
    searchInDocuments: true,
    searchInComments: true,
    includeVersion: true,
    validation: {
      notExported: true,
      invalidLink: true,
      rewrittenLink: true,
      notDocumented: true,
      unusedMergeModuleWith: true,
    },
    treatWarningsAsErrors: true,
    logLevel: 'Warn',
  })
  // a page of text is called as its file is
  app.renderer.defineRouter(
    'pages',
    class extends KindRouter {
      /**
       * @override
       * @param {import('typedoc').Reflection} reflection
       */
      getIdealBaseName(reflection) {
        return reflection.isDocument() ? `pages/${reflection.frontmatter['page']}` : super.getIdealBaseName(reflection)
      }
    },
  )
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    describeOnnx(project)
  })
  app.converter.addUnknownSymbolResolver(({ symbolReference }, from, part) =>
    part === undefined ? undefined : named(from.project, symbolReference),
  )
  const project = await app.convert()
  if (project === undefined) throw new Failure('docs: typedoc could not read lib/')
  app.validate(project)
  const names = entries.map(([name]) => name)
  const told = project.children?.filter(({ variant }) => variant === 'declaration').map(({ name }) => name) ?? []
  for (const name of names)
    if (!told.includes(name)) app.logger.error(`lib/ lacks "@module ${name}" at the head of an entry point`)
  if (app.logger.hasErrors() || app.logger.hasWarnings())
    throw new Failure(`docs: ${app.logger.errorCount + app.logger.warningCount} findings`)
  await app.generateOutputs(project)
  if (app.logger.hasErrors() || app.logger.hasWarnings()) throw new Failure('docs: see above')
  const { links, broken } = checkLinks(out)
  if (broken.length > 0) throw new Failure(`docs: links that lead nowhere:\n${broken.join('\n')}`)
  say(
    `docs: ${links} links lead somewhere${values.check ? '' : `; ${relative(process.cwd(), join(out, 'index.html'))}`}`,
  )
})
rmSync(pagesFolder, { recursive: true, force: true })
if (values.check && existsSync(out)) rmSync(out, { recursive: true, force: true })
