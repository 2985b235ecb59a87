import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import fc from 'fast-check'
import { isCatalogError } from 'svc/kernel'
import type { Exchange } from 'svc/plugins/http/api'
import { keyNormalizer } from 'svc/plugins/objects/api'
import { RequestBody } from 'svc/plugins/payload/api'
import t from 'tap'
import {
  checkReadConditions,
  httpDate,
  isoTime,
  listingText,
  readAttributes,
  readCopyRange,
  readListSize,
  readRange,
  readWriteConditions,
  type S3Operation,
  unquoteEtag,
  type XmlNode,
} from '../api.ts'
import { createDispatchTable } from '../dispatch.ts'
import { parseTarget } from '../target.ts'
import { childrenNamed, childText, childTexts, requireShape } from '../xml-nodes.ts'
import { readXml } from '../xml-reader.ts'
import { escapeXml, writeElement, writeXmlRoot } from '../xml-writer.ts'

const path = { domains: [], normalizeKey: keyNormalizer('nfc') }
const domain = { domains: ['eu.s3.example.org', 's3.example.org'], normalizeKey: keyNormalizer('none') }

/** The code of the catalogue error that the call throws. */
function codeOf(call: () => unknown): string {
  try {
    call()
  } catch (error) {
    assert.ok(isCatalogError(error), String(error))
    return error.code
  }
  return 'none'
}

t.test('a path-style target names bucket and key, byte for byte', async t => {
  const cases: [raw: string, bucket: string, key: string][] = [
    ['/', '', ''],
    ['//', '', ''],
    ['/bucket', 'bucket', ''],
    ['/bucket/', 'bucket', ''],
    ['/bucket/a', 'bucket', 'a'],
    ['/bucket//a//', 'bucket', '/a//'],
    ['/bucket/../x/./', 'bucket', '../x/./'],
    ['/bucket/a%2Fb%2f', 'bucket', 'a/b/'],
    ['/bucket/a+b%20c%2B', 'bucket', 'a+b c+'],
    ['/bucket/%00%01', 'bucket', '\0\u0001'],
    ['/bucket/%C3%BC%F0%9F%98%80', 'bucket', 'ü😀'],
    ['/bucket/\u00c3\u00bc', 'bucket', 'ü'],
    ['/%62ucket/a', 'bucket', 'a'],
    ['http://host:9000/bucket/a?b', 'bucket', 'a'],
    ['http://host', '', ''],
  ]
  for (const [raw, bucket, key] of cases) {
    const target = parseTarget(raw, 'host:9000', path)
    t.same([target.bucket, target.key], [bucket, key], raw)
  }
})

t.test('a host below a domain names the bucket', async t => {
  const cases: [host: string, raw: string, bucket: string, key: string][] = [
    ['bucket.s3.example.org:9000', '/a/b', 'bucket', 'a/b'],
    ['bucket.s3.example.org', '/', 'bucket', ''],
    ['bucket.s3.example.org', '//a', 'bucket', '/a'],
    ['my.bucket.eu.s3.example.org', '/a', 'my.bucket', 'a'],
    ['s3.example.org', '/bucket/a', 'bucket', 'a'],
    ['xs3.example.org', '/bucket/a', 'bucket', 'a'],
    ['[::1]:9000', '/bucket/a', 'bucket', 'a'],
  ]
  for (const [host, raw, bucket, key] of cases) {
    const target = parseTarget(raw, host, domain)
    t.same([target.bucket, target.key], [bucket, key], `${host}${raw}`)
  }
})

t.test('invalid targets are refused by name', async t => {
  const refused: [raw: string, code: string][] = [
    ['/bucket/%', 'InvalidURI'],
    ['/bucket/%zz', 'InvalidURI'],
    ['/bucket/%ff', 'InvalidURI'],
    ['/bucket/%c0%80', 'InvalidURI'],
    ['/bucket/%ed%a0%80', 'InvalidURI'],
    ['/bucket/\u00ff', 'InvalidURI'],
    ['/bucket?prefix=%ff', 'InvalidURI'],
    ['*', 'InvalidURI'],
    ['/Bucket/a', 'InvalidBucketName'],
    ['/b', 'InvalidBucketName'],
    ['///a', 'InvalidBucketName'],
    ['/%C5%A2ucket/a', 'InvalidBucketName'],
    ['/bucket%2Fa', 'InvalidBucketName'],
    [`/bucket/${'a'.repeat(1025)}`, 'KeyTooLongError'],
    [`/bucket/${'%C3%BC'.repeat(513)}`, 'KeyTooLongError'],
  ]
  for (const [raw, code] of refused)
    t.equal(
      codeOf(() => parseTarget(raw, 'host', path)),
      code,
      raw,
    )
  t.equal(
    codeOf(() => parseTarget(`/bucket/${'%C3%BC'.repeat(512)}`, 'host', path)),
    'none',
  )
  const many = Array.from({ length: 300 }, (_, i) => `p${i}=1`).join('&')
  t.equal(
    codeOf(() => parseTarget(`/bucket?${many}`, 'host', path)),
    'InvalidRequest',
  )
})

t.test('any key is preserved by percent-encoding; NFC unites keys that look alike', async t => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }), key => {
      assert.equal(parseTarget(`/bucket/${encodeURIComponent(key)}`, 'h', domain).key, key)
      assert.equal(parseTarget(`/bucket/${encodeURIComponent(key)}`, 'h', path).key, key.normalize('NFC'))
      const query = parseTarget(`/bucket?prefix=${encodeURIComponent(key)}`, 'h', path).query
      assert.equal(query.get('prefix'), key)
    }),
    { numRuns: 300 },
  )
  t.equal(parseTarget('/bucket/u%CC%88', 'h', path).key, 'ü')
  t.equal(parseTarget('/bucket/u%CC%88', 'h', domain).key, 'u\u0308')
})

t.test('of equal parameters the first counts, and + is a space', async t => {
  const { query } = parseTarget('/bucket?a=1&a=2&b&c=x+y%2B&&=z&d==', 'h', path)
  t.same(
    [...query],
    [
      ['a', '1'],
      ['b', ''],
      ['c', 'x y+'],
      ['', 'z'],
      ['d', '='],
    ],
  )
})

function operation(name: string, match: S3Operation['match']) {
  const value: S3Operation = {
    name,
    summary: 'For tests.',
    match,
    action: undefined,
    body: { kind: 'none' },
    reply: { kind: 'empty', status: 200 },
    errors: [],
    handle: () => ({}),
  }
  return { id: name, plugin: 'test', value }
}

t.test('the operation with the most constraints wins, for any order of registration', async t => {
  const all = [
    operation('Get', { method: 'GET', level: 'object' }),
    operation('GetX', { method: 'GET', level: 'object', query: ['x'] }),
    operation('GetX2', { method: 'GET', level: 'object', query: ['x=2'] }),
    operation('GetXY', { method: 'GET', level: 'object', query: ['x', 'y'] }),
    operation('GetXH', { method: 'GET', level: 'object', query: ['x'], header: 'X-H' }),
    operation('Put', { method: 'PUT', level: 'object' }),
  ]
  for (const operations of [all, all.toReversed()]) {
    const table = createDispatchTable(operations)
    const find = (query: Record<string, string>, headers = {}) =>
      table.find('object', 'GET', new Map(Object.entries(query)), headers)?.name
    t.equal(find({}), 'Get')
    t.equal(find({ z: '' }), 'Get')
    t.equal(find({ x: '' }), 'GetX')
    t.equal(find({ x: '2' }), 'GetX2')
    t.equal(find({ x: '3', y: '' }), 'GetXY')
    t.equal(find({ x: '3' }, { 'x-h': '' }), 'GetXH')
    t.equal(table.find('bucket', 'GET', new Map(), {}), undefined)
    t.same(table.methods('object', new Map(), {}), ['GET', 'PUT'])
    t.same([...table.selecting('object', 'y')!], ['GET'])
    t.equal(table.selecting('bucket', 'y'), undefined)
  }
})

t.test('two operations with the same constraints are refused by name', async t => {
  const same = [
    operation('A', { method: 'GET', level: 'object', query: ['x', 'y'] }),
    operation('B', { method: 'GET', level: 'object', query: ['y', 'x'] }),
  ]
  t.throws(() => createDispatchTable(same), { message: /B of the plugin "test" has the same constraints as A/ })
})

t.test('the parser reads every character that the writer wrote', async () => {
  const name = fc.stringMatching(/^[A-Za-z][A-Za-z0-9]{0,8}$/)
  // U+FFFE and U+FFFF are no characters of XML; all other characters must be preserved, including \r and \0.
  const text = fc.string({ unit: 'binary', maxLength: 30 })
  const tree = fc.letrec<{ node: XmlNode }>(tie => ({
    node: fc.record(
      {
        name,
        text: fc.constant(''),
        children: fc.oneof({ depthSize: 'small' }, fc.constant([]), fc.array(tie('node'), { maxLength: 4 })),
      },
      { noNullPrototype: true },
    ),
  })).node
  const write = (node: XmlNode): string =>
    node.children.length > 0
      ? `<${node.name}>${node.children.map(write).join('')}</${node.name}>`
      : writeElement(node.name, node.text)
  fc.assert(
    fc.property(name, fc.array(fc.tuple(name, text), { maxLength: 5 }), tree, (root, leaves, nested) => {
      const children = leaves.map(([leaf, value]) => ({ name: leaf, text: value, children: [] }))
      const document: XmlNode = { name: root, text: '', children: [...children, nested] }
      // The parser reserves a few names, which cannot be read again.
      fc.pre(!/__proto__|prototype|constructor|toString|valueOf|hasOwnProperty/.test(JSON.stringify(document)))
      assert.deepEqual(readXml(Buffer.from(write(document)), root, 1000), document)
    }),
    { numRuns: 300 },
  )
})

t.test('references, CDATA, comments, prefixes and white space have the meaning that XML defines', async t => {
  const read = (xml: string) => readXml(Buffer.from(xml), 'a', 1000)
  t.equal(read('<a>&#x1;&#1;&#65;&#x41;&lt;&amp;lt;&quot;&apos;&gt;</a>').text, '\u0001\u0001AA<&lt;"\'>')
  t.equal(read('<a>  x <!-- c -->y<![CDATA[<&amp;>]]>&amp;</a>').text, '  x y<&amp;>&')
  t.equal(
    read('\ufeff<?xml version="1.0"?>\n<n:a xmlns:n="http://s3.amazonaws.com/doc/2006-03-01/">1</n:a>\n').text,
    '1',
  )
  t.equal(read('<a>x\r\ny&#13;z</a>').text, 'x\ny\rz')
  t.same(
    read('<a><b>1</b><c/><b>2</b></a>').children.map(({ name, text }) => [name, text]),
    [
      ['b', '1'],
      ['c', ''],
      ['b', '2'],
    ],
  )
})

t.test('documents that are not exactly one well-formed element are MalformedXML', async t => {
  const bad = [
    '',
    ' ',
    'text',
    '<a>',
    '<a></b>',
    '<a><b></a></b>',
    '<a/><a/>',
    '<b/>',
    '<a/>x',
    '<a b=1/>',
    '<a>&nope;</a>',
    '<a>&#xD800;</a>',
    '<a>&#x110000;</a>',
    '<a>&#;</a>',
    '<a>\0</a>',
    '<a><![CDATA[\0]]></a>',
    '<a>x<b/></a>',
    '<a><b/>\u00a0</a>',
    '<a><b>1</b><![CDATA[x]]></a>',
    '<a>\n<b><c/>&amp;</b>\n</a>',
    '<a>a & b</a>',
    '<a><1/></a>',
    '<a><__proto__>1</__proto__></a>',
    '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
    '<!doctype a><a/>',
    `<a>${'<b>'.repeat(60)}${'</b>'.repeat(60)}</a>`,
    `<a>${'<b>'.repeat(30)}${'</b>'.repeat(30)}</a>`,
  ]
  for (const xml of bad)
    t.equal(
      codeOf(() => readXml(Buffer.from(xml), 'a', 1000)),
      'MalformedXML',
      xml.slice(0, 60),
    )
  t.equal(
    codeOf(() => readXml(Buffer.from([0x3c, 0x61, 0x3e, 0xff, 0x3c, 0x2f, 0x61, 0x3e]), 'a', 1000)),
    'MalformedXML',
  )
})

t.test('costly documents are refused before they are parsed', async t => {
  const costly = {
    elements: [
      `<a>${'<b/>'.repeat(2100)}</a>`,
      `<a>${'<b></b>'.repeat(1050)}</a>`,
      `<a>${'<!---->'.repeat(2100)}</a>`,
      `<a>${'<![CDATA[]]>'.repeat(2100)}</a>`,
      `<a b=">">${'<b/>'.repeat(2100)}</a>`,
    ],
    attributes: [
      `<a${' b'.repeat(1001)}></a>`,
      `<a ${'b="1"'.repeat(1001)}></a>`,
      `<a b=">"${' c'.repeat(1001)}></a>`,
      `<a b='">'${' c'.repeat(1001)}></a>`,
      `<a><?b${' c'.repeat(1001)}?></a>`,
      `<a>${'<b c="1"/>'.repeat(501)}</a>`,
    ],
  }
  for (const [reason, documents] of Object.entries(costly)) {
    for (const xml of documents) {
      t.throws(
        () => readXml(Buffer.from(xml), 'a', 1000),
        { code: 'MalformedXML', message: new RegExp(`too many ${reason}`) },
        xml.slice(0, 40),
      )
    }
  }
  const comment = `<!-- ${'b '.repeat(5000)} -->`
  t.equal(readXml(Buffer.from(`<a>${comment}${'<b/>'.repeat(999)}</a>`), 'a', 1000).children.length, 999)
})

t.test('the answer to a deep document is short', async t => {
  try {
    readXml(Buffer.from(`<a>${'<b>'.repeat(5000)}`), 'a', 1000)
    t.fail('it was read')
  } catch (error) {
    t.ok((error as Error).message.length < 400)
  }
})

t.test('elements have the namespace of S3 or none', async t => {
  const own = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
  const prefixed = 'xmlns:s="http://s3.amazonaws.com/doc/2006-03-01/"'
  for (const xml of [
    '<a><b>1</b></a>',
    `<a ${own}><b>1</b></a>`,
    '<a xmlns="http://doc.s3.amazonaws.com/2006-03-01"><b>1</b></a>',
    `<a ${own}><b xmlns="">1</b></a>`,
    `<s:a ${prefixed}><s:b>1</s:b></s:a>`,
    `<s:a ${prefixed}><b>1</b></s:a>`,
    `<a ${own}><x:b xmlns:x='http://s3.amazonaws.com/doc/2006-03-01'>1</x:b></a>`,
    `<a ${own} xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="c" other="d"><b>1</b></a>`,
  ]) {
    const { name, children } = readXml(Buffer.from(xml), 'a', 1000)
    t.same([name, children], ['a', [{ name: 'b', text: '1', children: [] }]], xml)
  }
  for (const xml of [
    '<a xmlns="urn:x"><b>1</b></a>',
    '<a xmlns="urn:x"/>',
    `<a ${own}><b xmlns="urn:x">1</b></a>`,
    '<a xmlns:x="urn:x"><x:b>1</x:b></a>',
    '<x:a><b>1</b></x:a>',
    `<s:a ${prefixed}><t:b>1</t:b></s:a>`,
    `<s:a ${prefixed} xmlns="urn:x"><b>1</b></s:a>`,
    `<:a ${own}/>`,
    '<a xmlns="HTTP://s3.amazonaws.com/doc/2006-03-01/"/>',
    `<a xmlns="urn:x" ${own}/>`,
    '<a xmlns:__proto__="urn:x"><__proto__:b/></a>',
  ]) {
    t.equal(
      codeOf(() => readXml(Buffer.from(xml), 'a', 1000)),
      'MalformedXML',
      xml,
    )
  }
})

t.test('text instead of elements and elements instead of text are refused', async t => {
  const read = (xml: string) => readXml(Buffer.from(xml), 'a', 1000)
  const nested = read('<a><b><c/></b></a>')
  const blank = read('<a>\r\n\t <b> 1 </b> <b/></a>')
  requireShape(blank, { b: 'text' })
  t.same(childTexts(blank, 'b'), [' 1 ', ''])
  t.equal(childText(blank, 'c'), undefined)
  requireShape(read('<a><b><c/>\n</b></a>'), { b: { c: 'text' }, d: 'text' })
  requireShape(nested, { b: 'anything' })
  const text = read('<a>logs/</a>')
  const refused = [
    () => requireShape(text, { b: 'text' }),
    () => requireShape(nested, { b: 'text' }),
    () => requireShape(nested, { b: { d: 'text' } }),
    () => requireShape(nested, { b: {} }),
    () => requireShape(blank, {}),
    () => requireShape(read('<a><toString/></a>'), { b: 'text' }),
    () => childrenNamed(text, 'b'),
    () => childText(text, 'b'),
    () => childText(nested, 'b'),
    () => childTexts(nested, 'b'),
    () => childText(blank, 'b'),
  ]
  for (const reading of refused) t.equal(codeOf(reading), 'MalformedXML', String(reading))
})

t.test('random bytes and damaged documents give MalformedXML at worst', async () => {
  const valid = '<a xmlns="" n=""><b>1 &amp; 2</b><![CDATA[x]]><!-- y --><c d="e"/></a>'
  const damaged = fc
    .tuple(
      fc.nat(valid.length),
      fc.nat(8),
      fc.string({ unit: fc.constantFrom(...'<>&;/!-[]?"\'=a \0\n#x1'), maxLength: 8 }),
    )
    .map(([at, cut, put]) => valid.slice(0, at) + put + valid.slice(at + cut))
  fc.assert(
    fc.property(
      fc.oneof(
        damaged.map(text => Buffer.from(text)),
        fc.uint8Array({ maxLength: 60 }).map(Buffer.from),
      ),
      bytes => {
        try {
          assert.equal(readXml(bytes, 'a', 1000).name, 'a')
        } catch (error) {
          assert.ok(isCatalogError(error), `${error}\n${bytes}`)
          assert.equal(error.code, 'MalformedXML')
        }
      },
    ),
    { numRuns: 1500 },
  )
})

t.test('answers escape markup and control characters, and omit undefined values', async t => {
  t.equal(escapeXml('a<b>&"\'\u0001\r\t\n\u007f\uffff'), "a&lt;b&gt;&amp;&quot;'&#x1;&#xd;&#x9;&#xa;&#x7f;&#xffff;")
  t.equal(
    writeXmlRoot('R', { A: 1, B: undefined, C: [{ D: 'x' }, { D: '' }], E: [], F: false }),
    '<R xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><A>1</A><C><D>x</D></C><C><D/></C><F>false</F></R>',
  )
  t.equal(writeXmlRoot('R', ''), '<R xmlns="http://s3.amazonaws.com/doc/2006-03-01/"/>')
})

t.test('ranges are clamped, refused or ignored as S3 does', async t => {
  const cases: [header: string | undefined, size: number, expected: [number, number] | 'whole' | 'InvalidRange'][] = [
    [undefined, 10, 'whole'],
    ['bytes=0-0', 10, [0, 1]],
    ['bytes=2-4', 10, [2, 3]],
    ['bytes=2-', 10, [2, 8]],
    ['bytes=-3', 10, [7, 3]],
    ['bytes=-30', 10, [0, 10]],
    ['bytes=5-99', 10, [5, 5]],
    ['bytes=9-', 10, [9, 1]],
    ['bytes=10-', 10, 'InvalidRange'],
    ['bytes=-0', 10, 'InvalidRange'],
    ['bytes=0-', 0, 'InvalidRange'],
    ['bytes=-1', 0, 'whole'],
    ['bytes=4-2', 10, 'whole'],
    ['bytes=0-1,3-4', 10, 'whole'],
    ['bytes=-', 10, 'whole'],
    ['items=0-1', 10, 'whole'],
    ['bytes=a-b', 10, 'whole'],
  ]
  for (const [header, size, expected] of cases) {
    if (expected === 'InvalidRange')
      t.equal(
        codeOf(() => readRange(header, size)),
        expected,
        String(header),
      )
    else {
      const range = readRange(header, size)
      t.same(range === undefined ? 'whole' : [range.start, range.length], expected, String(header))
    }
  }
  t.same(readCopyRange('bytes=1-3', 10), { start: 1, length: 3 })
  for (const bad of ['bytes=1-10', 'bytes=3-1', 'bytes=1-', 'bytes=-1', '1-2', 'bytes=0-0,2-3']) {
    t.equal(
      codeOf(() => readCopyRange(bad, 10)),
      'InvalidArgument',
      bad,
    )
  }
})

t.test('conditions of reads follow the order of RFC 9110', async t => {
  const version = { etag: 'abc', modifiedMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678) }
  const at = 'Fri, 02 Jan 2026 03:04:05 GMT'
  const before = 'Fri, 02 Jan 2026 03:04:04 GMT'
  const after = 'Fri, 02 Jan 2026 03:04:06 GMT'
  const check = (headers: Record<string, string>) => {
    try {
      return checkReadConditions(headers, version)
    } catch (error) {
      assert.ok(isCatalogError(error))
      return error.code
    }
  }
  t.equal(check({}), 'proceed')
  t.equal(check({ 'if-match': '"abc"' }), 'proceed')
  t.equal(check({ 'if-match': 'abc' }), 'proceed')
  t.equal(check({ 'if-match': '"x", "abc"' }), 'proceed')
  t.equal(check({ 'if-match': '*' }), 'proceed')
  t.equal(check({ 'if-match': '"x"' }), 'PreconditionFailed')
  t.equal(check({ 'if-match': '"abc"', 'if-unmodified-since': before }), 'proceed')
  t.equal(check({ 'if-unmodified-since': at }), 'proceed')
  t.equal(check({ 'if-unmodified-since': before }), 'PreconditionFailed')
  t.equal(check({ 'if-unmodified-since': 'rubbish' }), 'proceed')
  t.equal(check({ 'if-none-match': '"abc"' }), 'not-modified')
  t.equal(check({ 'if-none-match': '*' }), 'not-modified')
  t.equal(check({ 'if-none-match': '"x"', 'if-modified-since': after }), 'proceed')
  t.equal(check({ 'if-modified-since': at }), 'not-modified')
  t.equal(check({ 'if-modified-since': before }), 'proceed')
  t.equal(check({ 'if-match': '"x"', 'if-none-match': '"abc"' }), 'PreconditionFailed')
})

t.test('conditions of writes are passed on, or refused if AWS has none', async t => {
  t.equal(readWriteConditions({}), undefined)
  t.same(readWriteConditions({ 'if-match': '"abc"' }), { ifMatch: 'abc' })
  t.same(readWriteConditions({ 'if-none-match': '*' }), { ifNoneMatch: '*' })
  t.equal(
    codeOf(() => readWriteConditions({ 'if-none-match': '"abc"' })),
    'NotImplemented',
  )
  t.equal(
    codeOf(() => readWriteConditions({ 'if-match': '"a"', 'if-none-match': '*' })),
    'NotImplemented',
  )
  t.equal(unquoteEtag(' W/"abc" '), 'abc')
})

t.test('attributes have the values of the object, without the encoding of the request', async t => {
  t.same(
    readAttributes({
      'content-type': 'text/plain',
      'content-encoding': 'aws-chunked, gzip',
      'cache-control': 'no-cache',
      'x-amz-meta-a': '1',
      'x-amz-website-redirect-location': '/x',
      'x-amz-storage-class': 'REDUCED_REDUNDANCY',
      host: 'h',
    }),
    {
      system: {
        contentType: 'text/plain',
        contentEncoding: 'gzip',
        cacheControl: 'no-cache',
        websiteRedirectLocation: '/x',
      },
      user: { a: '1' },
      storageClass: 'REDUCED_REDUNDANCY',
    },
  )
  t.same(readAttributes({ 'content-encoding': 'aws-chunked' }).system, {})
  t.equal(
    codeOf(() => readAttributes({ 'x-amz-website-redirect-location': 'x' })),
    'InvalidRedirectLocation',
  )
  t.equal(
    codeOf(() => readAttributes({ 'x-amz-storage-class': 'GLACIER' })),
    'InvalidStorageClass',
  )
  t.equal(
    codeOf(() => readAttributes({ 'x-amz-meta-a': 'x'.repeat(2048) })),
    'MetadataTooLarge',
  )
  t.equal(
    codeOf(() => readAttributes({ 'x-amz-meta-a': 'x'.repeat(2047) })),
    'none',
  )
})

t.test('listing parameters', async t => {
  t.equal(readListSize(undefined, 'max-keys'), 1000)
  t.equal(readListSize('0', 'max-keys'), 0)
  t.equal(readListSize('2147483647', 'max-keys'), 1000)
  for (const bad of ['-1', 'a', '1.5', '2147483648', '99999999999']) {
    t.equal(
      codeOf(() => readListSize(bad, 'max-keys')),
      'InvalidArgument',
      bad,
    )
  }
  t.equal(listingText("a b/+ü!'()*~-_.\u0001", 'url'), 'a%20b/%2B%C3%BC%21%27%28%29%2A~-_.%01')
  t.equal(listingText('a b', undefined), 'a b')
})

t.test(
  'a body reaches a slow sink whole, in order, one chunk at a time, and never counts its own end as a loss',
  async () => {
    const expected = { md5: undefined, checksum: undefined, trailer: undefined, algorithm: undefined }
    // Splits each read in two, as a decoder of chunks may.
    const decoder = {
      push(bytes: Buffer, emit: (payload: Buffer) => void) {
        emit(bytes.subarray(0, bytes.length >> 1))
        emit(bytes.subarray(bytes.length >> 1))
      },
      end: () => new Map(),
    }
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ minLength: 2, maxLength: 50 }), { minLength: 1, maxLength: 8 }),
        fc.array(fc.constantFrom('now', 'soon', 'later'), { minLength: 1, maxLength: 5 }),
        fc.boolean(),
        async (pieces, pace, isDecoded) => {
          const request = new PassThrough()
          const whole = Buffer.concat(pieces)
          const exchange = { request, continue() {} } as unknown as Exchange
          const given = { ...expected, sizeBytes: whole.length }
          const body = new RequestBody(exchange, undefined as never, given, isDecoded ? decoder : undefined)
          const received: Buffer[] = []
          let isBusy = false
          const consumed = body.consume(chunk => {
            assert.ok(!isBusy, 'no chunk before the one before it is done with')
            received.push(Buffer.from(chunk))
            const when = pace[received.length % pace.length]
            if (when === 'now') return
            isBusy = true
            return new Promise<void>(resolve => {
              const done = () => {
                isBusy = false
                resolve()
              }
              if (when === 'soon') setImmediate(done)
              else setTimeout(done, 2)
            })
          })
          for (const piece of pieces) request.write(piece)
          request.end()
          await consumed
          assert.ok(whole.equals(Buffer.concat(received)))
          assert.equal(body.receivedBytes, whole.length)
        },
      ),
      { numRuns: 150 },
    )
  },
)

t.test('a truncated body, or one of another length, is an error', async t => {
  const expected = { md5: undefined, checksum: undefined, trailer: undefined, algorithm: undefined, sizeBytes: 5 }
  const consume = async (feed: (request: PassThrough) => void) => {
    const request = new PassThrough()
    const exchange = { request, continue() {} } as unknown as Exchange
    const body = new RequestBody(exchange, undefined as never, expected, undefined)
    const consumed = body.consume(() => {})
    feed(request)
    return consumed.then(
      () => 'whole',
      error => (isCatalogError(error) ? error.code : error.name),
    )
  }
  t.equal(await consume(request => request.end('12345')), 'whole')
  t.equal(await consume(request => request.end('1234')), 'IncompleteBody')
  t.equal(await consume(request => request.end('123456')), 'IncompleteBody')
  t.equal(await consume(request => request.write('123') && request.destroy()), 'ClientGoneError')
})

t.test('times are formatted as by Date', async () => {
  const any = fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) })
  fc.assert(
    fc.property(fc.array(any, { minLength: 1, maxLength: 5 }), times => {
      for (const timeMs of times) {
        assert.equal(isoTime(timeMs), new Date(timeMs).toISOString())
        assert.equal(httpDate(timeMs), new Date(timeMs).toUTCString())
      }
    }),
  )
})
