/** Documents point at what is there: every relative link, every heading linked to, every source file named in code marks. */
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import t from 'tap'
import { root } from './blocks.ts'

const ignored = new Set(['node_modules', 'dist', 'coverage', '.tap', 'data'])
const documents = globSync('**/*.md', { cwd: root, exclude: name => ignored.has(name.split(/[\\/]/).pop()!) })

/** As GitHub makes them from headings. */
function anchorsOf(source: string): Set<string> {
  const headings = [...source.matchAll(/^#{1,6} (.*)$/gm)].map(match => match[1]!)
  return new Set(
    headings.map(text =>
      text
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

t.test('links lead somewhere', t => {
  const broken: string[] = []
  let count = 0
  for (const document of documents) {
    const source = readFileSync(join(root, document), 'utf8').replace(/```[\s\S]*?```/g, '')
    for (const [, target] of source.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target!)) continue
      count++
      const [path = '', anchor] = target!.split('#')
      const file = path === '' ? join(root, document) : resolve(root, dirname(document), path)
      if (!existsSync(file)) broken.push(`${document}: ${target}`)
      else if (anchor !== undefined && statSync(file).isFile() && !anchorsOf(readFileSync(file, 'utf8')).has(anchor)) {
        broken.push(`${document}: ${target} (no such heading)`)
      }
    }
  }
  t.same(broken, [])
  t.ok(count > 30, `${count} links`)
  t.end()
})

t.test('source files that documents name exist', t => {
  const missing: string[] = []
  let count = 0
  for (const document of documents) {
    const source = readFileSync(join(root, document), 'utf8')
    for (const [, path] of source.matchAll(
      /`((?:kernel|plugins|test|docs|examples|contrib)\/[\w./-]+\.(?:ts|md|mjs))`/g,
    )) {
      count++
      const places = [join(root, path!), join(root, dirname(document), path!)]
      if (!places.some(existsSync)) missing.push(`${document}: ${path}`)
    }
  }
  t.same(missing, [])
  t.ok(count > 10, `${count} files`)
  t.end()
})
