/** The contract of key backends over a real file; what another thread made; files that must not be used. */
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isCatalogError } from 'svc/kernel'
import { kmsBackendContract } from 'svc/plugins/kms/contract'
import t, { type Test } from 'tap'
import { createKeyring } from '../keyring.ts'

const context = Buffer.from('{"object":"bucket/key"}')

function started(t: Test) {
  const path = join(t.testdir({}), 'keyring.json')
  const keyring = createKeyring(path)
  keyring.start!()
  return { path, keyring }
}

t.test('the keyring keeps the contract', t => kmsBackendContract(t, async t => ({ backend: started(t).keyring })))

t.test('keys survive a restart, and reach threads that did not make them', async t => {
  const { path, keyring } = started(t)
  const other = createKeyring(path)
  other.start!()
  const { plaintext, sealed } = await keyring.generate(keyring.defaultKeyId, context)
  t.ok((await other.open(keyring.defaultKeyId, sealed, context)).equals(plaintext))
  await keyring.createKey('photos')
  const made = await keyring.generate('photos', context)
  t.ok((await other.open('photos', made.sealed, context)).equals(made.plaintext))
  t.equal(statSync(path).mode & 0o777, 0o600)
})

t.test('a file that others can read, or that is damaged, is not used, and its words are in no message', t => {
  const refusals: [name: string, spoil: (path: string) => void][] = [
    ['its mode', path => chmodSync(path, 0o644)],
    ['no JSON', path => writeFileSync(path, `${readFileSync(path, 'utf8')}s3cret-rest`)],
    ['a short key', path => writeFileSync(path, '{"default":{"createdMs":1,"key":"czNjcmV0LXJlc3Q="}}')],
  ]
  for (const [name, spoil] of refusals) {
    const { path } = started(t)
    spoil(path)
    try {
      createKeyring(path).start!()
      t.fail(name)
    } catch (error) {
      t.ok(isCatalogError(error) && error.code === 'kms_unavailable', name)
      t.match((error as Error).message, path)
      t.notMatch((error as Error).message, /s3cret|czNjcmV0/)
    }
  }
  t.end()
})
