import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { adminOperationsFile, describeAdminOperations } from '../../docs/admin-operations.ts'
import { readDeclarations, root } from '../../docs/declarations.ts'
import { writeReference } from '../../docs/reference-pages.ts'

const folder = join(root, 'docs/reference')
const declarations = await readDeclarations()

t.test('docs/reference equals the declarations: `npm run docs` writes it', t => {
  const pages = writeReference(declarations)
  t.same(readdirSync(folder).sort(), Object.keys(pages).sort())
  for (const [name, text] of Object.entries(pages)) {
    const path = join(folder, name)
    t.equal(existsSync(path) ? readFileSync(path, 'utf8') : undefined, text, name)
  }
  t.end()
})

t.test('svcctl knows the operations that are served: `npm run docs` tells it', t => {
  const known = JSON.parse(readFileSync(join(root, adminOperationsFile), 'utf8'))
  t.same(known, JSON.parse(JSON.stringify(describeAdminOperations(declarations))))
  t.end()
})

t.test('declarations are complete', t => {
  const { configuration, operations, points } = declarations
  for (const row of configuration) t.ok(row.description.length > 10, `${row.variable} is described`)
  for (const { value } of operations) {
    t.match(value.summary, /^[A-Z].*\.$/, `${value.name} is summed up in a sentence`)
    t.same([...value.errors], [...new Set(value.errors)], `${value.name} names each error once`)
  }
  t.ok(operations.length >= 21, `${operations.length} operations`)
  t.ok(points.every(({ owner }) => owner !== ''))
  t.end()
})

t.test('settings from the environment alone have no flag and no key in the file', t => {
  const names = [
    'SVC_CACHE_RESYNC_INTERVAL',
    'SVC_KMS_CAPATH',
    'SVC_KMS_CLIENT_CERT',
    'SVC_KMS_CLIENT_KEY',
    'SVC_KMS_ENDPOINT',
    'SVC_KMS_KEY_NAME',
    'SVC_KMS_SECRET_KEY(_FILE)',
    'SVC_KMS_SECRET_KEY_PREVIOUS(_FILE)',
    'SVC_LIFECYCLE_DAY',
    'SVC_PROMETHEUS_AUTH_TYPE',
    'SVC_ROOT_PASSWORD(_FILE)',
    'SVC_ROOT_USER(_FILE)',
    'SVC_SEND_TIMEOUT',
    'SVC_SSEC_ALLOW_INSECURE',
  ]
  for (const name of names) {
    const row = declarations.configuration.find(({ variable }) => variable === name)
    t.hasStrict(row, { flag: undefined, fileKey: undefined }, name)
  }
  t.end()
})
