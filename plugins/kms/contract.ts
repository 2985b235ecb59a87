/**
 * The contract suite of the extension point `kms.backend`: the guarantees that the key management relies on.
 *
 *     t.test('the backend keeps the contract', t => kmsBackendContract(t, async t => {
 *       const backend = myFactory.create()
 *       await backend.start?.()
 *       t.teardown(() => backend.stop?.())
 *       return { backend }
 *     }))
 */
import { type ContractSuite, contractSuite } from 'svc/testing'
import type { KmsBackend } from './api.ts'

export interface KmsSubject {
  /** Started, reachable, with its default key. */
  readonly backend: KmsBackend
}

const here = Buffer.from('{"object":"bucket/key"}')
const elsewhere = Buffer.from('{"object":"bucket/kez"}')

/** Turns an error that a backend throws synchronously into a rejection: callers treat both alike. */
async function ask<T>(run: () => T | Promise<T>): Promise<T> {
  return run()
}

export const kmsBackendContract: ContractSuite<KmsSubject> = contractSuite('kms backend', {
  'a data key has 32 bytes, is unique, and can be unwrapped in its context': async (t, { backend }) => {
    const id = backend.defaultKeyId
    const made = await Promise.all(Array.from({ length: 20 }, () => ask(() => backend.generate(id, here))))
    t.equal(new Set(made.map(({ plaintext }) => plaintext.toString('hex'))).size, 20)
    t.equal(new Set(made.map(({ wrapped }) => wrapped.toString('hex'))).size, 20)
    const opened = await Promise.all(made.map(({ wrapped }) => ask(() => backend.unwrap(id, wrapped, here))))
    for (const [i, { plaintext, wrapped }] of made.entries()) {
      t.equal(plaintext.length, 32)
      t.ok(opened[i]!.equals(plaintext))
      t.notOk(wrapped.includes(plaintext))
      t.ok(wrapped.length <= 4096)
    }
  },

  'a wrapped key can be unwrapped in its context and under its key only': async (t, { backend }) => {
    await backend.createKey('contract-other')
    const id = backend.defaultKeyId
    for (const size of [1, 32, 256]) {
      const plaintext = Buffer.alloc(size, size)
      const wrapped = await ask(() => backend.wrap(id, plaintext, here))
      t.ok((await ask(() => backend.unwrap(id, wrapped, here))).equals(plaintext))
      await t.rejects(
        ask(() => backend.unwrap(id, wrapped, elsewhere)),
        { code: 'kms_open_failed' },
      )
      await t.rejects(
        ask(() => backend.unwrap('contract-other', wrapped, here)),
        { code: 'kms_open_failed' },
      )
    }
  },

  'a generated data key can be unwrapped in its context and under its key only, and be rewrapped for others': async (
    t,
    { backend },
  ) => {
    await backend.createKey('contract-next')
    const id = backend.defaultKeyId
    for (const context of [here, Buffer.from(`{"object":"${'k'.repeat(3000)}"}`)]) {
      const { plaintext, wrapped } = await ask(() => backend.generate(id, context))
      await t.rejects(
        ask(() => backend.unwrap(id, wrapped, elsewhere)),
        { code: 'kms_open_failed' },
      )
      await t.rejects(
        ask(() => backend.unwrap('contract-next', wrapped, context)),
        { code: 'kms_open_failed' },
      )
      const opened = await ask(() => backend.unwrap(id, wrapped, context))
      const again = await ask(() => backend.wrap('contract-next', opened, elsewhere))
      t.ok((await ask(() => backend.unwrap('contract-next', again, elsewhere))).equals(plaintext))
    }
  },

  'an altered or truncated wrapped key is refused': async (t, { backend }) => {
    const id = backend.defaultKeyId
    const given = await ask(() => backend.wrap(id, Buffer.alloc(32, 7), here))
    const { wrapped: made } = await ask(() => backend.generate(id, here))
    for (const wrapped of [given, made]) {
      const step = Math.max(1, Math.floor(wrapped.length / 41))
      for (let at = 0; at < wrapped.length; at += step) {
        const altered = Buffer.from(wrapped)
        altered[at]! ^= 0x04
        await t.rejects(
          ask(() => backend.unwrap(id, altered, here)),
          { name: 'CatalogError' },
          `byte ${at}`,
        )
      }
      for (const cut of [0, 1, wrapped.length - 1]) {
        await t.rejects(
          ask(() => backend.unwrap(id, wrapped.subarray(0, cut), here)),
          { name: 'CatalogError' },
        )
      }
    }
  },

  'keys are created once, listed by id, and must exist before they wrap': async (t, { backend }) => {
    t.equal(await ask(() => backend.getKey('contract-b')), undefined)
    await t.rejects(
      ask(() => backend.generate('contract-b', here)),
      { code: 'kms_key_not_found' },
    )
    for (const id of ['contract-b', 'contract-a']) t.equal((await backend.createKey(id)).id, id)
    await t.rejects(backend.createKey('contract-a'), { code: 'already_exists' })
    const { plaintext, wrapped } = await ask(() => backend.generate('contract-b', here))
    t.ok((await ask(() => backend.unwrap('contract-b', wrapped, here))).equals(plaintext))
    t.match(await ask(() => backend.getKey('contract-b')), { id: 'contract-b' })
    const ids = (await ask(() => backend.listKeys('', 1001))).map(({ id }) => id)
    t.same(
      ids.filter(id => id.startsWith('contract-')),
      ['contract-a', 'contract-b'],
    )
    t.same(
      (await ask(() => backend.listKeys('contract-a', 1))).map(({ id }) => id),
      ['contract-b'],
    )
  },

  'the status is online, and a key wrapped just now is current': async (t, { backend }) => {
    const wrapped = await ask(() => backend.wrap(backend.defaultKeyId, Buffer.alloc(32), here))
    t.equal(await ask(() => backend.isCurrent(backend.defaultKeyId, wrapped)), true)
    t.match(backend.status(), { online: true, error: '' })
  },
})
