/**
 * What every backend of key management keeps: the contract suite of the point `kms.backend`.
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

/** Asked as a caller of the service would: what is thrown at once and what rejects are the same. */
async function ask<T>(run: () => T | Promise<T>): Promise<T> {
  return run()
}

export const kmsBackendContract: ContractSuite<KmsSubject> = contractSuite('kms backend', {
  'a data key has 32 bytes, is never the same, and opens where it belongs': async (t, { backend }) => {
    const id = backend.defaultKeyId
    const made = await Promise.all(Array.from({ length: 20 }, () => ask(() => backend.generate(id, here))))
    t.equal(new Set(made.map(({ plaintext }) => plaintext.toString('hex'))).size, 20)
    t.equal(new Set(made.map(({ sealed }) => sealed.toString('hex'))).size, 20)
    const opened = await Promise.all(made.map(({ sealed }) => ask(() => backend.open(id, sealed, here))))
    for (const [i, { plaintext, sealed }] of made.entries()) {
      t.equal(plaintext.length, 32)
      t.ok(opened[i]!.equals(plaintext))
      t.notOk(sealed.includes(plaintext))
      t.ok(sealed.length <= 4096)
    }
  },

  'what is sealed opens in its context and under its key only': async (t, { backend }) => {
    await backend.createKey('contract-other')
    const id = backend.defaultKeyId
    for (const size of [1, 32, 256]) {
      const plaintext = Buffer.alloc(size, size)
      const sealed = await ask(() => backend.seal(id, plaintext, here))
      t.ok((await ask(() => backend.open(id, sealed, here))).equals(plaintext))
      await t.rejects(
        ask(() => backend.open(id, sealed, elsewhere)),
        { code: 'kms_open_failed' },
      )
      await t.rejects(
        ask(() => backend.open('contract-other', sealed, here)),
        { code: 'kms_open_failed' },
      )
    }
  },

  'a data key opens in its context and under its key only, and is sealed anew for another': async (t, { backend }) => {
    await backend.createKey('contract-next')
    const id = backend.defaultKeyId
    for (const context of [here, Buffer.from(`{"object":"${'k'.repeat(3000)}"}`)]) {
      const { plaintext, sealed } = await ask(() => backend.generate(id, context))
      await t.rejects(
        ask(() => backend.open(id, sealed, elsewhere)),
        { code: 'kms_open_failed' },
      )
      await t.rejects(
        ask(() => backend.open('contract-next', sealed, context)),
        { code: 'kms_open_failed' },
      )
      const opened = await ask(() => backend.open(id, sealed, context))
      const again = await ask(() => backend.seal('contract-next', opened, elsewhere))
      t.ok((await ask(() => backend.open('contract-next', again, elsewhere))).equals(plaintext))
    }
  },

  'nothing that was altered opens': async (t, { backend }) => {
    const id = backend.defaultKeyId
    const given = await ask(() => backend.seal(id, Buffer.alloc(32, 7), here))
    const { sealed: made } = await ask(() => backend.generate(id, here))
    for (const sealed of [given, made]) {
      const step = Math.max(1, Math.floor(sealed.length / 41))
      for (let at = 0; at < sealed.length; at += step) {
        const altered = Buffer.from(sealed)
        altered[at]! ^= 0x04
        await t.rejects(
          ask(() => backend.open(id, altered, here)),
          { name: 'CatalogError' },
          `byte ${at}`,
        )
      }
      for (const cut of [0, 1, sealed.length - 1]) {
        await t.rejects(
          ask(() => backend.open(id, sealed.subarray(0, cut), here)),
          { name: 'CatalogError' },
        )
      }
    }
  },

  'keys are created once, listed by id, and needed before they seal': async (t, { backend }) => {
    t.equal(await ask(() => backend.getKey('contract-b')), undefined)
    await t.rejects(
      ask(() => backend.generate('contract-b', here)),
      { code: 'kms_key_not_found' },
    )
    for (const id of ['contract-b', 'contract-a']) t.equal((await backend.createKey(id)).id, id)
    await t.rejects(backend.createKey('contract-a'), { code: 'already_exists' })
    const { plaintext, sealed } = await ask(() => backend.generate('contract-b', here))
    t.ok((await ask(() => backend.open('contract-b', sealed, here))).equals(plaintext))
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

  'it says how it is, and that what it just sealed is current': async (t, { backend }) => {
    const sealed = await ask(() => backend.seal(backend.defaultKeyId, Buffer.alloc(32), here))
    t.equal(await ask(() => backend.isCurrent(backend.defaultKeyId, sealed)), true)
    t.match(backend.status(), { online: true, error: '' })
  },
})
