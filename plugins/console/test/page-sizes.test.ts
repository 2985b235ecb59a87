/** What the browser loads for a page and for each of its tabs stays small: by the list that the build makes of its files and their imports. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const folder = join(import.meta.dirname, '../web/dist')
/** Compressed, beyond what the first load has brought: the frame and the overview. */
const pageBytesMax = 60 * 1024
/** The editor of policies and rules comes when one is edited. */
const isEditor = (file: string) => file.startsWith('assets/json-editor')

interface Chunk {
  readonly file: string
  readonly imports?: readonly string[]
  readonly dynamicImports?: readonly string[]
  readonly css?: readonly string[]
}
const chunks = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Record<string, Chunk>

/** A chunk and all that it imports at once. */
function withImports(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found
  found.add(name)
  for (const imported of chunks[name]!.imports ?? []) withImports(imported, found)
  return found
}
/** Of one that is opened after others, what it alone loads. */
const ownOf = (name: string, loaded: ReadonlySet<string>) => [...withImports(name)].filter(chunk => !loaded.has(chunk))

function bytesOf(names: readonly string[]): number {
  const files = new Set(names.flatMap(name => [chunks[name]!.file, ...(chunks[name]!.css ?? [])]))
  return [...files]
    .filter(file => !isEditor(file))
    .reduce((sum, file) => sum + statSync(join(folder, `${file}.br`)).size, 0)
}

/** They have addresses with a tab, whose files are loaded with theirs. */
const pagesWithTabs = ['src/pages/bucket/bucket.tsx', 'src/pages/cache/cache.tsx']
const start = withImports('index.html')
const pages = (chunks['index.html']!.dynamicImports ?? []).filter(name => name.startsWith('src/pages/'))
const first = new Set([...start, ...withImports('src/pages/overview/overview.tsx')])

t.test('pages and tabs', async t => {
  t.ok(pages.length >= 25, `${pages.length} pages`)
  for (const page of pages) {
    const own = ownOf(page, first)
    t.ok(bytesOf(own) <= pageBytesMax, `${page}: ${bytesOf(own)} bytes`)
    const tabs = new Set(own.flatMap(name => chunks[name]!.dynamicImports ?? []))
    for (const tab of tabs) {
      const more = ownOf(tab, new Set([...first, ...own]))
      const bytes = bytesOf(pagesWithTabs.includes(page) ? [...own, ...more] : more)
      t.ok(bytes <= pageBytesMax, `${tab} of ${page}: ${bytes} bytes`)
    }
  }
})
