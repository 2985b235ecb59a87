/** The console does everything that the Admin API can: each operation is called by it, or docs/operate/console.md says why not. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '../../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

interface Described {
  readonly operationId: string
  readonly 'x-svc-status': string
}

const { paths } = JSON.parse(read('contrib/svcctl/admin/operations.json')) as {
  paths: Record<string, Record<string, Described>>
}
const served = Object.values(paths)
  .flatMap(methods => Object.values(methods))
  .filter(operation => operation['x-svc-status'] === 'served')
  .map(({ operationId }) => operationId)

const sources = 'plugins/console/web/src'
/** All but the list of types, which calls nothing. */
const files = globSync(`${sources}/**/*.{ts,tsx}`, { cwd: root }).filter(path => !path.includes('/api/operations'))
const text = files.map(read).join('\n')
const called = new Set(
  Array.from(text.matchAll(/(?:\b(?:call|callTagged|exchange|urlOf)\(\s*'|\boperation=")(\w+)/g), ([, id]) => id!),
)

/** From the table of the guide. */
const [, table = ''] = read('docs/operate/console.md').split('## Operations without a page')
const excused = table
  .split('\n')
  .filter(line => line.startsWith('| `'))
  .flatMap(line => Array.from(line.split('|')[1]!.matchAll(/`(\w+)`/g), ([, id]) => id!))

t.test('each operation of the Admin API is called by the console, or the guide says why not', async t => {
  t.ok(served.length > 150, `${served.length} operations are served`)
  t.same(
    served.filter(id => !called.has(id) && !excused.includes(id)),
    [],
    'without a page and without a reason: give it a page, or a line in docs/operate/console.md',
  )
})

t.test('the guide excuses no operation that the console calls, or that is not served', async t => {
  t.same(
    excused.filter(id => called.has(id)),
    [],
    'called',
  )
  t.same(
    excused.filter(id => !served.includes(id)),
    [],
    'not served',
  )
})
