/**
 * What a signed request costs beside one that is not: CPU of this thread for each verification, the first time and when the signature is
 * remembered, and for requests that are refused. Beside it the arithmetic alone, as node:crypto does it.
 * `node --conditions=svc-src plugins/key-groups/test/perf/verify.ts [rounds]`
 */
import { generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { SignedRequest } from '../../api.ts'
import { createRemembered, rememberedMax } from '../../remembered.ts'
import { createVerification } from '../../verification.ts'
import { toUrlText, verifying } from '../groups.ts'

const rounds = Number(process.argv[2] ?? 5)
const count = 4000
const nowMs = 1_800_000_000_000
const expires = 4_102_444_800

interface Case {
  readonly text: string
  readonly request: SignedRequest
}

function casesOf(id: string, key: KeyObject, isCustom: boolean): Case[] {
  return Array.from({ length: count }, (_, index) => {
    const path = `/films/2026/part-${index}.ts`
    const resource = isCustom ? 'https://www.example.test/films/*' : `https://www.example.test${path}`
    // A number more than the URL: otherwise all policies would be the same.
    const until = expires + (isCustom ? index : 0)
    const text = `{"Statement":[{"Resource":"${resource}","Condition":{"DateLessThan":{"AWS:EpochTime":${until}}}}]}`
    const signature = toUrlText(sign(key.asymmetricKeyType === 'rsa' ? 'sha256' : null, Buffer.from(text), key))
    const carrier = isCustom ? `Policy=${toUrlText(text)}` : `Expires=${expires}`
    const query = `${carrier}&Signature=${signature}&Key-Pair-Id=${id}`
    const where = { secure: true, host: 'www.example.test', clientAddress: '192.0.2.7' }
    return { text, request: { ...where, path, query, cookie: undefined, nowMs, holdsFromProxy: false } }
  })
}

/** Microseconds of CPU for each, the least of all rounds. */
function measure(work: (index: number) => void, prepare = () => {}): number {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds; round++) {
    prepare()
    const cpu = process.threadCpuUsage()
    for (let index = 0; index < count; index++) work(index)
    const { user, system } = process.threadCpuUsage(cpu)
    least = Math.min(least, (user + system) / count)
  }
  return least
}

const pairs = {
  'RSA-2048': generateKeyPairSync('rsa', { modulusLength: 2048 }),
  'RSA-4096': generateKeyPairSync('rsa', { modulusLength: 4096 }),
  Ed25519: generateKeyPairSync('ed25519'),
}
const shown = (micros: number) => `${micros.toFixed(1)} µs`.padStart(10)
console.log(`microseconds of CPU each, the least of ${rounds} rounds of ${count}`)
console.log('                      first time   arithmetic  remembered     refused')
for (const [name, { publicKey, privateKey }] of Object.entries(pairs)) {
  const keys = new Map([['KBENCH', verifying('KBENCH', publicKey)]])
  const groups = { get: () => ({ id: 'films', sequence: 1, keys }) }
  for (const isCustom of [false, true]) {
    const cases = casesOf('KBENCH', privateKey, isCustom)
    let check = createVerification({ groups, remembered: createRemembered() })
    const forget = () => {
      check = createVerification({ groups, remembered: createRemembered() })
    }
    const require = (index: number, isValid: boolean) => {
      const verdict = check('films', cases[index]!.request)
      if (verdict instanceof Promise || verdict.isValid !== isValid) throw new Error('the other verdict')
    }
    const first = measure(index => require(index, true), forget)
    const again = measure(index => require(index, true))
    const texts = cases.map(({ text, request }) => {
      const signature = /Signature=([^&]*)/.exec(request.query)![1]!
      const plain = signature.replaceAll('-', '+').replaceAll('_', '=').replaceAll('~', '/')
      return { text: Buffer.from(text), signature: Buffer.from(plain, 'base64') }
    })
    const digest = name === 'Ed25519' ? null : 'sha256'
    const alone = measure(index => void verify(digest, texts[index]!.text, publicKey, texts[index]!.signature))
    for (const one of cases)
      Object.assign(one.request, {
        query: one.request.query.replace(/(?<=Signature=.{20})./, letter => (letter === 'A' ? 'B' : 'A')),
      })
    const refused = measure(index => require(index, false))
    const what = `${name} ${isCustom ? 'policy' : 'Expires'}`
    console.log(`${what.padEnd(20)} ${[first, alone, again, refused].map(shown).join('  ')}`)
  }
}
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
collect()
const before = process.memoryUsage().heapUsed
const remembered = createRemembered()
for (let index = 0; index < rememberedMax; index++) remembered.add(remembered.keyOf(['films', 1, 'K', index], ''))
collect()
const bytes = process.memoryUsage().heapUsed - before
console.log(`${remembered.size} remembered signatures: ${(bytes / 1e6).toFixed(1)} MB`)
