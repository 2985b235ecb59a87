import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import checksumsPlugin from 'svc/plugins/checksums/index'
import { startKernel } from 'svc/testing'
import t from 'tap'
import { type ChunkedBody, encodeChunks, signRequest } from '../api.ts'
import {
  ChunkedDecoder,
  lineBytesMax,
  parseTrailerNames,
  signedChunkBytesMin,
  trailerBytesMax,
  trailerCountMax,
} from '../chunked-decoder.ts'
import { Sha256Decoder } from '../sha256-decoder.ts'
import { decode, outcome, received, signer, startAuth } from './fixture.ts'

const nowMs = Date.UTC(2026, 6, 1, 12, 30, 15)
const auth = await startAuth(nowMs)
const { checksums } = (await startKernel({ plugins: [checksumsPlugin] })).services

const words = {
  signed: 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD',
  signedTrailer: 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER',
  unsignedTrailer: 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
} as const
type Form = keyof typeof words
const forms = Object.keys(words) as Form[]
const trailerName = 'x-amz-checksum-crc32'

/** The encoded bytes of a body in this form, and a factory of decoders for it. */
function stream(
  form: Form,
  chunks: readonly Uint8Array[],
  trailers: Record<string, string> = { [trailerName]: 'AAAAAA==' },
) {
  const hasTrailer = form !== 'signed'
  const { headers, signing } = signRequest(signer, {
    method: 'PUT',
    host: 'storage.example.org',
    path: '/bucket/key',
    payload: words[form],
    headers: hasTrailer ? { 'x-amz-trailer': Object.keys(trailers).join(', ') } : {},
    nowMs,
  })
  const authentication = auth.authenticate(received('PUT', '/bucket/key', headers))
  const body: ChunkedBody = {
    chunks,
    signing: form === 'unsignedTrailer' ? undefined : signing,
    trailers: hasTrailer ? trailers : undefined,
  }
  return {
    wire: encodeChunks(body),
    decoder: () => authentication.createDecoder()!,
    trailers: hasTrailer ? trailers : {},
    signing,
  }
}

const pattern = (size: number, seed = 1): Buffer => {
  const bytes = Buffer.alloc(size)
  for (let i = 0; i < size; i++) bytes[i] = (i * 31 + seed * 17 + (i >> 8)) & 0xff
  return bytes
}

/** Cuts at the given positions, which may repeat. */
const cut = (wire: Buffer, positions: readonly number[]): Buffer[] => {
  const ends = [...positions.map(position => position % (wire.length + 1)), wire.length].sort((a, b) => a - b)
  return ends.map((end, i) => wire.subarray(i === 0 ? 0 : ends[i - 1], end))
}

t.test('a body decodes equally wherever its bytes are split in two, and byte by byte', async () => {
  for (const form of forms) {
    const payload = pattern(40)
    const { wire, decoder, trailers } = stream(form, [payload])
    const expected = { payload, trailers }
    for (let at = 0; at <= wire.length; at++) {
      assert.deepEqual(decode(decoder(), cut(wire, [at])), expected, `${form} cut at ${at}`)
    }
    assert.deepEqual(
      decode(
        decoder(),
        [...wire].map(byte => Buffer.of(byte)),
      ),
      expected,
      `${form} byte by byte`,
    )
  }
})

t.test('bodies with any chunks decode equally however their bytes are split', async () => {
  const sizes = fc.array(fc.oneof(fc.integer({ min: 8192, max: 20_000 }), fc.constantFrom(8192, 16_384)), {
    maxLength: 3,
  })
  fc.assert(
    fc.property(
      fc.constantFrom(...forms),
      sizes,
      fc.nat({ max: 9000 }),
      fc.array(fc.nat(), { maxLength: 12 }),
      (form, large, last, cuts) => {
        const chunks = [...large, ...(last > 0 ? [last] : [])].map(pattern)
        const { wire, decoder, trailers } = stream(form, chunks)
        assert.deepEqual(decode(decoder(), cut(wire, cuts)), { payload: Buffer.concat(chunks), trailers })
      },
    ),
    { numRuns: 150 },
  )
})

t.test('every byte of a body that is not the payload is checked', async () => {
  for (const form of forms) {
    const payload = pattern(24)
    const { wire, decoder } = stream(form, [payload])
    const from = wire.indexOf(payload)
    for (let at = 0; at < wire.length; at++) {
      const changed = Buffer.from(wire)
      changed[at]! ^= 1
      const inPayload = at >= from && at < from + payload.length
      const result = outcome(() => {
        const { payload: decoded, trailers } = decode(decoder(), [changed])
        assert.ok(form === 'unsignedTrailer')
        // Without signatures the decoder does not check the payload, the values of trailers and the case of hexadecimal digits.
        assert.ok(inPayload || decoded.equals(payload))
        assert.ok(inPayload || trailers[trailerName] !== 'AAAAAA==', `changed at ${at}`)
      })
      if (form !== 'unsignedTrailer') {
        assert.match(
          result,
          /^(SignatureDoesNotMatch 403|IncompleteBody 400|MalformedTrailerError 400|InvalidChunkSizeError 400)$/,
          `${form} ${at}`,
        )
        if (inPayload) assert.equal(result, 'SignatureDoesNotMatch 403')
      }
    }
  }
})

t.test('a body that ends early is incomplete, wherever it ends', async () => {
  for (const form of forms) {
    const { wire, decoder } = stream(form, [pattern(24)])
    for (let end = 0; end < wire.length; end++) {
      assert.equal(
        outcome(() => decode(decoder(), [wire.subarray(0, end)])),
        'IncompleteBody 400',
        `${form} to ${end}`,
      )
    }
  }
})

t.test('a signed chunk that arrives whole is verified before any of it is passed on', async () => {
  const { wire, decoder } = stream('signed', [pattern(9000), pattern(9000, 2)])
  const changed = Buffer.from(wire)
  changed[wire.length - 200]! ^= 1
  let emitted = 0
  assert.equal(
    outcome(() =>
      decoder().push(changed, bytes => {
        emitted += bytes.length
      }),
    ),
    'SignatureDoesNotMatch 403',
  )
  assert.equal(emitted, 9000)
})

t.test('chunks cannot be left out, repeated, reordered or taken from another request', async () => {
  const chunks = [pattern(8192, 1), pattern(8192, 2), pattern(8192, 3)]
  const { wire, decoder } = stream('signed', chunks)
  const size = (wire.length - 1) / 3
  const header = wire.indexOf('\r\n') + 2
  const frames = [0, 1, 2].map(i => wire.subarray(i * (header + 8194), (i + 1) * (header + 8194)))
  const last = wire.subarray(3 * (header + 8194))
  assert.ok(size > 8192 && last.length === header - 3 + 2)
  const of = (...order: Buffer[]) => outcome(() => decode(decoder(), [Buffer.concat(order)]))
  const [a, b, c] = frames as [Buffer, Buffer, Buffer]
  assert.equal(of(a, b, c, last), 'accepted')
  for (const order of [[b, c, last], [a, c, last], [a, b, last], [a, a, b, c, last], [b, a, c, last], [last]]) {
    assert.equal(of(...order), 'SignatureDoesNotMatch 403')
  }
  // The same payload under the signature of another head.
  const other = signRequest(signer, {
    method: 'PUT',
    host: 'storage.example.org',
    path: '/bucket/other',
    payload: words.signed,
    nowMs,
  })
  assert.equal(of(encodeChunks({ chunks, signing: other.signing })), 'SignatureDoesNotMatch 403')
  assert.equal(of(encodeChunks({ chunks })), 'IncompleteBody 400')
})

t.test('a signed chunk below 8 KiB may only be the last; without signatures any size may', async () => {
  const small = [pattern(signedChunkBytesMin - 1), pattern(1)]
  for (const form of ['signed', 'signedTrailer'] as const) {
    const { wire, decoder } = stream(form, small)
    assert.equal(
      outcome(() => decode(decoder(), [wire])),
      'InvalidChunkSizeError 400',
      form,
    )
    const good = stream(form, [pattern(signedChunkBytesMin), pattern(1)])
    assert.equal(
      outcome(() => decode(good.decoder(), [good.wire])),
      'accepted',
      form,
    )
  }
  const { wire, decoder } = stream('unsignedTrailer', small)
  assert.deepEqual(decode(decoder(), [wire]).payload, Buffer.concat(small))
})

t.test('framing is strict', async () => {
  const of = (text: string, form: 'trailer' | 'none' = 'trailer') =>
    outcome(() =>
      decode(new ChunkedDecoder({ signing: undefined, trailers: form === 'none' ? undefined : [] }), [
        Buffer.from(text, 'latin1'),
      ]),
    )
  assert.equal(of('3\r\nabc\r\n0\r\n\r\n'), 'accepted')
  assert.equal(of('0003\r\nabc\r\n0\r\n\r\n'), 'accepted')
  assert.equal(of('A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n'), 'accepted')
  assert.equal(of('0\r\n\r\n', 'none'), 'accepted')
  for (const bad of [
    '3\nabc\r\n0\r\n\r\n',
    '3\r\nabc\n0\r\n\r\n',
    '3\r\nabcd\r\n0\r\n\r\n',
    '3\r\nab\r\n0\r\n\r\n',
    '3\r\nabc0\r\n\r\n',
    '-3\r\nabc\r\n0\r\n\r\n',
    '+3\r\nabc\r\n0\r\n\r\n',
    '0x3\r\nabc\r\n0\r\n\r\n',
    ' 3\r\nabc\r\n0\r\n\r\n',
    '3 \r\nabc\r\n0\r\n\r\n',
    '3;a=b\r\nabc\r\n0\r\n\r\n',
    `3;chunk-signature=${'a'.repeat(64)}\r\nabc\r\n0\r\n\r\n`,
    '\r\n0\r\n\r\n',
    'g\r\n0\r\n\r\n',
    '140000001\r\n',
    'ffffffffffffffff\r\n',
    '00000000000000003\r\nabc\r\n0\r\n\r\n',
    '0\r\n',
    '0\r\n\r\n\r\n',
    '0\r\n\r\n0\r\n\r\n',
    '0\r\n\r\nx',
    '0\r\n\r\nGET / HTTP/1.1\r\n',
  ]) {
    assert.equal(of(bad), 'IncompleteBody 400', JSON.stringify(bad))
    assert.equal(of(bad, 'none'), 'IncompleteBody 400', JSON.stringify(bad))
  }
  assert.equal(of('0\r\na:b\r\n\r\n', 'none'), 'IncompleteBody 400')
  // The size in the header alone decides about the largest chunk.
  const largest = new ChunkedDecoder({ signing: undefined, trailers: [] })
  assert.equal(
    outcome(() => largest.push(Buffer.from('140000000\r\n'), () => {})),
    'accepted',
  )
})

t.test('exactly the announced trailers must be received', async () => {
  const of = (lines: string, trailers: readonly string[]) =>
    outcome(() =>
      decode(new ChunkedDecoder({ signing: undefined, trailers }), [Buffer.from(`0\r\n${lines}`, 'latin1')]),
    )
  const bad = 'MalformedTrailerError 400'
  assert.equal(of('\r\n', []), 'accepted')
  assert.equal(of('a:1\r\n\r\n', ['a']), 'accepted')
  assert.equal(of('B: 2 \r\nA:1\r\n\r\n', ['a', 'b']), 'accepted')
  assert.equal(of('\r\n', ['a']), bad)
  assert.equal(of('a:1\r\n\r\n', ['a', 'b']), bad)
  assert.equal(of('a:1\r\n\r\n', []), bad)
  assert.equal(of('a:1\r\nc:1\r\n\r\n', ['a']), bad)
  assert.equal(of('a:1\r\na:1\r\n\r\n', ['a']), bad)
  assert.equal(of('a\r\n\r\n', ['a']), bad)
  assert.equal(of(':1\r\n\r\n', ['a']), bad)
  assert.equal(of('x-amz-trailer-signature:1\r\n\r\n', []), bad)
  assert.deepEqual(parseTrailerNames(undefined), [])
  assert.deepEqual(parseTrailerNames(' X-Amz-Checksum-CRC32 ,b'), ['x-amz-checksum-crc32', 'b'])
  for (const header of ['a,a', 'a,', ',', Array.from({ length: trailerCountMax + 1 }, (_, i) => `t${i}`).join()]) {
    assert.equal(
      outcome(() => parseTrailerNames(header)),
      bad,
      header,
    )
  }
})

t.test('trailers that end in a bare line feed, as some clients write them, are accepted', async () => {
  const unsigned = new ChunkedDecoder({ signing: undefined, trailers: [trailerName] })
  assert.deepEqual(decode(unsigned, [Buffer.from(`3\r\nabc\r\n0\r\n${trailerName}:NSRBwg==\n\r\n\r\n`)]).trailers, {
    [trailerName]: 'NSRBwg==',
  })
  const { wire, decoder } = stream('signedTrailer', [pattern(10)])
  const text = wire.toString('latin1').replace('AAAAAA==\r\n', 'AAAAAA==\n\r\n')
  assert.deepEqual(decode(decoder(), [Buffer.from(text, 'latin1')]).trailers, { [trailerName]: 'AAAAAA==' })
  // One more line is allowed, not two, and nothing else.
  for (const end of ['\r\n\r\n\r\n\r\n', '\r\n\r\nx', '\r\n\r\n\r']) {
    const decoder = new ChunkedDecoder({ signing: undefined, trailers: [trailerName] })
    assert.equal(
      outcome(() => decode(decoder, [Buffer.from(`0\r\n${trailerName}:a\n${end}`)])),
      'IncompleteBody 400',
    )
  }
})

t.test('signed trailers need their signature, over all of them', async () => {
  const { wire, decoder } = stream('signedTrailer', [pattern(10)], { 'x-amz-checksum-crc32': 'AAAAAA==', other: 'b' })
  const text = wire.toString('latin1')
  const of = (changed: string) => outcome(() => decode(decoder(), [Buffer.from(changed, 'latin1')]))
  assert.equal(of(text), 'accepted')
  assert.equal(of(text.replace('other:b', 'other:c')), 'SignatureDoesNotMatch 403')
  assert.equal(of(text.replace('other:b\r\n', '')), 'SignatureDoesNotMatch 403')
  assert.equal(of(text.replace(/x-amz-trailer-signature:.*\r\n/, '')), 'MalformedTrailerError 400')
  const signature = /x-amz-trailer-signature:.*\r\n/.exec(text)![0]
  assert.equal(
    of(text.replace('other:b\r\n', '').replace(signature, `${signature}other:b\r\n`)),
    'SignatureDoesNotMatch 403',
  )
  assert.equal(of(text.replace(signature, signature + signature)), 'MalformedTrailerError 400')
})

t.test('lines and trailers are bounded', async () => {
  const open = () => new ChunkedDecoder({ signing: undefined, trailers: ['a'] })
  const endless = open()
  let pushed = 0
  const result = outcome(() => {
    for (; pushed < 1 << 20; pushed += 64) endless.push(Buffer.alloc(64, '0'), () => {})
  })
  assert.equal(result, 'IncompleteBody 400')
  assert.ok(pushed <= lineBytesMax)
  // A failed decoder fails each further push.
  assert.equal(
    outcome(() => endless.push(Buffer.from('0\r\n\r\n'), () => {})),
    'IncompleteBody 400',
  )
  assert.equal(
    outcome(() => endless.end()),
    'IncompleteBody 400',
  )
  const line = Buffer.from(`a:${'b'.repeat(lineBytesMax)}\r\n`)
  assert.equal(
    outcome(() => decode(open(), [Buffer.from('0\r\n'), line])),
    'MalformedTrailerError 400',
  )
  const names = Array.from({ length: trailerCountMax }, (_, i) => `t${i}`)
  const flood = names.map(name => `${name}:${'b'.repeat(trailerBytesMax / 8)}\r\n`).join('')
  const many = new ChunkedDecoder({ signing: undefined, trailers: names })
  assert.equal(
    outcome(() => decode(many, [Buffer.from(`0\r\n${flood}\r\n`)])),
    'MalformedTrailerError 400',
  )
})

t.test('random bytes as a body are decoded, or end in one of the errors of bodies', async () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '\r\n',
      '\n',
      '\r',
      '0',
      '3',
      '2000',
      ';',
      ';chunk-signature=',
      'a'.repeat(64),
      ':',
      `${trailerName}:`,
      'x-amz-trailer-signature:',
      'abc',
      '0\r\n\r\n',
    ),
    fc.string({ unit: 'binary-ascii', maxLength: 9 }),
  )
  const noise = fc.array(piece, { maxLength: 12 }).map(pieces => Buffer.from(pieces.join(''), 'latin1'))
  const streams = forms.map(form => stream(form, [pattern(8192), pattern(5)]))
  const intact = streams.map(({ wire, decoder }) => decode(decoder(), [wire]))
  fc.assert(
    fc.property(
      fc.nat({ max: 2 }),
      fc.nat(),
      noise,
      fc.nat({ max: 40 }),
      fc.array(fc.nat(), { maxLength: 5 }),
      (which, at, bytes, drop, cuts) => {
        const { wire, decoder } = streams[which]!
        const from = at % wire.length
        const changed = Buffer.concat([wire.subarray(0, from), bytes, wire.subarray(from + drop)])
        let decoded: ReturnType<typeof decode> | undefined
        const result = outcome(() => {
          decoded = decode(decoder(), cut(changed, cuts))
        })
        const allowed = [
          'accepted',
          'IncompleteBody 400',
          'MalformedTrailerError 400',
          'SignatureDoesNotMatch 403',
          'InvalidChunkSizeError 400',
        ]
        assert.ok(allowed.includes(result), result)
        // The size of a chunk may begin with zeros: what was signed is the same.
        if (result === 'accepted' && which < 2) assert.deepEqual(decoded, intact[which])
        assert.notEqual(
          outcome(() => decode(decoder(), [bytes])),
          which < 2 ? 'accepted' : undefined,
        )
      },
    ),
    { numRuns: 1500 },
  )
})

t.test('a body with a digest is passed on unchanged and compared at its end', async () => {
  const payload = pattern(1000)
  const hex = createHash('sha256').update(payload).digest('hex')
  const of = (sizeBytes: number, ...pieces: Buffer[]) =>
    outcome(() => decode(new Sha256Decoder(hex, sizeBytes), pieces))
  for (const sizeBytes of [-1, 1000, Number.NaN]) {
    assert.equal(of(sizeBytes, payload), 'accepted')
    assert.equal(of(sizeBytes, payload.subarray(0, 1), payload.subarray(1)), 'accepted')
    assert.equal(of(sizeBytes, Buffer.alloc(0), payload, Buffer.alloc(0)), 'accepted')
    assert.equal(of(sizeBytes, pattern(1000, 2)), 'XAmzContentSHA256Mismatch 400')
    assert.equal(of(sizeBytes), 'XAmzContentSHA256Mismatch 400')
    assert.notEqual(of(sizeBytes, pattern(1000, 2), payload), 'accepted')
    assert.notEqual(of(sizeBytes, payload, Buffer.from('x')), 'accepted')
  }
})

t.test('every form of payload can have every checksum, in a header or in a trailer', async () => {
  const payload = pattern(20_000)
  const chunks = [payload.subarray(0, 10_000), payload.subarray(10_000)]
  const table = [
    { form: 'sha256', location: 'header' },
    { form: 'unsigned', location: 'header' },
    { form: 'signed', location: 'header' },
    { form: 'signedTrailer', location: 'trailer' },
    { form: 'unsignedTrailer', location: 'trailer' },
  ] as const
  for (const { form, location } of table) {
    for (const algorithm of checksums.algorithms) {
      const name = checksums.header(algorithm)
      const value = checksums.compute(algorithm, payload).toString('base64')
      const { headers, signing } = signRequest(signer, {
        method: 'PUT',
        host: 'storage.example.org',
        path: '/bucket/key',
        payload: form === 'sha256' ? payload : form === 'unsigned' ? 'UNSIGNED-PAYLOAD' : words[form],
        headers: location === 'header' ? { [name]: value } : { 'x-amz-trailer': name },
        nowMs,
      })
      const streamed = form !== 'sha256' && form !== 'unsigned'
      const wire = streamed
        ? encodeChunks({
            chunks,
            signing: form === 'unsignedTrailer' ? undefined : signing,
            trailers: location === 'trailer' ? { [name]: value } : undefined,
          })
        : payload
      const decoder = auth.authenticate(received('PUT', '/bucket/key', headers)).createDecoder()
      assert.equal(decoder === undefined, form === 'unsigned')
      const decoded = decoder === undefined ? { payload: wire, trailers: {} } : decode(decoder, cut(wire, [7, 12_345]))
      const claimed = location === 'header' ? headers[name] : (decoded.trailers as Record<string, string>)[name]
      assert.equal(checksums.compute(algorithm, decoded.payload).toString('base64'), claimed, `${form} ${algorithm}`)
      assert.deepEqual(decoded.payload, payload)
    }
  }
})
