/** Signatures and patterns at random. `SEED` and `RUNS`; a failure prints its seed and the smallest case. */
import { sign } from 'node:crypto'
import { getSignedUrl } from '@aws-sdk/cloudfront-signer'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { matchesResource } from '../resource-pattern.ts'
import { decodeBytes, encodeBytes, encodedLength } from '../signature-text.ts'
import { cannedPolicy, parsePolicy } from '../signed-policy.ts'
import { type SectionedUrl, textOf } from '../signed-request.ts'
import { ed25519, nowMs, outcomeOf, pkcs8, requestFor, rsa, startVerification, toUrlText } from './groups.ts'

const runs = Number(process.env.RUNS ?? 1000)
const seed = process.env.SEED === undefined ? undefined : Number(process.env.SEED)
function holds(t: Test, property: fc.IRawProperty<unknown>, numRuns = runs): void {
  fc.assert(property, { numRuns, seed })
  t.pass(`in ${numRuns} cases`)
}

const before = nowMs / 1000 + 60
const url = 'https://www.example.test/films/a.mp4?x=1&y=%20'
const policy = `{"Statement":[{"Resource":"https://www.example.test/films/*","Condition":{"DateLessThan":{"AWS:EpochTime":${before}}}}]}`
const cannedText = `{"Statement":[{"Resource":"${url}","Condition":{"DateLessThan":{"AWS:EpochTime":${before}}}}]}`
const keys = { KEDWARDS: { digest: null, key: ed25519.privateKey }, KRSA: { digest: 'sha256', key: rsa.privateKey } }
const signed = Object.entries(keys).flatMap(([id, { digest, key }]) => {
  const signatureOf = (text: string) => toUrlText(sign(digest, Buffer.from(text), key))
  return [
    { carrier: `Expires=${before}`, signature: signatureOf(cannedText), id },
    { carrier: `Policy=${toUrlText(policy)}`, signature: signatureOf(policy), id },
  ]
})
const queryOf = ({ carrier, signature, id }: (typeof signed)[number]) =>
  `${carrier}&Signature=${signature}&Key-Pair-Id=${id}`
const { verify, remembered } = startVerification()

t.test('any changed byte of a signed URL is refused', t => {
  for (const one of signed)
    t.equal(outcomeOf(verify(requestFor(`${url}&${queryOf(one)}`))), 'url', 'unchanged it is not')
  const byte = fc.integer({ min: 0x21, max: 0x7e }).map(code => String.fromCharCode(code))
  holds(
    t,
    fc.property(fc.constantFrom(...signed), fc.nat(), byte, (one, place, character) => {
      const query = queryOf(one)
      const at = place % query.length
      if (query[at] === character) return
      const changed = query.slice(0, at) + character + query.slice(at + 1)
      const verdict = verify(requestFor(`${url}&${changed}`))
      if (verdict.isValid) throw new Error(`${changed} is valid`)
    }),
    runs * 3,
  )
  holds(
    t,
    fc.property(
      fc.constantFrom(...signed.filter(({ carrier }) => carrier.startsWith('E'))),
      fc.nat(),
      byte,
      (one, place, character) => {
        // Of the URL itself: of a canned policy every byte counts, too. The case of the host is none of it.
        const from = url.indexOf('/', 8)
        const at = from + (place % (url.length - from))
        if (url[at] === character || character === '#') return
        const changed = url.slice(0, at) + character + url.slice(at + 1)
        if (verify(requestFor(`${changed}&${queryOf(one)}`)).isValid) throw new Error(`${changed} is valid`)
      },
    ),
  )
  t.end()
})

t.test('a byte less, a byte more, and parts in another place are refused', t => {
  holds(
    t,
    fc.property(fc.constantFrom(...signed), fc.nat(), fc.boolean(), (one, place, isMore) => {
      const query = queryOf(one)
      const at = place % query.length
      const changed = isMore
        ? query.slice(0, at) + query[at] + query.slice(at)
        : query.slice(0, at) + query.slice(at + 1)
      // An empty pair is a part of the query, which the policy covers.
      if (changed.replace('&&', '&') === query) return
      if (verify(requestFor(`${url}&${changed}`)).isValid) throw new Error(`${changed} is valid`)
    }),
  )
  for (const a of signed) {
    for (const b of signed) {
      if (a === b) continue
      t.not(outcomeOf(verify(requestFor(`${url}&${queryOf({ ...a, signature: b.signature })}`))), 'url')
    }
  }
  t.end()
})

t.test('invariant 1: nothing is parsed before the signature holds', t => {
  const parsed = t.capture(JSON, 'parse', JSON.parse)
  const known = remembered.size
  holds(
    t,
    fc.property(
      fc.oneof(fc.json({ maxDepth: 6 }), fc.string(), fc.constant(policy)),
      fc.constantFrom('KEDWARDS', 'KRSA', 'KRSAOLD', 'KED'),
      fc.uint8Array({ minLength: 256, maxLength: 256 }),
      (text, id, bytes) => {
        if (text === '') return
        const signature = toUrlText(Buffer.from(bytes).subarray(0, id.startsWith('KED') ? 64 : 256))
        const query = `Policy=${toUrlText(text)}&Signature=${signature}&Key-Pair-Id=${id}`
        const outcome = outcomeOf(verify(requestFor(`${url}&${query}`)))
        if (outcome !== 'bad_signature') throw new Error(outcome)
      },
    ),
    Math.ceil(runs / 4),
  )
  t.equal(parsed().length, 0)
  t.equal(remembered.size, known, 'and none of it is remembered')
  outcomeOf(verify(requestFor(`${url}&${queryOf(signed[1]!)}`)))
  t.equal(parsed().length, 1, 'as is one that holds')
  t.end()
})

t.test('any input gets a verdict', t => {
  const text = fc.oneof(
    fc.string({ unit: 'binary-ascii' }),
    fc.constantFrom(
      'Expires',
      'Policy',
      'Signature',
      'Key-Pair-Id',
      'Hash-Algorithm',
      '=',
      '&',
      ';',
      '%',
      'KRSA',
      '1',
      '',
    ),
  )
  const mess = fc.array(text, { maxLength: 24 }).map(parts => parts.join(''))
  holds(
    t,
    fc.property(mess, mess, mess, fc.boolean(), (query, cookie, path, secure) => {
      const verdict = verify(
        requestFor(url, { query, cookie, path: `/${path}`, secure, host: path, clientAddress: cookie }),
      )
      if (verdict.isValid) throw new Error('it is valid')
    }),
  )
  t.end()
})

t.test('base64: one text for some bytes, and nothing else', t => {
  holds(
    t,
    fc.property(fc.uint8Array({ maxLength: 300 }), array => {
      const bytes = Buffer.from(array)
      const text = encodeBytes(bytes)
      if (text !== toUrlText(bytes) || text.length !== encodedLength(bytes.length)) throw new Error(text)
      if (!decodeBytes(text)?.equals(bytes)) throw new Error(`${text} is not decoded`)
    }),
  )
  const characters = fc.constantFrom(...'AZaz09+/=-~_ %\n'.split(''))
  holds(
    t,
    fc.property(fc.array(characters, { maxLength: 12 }), parts => {
      const text = parts.join('')
      const bytes = decodeBytes(text)
      if (bytes !== undefined && toUrlText(bytes) !== text) throw new Error(`two texts for ${text}`)
    }),
    runs * 5,
  )
  t.end()
})

t.test("the text of a canned policy is the SDK's", t => {
  const privateKey = pkcs8(rsa.privateKey)
  const segment = fc.webSegment()
  const anyUrl = fc.record({
    scheme: fc.constantFrom('http', 'https'),
    path: fc.array(segment, { maxLength: 4 }).map(parts => parts.join('/')),
    query: fc.oneof(fc.constant(''), fc.webQueryParameters()),
    seconds: fc.integer({ min: before, max: 9_999_999_999 }),
  })
  const names = /(^|&)(Expires|Policy|Signature|Key-Pair-Id|Hash-Algorithm)(=|&|$)/
  holds(
    t,
    fc.property(anyUrl, ({ scheme, path, query, seconds }) => {
      if (names.test(query)) return
      const wanted = `${scheme}://www.example.test/${path}${query === '' ? '' : `?${query}`}`
      const made = getSignedUrl({
        url: wanted,
        keyPairId: 'KRSA',
        privateKey,
        algorithm: 'SHA256',
        dateLessThan: new Date(seconds * 1000),
      })
      const outcome = outcomeOf(verify(requestFor(made)))
      if (outcome !== 'url') throw new Error(`${made}: ${outcome}`)
      const plain = made.slice(0, made.search(/[?&]Expires=/))
      const policy = parsePolicy(Buffer.from(cannedPolicy(plain, seconds)))
      if (typeof policy === 'string' || policy.resource !== plain || policy.beforeSeconds !== seconds)
        throw new Error(plain)
    }),
    Math.ceil(runs / 5),
  )
  t.end()
})

/**
 * A model of patterns as they are described, without a thought for time: every way of reading the pattern is tried, and of each every way
 * in which its stars can stand for something.
 */
type Token = { readonly kind: 'text' | 'one' | 'run' | 'rest'; readonly section: number; readonly text?: string }

function naivelyMatches(pattern: string, url: SectionedUrl): boolean {
  if (pattern === '*') return true
  // What the URL is made of, each character with its section; marks between sections are of none.
  const of = (text: string, section: number) => [...text].map(text => ({ text, section }))
  const subject = [
    ...of(url.scheme, 0),
    ...of('://', -1),
    ...of(url.host, 1),
    ...of(url.path, 2),
    ...(url.query === undefined ? [] : [...of('?', -2), ...of(url.query, 3)]),
  ]
  return readings(pattern).some(tokens => walk(tokens, 0, subject, 0))
}

function readings(pattern: string): Token[][] {
  const mark = pattern.indexOf('://')
  if (mark < 0) return []
  const rest = pattern.slice(mark + 3)
  const cuts: (readonly [string, string | undefined])[] = []
  const escaped = rest.indexOf('\\?')
  const plain = rest.indexOf('?')
  if (escaped >= 0) cuts.push([rest.slice(0, escaped), rest.slice(escaped + 2)])
  else cuts.push([rest, undefined])
  if (escaped < 0 && plain >= 0) cuts.push([rest.slice(0, plain), rest.slice(plain + 1)])
  return cuts.map(([front, query]) => {
    const slash = front.indexOf('/')
    const host = slash < 0 ? front : front.slice(0, slash)
    const tokens = [
      ...tokensOf(pattern.slice(0, mark).toLowerCase(), 0),
      ...tokensOf('://', -1),
      ...tokensOf(host.toLowerCase(), 1),
      ...(slash < 0 ? [] : tokensOf(front.slice(slash), 2)),
    ]
    if (query !== undefined)
      return [...tokens, { kind: 'text', text: '?', section: -2 } as const, ...tokensOf(query, 3)]
    if (front.endsWith('*')) tokens.push({ kind: 'rest', section: tokens.at(-1)!.section })
    return tokens
  })
}

function tokensOf(text: string, section: number): Token[] {
  return [...text].map(text => ({ kind: text === '*' ? 'run' : text === '?' ? 'one' : 'text', text, section }) as const)
}

function walk(
  tokens: readonly Token[],
  at: number,
  subject: readonly { readonly text: string; readonly section: number }[],
  place: number,
): boolean {
  if (at === tokens.length) return place === subject.length
  const token = tokens[at]!
  const next = subject[place]
  if (token.kind === 'rest') return next === undefined || next.section !== token.section
  const isIn = next !== undefined && next.section === token.section
  if (token.kind === 'run') {
    return walk(tokens, at + 1, subject, place) || (isIn && walk(tokens, at, subject, place + 1))
  }
  return isIn && (token.kind === 'one' || token.text === next.text) && walk(tokens, at + 1, subject, place + 1)
}

t.test('patterns of resources match like a slow model', t => {
  const letters = (from: string) =>
    fc.array(fc.constantFrom(...from.split('')), { maxLength: 5 }).map(parts => parts.join(''))
  const urls = fc.record({
    scheme: fc.constantFrom('http', 'https'),
    host: letters('ab.').map(host => `a${host}`),
    path: letters('ab/.').map(path => `/${path}`),
    query: fc.option(
      letters('ab=&?').filter(text => text !== ''),
      { nil: undefined },
    ),
  }) as fc.Arbitrary<SectionedUrl>
  const patterns = fc.record({
    scheme: fc.constantFrom('http', 'https', '*', 'http*', 'htt?', 'https?', 'HTTP'),
    host: letters('abA.*?'),
    path: fc.oneof(
      fc.constant(''),
      letters('ab/.*?').map(path => `/${path}`),
    ),
    mark: fc.constantFrom('', '', '\\?', '?'),
    query: letters('ab=&*?'),
  })
  const outcomes = { matching: 0, other: 0 }
  const compare = (pattern: string, url: SectionedUrl) => {
    const expected = naivelyMatches(pattern, url)
    outcomes[expected ? 'matching' : 'other']++
    if (matchesResource(pattern, url) !== expected) {
      throw new Error(`${pattern} ${expected ? 'matches' : 'does not match'} ${textOf(url)}`)
    }
  }
  holds(
    t,
    fc.property(patterns, urls, ({ scheme, host, path, mark, query }, url) =>
      compare(`${scheme}://${host}${path}${mark === '' ? '' : mark + query}`, url),
    ),
    runs * 20,
  )
  // Patterns made of the URL: the most of those match.
  holds(
    t,
    fc.property(urls, fc.nat(), fc.nat(), fc.constantFrom('*', '?', '\\?', '**', ''), (url, from, length, wild) => {
      const text = textOf(url)
      const start = from % (text.length + 1)
      compare(text.slice(0, start) + wild + text.slice(start + (length % 4)), url)
    }),
    runs * 20,
  )
  t.ok(outcomes.matching > runs && outcomes.other > runs, JSON.stringify(outcomes))
  t.equal(matchesResource('*', { scheme: 'http', host: 'a', path: '/', query: undefined }), true)
  t.equal(matchesResource('http*', { scheme: 'http', host: 'a', path: '/', query: undefined }), false)
  t.end()
})

t.test('patterns that are made to take long take none', t => {
  // A matcher that tries again would need more than 10^20 steps for one of these; this test would then not end.
  const path = `/${'a'.repeat(8000)}`
  const url: SectionedUrl = { scheme: 'https', host: 'www.example.test', path, query: undefined }
  for (const piece of ['a*', '*a', '*?a', 'a*?', '?*a?']) {
    const pattern = `https://www.example.test/${piece.repeat(Math.floor(8000 / piece.length))}b`
    t.equal(matchesResource(pattern, url), false, piece)
  }
  t.end()
})
