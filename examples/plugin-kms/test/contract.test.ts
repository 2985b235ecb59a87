/** The contract of key backends over a real file; threads that write at once; files that are missing or must not be used. */
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { isCatalogError } from 'svc/kernel'
import { kmsBackendContract } from 'svc/plugins/kms/contract'
import { temporaryFolder } from 'svc/testing'
import t, { type Test } from 'tap'
import { createKeyring, createKeyringFile } from '../keyring.ts'

const context = Buffer.from('{"object":"bucket/key"}')

function started(t: Test) {
  const path = join(temporaryFolder(t), 'keyring.json')
  createKeyringFile(path)
  const keyring = createKeyring(path)
  keyring.start!()
  return { path, keyring }
}

t.test('the keyring keeps the contract', t => kmsBackendContract(t, async t => ({ backend: started(t).keyring })))

t.test('keys survive a restart, and reach threads that did not make them', async t => {
  const { path, keyring } = started(t)
  const other = createKeyring(path)
  other.start!()
  const { plaintext, wrapped } = await keyring.generate(keyring.defaultKeyId, context)
  t.ok((await other.unwrap(keyring.defaultKeyId, wrapped, context)).equals(plaintext))
  await keyring.createKey('photos')
  const made = await keyring.generate('photos', context)
  t.ok((await other.unwrap('photos', made.wrapped, context)).equals(made.plaintext))
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

t.test('threads that create keys at once wait for each other, and no key is lost', async t => {
  const { path, keyring } = started(t)
  const script = `
    const { parentPort, workerData: { module, path, ids } } = require('node:worker_threads')
    import(module).then(async ({ createKeyring }) => {
      const keyring = createKeyring(path)
      keyring.start()
      const outcomes = []
      for (const id of ids) outcomes.push(await keyring.createKey(id).then(() => 'created', error => error.code))
      parentPort.postMessage(outcomes)
    })`
  const module = new URL('../keyring.ts', import.meta.url).href
  const own = (thread: number) => Array.from({ length: 10 }, (_, number) => `key-${thread}-${number}`)
  const run = (thread: number) =>
    new Promise<string[]>((resolve, reject) => {
      const workerData = { module, path, ids: [...own(thread), 'shared'] }
      new Worker(script, { eval: true, workerData }).once('message', resolve).once('error', reject)
    })
  const outcomes = await Promise.all([0, 1, 2].map(run))
  for (const outcome of outcomes) t.same(outcome.slice(0, -1), Array(10).fill('created'))
  t.same(outcomes.map(outcome => outcome.at(-1)).sort(), ['already_exists', 'already_exists', 'created'])
  const listed = await keyring.listKeys('', 1000)
  t.same(listed.map(({ id }) => id).sort(), [...[0, 1, 2].flatMap(own), 'shared'].sort())
})

t.test('files left by a crashed writer do not block others', async t => {
  const { path, keyring } = started(t)
  writeFileSync(`${path}.new`, '{"half":', { mode: 0o644 })
  await keyring.createKey('photos')
  t.ok(createKeyring(path).getKey('photos'))
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.notOk(existsSync(`${path}.new`))
})

t.test('an id that no key may have is refused, and nothing is written', async t => {
  const { path, keyring } = started(t)
  const before = readFileSync(path, 'utf8')
  for (const id of ['', '../up', '-x', 'ä', 'x'.repeat(129)]) {
    await t.rejects(keyring.createKey(id), { code: 'invalid_key_id', message: /must be 1 to 128 letters/ }, id)
  }
  t.equal(readFileSync(path, 'utf8'), before)
})

t.test('a keyring that is missing is an error, and only the command creates one', async t => {
  const { path, keyring } = started(t)
  const { wrapped } = await keyring.generate(keyring.defaultKeyId, context)
  const copy = readFileSync(path)
  rmSync(path)
  const missing = { code: 'kms_unavailable', message: /is missing\. Restore it from a copy/ }
  t.throws(() => createKeyring(path).start!(), missing)
  await t.rejects(keyring.createKey('photos'), missing)
  t.notOk(existsSync(path), 'nothing was created')
  writeFileSync(path, copy, { mode: 0o600 })
  const restored = createKeyring(path)
  restored.start!()
  t.equal((await restored.unwrap(restored.defaultKeyId, wrapped, context)).length, 32)

  const command = (path: string) =>
    spawnSync(process.execPath, ['--conditions=svc-src', join(import.meta.dirname, '../create.ts'), path], {
      encoding: 'utf8',
    })
  t.match(command(path), { status: 1, stderr: /exists already/ })
  t.same(readFileSync(path), copy)
  const fresh = `${path}.fresh`
  t.match(command(fresh), { status: 0 })
  createKeyring(fresh).start!()
})
