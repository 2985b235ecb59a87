import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { definePlugin } from 'svc/kernel'
import { startKernel } from 'svc/testing'
import t from 'tap'
import { type AccessRequest, builtInPolicies, conditionKeys, createCatalogue, requestConditions } from '../api.ts'
import plugin from '../index.ts'
import { createPolicy } from '../policy.ts'
import operations from './admin-operations.json' with { type: 'json' }
import { ada, bob, bucketOf, compiled, decision, holds, policy, readingCat, root, setOf } from './policies.ts'

const variable = (name: string) => `\${${name}}`

t.test('root may do everything, and only the exact value true is root', async () => {
  const denyAll = { granted: setOf({ Effect: 'Deny', Action: '*' }) }
  const closed = bucketOf({ Effect: 'Deny', Action: '*' })
  const conditions = () => assert.fail('asked for')
  for (const action of ['s3:GetObject', 'admin:ServerInfo', 's3:NoSuchAction', '']) {
    assert.equal(
      decision({ identity: root, action, bucket: 'photos', conditions }, { identity: denyAll, bucket: closed }),
      true,
    )
    assert.equal(policy.isAllowed({ identity: root, action }), true)
    assert.equal(policy.isAllowed({ identity: undefined, action, bucket: 'photos', conditions }), false)
    assert.equal(policy.isAllowed({ identity: bob, action, bucket: 'photos', conditions }), false)
    assert.equal(policy.isAllowed({ identity: { ...bob, isRoot: 'yes' as unknown as boolean }, action }), false)
  }
})

t.test(
  'two tags whose names differ in case only fulfil no condition that allows, and every condition that denies',
  async () => {
    const tags = new Map([
      ['class', 'secret'],
      ['CLASS', 'public'],
    ])
    const facts = { headers: {}, secure: true, timeMs: 0, sourceAddress: '127.0.0.1', existingTags: () => tags }
    const request = { action: 's3:GetObject', bucket: 'photos', key: 'a', conditions: () => requestConditions(facts) }
    for (const operator of ['StringEquals', 'StringNotEquals', 'StringLike', 'StringEqualsIfExists']) {
      for (const value of ['public', 'secret', 'other']) {
        const Condition = { [operator]: { 's3:ExistingObjectTag/class': value } }
        const granted = setOf({ Action: 's3:GetObject', Condition })
        assert.equal(decision({ ...request, identity: bob }, { identity: { granted } }), false, `${operator} ${value}`)
        const denied = setOf([{ Action: 's3:GetObject' }, { Effect: 'Deny', Action: 's3:GetObject', Condition }])
        assert.equal(decision({ ...request, identity: bob }, { identity: { granted: denied } }), false)
      }
    }
    const one = { ...facts, existingTags: () => new Map([['CLASS', 'public']]) }
    const granted = setOf({
      Action: 's3:GetObject',
      Condition: { StringEquals: { 's3:ExistingObjectTag/class': 'public' } },
    })
    assert.equal(
      decision({ ...request, conditions: () => requestConditions(one), identity: bob }, { identity: { granted } }),
      true,
    )
  },
)

t.test('a deny wins over every allow', async () => {
  const allow = { Action: 's3:GetObject' }
  const deny = { Effect: 'Deny', Action: 's3:Get*' }
  const granted = setOf(allow)
  const rows: [string, Parameters<typeof decision>[1], boolean][] = [
    ['nobody says anything', {}, false],
    ['the user may', { identity: { granted } }, true],
    ['the bucket lets', { bucket: bucketOf(allow) }, true],
    [
      'the user may, the bucket is silent',
      { identity: { granted }, bucket: bucketOf({ Action: 's3:PutObject' }) },
      true,
    ],
    ['one statement allows, another denies', { identity: { granted: setOf([allow, deny]) } }, false],
    ['and in the other order', { identity: { granted: setOf([deny, allow]) } }, false],
    ['the bucket denies', { identity: { granted }, bucket: bucketOf(deny) }, false],
    ['the user is denied, the bucket lets', { identity: { granted: setOf(deny) }, bucket: bucketOf(allow) }, false],
    ['the key allows it, too', { identity: { granted, limits: [setOf(allow)] } }, true],
    ['the key does not', { identity: { granted, limits: [setOf({ Action: 's3:PutObject' })] } }, false],
    ['one of two limits does not', { identity: { granted, limits: [setOf(allow), setOf([])] } }, false],
    ['the key denies', { identity: { granted, limits: [setOf([{ Action: '*' }, deny])] } }, false],
    ['the key alone grants nothing', { identity: { granted: setOf([]), limits: [setOf(allow)] } }, false],
    [
      'the key limits what a bucket lets',
      { identity: { granted: setOf([]), limits: [setOf([])] }, bucket: bucketOf(allow) },
      false,
    ],
    ['a key of root', { identity: { granted: setOf([]), isOwnedByRoot: true } }, true],
    ['a limited key of root', { identity: { granted: setOf([]), isOwnedByRoot: true, limits: [setOf([])] } }, false],
    [
      'a key of root, the bucket denies',
      { identity: { granted: setOf([]), isOwnedByRoot: true }, bucket: bucketOf(deny) },
      true,
    ],
  ]
  for (const [name, policies, expected] of rows) assert.equal(decision(readingCat, policies), expected, name)
})

t.test('for anonymous callers only the bucket policy counts', async () => {
  const anonymous = { ...readingCat, identity: undefined }
  const granted = setOf({ Action: '*' })
  assert.equal(decision(anonymous, { identity: { granted } }), false)
  assert.equal(decision(anonymous, { bucket: bucketOf({ Action: 's3:GetObject' }) }), true)
  assert.equal(decision(anonymous, { bucket: bucketOf({ Action: 's3:GetObject', Principal: { AWS: ['*'] } }) }), true)
  const forAda = bucketOf({ Action: 's3:GetObject', Principal: { AWS: 'arn:aws:iam:::user/ada' } })
  assert.equal(decision(anonymous, { bucket: forAda }), false)
  assert.equal(decision(readingCat, { bucket: forAda }), true, 'the access key is its owner')
  assert.equal(decision({ ...readingCat, identity: bob }, { bucket: forAda }), false)
})

t.test('a bucket policy does not apply to actions on the server', async () => {
  const bucket = bucketOf({ Action: '*' })
  assert.equal(decision({ ...readingCat, action: 'admin:ManageAccessRules', key: '' }, { bucket }), false)
  assert.equal(decision({ ...readingCat, action: 'admin:ServerInfo', bucket: '', key: '' }, { bucket }), false)
  const denying = bucketOf({ Effect: 'Deny', Action: '*' })
  const granted = setOf({ Action: 'admin:*' })
  assert.equal(
    decision({ ...readingCat, action: 'admin:ManageAccessRules', key: '' }, { identity: { granted }, bucket: denying }),
    true,
  )
})

t.test('NotPrincipal denies all others', async () => {
  const bucket = bucketOf([
    { Action: 's3:*' },
    {
      Effect: 'Deny',
      Principal: undefined,
      NotPrincipal: { AWS: ['arn:aws:iam::123456789012:user/ada'] },
      Action: 's3:*',
    },
  ])
  assert.equal(decision(readingCat, { bucket }), true)
  assert.equal(decision({ ...readingCat, identity: bob }, { bucket }), false)
  assert.equal(decision({ ...readingCat, identity: undefined }, { bucket }), false)
})

t.test('blocked public access ignores statements that allow anonymous access', async () => {
  const open = { Action: 's3:GetObject' }
  const anonymous = { ...readingCat, identity: undefined }
  const office = { Condition: { IpAddress: { 'aws:SourceIp': '192.0.2.0/24' } } }
  const conditions = () => ({ 'aws:sourceip': ['192.0.2.9'] })
  const rows: [string, object, boolean][] = [
    ['everybody', open, false],
    ['everybody in a network', { ...open, ...office }, true],
    [
      'everybody in half of the internet',
      { ...open, Condition: { IpAddress: { 'aws:SourceIp': '128.0.0.0/1' } } },
      false,
    ],
    [
      'everybody from outside a network',
      { ...open, Condition: { NotIpAddress: { 'aws:SourceIp': '10.0.0.0/8' } } },
      false,
    ],
    [
      'everybody, if an address is known',
      { ...open, Condition: { IpAddressIfExists: { 'aws:SourceIp': '192.0.2.0/24' } } },
      false,
    ],
    ['everybody with a referer', { ...open, Condition: { StringLike: { 'aws:Referer': '*' } } }, false],
  ]
  for (const [name, statement, expected] of rows) {
    const blocked = bucketOf(statement as Record<string, unknown>, true)
    const request = {
      ...anonymous,
      conditions: () => ({ ...conditions(), 'aws:referer': ['x'], 'aws:sourceip': ['192.0.2.9'] }),
    }
    assert.equal(decision(request, { bucket: blocked }), expected, name)
    const unblocked = { ...blocked, blockPublicAccess: false }
    assert.equal(decision(request, { bucket: unblocked }), true, name)
    assert.equal(decision({ ...request, blockPublicAccess: true }, { bucket: unblocked }), expected, name)
  }
  const denied = bucketOf([open, { ...open, Effect: 'Deny' }], true)
  assert.equal(
    policy.simulate(anonymous, { bucket: denied }).decision,
    'explicit-deny',
    'denying everybody still counts',
  )
  assert.equal(policy.simulate(anonymous, { bucket: bucketOf(open, true) }).source, 'block-public')
})

t.test('actions: wildcards, case, aliases, NotAction', async () => {
  const may = (statement: object, action: string, bucket = 'photos', key = '') =>
    decision(
      { identity: ada, action, bucket, key },
      { identity: { granted: setOf(statement as Record<string, unknown>) } },
    )
  const rows: [object, string, boolean][] = [
    [{ Action: '*' }, 'admin:ServerInfo', true],
    [{ Action: 's3:*' }, 'admin:ServerInfo', false],
    [{ Action: 's3:*' }, 's3:GetObject', true],
    [{ Action: 'S3:getobject' }, 's3:GetObject', true],
    [{ Action: 's3:Get*' }, 's3:PutObject', false],
    [{ Action: 's3:?etObject' }, 's3:GetObject', true],
    [{ Action: 's3:GetObject' }, 's3:GetObjectVersion', false],
    [{ Action: 's3:HeadBucket' }, 's3:ListBucket', true],
    [{ Action: 's3:DeleteBucketCors' }, 's3:PutBucketCORS', true],
    [{ Action: 'admin:OBDInfo' }, 'admin:ServerInfo', true],
    [{ NotAction: 's3:GetObject' }, 's3:GetObject', false],
    [{ NotAction: 's3:GetObject' }, 's3:PutObject', true],
    [{ NotAction: 's3:*' }, 'admin:ServerInfo', true],
    [{ Action: 'kms:*' }, 's3:GetObject', false],
    [{ NotAction: 'kms:*' }, 's3:GetObject', true],
    // In no catalogue, because no loaded plugin has an operation of that name.
    [{ Action: 's3:*' }, 's3:PutBucketAbac', true],
    [{ Action: 's3:PutBucket*' }, 's3:PutBucketAbac', true],
    [{ Action: 's3:Get*' }, 's3:PutBucketAbac', false],
    [{ NotAction: 's3:GetObject' }, 's3:PutBucketAbac', true],
    [{ NotAction: 's3:Put*' }, 's3:PutBucketAbac', false],
  ]
  for (const [statement, action, expected] of rows) {
    assert.equal(may(statement, action), expected, JSON.stringify([statement, action]))
  }
})

t.test('resources: buckets, objects, the server', async () => {
  const may = (resource: object, action: string, bucket: string, key: string) => {
    const granted = setOf({ Action: '*', ...resource })
    return decision({ identity: ada, action, bucket, key }, { identity: { granted } })
  }
  const arn = (name: string) => ({ Resource: `arn:aws:s3:::${name}` })
  const rows: [object, string, string, string, boolean][] = [
    [arn('photos/*'), 's3:GetObject', 'photos', 'a/b', true],
    [arn('photos/*'), 's3:GetObject', 'photos', '', true],
    [arn('photos/*'), 's3:ListBucket', 'photos', '', false],
    [arn('photos'), 's3:ListBucket', 'photos', '', true],
    [arn('photos'), 's3:GetObject', 'photos', 'a', false],
    [arn('photos*'), 's3:GetObject', 'photos', 'a', true],
    [arn('photos*'), 's3:ListBucket', 'photos-2', '', true],
    [arn('photos/2026/*'), 's3:GetObject', 'photos', '2025/a', false],
    [arn('photos/2026/*'), 's3:GetObject', 'photos-2026', '2026/a', false],
    [arn('photos/*.jpg'), 's3:GetObject', 'photos', 'a/b.jpg', true],
    [arn('photos/*.jpg'), 's3:GetObject', 'photos', 'a/b.jpg.exe', false],
    [arn('photos/a?c'), 's3:GetObject', 'photos', 'abc', true],
    [arn('photos/a?c'), 's3:GetObject', 'photos', 'ac', false],
    [arn('*/public/*'), 's3:GetObject', 'any', 'public/x', true],
    [arn('photos/Cat'), 's3:GetObject', 'photos', 'cat', false],
    [{ Resource: [arn('a').Resource, arn('b').Resource] }, 's3:ListBucket', 'b', '', true],
    [{ NotResource: arn('photos/secret/*').Resource }, 's3:GetObject', 'photos', 'secret/x', false],
    [{ NotResource: arn('photos/secret/*').Resource }, 's3:GetObject', 'photos', 'x', true],
    [arn('*'), 's3:ListAllMyBuckets', '', '', true],
    [arn('photos'), 's3:ListAllMyBuckets', '', '', false],
    [arn('*'), 'admin:ServerInfo', '', '', true],
    [arn('photos'), 'admin:ServerInfo', '', '', false],
    [arn('photos'), 'admin:SetBucketQuota', 'photos', '', true],
    [arn('photos'), 'admin:SetBucketQuota', 'other', '', false],
    [arn('photos'), 'admin:InvalidateCache', 'photos', '', true],
    [arn(`home-${variable('aws:username')}/*`), 's3:GetObject', 'home-ada', 'x', true],
    [arn(`home-${variable('aws:username')}/*`), 's3:GetObject', 'home-bob', 'x', false],
    [arn(`home/${variable('s3:prefix')}/*`), 's3:GetObject', 'home', '/x', false],
    [arn(`home/${variable("s3:prefix, 'all'")}/*`), 's3:GetObject', 'home', 'all/x', true],
    [arn(`photos/${variable('*')}`), 's3:GetObject', 'photos', '*', true],
    [arn(`photos/${variable('*')}`), 's3:GetObject', 'photos', 'x', false],
    [arn(`photos/${variable('$')}{x}${variable('?')}`), 's3:GetObject', 'photos', `${variable('x')}?`, true],
  ]
  for (const [resource, action, bucket, key, expected] of rows) {
    assert.equal(may(resource, action, bucket, key), expected, JSON.stringify([resource, action, bucket, key]))
  }
})

t.test('the value of a variable is no wildcard, and old documents have no variables', async () => {
  const star = { ...ada, userName: '*' }
  const granted = setOf({ Action: 's3:GetObject', Resource: `arn:aws:s3:::home/${variable('aws:username')}/*` })
  assert.equal(
    decision({ ...readingCat, identity: star, bucket: 'home', key: 'bob/x' }, { identity: { granted } }),
    false,
  )
  assert.equal(decision({ ...readingCat, identity: star, bucket: 'home', key: '*/x' }, { identity: { granted } }), true)
  const old = compiled(
    { Action: '*', Resource: `arn:aws:s3:::home/${variable('aws:username')}` },
    'identity',
    undefined,
    '2008-10-17',
  )
  const policies = { identity: { granted: policy.combine([{ policy: old, source: 'policy' }]) } }
  assert.equal(decision({ ...readingCat, bucket: 'home', key: 'ada' }, policies), false)
  assert.equal(decision({ ...readingCat, bucket: 'home', key: variable('aws:username') }, policies), true)
})

/** Operator, key, value of the policy, values of the request (undefined: absent), whether the condition holds. */
const conditionRows: [string, string, unknown, readonly string[] | undefined, boolean][] = [
  ['StringEquals', 'aws:UserAgent', 'curl', ['curl'], true],
  ['StringEquals', 'AWS:useragent', 'curl', ['curl'], true],
  ['StringEquals', 'aws:UserAgent', 'curl', ['Curl'], false],
  ['StringEquals', 'aws:UserAgent', 'c*', ['curl'], false],
  ['StringEquals', 'aws:UserAgent', ['wget', 'curl'], ['curl'], true],
  ['StringEquals', 'aws:UserAgent', 'curl', undefined, false],
  ['StringEquals', 'aws:UserAgent', 'curl', [], false],
  ['StringEquals', 's3:prefix', ['', 'home/'], [''], true],
  ['StringNotEquals', 'aws:UserAgent', ['wget', 'curl'], ['curl'], false],
  ['StringNotEquals', 'aws:UserAgent', ['wget', 'curl'], ['lynx'], true],
  ['StringNotEquals', 'aws:UserAgent', 'curl', undefined, true],
  ['StringEqualsIgnoreCase', 'aws:UserAgent', 'CURL', ['Curl'], true],
  ['StringNotEqualsIgnoreCase', 'aws:UserAgent', 'CURL', ['Curl'], false],
  ['StringLike', 'aws:UserAgent', 'cu?l/*', ['curl/8'], true],
  ['StringLike', 'aws:UserAgent', 'cu?l/*', ['cul/8'], false],
  ['StringLike', 's3:prefix', `home/${variable('aws:username')}/*`, ['home/ada/x'], true],
  ['StringLike', 's3:prefix', `home/${variable('aws:username')}/*`, ['home/bob/x'], false],
  ['StringLike', 's3:prefix', `${variable('jwt:team')}*`, ['blue/x'], true],
  ['StringEquals', 's3:prefix', variable("s3:delimiter, 'none'"), ['none'], true],
  ['StringEquals', 's3:prefix', variable('s3:delimiter'), ['x'], false],
  ['StringNotEquals', 's3:prefix', variable('s3:delimiter'), ['x'], true],
  ['StringNotLike', 'aws:Referer', 'https://ok.example/*', ['https://bad.example/'], true],
  ['StringNotLike', 'aws:Referer', 'https://ok.example/*', undefined, true],
  ['NumericEquals', 's3:max-keys', 10, ['10'], true],
  ['NumericEquals', 's3:max-keys', '10', ['10.0'], true],
  ['NumericEquals', 's3:max-keys', '10', ['ten'], false],
  ['NumericNotEquals', 's3:max-keys', '10', ['11'], true],
  ['NumericLessThan', 's3:max-keys', '10', ['9'], true],
  ['NumericLessThan', 's3:max-keys', '10', ['10'], false],
  ['NumericLessThanEquals', 's3:max-keys', '10', ['10'], true],
  ['NumericLessThanEquals', 's3:max-keys', '10', [''], false],
  ['NumericGreaterThan', 's3:max-keys', '-1', ['0'], true],
  ['NumericGreaterThanEquals', 's3:max-keys', '1e2', ['100'], true],
  ['NumericLessThanEquals', 's3:max-keys', '10', undefined, false],
  ['DateEquals', 'aws:CurrentTime', '2026-01-01T00:00:00Z', ['2026-01-01T01:00:00+01:00'], true],
  ['DateNotEquals', 'aws:CurrentTime', '2026-01-01T00:00:00Z', ['2026-01-01T00:00:00Z'], false],
  ['DateLessThan', 'aws:CurrentTime', '2026-07', ['2026-06-30T23:59:59.999Z'], true],
  ['DateLessThan', 'aws:CurrentTime', '2026-07', ['2026-07-01T00:00:00.000Z'], false],
  ['DateLessThanEquals', 'aws:EpochTime', '2026-01-01', [String(Date.UTC(2026, 0, 1) / 1000)], true],
  ['DateGreaterThan', 'aws:CurrentTime', '1767225600', ['2026-01-02T00:00:00Z'], true],
  ['DateGreaterThanEquals', 'aws:CurrentTime', '2026-01-01T00:00Z', ['yesterday'], false],
  ['Bool', 'aws:SecureTransport', 'true', ['true'], true],
  ['Bool', 'aws:SecureTransport', true, ['false'], false],
  ['Bool', 'aws:SecureTransport', 'False', ['false'], true],
  ['Bool', 'aws:SecureTransport', 'false', undefined, false],
  ['BoolIfExists', 'aws:SecureTransport', 'false', undefined, true],
  ['BinaryEquals', 's3:x-amz-content-sha256', 'aGk=', ['aGk='], true],
  ['BinaryEquals', 's3:x-amz-content-sha256', 'aGk=', ['aGo='], false],
  ['IpAddress', 'aws:SourceIp', '192.0.2.0/24', ['192.0.2.255'], true],
  ['IpAddress', 'aws:SourceIp', '192.0.2.77/24', ['192.0.2.1'], true],
  ['IpAddress', 'aws:SourceIp', '192.0.2.0/24', ['192.0.3.0'], false],
  ['IpAddress', 'aws:SourceIp', '192.0.2.1', ['192.0.2.1'], true],
  ['IpAddress', 'aws:SourceIp', '0.0.0.0/0', ['8.8.8.8'], true],
  ['IpAddress', 'aws:SourceIp', '0.0.0.0/0', ['2001:db8::1'], false],
  ['IpAddress', 'aws:SourceIp', '::/0', ['2001:db8::1'], true],
  ['IpAddress', 'aws:SourceIp', '::/0', ['8.8.8.8'], false],
  ['IpAddress', 'aws:SourceIp', '2001:db8::/33', ['2001:db8:7fff::1'], true],
  ['IpAddress', 'aws:SourceIp', '2001:db8::/33', ['2001:db8:8000::1'], false],
  ['IpAddress', 'aws:SourceIp', '192.0.2.0/24', ['::ffff:192.0.2.9'], true],
  ['IpAddress', 'aws:SourceIp', '::ffff:192.0.2.0/120', ['192.0.2.9'], true],
  ['IpAddress', 'aws:SourceIp', '::ffff:c000:209', ['192.0.2.9'], true],
  ['IpAddress', 'aws:SourceIp', 'fe80::1', ['fe80::1%eth0'], true],
  ['IpAddress', 'aws:SourceIp', '192.0.2.0/24', ['nowhere'], false],
  ['NotIpAddress', 'aws:SourceIp', ['10.0.0.0/8', '192.0.2.0/24'], ['192.0.2.9'], false],
  ['NotIpAddress', 'aws:SourceIp', ['10.0.0.0/8', '192.0.2.0/24'], ['192.0.3.9'], true],
  ['NotIpAddress', 'aws:SourceIp', '10.0.0.0/8', undefined, true],
  ['ArnLike', 'aws:PrincipalArn', 'arn:aws:iam::*:user/a*', undefined, true],
  ['ArnEquals', 'aws:PrincipalArn', 'arn:aws:iam:::user/?da', undefined, true],
  ['ArnLike', 'aws:PrincipalArn', 'arn:aws:iam::*:ada', undefined, false],
  ['ArnNotLike', 'aws:PrincipalArn', 'arn:aws:iam:::user/bob', undefined, true],
  ['ArnNotEquals', 'aws:PrincipalArn', `arn:aws:iam:::user/${variable('aws:username')}`, undefined, false],
  ['Null', 'aws:Referer', 'true', undefined, true],
  ['Null', 'aws:Referer', true, ['x'], false],
  ['Null', 'aws:Referer', 'false', ['x'], true],
  ['Null', 'aws:Referer', 'false', [], false],
  ['StringEqualsIfExists', 'aws:Referer', 'x', undefined, true],
  ['StringEqualsIfExists', 'aws:Referer', 'x', ['y'], false],
  ['StringNotEqualsIfExists', 'aws:Referer', 'x', ['x'], false],
  ['StringEquals', 's3:RequestObjectTagKeys', 'a', ['b', 'a'], true],
  ['StringNotEquals', 's3:RequestObjectTagKeys', 'a', ['b', 'a'], false],
  ['ForAllValues:StringEquals', 's3:RequestObjectTagKeys', ['a', 'b'], ['a', 'b'], true],
  ['ForAllValues:StringEquals', 's3:RequestObjectTagKeys', ['a', 'b'], ['a', 'c'], false],
  ['ForAllValues:StringEquals', 's3:RequestObjectTagKeys', 'a', undefined, true],
  ['ForAllValues:StringEquals', 's3:RequestObjectTagKeys', 'a', [''], true],
  ['ForAllValues:StringNotEquals', 's3:RequestObjectTagKeys', 'a', ['b', 'a'], false],
  ['ForAnyValue:StringLike', 's3:RequestObjectTagKeys', 'a*', ['b', 'ab'], true],
  ['ForAnyValue:StringLike', 's3:RequestObjectTagKeys', 'a*', ['b'], false],
  ['ForAnyValue:StringLike', 's3:RequestObjectTagKeys', 'a*', undefined, false],
  ['ForAnyValue:StringNotEquals', 's3:RequestObjectTagKeys', 'a', ['a', 'b'], true],
  ['ForAnyValue:StringNotEquals', 's3:RequestObjectTagKeys', 'a', ['a'], false],
  ['ForAnyValue:StringNotEquals', 's3:RequestObjectTagKeys', 'a', undefined, false],
  ['ForAnyValue:StringEquals', 's3:RequestObjectTagKeys', '', [''], false],
  ['ForAnyValue:StringEqualsIfExists', 's3:RequestObjectTagKeys', 'a', undefined, true],
  ['ForAnyValue:StringEquals', 'aws:groups', 'math', undefined, true],
  ['ForAnyValue:StringEquals', 'aws:groups', 'arts', undefined, false],
  ['StringEquals', 'aws:username', 'ada', undefined, true],
  ['StringEquals', 'aws:userid', 'ada', undefined, true],
  // The name of the access key: anybody may have chosen it.
  ['StringEquals', 'aws:userid', 'ADAKEY', undefined, false],
  ['StringEquals', 'aws:PrincipalType', 'AccessKey', undefined, true],
  ['StringEquals', 'jwt:team', 'blue', undefined, true],
  ['StringEquals', 'aws:SourceVpc', 'vpc-1', undefined, false],
  ['StringNotEquals', 'aws:SourceVpc', 'vpc-1', undefined, true],
  ['StringEquals', 's3:ExistingObjectTag/Class', 'x', ['x'], true],
]

t.test('conditions: each operator, with present and absent values', async t => {
  for (const [operator, key, expected, given, result] of conditionRows) {
    const values = given === undefined ? {} : { [key.toLowerCase()]: given }
    const name = `${operator} ${key} ${JSON.stringify(expected)}: ${JSON.stringify(given)}`
    t.equal(holds({ [operator]: { [key]: expected } }, values), result, name)
  }
})

t.test('a value that is too long for wildcards holds for a deny and not for an allow', async () => {
  for (const [length, isLong] of [
    [4096, false],
    [4097, true],
  ] as const) {
    const values = () => ({ 'aws:referer': ['x'.repeat(length)] })
    const decide = (...statements: readonly Readonly<Record<string, unknown>>[]) =>
      decision({ ...readingCat, conditions: values }, { identity: { granted: setOf(statements) } })
    for (const operator of ['StringLike', 'ForAnyValue:StringLike', 'ForAllValues:StringLike', 'StringLikeIfExists']) {
      const Condition = { [operator]: { 'aws:Referer': '*x*' } }
      assert.equal(decide({ Action: '*', Condition }), !isLong, operator)
      assert.equal(decide({ Action: '*' }, { Effect: 'Deny', Action: '*', Condition }), false, operator)
      const other = { [operator]: { 'aws:Referer': '*y*' } }
      assert.equal(decide({ Action: '*' }, { Effect: 'Deny', Action: '*', Condition: other }), !isLong, operator)
    }
    const unlike = { StringNotLike: { 'aws:Referer': '*y*' } }
    assert.equal(decide({ Action: '*', Condition: unlike }), !isLong)
    const equal = { StringEquals: { 'aws:Referer': 'x'.repeat(length) } }
    assert.equal(decide({ Action: '*', Condition: equal }), true, 'without wildcards the length does not matter')
  }
})

t.test('what was compared last is remembered, and for this text only', async () => {
  const patterns = Array.from({ length: 200 }, (_, index) => `*<${index}>*`)
  const granted = setOf({
    Action: '*',
    Resource: patterns.slice(0, 50).map(pattern => `arn:aws:s3:::zoo/${pattern}`),
    Condition: { StringLike: { 'aws:UserAgent': patterns } },
  })
  for (let round = 0; round < 300; round++) {
    const [agent, key] = [(round * 7) % 250, (round * 3) % 60]
    const filler = 'x'.repeat(round % 90)
    const conditions = () => ({ 'aws:useragent': [`${filler}<${agent}>${filler}`] })
    const request = { ...readingCat, bucket: 'zoo', key: `${filler}<${key}>${filler}`, conditions }
    for (let again = 0; again < 2; again++)
      assert.equal(decision(request, { identity: { granted } }), agent < 200 && key < 50, `round ${round}`)
  }
})

t.test('every condition must hold, and a request cannot set keys of the identity', async () => {
  const both = { StringEquals: { 's3:prefix': 'a', 's3:delimiter': '/' }, Bool: { 'aws:SecureTransport': 'true' } }
  const full = { 's3:prefix': ['a'], 's3:delimiter': ['/'], 'aws:securetransport': ['true'] }
  assert.equal(holds(both, full), true)
  for (const key of Object.keys(full)) assert.equal(holds(both, { ...full, [key]: ['other'] }), false, key)
  assert.equal(holds({ StringEquals: { 'aws:username': 'bob' } }, { 'aws:username': ['bob'] }), false)
  assert.equal(holds({ StringEquals: { 'jwt:team': 'red' } }, { 'jwt:team': ['red'] }), false)
  // A variable with several values matches nothing.
  const several = { 's3:prefix': ['a'], 's3:delimiter': ['a', 'b'] }
  assert.equal(holds({ StringEquals: { 's3:prefix': variable('s3:delimiter') } }, several), false)
  assert.equal(holds({ StringEquals: { 's3:prefix': variable("s3:delimiter, 'a'") } }, several), true)
  assert.equal(holds({ StringEquals: { 'jwt:role': 'red' } }, { 'jwt:role': ['red'] }), false)
  assert.equal(
    holds({ StringEquals: { 'ldap:dn': 'x' } }, { 'ldap:dn': ['x'] }, { ...readingCat, identity: bob }),
    false,
  )
  const anonymous = { ...readingCat, identity: undefined }
  const claimed = { ...anonymous, conditions: () => ({ 'aws:username': ['ada'] }) }
  const named = bucketOf({ Action: '*', Condition: { StringEquals: { 'aws:username': 'ada' } } })
  assert.equal(decision(claimed, { bucket: named }), false)
  const bucket = bucketOf({ Action: '*', Condition: { StringEquals: { 'aws:PrincipalType': 'Anonymous' } } })
  assert.equal(decision(anonymous, { bucket }), true)
  assert.equal(decision(readingCat, { bucket }), false)
})

t.test('conditions are requested once, and only for a statement that has some', async () => {
  let asked = 0
  const conditions = () => {
    asked++
    return new Map([['s3:prefix', ['a']]])
  }
  const request = { ...readingCat, conditions }
  const condition = { Condition: { StringEquals: { 's3:prefix': 'a', 's3:delimiter': '/' } } }
  const elsewhere = { Action: '*', Resource: 'arn:aws:s3:::other/*', ...condition }
  assert.equal(policy.evaluate(request, { identity: { granted: setOf([elsewhere, { Action: '*' }]) } }), true)
  assert.equal(asked, 0)
  const several = setOf([
    { Action: '*', ...condition },
    { Effect: 'Deny', Action: '*', ...condition },
  ])
  assert.equal(policy.evaluate(request, { identity: { granted: several } }), false)
  assert.equal(asked, 1)
})

t.test('a decision inside of a condition does not disturb the outer decision', async () => {
  const inner = setOf({ Action: 's3:PutObject', Resource: 'arn:aws:s3:::other/*' })
  // Requested by the first statement; the second statement needs the state of the outer decision.
  const outer = setOf([
    { Effect: 'Deny', Action: '*', Condition: { Bool: { 'aws:SecureTransport': 'false' } } },
    {
      Action: 's3:GetObject',
      Resource: 'arn:aws:s3:::photos/cat*',
      Condition: { StringEquals: { 'aws:username': 'ada' } },
    },
  ])
  const conditions = () => {
    const nested = { identity: bob, action: 's3:PutObject', bucket: 'other', key: 'x' }
    assert.equal(policy.evaluate(nested, { identity: { granted: inner } }), true)
    assert.equal(policy.evaluate({ ...nested, bucket: 'third' }, { identity: { granted: inner } }), false)
    return { 'aws:securetransport': ['true'] }
  }
  assert.equal(policy.evaluate({ ...readingCat, conditions }, { identity: { granted: outer } }), true)
  const failing = () => {
    throw new Error('no tags')
  }
  assert.throws(
    () => policy.evaluate({ ...readingCat, conditions: failing }, { identity: { granted: outer } }),
    /no tags/,
  )
  assert.equal(policy.evaluate({ ...readingCat, conditions }, { identity: { granted: outer } }), true)
})

t.test('a simulation names the statement that decided, or the reason why none did', async () => {
  const granted = policy.combine([
    { policy: compiled([{ Sid: 'Put', Action: 's3:PutObject' }]), source: 'policy', name: 'writer' },
    {
      policy: compiled([
        {
          Action: 's3:GetObject',
          Resource: 'arn:aws:s3:::photos/*',
          Condition: { Bool: { 'aws:SecureTransport': 'true' } },
        },
      ]),
      source: 'group-policy',
      name: 'reader',
      group: 'staff',
    },
  ])
  const secure = (value: string) => ({ ...readingCat, conditions: () => ({ 'aws:securetransport': [value] }) })
  const allowed = policy.simulate(secure('true'), { identity: { granted } })
  assert.deepEqual(
    [allowed.decision, allowed.source, allowed.policyName, allowed.group, allowed.statement?.index, allowed.reason],
    [
      'allow',
      'group-policy',
      'reader',
      'staff',
      0,
      'Statement 0 of the policy "reader" of the group "staff" allows it.',
    ],
  )
  assert.deepEqual(
    allowed.evaluated.map(({ mismatch, matched }) => [mismatch, matched]),
    [
      ['action', false],
      [undefined, true],
    ],
  )
  assert.deepEqual(allowed.evaluated[0].statement, {
    Sid: 'Put',
    Effect: 'Allow',
    Action: 's3:PutObject',
    Resource: '*',
  })
  const refused = policy.simulate(secure('false'), { identity: { granted } })
  assert.deepEqual([refused.decision, refused.source, refused.statement], ['implicit-deny', 'none', undefined])
  assert.equal(refused.evaluated[1].mismatch, 'condition')
  assert.deepEqual(refused.evaluated[1].conditions, [
    { operator: 'Bool', key: 'aws:SecureTransport', values: ['false'], matched: false },
  ])
  assert.equal(
    policy.simulate({ ...readingCat, bucket: 'other' }, { identity: { granted } }).evaluated[1].mismatch,
    'resource',
  )
  const forBob = bucketOf({ Sid: 'bob', Effect: 'Deny', Action: '*', Principal: { AWS: 'arn:aws:iam:::user/bob' } })
  assert.equal(policy.simulate(readingCat, { bucket: forBob }).evaluated[0].mismatch, 'principal')
  const denied = policy.simulate({ ...readingCat, identity: bob }, { bucket: forBob })
  assert.deepEqual([denied.decision, denied.source, denied.statement?.sid], ['explicit-deny', 'bucket-policy', 'bob'])
  const limited = policy.simulate(secure('true'), { identity: { granted, limits: [setOf([], 'embedded-policy')] } })
  assert.deepEqual([limited.decision, limited.source], ['implicit-deny', 'embedded-policy'])
  const onlyLimits = { granted: policy.combine([]), limits: [setOf({ Action: '*' }, 'embedded-policy')] }
  assert.equal(policy.simulate(readingCat, { identity: onlyLimits }).source, 'none', 'a limit grants nothing')
  assert.equal(policy.simulate({ ...readingCat, identity: root }).source, 'root')
  assert.equal(policy.simulate(readingCat).reason, 'No policy applies.')
})

t.test('a listing of a part: conditions on the part are assumed to hold', async () => {
  const engine = createPolicy()
  const home = {
    Action: 's3:ListBucket',
    Resource: 'arn:aws:s3:::photos',
    Condition: { StringLike: { 's3:prefix': 'home/*' } },
  }
  const open = (statements: Parameters<typeof setOf>[0]) =>
    engine.open([{ identityPolicies: () => ({ granted: setOf(statements) }) }], createCatalogue())
  const listing: AccessRequest = { identity: ada, action: 's3:ListBucket', bucket: 'photos', conditions: () => ({}) }
  const both = () => [engine.isAllowed(listing), engine.isAllowedInPart(listing)]
  open(home)
  assert.deepEqual(both(), [false, true])
  assert.equal(engine.isAllowedInPart({ ...listing, bucket: 'other' }), false)
  open([home, { ...home, Effect: 'Deny' }])
  assert.deepEqual(both(), [false, true], 'a denied part may not be all')
  open([home, { Effect: 'Deny', Action: 's3:ListBucket' }])
  assert.deepEqual(both(), [false, false])
  open({ ...home, Condition: { ...home.Condition, Bool: { 'aws:SecureTransport': 'true' } } })
  assert.deepEqual(both(), [false, false], 'other conditions have to hold')
})

t.test('permissions: actions on the server without a bucket, actions on a whole prefix with one', async () => {
  const engine = createPolicy()
  const statements = [
    { Action: ['admin:ServerInfo', 's3:CreateBucket'] },
    { Action: 's3:GetObject', Resource: 'arn:aws:s3:::photos/2026/*' },
    { Action: ['s3:ListBucket', 'admin:SetBucketQuota'], Resource: 'arn:aws:s3:::photos' },
  ]
  engine.open([{ identityPolicies: () => ({ granted: setOf(statements) }) }], createCatalogue())
  const server = engine.permissions({ identity: ada })
  assert.deepEqual(server.allowed, ['s3:CreateBucket', 'admin:ServerInfo'])
  assert.equal(server.allowed.length + server.denied.length, 52 + 3 + 2)
  const under = (prefix: string) => engine.permissions({ identity: ada, bucket: 'photos', prefix }).allowed
  assert.deepEqual(under('2026/05/'), ['s3:CreateBucket', 's3:ListBucket', 's3:GetObject', 'admin:SetBucketQuota'])
  assert.deepEqual(under('20'), ['s3:CreateBucket', 's3:ListBucket', 'admin:SetBucketQuota'])
  const publisher = (...statements: object[]) => {
    const engine = createPolicy()
    engine.open([{ identityPolicies: () => ({ granted: setOf(statements as never) }) }], createCatalogue())
    return engine.permissions({ identity: ada, bucket: 'photos' }).allowed.includes('admin:ManageDistributions')
  }
  const manage = { Action: 'admin:ManageDistributions' }
  const photos = { ...manage, Resource: 'arn:aws:s3:::photos' }
  assert.equal(publisher(photos), false, 'it is needed without a bucket first')
  assert.equal(publisher({ ...manage, Resource: '*' }), true)
  assert.equal(publisher({ ...manage, Resource: '*' }, { ...photos, Effect: 'Deny' }), false)
  const ofRoot = engine.permissions({ identity: root, bucket: 'photos' })
  assert.deepEqual([ofRoot.allowed.length, ofRoot.denied.length], [33 + 24 + 7, 0])
})

t.test('facts that conditions need are known in advance', async () => {
  const engine = createPolicy()
  const tagged = { Action: 's3:GetObject', Condition: { StringEquals: { 's3:ExistingObjectTag/Class': 'x' } } }
  const bucket = bucketOf({
    Action: 's3:PutObject',
    Resource: `arn:aws:s3:::photos/${variable('s3:ExistingObjectTag/a')}`,
  })
  const granted = setOf(tagged)
  engine.open([{ identityPolicies: () => ({ granted }) }, { bucketPolicies: () => bucket }], createCatalogue())
  const mentions = (request: AccessRequest) => engine.mentions(request, 's3:existingobjecttag/')
  assert.equal(mentions(readingCat), true)
  assert.equal(mentions({ ...readingCat, identity: root }), false)
  assert.equal(mentions({ ...readingCat, identity: undefined }), false)
  assert.equal(mentions({ ...readingCat, action: 's3:DeleteObject' }), false)
  assert.equal(mentions({ ...readingCat, action: 's3:PutObject' }), true, 'as a variable of the bucket')
})

t.test('the condition keys of a request are computed from its facts', async () => {
  const nowMs = Date.UTC(2026, 5, 1)
  const lookup = requestConditions({
    sourceAddress: '192.0.2.1',
    secure: true,
    tlsVersion: '1.3',
    timeMs: nowMs,
    signature: 'presigned',
    signatureVersion: 'AWS4-HMAC-SHA256',
    signedAtMs: nowMs - 5000,
    headers: {
      referer: 'https://a.example/',
      'user-agent': 'curl/8',
      'x-amz-acl': 'private',
      'x-amz-copy-source': 'not/this',
      'x-amz-object-lock-mode': 'GOVERNANCE',
      'x-amz-object-lock-retain-until-date': '2026-06-03T00:00:00Z',
      'if-none-match': '*',
    },
    query: new Map([
      ['prefix', ''],
      ['max-keys', '5'],
      ['versionId', 'not this'],
    ]),
    versionId: 'v1',
    copySource: 'photos/a/b c',
    createsObject: false,
    existingTags: () =>
      new Map([
        ['Class', 'x'],
        ['class', 'y'],
        ['__proto__', 'p'],
      ]),
    requestTags: () =>
      new Map([
        ['a', '1'],
        ['b', '2'],
      ]),
    host: 'cdn.example',
  })
  const expected: Record<string, readonly string[] | undefined> = {
    'aws:sourceip': ['192.0.2.1'],
    'aws:securetransport': ['true'],
    'aws:currenttime': ['2026-06-01T00:00:00.000Z'],
    'aws:epochtime': [String(nowMs / 1000)],
    'aws:referer': ['https://a.example/'],
    'aws:useragent': ['curl/8'],
    's3:authtype': ['REST-QUERY-STRING'],
    's3:signatureversion': ['AWS4-HMAC-SHA256'],
    's3:signatureage': ['5000'],
    's3:tlsversion': ['1.3'],
    's3:x-amz-content-sha256': ['UNSIGNED-PAYLOAD'],
    's3:x-amz-acl': ['private'],
    's3:x-amz-copy-source': ['photos/a/b c'],
    's3:prefix': [''],
    's3:delimiter': undefined,
    's3:max-keys': ['5'],
    's3:versionid': ['v1'],
    's3:if-none-match': ['*'],
    's3:objectcreationoperation': ['false'],
    's3:object-lock-mode': ['GOVERNANCE'],
    's3:object-lock-retain-until-date': ['2026-06-03T00:00:00.000Z'],
    's3:object-lock-remaining-retention-days': ['2'],
    's3:object-lock-legal-hold': undefined,
    's3:existingobjecttag/class': ['x', 'y'],
    's3:existingobjecttag/none': [],
    's3:existingobjecttag/__proto__': ['p'],
    's3:requestobjecttag/b': ['2'],
    's3:requestobjecttagkeys': ['a', 'b'],
    'svc:host': undefined,
    'aws:username': undefined,
  }
  for (const [key, values] of Object.entries(expected)) assert.deepEqual(lookup.get(key), values, key)
  const anonymous = requestConditions({ sourceAddress: '::1', secure: false, timeMs: nowMs, headers: {} })
  for (const key of [
    's3:authtype',
    's3:signatureversion',
    's3:x-amz-content-sha256',
    's3:prefix',
    's3:requestobjecttag/a',
  ]) {
    assert.equal(anonymous.get(key), undefined, key)
  }
  // Each key that a policy may name has a value from the facts or from the identity.
  const ofIdentity = new Set([
    'aws:username',
    'aws:userid',
    'aws:principaltype',
    'aws:principalarn',
    'aws:groups',
    'jwt:',
    'ldap:',
  ])
  const elsewhere = new Set([
    's3:delimiter',
    's3:locationconstraint',
    's3:if-match',
    's3:object-lock-legal-hold',
    'svc:distribution',
    'svc:host',
  ])
  for (const { name, isAbsent } of conditionKeys) {
    const key = name.toLowerCase()
    if (isAbsent || ofIdentity.has(key) || elsewhere.has(key) || key.startsWith('s3:x-amz-')) continue
    assert.notEqual(lookup.get(key), undefined, key)
  }
})

t.test('a condition on a key of the key management matches each of its names', async () => {
  const name = 's3:x-amz-server-side-encryption-aws-kms-key-id'
  const arn = 'arn:aws:kms:eu-west-1:111122223333:key/photos'
  const short = ['arn:aws:kms:photos', 'arn:aws:kms:::photos']
  const spellings = ['photos', 'arn:aws:kms:::key/photos', 'arn:aws:kms:us-east-1:1:key/photos', arn, ...short]
  const others = ['films', 'arn:aws:kms:::key/films', 'arn:aws:kms:films', 'key/photos', 'PHOTOS']
  const ofAll = [
    '*',
    'arn:*',
    'arn:aws:kms:*',
    'arn:aws:kms:eu-west-1:*',
    'arn:aws:kms:eu-west-1:1:*',
    'arn:aws:kms:*:1:key*',
  ]
  const holds = (operator: string, value: string, keyId: string | undefined) => {
    const headers = keyId === undefined ? {} : { 'x-amz-server-side-encryption-aws-kms-key-id': keyId }
    const facts = { headers, secure: true, timeMs: 0, sourceAddress: '127.0.0.1' }
    const granted = setOf({ Action: 's3:PutObject', Condition: { [operator]: { [name]: value } } })
    const request = { identity: ada, action: 's3:PutObject', bucket: 'photos', key: 'k' }
    return decision({ ...request, conditions: () => requestConditions(facts) }, { identity: { granted } })
  }
  const ofOne = ['arn:aws:kms:*:*:key/photos', 'arn:aws:kms:*:key/ph*', 'arn:aws:kms:eu-west-1:*:key/phot?s', 'photo?']
  for (const value of [...spellings, ...ofOne, ...ofAll]) {
    const isPattern = /[*?]/.test(value)
    const [positive, negative] = isPattern ? ['StringLike', 'StringNotLike'] : ['StringEquals', 'StringNotEquals']
    for (const keyId of spellings) {
      const text = `${value} ${keyId}`
      assert.equal(holds(positive, value, keyId), true, text)
      assert.equal(holds(negative, value, keyId), false, text)
      assert.equal(holds(`ForAllValues:${positive}`, value, keyId), true, text)
      assert.equal(holds(`ForAnyValue:${negative}`, value, keyId), false, text)
    }
    for (const keyId of ofAll.includes(value) ? [] : others) {
      assert.equal(holds(positive, value, keyId), false, `${value} ${keyId}`)
      assert.equal(holds(negative, value, keyId), true, `${value} ${keyId}`)
    }
  }
  for (const keyId of spellings) {
    assert.equal(holds('ArnLike', 'arn:aws:kms:*:*:key/ph*', keyId), true, keyId)
    assert.equal(holds('ArnEquals', arn.replace('photos', 'films'), keyId), false, keyId)
    assert.equal(holds('Null', 'false', keyId), true)
  }
  assert.equal(holds('Null', 'true', undefined), true)
  assert.equal(holds('StringEquals', 'photos', undefined), false)
})

t.test('the encryption of an upload takes precedence over headers', async () => {
  const headers = {
    'x-amz-server-side-encryption': 'AES256',
    'x-amz-server-side-encryption-aws-kms-key-id': 'films',
    'x-amz-server-side-encryption-customer-algorithm': 'AES256',
  }
  const keys = Object.keys(headers).map(name => `s3:${name}`)
  const facts = { headers, secure: true, timeMs: 0, sourceAddress: '127.0.0.1' }
  const valuesOf = (more: object) => keys.map(key => requestConditions({ ...facts, ...more }).get(key)?.[0])
  assert.deepEqual(valuesOf({}), ['AES256', 'films', 'AES256'])
  assert.deepEqual(valuesOf({ encryption: () => undefined }), [undefined, undefined, undefined])
  const encryption = () => ({ algorithm: 'aws:kms', kmsKeyId: 'arn:aws:kms:::key/photos' })
  assert.deepEqual(valuesOf({ encryption }), ['aws:kms', 'photos', undefined])
})

t.test('the catalogue has every action that operations use', async t => {
  const catalogue = createCatalogue()
  const has = (action: string) => catalogue.find(action)?.action.action === action
  let named = 0
  for (const { operationId, actions } of operations) {
    for (const [action] of actions.matchAll(/(?:s3|admin):[A-Za-z]+(?![\w*-])/g)) {
      // Condition keys are in parentheses after the action of a listing.
      if (['s3:prefix', 's3:delimiter', 's3:max'].includes(action)) continue
      named++
      t.ok(has(action), `${operationId}: ${action}`)
    }
  }
  t.equal(operations.length, 180)
  t.ok(named > 180, `${named}`)
  const rootFolder = join(import.meta.dirname, '../../..')
  const files = globSync('plugins/*/s3/*.ts', { cwd: rootFolder })
  // Other operations contribute the actions that the catalogue lacks.
  const brought = globSync('plugins/*/index.ts', { cwd: rootFolder }).flatMap(file =>
    [...readFileSync(join(rootFolder, file), 'utf8').matchAll(/'policy\.action', '(s3:\w+)'/g)].map(([, name]) => name),
  )
  t.ok(files.length >= 20, `${files.length} operations`)
  for (const file of files) {
    for (const [, action] of readFileSync(join(rootFolder, file), 'utf8').matchAll(/'(s3:[A-Z]\w+)'/g)) {
      if (!/^s3:(?:ObjectC|TestEvent$)/.test(action))
        t.ok(has(action) || brought.includes(action), `${file}: ${action}`)
    }
  }
  const { actions } = catalogue
  const count = (test: (action: (typeof actions)[number]) => boolean) => actions.filter(test).length
  t.equal(
    count(({ action }) => action.startsWith('s3:')),
    70,
  )
  t.equal(
    count(({ action }) => action.startsWith('admin:')),
    52,
  )
  t.equal(
    count(({ status }) => status === 'fixed'),
    10,
  )
  t.ok(actions.every(({ description, conditionKeys: keys }) => description.length > 5 && keys.includes('aws:SourceIp')))
  t.ok(catalogue.find('s3:ListBucket')?.action.conditionKeys.includes('s3:prefix'))
  t.notOk(catalogue.find('s3:GetObject')?.action.conditionKeys.includes('s3:prefix'))
  t.notOk(catalogue.find('admin:Heal')?.action.conditionKeys.some(key => key.startsWith('s3:')))
  for (const { name, actions: carriers } of conditionKeys) {
    for (const action of carriers ?? []) {
      const isBrought = brought.some(known => known.toLowerCase() === action)
      t.ok(catalogue.find(action) ?? isBrought, `${name} on ${action}`)
    }
  }
})

t.test('built-in policies are valid and match their names', async () => {
  const builtIn = policy.builtIn()
  assert.deepEqual(
    [...builtIn.keys()],
    builtInPolicies.map(({ name }) => name),
  )
  const may = (name: string, action: string, bucket = '', key = '') => {
    const granted = policy.combine([{ policy: builtIn.get(name)!, source: 'policy', name }])
    return decision({ identity: ada, action, bucket, key }, { identity: { granted } })
  }
  const rows: [string, string, string[], boolean][] = [
    ['consoleAdmin', 'admin:CreateUser', [], true],
    ['consoleAdmin', 's3:ForceDeleteBucket', ['b'], true],
    ['consoleAdmin', 'admin:SetBucketQuota', ['b'], true],
    ['diagnostics', 'admin:ServerTrace', [], true],
    ['diagnostics', 'admin:CreateUser', [], false],
    ['diagnostics', 's3:GetObject', ['b', 'k'], false],
    ['readwrite', 's3:PutObject', ['b', 'k'], true],
    ['readwrite', 's3:ListAllMyBuckets', [], true],
    ['readwrite', 'admin:ServerInfo', [], false],
    ['readonly', 's3:ListBucket', ['b'], true],
    ['readonly', 's3:GetObject', ['b', 'k'], true],
    ['readonly', 's3:PutObject', ['b', 'k'], false],
    ['writeonly', 's3:PutObject', ['b', 'k'], true],
    ['writeonly', 's3:GetObject', ['b', 'k'], false],
  ]
  for (const [name, action, [bucket, key], expected] of rows) {
    assert.equal(may(name, action, bucket, key), expected, `${name} ${action}`)
  }
})

t.test('plugins contribute sources and actions', async () => {
  const trash = definePlugin({
    name: 'trash',
    requires: ['policy'],
    setup({ contribute, services }) {
      const sets = new Map<string, ReturnType<typeof services.policy.combine>>()
      contribute('policy.action', 'admin:EmptyTrash', { level: 'none', description: 'empty the trash' })
      contribute('policy.source', 'trash', {
        identityPolicies: ({ accessKey }) => {
          const granted = sets.get(accessKey)
          return granted && { granted }
        },
        bucketPolicies: () => undefined,
      })
      return {
        start() {
          const Statement = [{ Effect: 'Allow', Action: 'admin:Empty*' }]
          const { policy: trashPolicy } = services.policy.compile(
            { Version: '2012-10-17', Statement },
            { kind: 'identity' },
          )
          sets.set('bob', services.policy.combine([{ policy: trashPolicy!, source: 'policy', name: 'trash' }]))
        },
      }
    },
  })
  const closing = definePlugin({
    name: 'closing',
    setup({ contribute }) {
      const closed = bucketOf({ Effect: 'Deny', Action: 's3:*' })
      contribute('policy.source', 'closing', {
        prepare: bucket => (bucket === 'slow' ? Promise.reject(new Error('cannot be known')) : undefined),
        bucketPolicies: bucket => (bucket === 'photos' ? closed : undefined),
      })
    },
  })
  const kernel = await startKernel({ plugins: [plugin, trash, closing] })
  const { policy: service } = kernel.services
  const opened = { ...readingCat, bucketPolicies: bucketOf({ Action: 's3:GetObject' }) }
  assert.equal(service.isAllowed(readingCat), false)
  assert.equal(service.isAllowed(opened), true, 'were these the policies of the bucket')
  assert.equal(service.simulate(opened).source, 'bucket-policy')
  assert.equal(service.simulate(readingCat).decision, 'explicit-deny')
  assert.equal(service.isAllowed(readingCat), false, 'and nothing remains of the question')
  assert.equal(service.prepare('photos'), undefined, 'nothing to wait for')
  await assert.rejects(async () => service.prepare('slow'), /cannot be known/)
  assert.equal(service.isAllowed({ identity: bob, action: 'admin:EmptyTrash' }), true)
  assert.equal(service.isAllowed({ identity: bob, action: 'admin:ServerInfo' }), false)
  assert.equal(service.isAllowed({ identity: ada, action: 'admin:EmptyTrash' }), false)
  assert.equal(service.simulate({ identity: bob, action: 'admin:EmptyTrash' }).policyName, 'trash')
  assert.equal(service.actions().find(({ action }) => action === 'admin:EmptyTrash')?.plugin, 'trash')
  await kernel.stop()
  for (const id of ['admin:ServerInfo', 'EmptyTrash', 'admin:Empty*']) {
    const value = { level: 'none' as const, description: 'x' }
    assert.throws(() => createCatalogue([{ id, plugin: 'p', value }]), /action/, id)
  }
})
