/** The list of operations that are not implemented, against the declarations and the table of README. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readDeclarations, root } from '../../docs/declarations.ts'
import { notBuilt, rowsOf } from '../../plugins/s3/not-implemented.ts'
import { shippedOperations } from '../../plugins/s3/shipped-operations.ts'

const { operations } = await readDeclarations()
const served = new Map(operations.map(({ plugin, value }) => [value.name, { plugin, match: value.match }]))

t.test('no operation of the list is served', async t => {
  for (const { name } of rowsOf(notBuilt)) t.notOk(served.has(name), name)
})

t.test('operations that ship name the plugin that serves them, and their request', async t => {
  // Without a parameter of their own: the query API serves one, the others have other names in the declarations.
  for (const { name, plugin, level, method, parameter } of rowsOf(shippedOperations)) {
    if (parameter === '') continue
    const declared = served.get(name)
    t.match(declared, { plugin, match: { level, method } }, name)
    t.ok(declared?.match.query?.includes(parameter), `${name} by ${parameter}`)
  }
})

t.test('no two rows are about the same request', async t => {
  const requests = [...notBuilt, ...shippedOperations].flatMap(group => group.operations.map(([, request]) => request))
  t.equal(new Set(requests).size, requests.length)
})

t.test('README tells of each feature that is not implemented, and of no other', async t => {
  const lines = readFileSync(join(root, 'README.md'), 'utf8').split('\n')
  const laterOf = (row: string) => {
    const [, , , later = ''] = lines.find(line => line.startsWith(`| ${row} |`))!.split('|')
    return later.trim().split(', ').toSorted()
  }
  const featuresAt = (isOfLevel: (path: string) => boolean) =>
    notBuilt
      .filter(({ operations }) => operations.every(([, request]) => isOfLevel(request)))
      .map(one => one.feature)
      .toSorted()
  const isOfObject = (request: string) => request.includes('/{key}')
  t.same(laterOf('Objects'), featuresAt(isOfObject))
  t.same(
    laterOf('Buckets'),
    featuresAt(request => !isOfObject(request)),
  )
  const count = featuresAt(isOfObject).length + featuresAt(request => !isOfObject(request)).length
  t.equal(count, notBuilt.length, 'a feature is of buckets or of objects')
})
