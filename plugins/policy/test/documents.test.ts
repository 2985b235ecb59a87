import assert from 'node:assert/strict'
import t from 'tap'
import { parseBlock } from '../addresses.ts'
import type { PolicyKind } from '../api.ts'
import { parseInstant } from '../instant.ts'
import { readJson } from '../json-reader.ts'
import { compiled, decision, policy, readingCat, setOf } from './policies.ts'

const variable = (name: string) => `\${${name}}`

function problemsOf(document: string | object, kind: PolicyKind = 'identity', bucket?: string) {
  const { errors, policy: accepted } = policy.compile(document, { kind, bucket })
  assert.ok(errors !== undefined && accepted === undefined, 'was accepted')
  return errors
}

/** A valid statement with the given changes. */
const statement = (changes: object) => ({
  Version: '2012-10-17',
  Statement: [{ Effect: 'Allow', Action: 's3:GetObject', Resource: 'arn:aws:s3:::b/*', ...changes }],
})
const ofBucket = (changes: object) => statement({ Principal: '*', ...changes })

t.test('every problem is reported at once, with statement, line and column', async () => {
  const text = `{
  "Version": "2012-10-17",
  "Statment": [],
  "Statement": [
    { "Sid": "read", "Effect": "allow", "Action": ["s3:GetObjekt", "s3:Foo*"], "Resource": "b/*" },
    { "Effect": "Deny", "Action": "s3:*", "Resource": "*",
      "Condition": { "IpAdress": {}, "IpAddress": { "aws:SourceIp": ["10.0.0.0/8", "10.0.0.256"], "aws:Moon": "x" } } },
    7
  ]
}`
  const found = problemsOf(text).map(({ statement: index, sid, element, line, column, message }) =>
    [index ?? '-', sid ?? '-', element, `${line}:${column}`, message].join(' | '),
  )
  assert.deepEqual(found, [
    '- | - | Statment | 3:3 | A policy has no element "Statment". It has Version, Id, Statement.',
    '0 | read | Effect | 5:32 | Effect is "Allow" or "Deny", not "allow".',
    '0 | read | Action | 5:52 | "s3:GetObjekt" is no action that exists.',
    '0 | read | Action | 5:68 | "s3:Foo*" means no action that exists.',
    '0 | read | Resource | 5:92 | "b/*" is no resource: write arn:aws:s3:::BUCKET or arn:aws:s3:::BUCKET/KEY.',
    '1 | - | Condition | 7:22 | "IpAdress" is no condition operator.',
    '1 | - | Condition.IpAddress.aws:SourceIp | 7:84 | "10.0.0.256" is neither an IP address nor a CIDR block.',
    '1 | - | Condition.IpAddress.aws:Moon | 7:99 | "aws:Moon" is no condition key that exists.',
    '1 | - | Condition.IpAddress.aws:Moon | 7:111 | "x" is neither an IP address nor a CIDR block.',
    '2 | - | Statement | 8:5 | A statement is an object, not a number.',
  ])
})

t.test('errors in the JSON are reported with their positions, and skipped where possible', async () => {
  const rows: [string, ...string[]][] = [
    ['', '1:1 The document is empty.'],
    [' \n ', '2:2 The document is empty.'],
    ['{', '1:2 The end of the document stands where a key in double quotes is expected.'],
    ["{'a': 1}", '1:2 "\'" stands where a key in double quotes is expected.'],
    ['{"a" 1}', '1:6 "1" stands where ":" is expected.'],
    ['{"Version": \'x\'}', '1:13 Strings stand in double quotes.'],
    ['{"Version": 01}', '1:13 This is not a number of JSON.'],
    ['{"Version": "a\tb"}', '1:15 A control character in a string: write it as an escape.'],
    [
      '{"Version": "a,\n"Statement": []}',
      '1:13 The string does not end on this line: a double quote is missing, or a line break in it stands as \\n.',
    ],
    ['{"Version": "a}', '1:13 A string that does not end.'],
    ['{"Version": "\\x"}', '1:14 JSON has no such escape.'],
    ['{"Version": "\\u12g4"}', '1:14 "\\u" needs four hexadecimal digits.'],
    ['{"Version": tru}', '1:13 "t" stands where a value is expected.'],
    ['{} {}', '1:4 "{" stands behind the end of the document.'],
    ['{]', '1:2 "]" stands where a key in double quotes is expected.'],
    ['[1 2 :', '1:4 A comma is missing before this.', '1:6 ":" stands where "," or "]" is expected.'],
    ['/* x', '1:1 A comment that does not end; JSON has no comments.'],
    [
      '{"Version": "\\ud800"',
      '1:13 The string holds half of a surrogate pair.',
      '1:21 The end of the document stands where "," or "}" is expected.',
    ],
    ['[]', '1:1 A policy is an object, not a list.'],
  ]
  for (const [text, ...expected] of rows) {
    const found = problemsOf(text).map(({ line, column, message }) => `${line}:${column} ${message}`)
    assert.deepEqual(found, expected, text)
  }
  const repaired = `// mine
{ "Version": "2012-10-17" "Statement": [{ "Effect": "Allow", "Action": "s3:Nope", "Resource": "*", "Effect": "Deny" },],
}`
  assert.deepEqual(
    problemsOf(repaired).map(({ line, column, message }) => `${line}:${column} ${message}`),
    [
      '1:1 JSON has no comments.',
      '2:27 A comma is missing before this.',
      '2:72 "s3:Nope" is no action that exists.',
      '2:100 The key "Effect" stands twice in the same object.',
      '2:118 No comma may stand before "]".',
      '2:120 No comma may stand before "}".',
    ],
  )
})

t.test('the parser accepts the same texts as JSON.parse', async () => {
  const plain = (node: ReturnType<typeof readJson>): unknown => {
    if (node?.kind === 'list') return node.items.map(plain)
    if (node?.kind === 'object') return Object.fromEntries(node.members.map(({ key, value }) => [key, plain(value)]))
    return node?.value
  }
  const valid = [
    '{"a":[1,-0.5e3,true,false,null,"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9é😀"],"":{}}',
    ' [ ] ',
    '"x"',
    '-0',
    '1E+2',
  ]
  for (const text of valid) {
    assert.deepEqual(plain(readJson(text, (_, message) => assert.fail(message))), JSON.parse(text), text)
  }
  for (const text of [
    '[1,]',
    '[,1]',
    '{"a":1,}',
    '1.',
    '.5',
    '+1',
    '0x1',
    'NaN',
    '[1]]',
    '"\t"',
    '"\u001f"',
    'nul',
    '{"a":}',
    '{1:2}',
    '1e',
    '--1',
    '\u00a01',
  ]) {
    assert.throws(() => JSON.parse(text), text)
    let complaints = 0
    readJson(text, () => complaints++)
    assert.ok(complaints > 0, text)
  }
})

t.test('each element is refused for its own reason', async () => {
  const rows: [object, PolicyKind, string, RegExp][] = [
    [{ Statement: [] }, 'identity', 'Statement', /no statement in its list/],
    [{ Version: '2012-10-17' }, 'identity', 'Statement', /has no Statement/],
    [{ Version: '2012-10-18', Statement: 1 }, 'identity', 'Version', /no version "2012-10-18"/],
    [{ Version: 2012, Statement: 1 }, 'identity', 'Version', /is a string, not a number/],
    [{ Version: '2012-10-17', Statement: 'x' }, 'identity', 'Statement', /list of statements, not a string/],
    [{ version: 'x' }, 'identity', 'version', /Write "Version"/],
    [{ Version: '2012-10-17', Id: 7, Statement: [] }, 'identity', 'Id', /not a number/],
    [statement({ Sid: 7 }), 'identity', 'Sid', /not a number/],
    [statement({ Effect: undefined }), 'identity', 'Effect', /has no Effect/],
    [statement({ effect: 'Allow' }), 'identity', 'effect', /Write "Effect"/],
    [statement({ Action: undefined }), 'identity', 'Action', /neither Action nor NotAction/],
    [statement({ NotAction: 's3:*' }), 'identity', 'NotAction', /both Action and NotAction/],
    [statement({ Action: [] }), 'identity', 'Action', /empty list/],
    [statement({ Action: ['s3:GetObject', 7] }), 'identity', 'Action', /holds a number/],
    [statement({ Action: {} }), 'identity', 'Action', /a list of strings, not an object/],
    [statement({ Action: 's3*' }), 'identity', 'Action', /after the colon only/],
    [statement({ Action: '*:GetObject' }), 'identity', 'Action', /after the colon only/],
    [statement({ Action: 'GetObject' }), 'identity', 'Action', /write service:Name/],
    [statement({ Action: 's3:Get Object' }), 'identity', 'Action', /write service:Name/],
    [statement({ Action: 'ec2:*' }), 'identity', 'Action', /means no action/],
    [statement({ Action: 's3:__proto__' }), 'identity', 'Action', /write service:Name/],
    [statement({ Action: `s3:${'?'.repeat(200)}` }), 'identity', 'Action', /is no action/],
    [statement({ Resource: undefined }), 'identity', 'Resource', /neither Resource nor NotResource/],
    [statement({ Action: '*', Resource: undefined }), 'identity', 'Resource', /neither Resource/],
    [statement({ Resource: 'arn:aws:s3:::' }), 'identity', 'Resource', /names no bucket/],
    [statement({ Resource: 'arn:aws:s3:eu-west-1:1:b' }), 'identity', 'Resource', /partition, region or account/],
    [statement({ Resource: `arn:aws:s3:::b/${'a'.repeat(2048)}` }), 'identity', 'Resource', /longer than 2048/],
    [statement({ Resource: 'arn:aws:s3:::b/${aws:username' }), 'identity', 'Resource', /no closing brace/],
    [statement({ Resource: `arn:aws:s3:::b/${variable('x y')}` }), 'identity', 'Resource', /is no policy variable/],
    [statement({ Resource: `arn:aws:s3:::b/${variable('aws:nobody')}` }), 'identity', 'Resource', /no condition key/],
    [statement({ Resource: `arn:aws:s3:::b/${variable('aws:groups')}` }), 'identity', 'Resource', /several values/],
    [statement({ Principal: '*' }), 'identity', 'Principal', /bucket policies only/],
    [statement({ NotPrincipal: '*' }), 'session', 'NotPrincipal', /bucket policies only/],
    [statement({}), 'bucket', 'Principal', /neither Principal nor NotPrincipal/],
    [ofBucket({ Principal: {} }), 'bucket', 'Principal', /names nobody/],
    [ofBucket({ Principal: 7 }), 'bucket', 'Principal', /not a number/],
    [ofBucket({ Principal: 'ada' }), 'bucket', 'Principal', /is no principal/],
    [ofBucket({ Principal: { AWS: '123456789012' } }), 'bucket', 'Principal', /is an account/],
    [ofBucket({ Principal: { AWS: 'arn:aws:iam::123456789012:root' } }), 'bucket', 'Principal', /is an account/],
    [ofBucket({ Principal: { AWS: 'arn:aws:iam:::user/*' } }), 'bucket', 'Principal', /has a wildcard/],
    [ofBucket({ Principal: { AWS: 'arn:aws:iam:::group/staff' } }), 'bucket', 'Principal', /is a group/],
    [ofBucket({ Principal: { Service: 'x' } }), 'bucket', 'Principal', /only "AWS" is/],
    [
      ofBucket({ Principal: undefined, NotPrincipal: { AWS: 'arn:aws:iam:::user/a' } }),
      'bucket',
      'NotPrincipal',
      /"Deny" only/,
    ],
    [ofBucket({ Resource: undefined, Action: '*' }), 'bucket', 'Resource', /neither Resource/],
    [ofBucket({ Resource: 'arn:aws:s3:::other/*' }), 'bucket', 'Resource', /does not name this bucket/],
    [ofBucket({ Resource: 'arn:aws:s3:::b*' }), 'bucket', 'Resource', /does not name this bucket/],
    [ofBucket({ Resource: '*' }), 'bucket', 'Resource', /does not name this bucket/],
    [ofBucket({ Action: 's3:ListBucket' }), 'bucket', 'Action', /none of the resources/],
    [ofBucket({ Resource: 'arn:aws:s3:::b' }), 'bucket', 'Action', /none of the resources/],
    [ofBucket({ Action: 'admin:ServerInfo' }), 'bucket', 'Action', /cannot be granted or denied by a bucket/],
    [ofBucket({ Action: 's3:ListAllMyBuckets' }), 'bucket', 'Action', /cannot be granted or denied by a bucket/],
    [statement({ Condition: [] }), 'identity', 'Condition', /is an object, not a list/],
    [statement({ Condition: { Bool: 'true' } }), 'identity', 'Condition.Bool', /object of condition keys/],
    [statement({ Condition: { bool: { 'aws:SecureTransport': 'true' } } }), 'identity', 'Condition', /Write "Bool"/],
    [statement({ Condition: { 'ForSome:Bool': {} } }), 'identity', 'Condition', /only ForAllValues and ForAnyValue/],
    [statement({ Condition: { NullIfExists: {} } }), 'identity', 'Condition', /Null stands alone/],
    [statement({ Condition: { constructor: {} } }), 'identity', 'Condition', /no condition operator/],
    [
      statement({ Condition: { Bool: { 'aws:SecureTransport': 'yes' } } }),
      'identity',
      'Condition.Bool.aws:SecureTransport',
      /neither true nor false/,
    ],
    [
      statement({ Condition: { Bool: { 'aws:SecureTransport': null } } }),
      'identity',
      'Condition.Bool.aws:SecureTransport',
      /not null/,
    ],
    [
      statement({ Condition: { Bool: { 'aws:SecureTransport': [] } } }),
      'identity',
      'Condition.Bool.aws:SecureTransport',
      /list is empty/,
    ],
    [
      statement({ Condition: { NumericEquals: { 's3:max-keys': 'x' } } }),
      'identity',
      'Condition.NumericEquals.s3:max-keys',
      /is no number/,
    ],
    [
      statement({ Condition: { DateLessThan: { 'aws:CurrentTime': '2026-02-30' } } }),
      'identity',
      'Condition.DateLessThan.aws:CurrentTime',
      /is no date/,
    ],
    [
      statement({ Condition: { BinaryEquals: { 'aws:Referer': 'a' } } }),
      'identity',
      'Condition.BinaryEquals.aws:Referer',
      /is not Base64/,
    ],
    [
      statement({ Condition: { ArnLike: { 'aws:PrincipalArn': '*' } } }),
      'identity',
      'Condition.ArnLike.aws:PrincipalArn',
      /six parts/,
    ],
    [
      statement({ Condition: { StringLike: { 'aws:Referer': 'x'.repeat(2049) } } }),
      'identity',
      'Condition.StringLike.aws:Referer',
      /longer than 2048/,
    ],
    [
      statement({ Condition: { StringEquals: { 's3:ExistingObjectTag/': 'x' } } }),
      'identity',
      'Condition.StringEquals.s3:ExistingObjectTag/',
      /no condition key/,
    ],
    [
      statement({ Condition: { StringEquals: { 'jwt:': 'x' } } }),
      'identity',
      'Condition.StringEquals.jwt:',
      /no condition key/,
    ],
    [
      statement({ Condition: { Null: { 'aws:Referer': 'true', 'AWS:referer': 'true' } } }),
      'identity',
      'Condition.Null.AWS:referer',
      /case does not matter/,
    ],
    [
      statement({ Condition: { StringEquals: { 'aws:Referer': variable('x:y') } } }),
      'identity',
      'Condition.StringEquals.aws:Referer',
      /no condition key/,
    ],
  ]
  for (const [document, kind, element, message] of rows) {
    const errors = problemsOf(document, kind, kind === 'bucket' ? 'b' : undefined)
    const found = errors.find(error => error.element === element && message.test(error.message))
    assert.ok(found, `${JSON.stringify(document)}: ${JSON.stringify(errors)}`)
  }
  const twice = {
    Version: '2012-10-17',
    Statement: [1, 2].map(() => ({ Sid: 'a', Effect: 'Allow', Action: '*', Resource: '*' })),
  }
  assert.deepEqual(
    problemsOf(twice).map(({ statement: index, element }) => [index, element]),
    [[1, 'Sid']],
  )
})

t.test('elements without an effect are accepted with a warning', async () => {
  const rows: [object, PolicyKind, RegExp][] = [
    [
      statement({ Action: ['s3:GetObject', 'kms:Decrypt'] }),
      'identity',
      /"kms:Decrypt" is accepted, but has no effect/,
    ],
    [statement({ Action: 'kms:*', Resource: 'arn:minio:kms:::key' }), 'identity', /no resource of this server/],
    [statement({ Action: 's3:PutInventoryConfiguration' }), 'identity', /accepted, but has no effect/],
    [statement({ Action: 's3:Replicate*' }), 'identity', /accepted, but has no effect/],
    [statement({ Action: 'admin:SiteReplicationAdd' }), 'identity', /accepted, but has no effect/],
    [statement({ Action: 's3:ListBucket' }), 'identity', /none of the resources/],
    [statement({ Resource: 'arn:aws:s3:::BUCKET/*' }), 'identity', /the bucket "BUCKET": no bucket is called so/],
    [statement({ Condition: { StringEquals: { 'aws:SourceVpc': 'x' } } }), 'identity', /is never present/],
    [statement({ Condition: { StringEquals: { 's3:prefix': 'x' } } }), 'identity', /never present on the actions/],
    [ofBucket({}), 'bucket', /Everybody is allowed this/],
    [
      ofBucket({
        Effect: 'Deny',
        Principal: undefined,
        NotPrincipal: { AWS: ['arn:aws:iam::123456789012:root', 'arn:aws:iam:::user/a'] },
      }),
      'bucket',
      /root is never denied/,
    ],
    [ofBucket({ Effect: 'Deny', Principal: undefined, NotPrincipal: '*' }), 'bucket', /never matches/],
  ]
  for (const [document, kind, message] of rows) {
    const {
      policy: accepted,
      warnings,
      errors,
    } = policy.compile(document, { kind, bucket: kind === 'bucket' ? 'b' : undefined })
    assert.ok(accepted, JSON.stringify(errors))
    assert.ok(
      warnings.some(warning => message.test(warning.message) && warning.line > 1),
      JSON.stringify(warnings),
    )
  }
  assert.deepEqual(policy.compile(statement({}), { kind: 'identity' }).warnings, [])
  for (const Resource of ['arn:aws:s3:::b/KEY', 'arn:aws:s3:::*/BUCKET', `arn:aws:s3:::$\{aws:userId}/*`])
    assert.deepEqual(policy.compile(statement({ Resource }), { kind: 'identity' }).warnings, [], Resource)
  const { Version: _, ...old } = ofBucket({ Resource: 'arn:aws:s3:::*' })
  const taken = policy.compile(old, { kind: 'bucket', bucket: 'b' })
  assert.equal(taken.policy?.document.Version, '2008-10-17')
  assert.ok(taken.warnings.some(({ message }) => /no Version/.test(message)))
})

t.test('a valid document is returned in a uniform form', async () => {
  const text = `{ "Statement": { "Resource": ["*"], "Condition": { "NumericLessThan": { "s3:max-keys": 10 } },
    "NotAction": "s3:Get*", "Effect": "Deny", "Sid": "é\\u0021" }, "Id": "i", "Version": "2012-10-17" }`
  const { policy: accepted } = policy.compile(text, { kind: 'identity' })
  assert.equal(
    accepted?.json,
    '{"Version":"2012-10-17","Id":"i","Statement":[{"Sid":"é!","Effect":"Deny","NotAction":"s3:Get*","Resource":["*"],"Condition":{"NumericLessThan":{"s3:max-keys":10}}}]}',
  )
  const again = policy.compile(accepted.json, { kind: 'identity' }).policy
  assert.equal(again?.json, accepted.json)
  assert.deepEqual(again?.document, JSON.parse(accepted.json))
  assert.throws(() => Object.assign(accepted.document.Statement[0].Condition!, { x: 1 }), TypeError)
  assert.deepEqual([accepted.statements[0].line, accepted.statements[0].column], [1, 16])
  assert.equal(
    compiled({ Action: 's3:GetObject', Principal: '*', Resource: 'arn:aws:s3:::b/*' }, 'bucket', 'b').isPublic,
    true,
  )
  // Some editors write a byte order mark.
  assert.ok(policy.compile(`\ufeff${accepted.json}`, { kind: 'identity' }).policy)
  assert.ok(policy.compile(statement({ Action: 'admin:*', Resource: undefined }), { kind: 'identity' }).policy)
})

t.test('sizes, counts and depths are bounded', async () => {
  const ofBytes = (bytes: number) => {
    const text = JSON.stringify(statement({ Sid: '' }))
    return text.replace(
      '"Sid":""',
      `"Sid":"${'é'.repeat((bytes - text.length) / 2)}${'x'.repeat((bytes - text.length) % 2)}"`,
    )
  }
  assert.equal(Buffer.byteLength(ofBytes(20 * 1024)), 20 * 1024)
  assert.ok(policy.compile(ofBytes(20 * 1024), { kind: 'identity' }).policy)
  assert.match(problemsOf(ofBytes(20 * 1024 + 1))[0].message, /has 20481 bytes; at most 20480/)
  const many = (count: number) => ({
    Version: '2012-10-17',
    Statement: new Array(count).fill({ Effect: 'Deny', Action: '*', Resource: '*' }),
  })
  assert.ok(policy.compile(many(200), { kind: 'identity' }).policy)
  assert.match(problemsOf(many(201))[0].message, /has 201 statements; at most 200/)
  assert.equal(problemsOf({ Version: '2012-10-17', Statement: new Array(200).fill(0) }).length, 100)
  assert.match(problemsOf('['.repeat(20_000))[0].message, /nested deeper than 16 levels/)
  assert.match(problemsOf('{"a":'.repeat(4_000))[0].message, /nested deeper than 16 levels/)
})

t.test('what its patterns cost is bounded', async () => {
  const withPatterns = (patterns: readonly string[]) =>
    statement({ Condition: { StringLike: { 'aws:UserAgent': patterns } } })
  const many = (count: number, pattern: string) => withPatterns(new Array(count).fill(pattern))
  const resources = (count: number, resource: string) => statement({ Resource: new Array(count).fill(resource) })
  for (const [allowed, tooMany] of [
    [many(1024, '*a*'), many(1025, '*a*')],
    [many(128, '*a?*'), many(129, '*a?*')],
    [many(64, `*${'?'.repeat(33)}*`), many(65, `*${'?'.repeat(33)}*`)],
    [withPatterns(['*'.concat('a*'.repeat(1000))]), withPatterns(['*'.concat('a*'.repeat(1000)), '*a*'.repeat(25)])],
    [resources(512, 'arn:aws:s3:::b/*a*b*'), resources(513, 'arn:aws:s3:::b/*a*b*')],
    [many(1, `*?${variable('aws:username')}*`), many(2, `*?${variable('aws:username')}*`)],
  ] as const) {
    assert.equal(policy.compile(allowed, { kind: 'identity' }).errors, undefined)
    const { errors } = policy.compile(tooMany, { kind: 'identity' })
    assert.match(errors?.[0]?.message ?? '', /too many wildcards: at most 1024/, JSON.stringify(tooMany).slice(0, 300))
  }
  // The beginning and the end of a pattern cost nothing.
  assert.ok(policy.compile(many(2400, 'a?*'), { kind: 'identity' }).policy)
  const parts = { Version: '2012-10-17', Statement: [many(600, '*a*'), many(600, '*a*')].flatMap(one => one.Statement) }
  assert.match(problemsOf(parts)[0].message, /too many wildcards/, 'all statements count together')
})

t.test('keys that are special to objects have no effect', async () => {
  for (const key of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    const text = JSON.stringify(statement({})).replace('"Effect"', `${JSON.stringify(key)}:{"isPublic":true},"Effect"`)
    assert.equal(problemsOf(text)[0].element, key)
    const condition = JSON.stringify(statement({ Condition: { StringEquals: { KEY: 'x' } } })).replace('KEY', key)
    assert.match(problemsOf(condition)[0].message, /is no condition key/)
    const tag = `s3:ExistingObjectTag/${key}`
    const granted = setOf({ Action: '*', Condition: { StringEquals: { [tag]: 'x' } } })
    assert.equal(decision({ ...readingCat, conditions: () => ({}) }, { identity: { granted } }), false)
    const given = () => JSON.parse(`{${JSON.stringify(tag.toLowerCase())}:["x"]}`)
    assert.equal(decision({ ...readingCat, conditions: given }, { identity: { granted } }), true)
  }
  assert.equal(({} as { isPublic?: boolean }).isPublic, undefined)
})

t.test('hostile documents and requests take bounded time', async () => {
  const text = 'a'.repeat(4096)
  const patterns = [
    `${'*a'.repeat(1000)}*b`,
    `${'a*'.repeat(1000)}b`,
    `*${'?a'.repeat(1000)}b*`,
    `*${'a'.repeat(1000)}?${'a'.repeat(900)}b*`,
    `${'*?'.repeat(128)}b`,
    `*${'aaaaaaaab'.repeat(200)}*`,
  ]
  const deny = patterns.map(pattern => ({
    Effect: 'Deny',
    Action: '*',
    Condition: { StringLike: { 'aws:Referer': pattern } },
  }))
  // A backtracking matcher would not come to an end.
  for (const one of deny) {
    const granted = setOf([{ Action: '*' }, one])
    const request = { ...readingCat, key: text.slice(0, 1024), conditions: () => ({ 'aws:referer': [text] }) }
    for (let round = 0; round < 5; round++) assert.equal(decision(request, { identity: { granted } }), true)
  }
  for (const pattern of patterns) {
    const granted = setOf({ Action: '*', Resource: `arn:aws:s3:::${pattern.slice(0, 1000)}Z` })
    const request = { ...readingCat, bucket: 'a'.repeat(63), key: `${text.slice(0, 1000)}c` }
    assert.equal(decision(request, { identity: { granted } }), false)
  }
  for (const bad of [
    '"'.repeat(20_000),
    `{"${'\\u00e9'.repeat(3000)}":${'['.repeat(9)}`,
    '😀'.repeat(5000),
    '/*'.repeat(10_000),
    '{"a":1'.repeat(3000),
  ]) {
    assert.ok(problemsOf(bad).length > 0)
  }
  const variables = { Action: '*', Resource: `arn:aws:s3:::b/${variable('aws:username')}*`.padEnd(2000, '?') }
  assert.ok(compiled(new Array(9).fill(variables)))
})

t.test('instants and address blocks are parsed strictly', async () => {
  const instants: [string, number | undefined][] = [
    ['2026', Date.UTC(2026, 0, 1)],
    ['2026-02-28T23:59:59.5Z', Date.UTC(2026, 1, 28, 23, 59, 59, 500)],
    ['2026-02-28T23:59-00:30', Date.UTC(2026, 2, 1, 0, 29)],
    ['2024-02-29', Date.UTC(2024, 1, 29)],
    ['1767225600', Date.UTC(2026, 0, 1)],
    ['1767225600.5', Date.UTC(2026, 0, 1) + 500],
    ['2026-02-29', undefined],
    ['2026-13', undefined],
    ['2026-1-1', undefined],
    ['2026-01-01T24:00Z', undefined],
    ['2026-01-01T00:00', undefined],
    ['0050-01-01', undefined],
    ['', undefined],
    ['now', undefined],
  ]
  for (const [text, expected] of instants) assert.equal(parseInstant(text), expected, text)
  for (const text of [
    '10.0.0.0/33',
    '10.0.0/8',
    '::/129',
    '::ffff:10.0.0.0/95',
    '10.0.0.0/',
    '10.0.0.0/08',
    'fe80::1%e/64',
    '',
    'x',
    '1.2.3.4/-1',
  ]) {
    assert.equal(parseBlock(text), undefined, text)
  }
})
