/** Random policies and requests of few different words, so that many of them match: SEED=… repeats a run. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { StatementDocument } from '../api.ts'
import { findConditionKey } from '../condition-keys.ts'
import { readJson } from '../json-reader.ts'
import { plainPattern, WildcardPattern } from '../wildcards.ts'
import { ada, bob, policy, root } from './policies.ts'
import { glob, type SlowPolicies, type SlowRequest, slowDecision, type Unit } from './slow-evaluator.ts'

const seed = process.env.SEED === undefined ? Date.now() & 0x7fffffff : Number(process.env.SEED)
t.comment(`SEED=${seed}`)

const variable = (name: string) => `\${${name}}`
const oneOrMore = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof(arbitrary, fc.array(arbitrary, { minLength: 1, maxLength: 3 }))

const actions = [
  's3:GetObject',
  's3:PutObject',
  's3:ListBucket',
  's3:PutBucketPolicy',
  's3:ListAllMyBuckets',
  'admin:ServerInfo',
] as const
const actionPattern = fc.constantFrom(
  ...actions,
  '*',
  's3:*',
  's3:Get*',
  's3:?etObject',
  'S3:putOBJECT',
  's3:*Bucket*',
  'admin:*',
)
const keyText = fc.constantFrom('', 'a', 'a/b', 'ada/x', 'b*', 'public/a', '?')
const keyPattern = fc.constantFrom(
  '*',
  'a*',
  'a',
  '?',
  '*/b',
  'public/*',
  `${variable('aws:username')}/*`,
  `${variable("s3:prefix, 'a'")}*`,
  `b${variable('*')}`,
)
const arn = (bucket: string) =>
  fc.oneof(
    fc.constant(`arn:aws:s3:::${bucket}`),
    keyPattern.map(key => `arn:aws:s3:::${bucket}/${key}`),
  )
const resource = fc.oneof(arn('photos'), arn('other'), arn('*'), arn('ph?tos*'), fc.constant('*'))

const texts = fc.constantFrom(
  '',
  'a',
  'A',
  'a/b',
  'ada',
  'staff',
  'a*',
  variable('aws:username'),
  variable('s3:delimiter'),
  variable("s3:delimiter, 'a'"),
)
const stringOperators = [
  'StringEquals',
  'StringNotEquals',
  'StringLike',
  'StringNotLike',
  'StringEqualsIgnoreCase',
  'StringNotEqualsIgnoreCase',
] as const
const qualified = (operators: readonly string[]) =>
  fc
    .tuple(
      fc.constantFrom('', '', 'ForAllValues:', 'ForAnyValue:'),
      fc.constantFrom(...operators),
      fc.constantFrom('', '', 'IfExists'),
    )
    .map(parts => parts.join(''))
const blocks = fc.constantFrom('10.0.0.0/8', '10.1.0.0/16', '0.0.0.0/0', '2001:db8::/32', '::/0', '8.0.0.0/5')

const condition: fc.Arbitrary<NonNullable<StatementDocument['Condition']>> = fc.oneof(
  fc
    .tuple(
      qualified(stringOperators),
      fc.constantFrom('s3:prefix', 's3:delimiter', 'aws:username', 'aws:groups', 's3:RequestObjectTagKeys'),
      oneOrMore(texts),
    )
    .map(([operator, key, value]) => ({ [operator]: { [key]: value } })),
  fc
    .tuple(
      qualified(['NumericEquals', 'NumericNotEquals', 'NumericLessThan']),
      oneOrMore(fc.constantFrom('5', '10', 7)),
    )
    .map(([operator, value]) => ({ [operator]: { 's3:max-keys': value } })),
  fc
    .tuple(qualified(['Bool']), fc.constantFrom('true', 'false', true))
    .map(([operator, value]) => ({ [operator]: { 'aws:SecureTransport': value } })),
  fc
    .tuple(qualified(['IpAddress', 'NotIpAddress']), oneOrMore(blocks))
    .map(([operator, value]) => ({ [operator]: { 'aws:SourceIp': value } })),
  fc
    .tuple(fc.constantFrom('s3:prefix', 'aws:username', 'AWS:Groups', 's3:max-keys'), fc.constantFrom('true', 'false'))
    .map(([key, value]) => ({ Null: { [key]: value } })),
)
const conditions = fc
  .array(condition, { maxLength: 2 })
  .map(list => Object.assign({}, ...list) as NonNullable<StatementDocument['Condition']>)

const effect = fc.constantFrom('Allow' as const, 'Allow' as const, 'Deny' as const)
const either = <Plain extends string, T>(name: Plain, value: fc.Arbitrary<T>) =>
  fc.tuple(fc.constantFrom(name, name, name, `Not${name}`), oneOrMore(value)).map(([key, texts]) => ({ [key]: texts }))

const identityStatement: fc.Arbitrary<StatementDocument> = fc
  .tuple(effect, either('Action', actionPattern), either('Resource', resource), conditions)
  .map(([Effect, action, resources, Condition]) => ({ Effect, ...action, ...resources, Condition }))

const principal = fc.constantFrom(
  '*' as const,
  { AWS: '*' },
  { AWS: ['arn:aws:iam:::user/ada'] },
  { AWS: 'arn:aws:iam:::user/bob' },
)
// Actions and resources that fit together: other documents are refused, and are not tested here.
const bucketStatement: fc.Arbitrary<StatementDocument> = fc
  .tuple(
    effect,
    principal,
    fc.boolean(),
    fc.constantFrom('*', 's3:*', ['s3:GetObject', 's3:ListBucket'], 's3:PutObject', 's3:Get*'),
    fc.uniqueArray(keyPattern, { minLength: 1, maxLength: 2 }),
    conditions,
  )
  .map(([Effect, who, isNegated, Action, keys, Condition]) => ({
    Effect,
    [isNegated && Effect === 'Deny' ? 'NotPrincipal' : 'Principal']: who,
    Action,
    Resource: ['arn:aws:s3:::photos', ...keys.map(key => `arn:aws:s3:::photos/${key}`)],
    Condition,
  }))

const values = fc.record(
  {
    's3:prefix': fc.constantFrom(['a'], ['a/b'], [''], []),
    's3:delimiter': fc.constantFrom(['a'], ['A'], ['/', 'a']),
    's3:requestobjecttagkeys': fc.constantFrom(['a'], ['a', 'ada'], [''], []),
    's3:max-keys': fc.constantFrom(['5'], ['10'], ['x'], ['']),
    'aws:securetransport': fc.constantFrom(['true'], ['false']),
    'aws:sourceip': fc.constantFrom(['10.1.2.3'], ['192.0.2.1'], ['2001:db8::7'], ['11.0.0.1']),
  },
  { requiredKeys: [] },
)

const request: fc.Arbitrary<SlowRequest> = fc
  .record({
    identity: fc.constantFrom(ada, ada, bob, undefined),
    action: fc.constantFrom(...actions, 's3:GetObject', 's3:PutObject'),
    bucket: fc.constantFrom('photos', 'photos', 'other', 'phxtos-2'),
    key: keyText,
    values: values as fc.Arbitrary<SlowRequest['values']>,
    blockPublicAccess: fc.boolean(),
  })
  .map(given => {
    // One bucket has a policy, another has none; actions on the server have no bucket.
    const isOfServer = given.action === 's3:ListAllMyBuckets' || given.action === 'admin:ServerInfo'
    return isOfServer ? { ...given, bucket: '', key: '' } : given
  })

const policies: fc.Arbitrary<SlowPolicies> = fc.record({
  granted: fc.array(identityStatement, { maxLength: 4 }),
  bucket: fc.array(bucketStatement, { maxLength: 3 }),
  limit: fc.option(fc.array(identityStatement, { minLength: 1, maxLength: 2 }), { nil: undefined, freq: 2 }),
})

function setOf(list: readonly StatementDocument[], kind: 'identity' | 'bucket') {
  if (list.length === 0) return policy.combine([])
  const result = policy.compile(
    { Version: '2012-10-17', Statement: list },
    { kind, bucket: kind === 'bucket' ? 'photos' : undefined },
  )
  assert.ok(result.policy, JSON.stringify(result.errors))
  const again = policy.compile(result.policy.json, { kind })
  assert.equal(again.policy?.json, result.policy.json)
  return policy.combine([{ policy: again.policy, source: kind === 'bucket' ? 'bucket-policy' : 'policy' }])
}

t.test('the engine and the slow evaluator decide alike', async t => {
  let allowed = 0
  let decided = 0
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(policies, fc.array(request, { minLength: 8, maxLength: 8 }), (given, requests) => {
        const granted = setOf(given.granted, 'identity')
        const limits = given.limit === undefined ? undefined : [setOf(given.limit, 'identity')]
        const bucketPolicies = { policies: setOf(given.bucket, 'bucket') }
        for (const slow of requests) {
          const isPhotos = slow.bucket === 'photos'
          const expected = slowDecision(slow, isPhotos ? given : { ...given, bucket: [] })
          const asked = { ...slow, conditions: () => slow.values }
          const named = { identity: { granted, limits }, bucket: isPhotos ? bucketPolicies : undefined }
          assert.equal(policy.evaluate(asked, named), expected, JSON.stringify([given, slow]))
          const simulation = policy.simulate(asked, named)
          assert.equal(simulation.allowed, expected, `simulated: ${simulation.reason}`)
          assert.equal(policy.evaluate({ ...asked, identity: root }, named), true)
          decided++
          if (expected) allowed++
        }
      }),
      { numRuns: 1500, seed },
    ),
  )
  // The test would prove nothing if no request matched a statement.
  t.ok(allowed > decided / 20 && allowed < (decided * 19) / 20, `${allowed} of ${decided} allowed`)
})

const patternText = fc
  .array(fc.constantFrom('*', '?', 'a', 'b', '*a', '?b'), { maxLength: 8 })
  .map(parts => parts.join(''))
const subject = fc.array(fc.constantFrom('a', 'b', 'ab', 'aa', 'c'), { maxLength: 8 }).map(parts => parts.join(''))

t.test('wildcards match according to their definition', async t => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(patternText, subject, (pattern, text) => {
        const units = pattern.split('').map(c => (c === '*' || c === '?' ? { wildcard: c } : { character: c }) as Unit)
        assert.equal(plainPattern(pattern).matches(text), glob(units, text), JSON.stringify([pattern, text]))
      }),
      { numRuns: 5000, seed },
    ),
  )
  // Pieces that are longer than a word of bits, at every offset in it.
  for (let length = 1; length < 100; length++) {
    const piece = `${'a'.repeat(length)}?${'b'.repeat(length % 7)}c`
    const pattern = plainPattern(`*${piece}*`)
    const text = `${'a'.repeat(length + (length % 5))}x${'b'.repeat(length % 7)}c`
    assert.equal(pattern.matches(`${text}zz`), true, piece)
    assert.equal(pattern.matches(text.slice(0, -1)), false, piece)
    assert.equal(pattern.matches(text.slice((length % 5) + 1)), false, piece)
  }
  assert.equal(new WildcardPattern(['a*', 1, '?']).matches('a*x?'), true)
  assert.equal(new WildcardPattern(['a*', 1, '?']).matches('abxy'), false)
})

t.test('for any text, parser and compiler fail only with positions', async t => {
  const base = JSON.stringify(
    {
      Version: '2012-10-17',
      Statement: [
        {
          Sid: 'a',
          Effect: 'Allow',
          Action: ['s3:GetObject'],
          Resource: 'arn:aws:s3:::b/*',
          Condition: { Bool: { 'aws:SecureTransport': 'true' } },
        },
      ],
    },
    undefined,
    1,
  )
  const damage = fc.tuple(
    fc.nat(base.length),
    fc.nat(6),
    fc.oneof(
      fc.string({ maxLength: 4 }),
      fc.constantFrom('{', '}', '[', ']', '"', ',', ':', '\\', '${', '*', 'null', '1e9', '\u0000', '//'),
    ),
  )
  const check = (text: string) => {
    const complaints: number[] = []
    readJson(text, at => complaints.push(at))
    assert.ok(complaints.every(at => at >= 0 && at <= text.length))
    let isJson = true
    try {
      JSON.parse(text.replace(/^\ufeff/, ''))
    } catch {
      isJson = false
    }
    if (!isJson) assert.ok(complaints.length > 0, text)
    for (const kind of ['identity', 'bucket'] as const) {
      const { policy: accepted, errors } = policy.compile(text, { kind, bucket: 'b' })
      if (accepted !== undefined) assert.ok(isJson, text)
      const lines = text.split('\n')
      for (const { line, column } of errors ?? [])
        assert.ok(line >= 1 && line <= lines.length && column >= 1 && column <= lines[line - 1].length + 1, text)
      assert.ok(accepted !== undefined || errors!.length > 0)
    }
  }
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.array(damage, { minLength: 1, maxLength: 3 }), list => {
        let text = base
        for (const [at, length, inserted] of list) text = text.slice(0, at) + inserted + text.slice(at + length)
        check(text)
      }),
      { numRuns: 2000, seed },
    ),
  )
  t.doesNotThrow(() =>
    fc.assert(fc.property(fc.oneof(fc.json(), fc.string(), fc.string({ unit: 'binary' })), check), {
      numRuns: 1000,
      seed,
    }),
  )
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.string(), name => void findConditionKey(name)),
      { numRuns: 500, seed },
    ),
  )
})
