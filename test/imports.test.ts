/**
 * The import rules: they hold here, and each of them bites. A guard that resolves nothing reports no violation, so the
 * number of modules is checked as well.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, posix, relative, resolve } from 'node:path'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'

const root = resolve(import.meta.dirname, '..')
const areas = ['kernel', 'plugins', 'contrib', 'examples', 'test', 'docs']

interface Cruise {
  readonly modules: readonly { readonly source: string }[]
  readonly summary: {
    readonly violations: readonly {
      readonly from: string
      readonly to: string
      readonly rule: { readonly name: string }
    }[]
  }
}

function cruise(folder: string, names: readonly string[]): Cruise {
  const program = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs')
  const config = join(root, '.dependency-cruiser.cjs')
  const run = spawnSync(process.execPath, [program, '--config', config, '--output-type', 'json', ...names], {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 256 << 20,
  })
  if (run.error !== undefined) throw run.error
  if (run.stdout === '') throw new Error(run.stderr)
  return JSON.parse(run.stdout) as Cruise
}

/** An application for browsers, bundled by itself: none of its modules runs in the server, and it takes nothing but types from there. */
const application = 'plugins/console/web'

function sourcesOf(folder: string): string[] {
  return globSync('{kernel,plugins,contrib,examples,test,docs}/**/*.ts', {
    cwd: folder,
    exclude: name => name === 'node_modules' || name.endsWith('/node_modules') || name === 'dist',
  })
    .map(path => path.replaceAll('\\', '/'))
    .filter(path => !path.startsWith(`${application}/`))
}

/** Every specifier of a static or dynamic import or re-export. Comments are taken out first. */
function specifiersOf(source: string): string[] {
  const code = source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
  return [...code.matchAll(/(?:\bfrom\s+|\bimport\s*\(\s*|\bimport\s+)(['"])([^'"\n]+)\1/g)].map(match => match[2]!)
}

/** The folder that relative imports of a file may not leave; undefined where they may go anywhere. */
function homeOf(path: string): string | undefined {
  const [area, name, ...rest] = path.split('/')
  if (area === 'kernel') return 'kernel'
  if (area === 'plugins') return rest.length === 0 ? 'plugins' : `plugins/${name}`
  if (area === 'contrib' || area === 'examples') return `${area}/${name}`
  return undefined
}

/** Which folders of plugins a plugin's own code imports from, types included. Tests, and what is offered to tests, do not count. */
function pluginGraph(folder: string): Map<string, Set<string>> {
  const graph = new Map<string, Set<string>>()
  for (const path of sourcesOf(folder)) {
    const [area, plugin, ...rest] = path.split('/')
    if (area !== 'plugins' || rest.length === 0 || rest[0] === 'test') continue
    if (['contract.ts', 'testing.ts'].includes(rest.at(-1)!)) continue
    const needed = graph.get(plugin!) ?? new Set()
    graph.set(plugin!, needed)
    for (const specifier of specifiersOf(readFileSync(join(folder, path), 'utf8'))) {
      const [, other] = /^svc\/plugins\/([^/]+)\//.exec(specifier) ?? []
      if (other !== undefined && other !== plugin) needed.add(other)
    }
  }
  return graph
}

/** One circle for each folder that leads back to itself: `a → b → a`. Depth first, each folder once. */
function circlesIn(graph: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const circles: string[] = []
  const done = new Set<string>()
  const visit = (name: string, way: readonly string[]): void => {
    const start = way.indexOf(name)
    if (start !== -1) circles.push([...way.slice(start), name].join(' → '))
    if (start !== -1 || done.has(name)) return
    for (const next of graph.get(name) ?? []) visit(next, [...way, name])
    done.add(name)
  }
  for (const name of [...graph.keys()].sort()) visit(name, [])
  return circles
}

function leaving(folder: string): string[] {
  const found: string[] = []
  for (const path of sourcesOf(folder)) {
    const home = homeOf(path)
    if (home === undefined) continue
    for (const specifier of specifiersOf(readFileSync(join(folder, path), 'utf8'))) {
      if (!specifier.startsWith('.')) continue
      const target = posix.normalize(posix.join(posix.dirname(path), specifier))
      // Servers for tests belong to nobody; the import rules say who may start them.
      const isService = target.startsWith('test/services/')
      if (!isService && !target.startsWith(`${home}/`)) found.push(`${path}: ${specifier}`)
    }
  }
  return found
}

t.test('the tree keeps the import rules', t => {
  const present = areas.filter(area => globSync(`${area}/**/*.ts`, { cwd: root }).length > 0)
  const result = cruise(root, present)
  t.same(
    result.summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`),
    [],
  )
  const seen = new Set(result.modules.map(module => module.source))
  t.same(
    sourcesOf(root).filter(path => !seen.has(path)),
    [],
    'every source file was looked at',
  )
  t.same(leaving(root), [], 'bundled plugins import by package name, as a third party does')
  t.end()
})

t.test('the application of the console takes only types from the server', t => {
  const home = join(root, application)
  const outside = globSync('src/**/*.{ts,tsx}', { cwd: home }).flatMap(path =>
    [...readFileSync(join(home, path), 'utf8').matchAll(/^(import|export)( type)?\b[^'"]*['"](\.[^'"]+)['"]/gm)]
      .filter(([, , , specifier]) => posix.normalize(posix.join(posix.dirname(path), specifier!)).startsWith('../'))
      .map(([, , type, specifier]) => ({ path, isType: type !== undefined, specifier })),
  )
  t.ok(outside.length > 20, 'imports were found')
  t.same(
    outside.filter(({ isType }) => !isType),
    [],
  )
  t.end()
})

t.test('plugins do not depend on each other in cycles, not even by types', t => {
  const graph = pluginGraph(root)
  t.ok(graph.size > 40 && [...graph.values()].reduce((sum, { size }) => sum + size, 0) > 100, 'the graph was read')
  t.same(circlesIn(graph), [])
  const example = { a: ['b'], b: ['c', 'd'], c: ['a'], d: [] }
  const folder = t.testdir({
    plugins: Object.fromEntries(
      Object.entries(example).map(([name, others]) => [
        name,
        { 'api.ts': others.map(other => `import type { A } from 'svc/plugins/${other}/api'\n`).join('') },
      ]),
    ),
  })
  t.same(circlesIn(pluginGraph(folder)), ['a → b → c → a'], 'a circle of types is found')
  t.end()
})

t.test('each import rule refuses an import that violates it', t => {
  const folder = temporaryFolder(t)
  for (const name of ['package.json', 'tsconfig.json']) cpSync(join(root, name), join(folder, name))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const files: Record<string, string> = {
    'kernel/index.ts': 'export const kernel = 1\n',
    'kernel/inside.ts': "import face from 'svc/plugins/a/api'\nimport './program/run.ts'\nexport const inside = face\n",
    'kernel/program/run.ts': 'export const run = 1\n',
    'kernel/testing/index.ts': 'export const testing = 1\n',
    'plugins/a/api.ts': "import { readFileSync } from 'node:fs'\nexport default readFileSync\n",
    'plugins/a/body.ts': "export { two as one } from './other.ts'\n",
    'plugins/a/other.ts': "import { one } from './body.ts'\nexport const two = one\n",
    'plugins/a/index.ts':
      "import 'svc/plugins/b/body'\nimport 'svc/testing'\nimport './gone.ts'\nimport '../../kernel/inside.ts'\n",
    'plugins/a/test/a.test.ts': "import 'svc/plugins/b/body'\nimport 'svc/plugins/b/index'\n",
    'plugins/b/index.ts': "import 'svc/plugins/a/api'\n",
    'plugins/b/body.ts': "import 'tap'\nimport '../../contrib/c/index.ts'\nimport 'ajv'\n",
    'contrib/c/test/c.test.ts': "import '../../../test/services/d.ts'\nimport '../../../test/wire/e.ts'\n",
    'test/services/d.ts': 'export const d = 1\n',
    'test/wire/e.ts': 'export const e = 1\n',
    'contrib/c/index.ts': "import '../../plugins/b/body.ts'\nexport const c = 1\n",
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  const { violations } = cruise(folder, ['kernel', 'plugins', 'contrib']).summary
  const pairs = violations.map(({ rule, from, to }) => `${rule.name} ${from} ${relative(folder, resolve(folder, to))}`)
  for (const expected of [
    /^kernel-knows-no-plugin kernel\/inside\.ts plugins\/a\/api\.ts$/,
    /^kernel-below-its-program kernel\/inside\.ts kernel\/program\/run\.ts$/,
    /^plugins-meet-in-faces plugins\/a\/index\.ts plugins\/b\/body\.ts$/,
    /^plugin-tests-start-others-whole plugins\/a\/test\/a\.test\.ts plugins\/b\/body\.ts$/,
    /^faces-are-light plugins\/a\/api\.ts /,
    /^kernel-by-its-surface plugins\/a\/index\.ts kernel\/inside\.ts$/,
    /^testing-stays-in-tests plugins\/a\/index\.ts kernel\/testing\/index\.ts$/,
    /^nobody-imports-contrib plugins\/b\/body\.ts contrib\/c\/index\.ts$/,
    /^outsiders-stand-alone contrib\/c\/index\.ts plugins\/b\/body\.ts$/,
    /^services-for-all-tests contrib\/c\/test\/c\.test\.ts test\/wire\/e\.ts$/,
    /^no-cycle /,
    /^no-development-package-in-product plugins\/b\/body\.ts /,
    /^no-undeclared-package plugins\/b\/body\.ts /,
    /^resolvable plugins\/a\/index\.ts /,
  ]) {
    t.ok(
      pairs.some(pair => expected.test(pair)),
      String(expected),
      { pairs },
    )
  }
  const allowed = [
    'plugins/b/index.ts plugins/a/api.ts',
    'plugins/a/test/a.test.ts plugins/b/index.ts',
    'contrib/c/test/c.test.ts test/services/d.ts',
  ]
  t.same(
    pairs.filter(pair => allowed.some(path => pair.endsWith(` ${path}`))),
    [],
    'and leaves alone what is allowed',
  )
  const { forbidden } = createRequire(import.meta.url)('../.dependency-cruiser.cjs') as {
    forbidden: { name: string }[]
  }
  const rules = forbidden.map(rule => rule.name).filter(name => !pairs.some(pair => pair.startsWith(`${name} `)))
  t.same(rules, [], 'no rule is without its violation here')
  t.ok(leaving(folder).includes('plugins/a/index.ts: ../../kernel/inside.ts'))
  t.end()
})

t.test('the kernel contains no word of the subjects of plugins', t => {
  const words = /\b(https?|s3|storage|buckets?|objects? storage|multipart|etag)\b/gi
  const found: string[] = []
  for (const path of sourcesOf(root)) {
    if (!path.startsWith('kernel/') || path.startsWith('kernel/test/')) continue
    for (const [index, line] of readFileSync(join(root, path), 'utf8').split('\n').entries()) {
      // The one storage that the kernel's disk port may speak of is the kind that survives a power cut.
      for (const [word] of line.replaceAll('stable storage', '').matchAll(words))
        found.push(`${path}:${index + 1}: ${word}`)
    }
  }
  t.same(found, [])
  t.end()
})
