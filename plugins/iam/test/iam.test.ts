import assert from 'node:assert/strict'
import { createHmac, createSecretKey } from 'node:crypto'
import { inspect } from 'node:util'
import t from 'tap'
import { checkRootPassword, checkRootUser } from '../config.ts'
import { createIam } from '../iam.ts'

const open = (rootUser: string, rootPassword: string) => createIam({ rootUser, rootPassword }).service
const iam = open('root-user', 'root-password')
/** In the main thread no method returns a promise. */
const atOnce = <T>(value: T | Promise<T>): T => {
  assert.equal(value instanceof Promise, false)
  return value as T
}
const credentials = (accessKey: string) => atOnce(iam.credentials(accessKey))
const verificationKey = (accessKey: string) => atOnce(iam.verificationKey(accessKey))

t.test('the access key of the root user has credentials and no other key has', async () => {
  assert.equal(credentials('root-user')?.identity, iam.owner)
  assert.equal(iam.owner.isRoot, true)
  assert.equal(iam.owner.accessKey, 'root-user')
  for (const other of [
    '',
    'r',
    'root-use',
    'root-userr',
    'root-user\0',
    'ROOT-USER',
    'root-usez',
    'root-password',
    'x'.repeat(9),
  ]) {
    assert.equal(credentials(other), undefined, JSON.stringify(other))
  }
})

t.test('the signing secret is the HMAC key of Signature Version 4', async () => {
  const made = createHmac('sha256', credentials('root-user')!.signingSecret).update('20250101').digest('hex')
  assert.equal(made, createHmac('sha256', 'AWS4root-password').update('20250101').digest('hex'))
})

t.test('the verification key is the plain secret, for the root user only', async () => {
  const made = createHmac('sha512', verificationKey('root-user')!).update('token').digest('hex')
  assert.equal(made, createHmac('sha512', 'root-password').update('token').digest('hex'))
  assert.equal(verificationKey('root-user2'), undefined)
})

t.test('the owner id is stable, hexadecimal and depends on the access key only', async () => {
  assert.equal(iam.owner.ownerId, open('root-user', 'another-one').owner.ownerId)
  assert.notEqual(iam.owner.ownerId, open('root-user2', 'root-password').owner.ownerId)
  // Objects store nothing else about their owner: this value must never change.
  assert.equal(iam.owner.ownerId, '414a7e543b15b84c32efd9f52e3998623373aa8c3489f25c51ecf75204b6dc5b')
})

t.test('the password cannot be read back from the service', async () => {
  const seen = inspect(iam, { depth: 10, showHidden: true }) + JSON.stringify(credentials('root-user'))
  assert.equal(seen.includes('root-password'), false)
})

t.test('invalid root credentials are refused without repeating them', async () => {
  assert.equal(checkRootUser('abc'), undefined)
  assert.equal(checkRootPassword('12345678'), undefined)
  for (const user of ['', 'ab', 'a b c', 'a,bc', 'a=bc', 'a/bc', 'réseau', 'ab\n', 'x'.repeat(129)]) {
    assert.match(checkRootUser(user) ?? '', /^must /, JSON.stringify(user))
  }
  for (const password of ['', '1234567', 'x'.repeat(1025)]) assert.match(checkRootPassword(password) ?? '', /^must /)
  assert.throws(() => createIam({ rootUser: 'ab', rootPassword: 'long-enough' }), /at least 3 characters/)
  assert.throws(
    () => createIam({ rootUser: 'root', rootPassword: 'hunter2' }),
    (error: Error) => /at least 8 characters/.test(error.message) && !error.message.includes('hunter2'),
  )
})

t.test('a secret is compared for known and unknown access keys, and gives the identity', async () => {
  assert.equal(iam.verifySecret('root-user', 'root-password'), iam.owner)
  for (const [accessKey, secret] of [
    ['root-user', 'root-passwore'],
    ['root-user', ''],
    ['root-user', 'AWS4root-password'],
    ['nobody', 'root-password'],
    ['', ''],
  ] as const) {
    assert.equal(iam.verifySecret(accessKey, secret), undefined, accessKey)
  }
})

t.test('the directory is asked for all access keys but that of root', async () => {
  const asked: string[] = []
  const key = createSecretKey('password-of-ada', 'utf8')
  const known = {
    identity: { ...iam.owner, accessKey: 'ada', isRoot: false },
    signingSecret: key,
    verificationKey: key,
  }
  let kind: 'user' | 'share' = 'user'
  const { service, open } = createIam({ rootUser: 'root-user', rootPassword: 'root-password' })
  assert.equal(service.credentials('ada'), undefined)
  assert.equal(service.sessionCredentials('ada', 'token'), 'invalid')
  open({
    async credentials(accessKey) {
      asked.push(accessKey)
      return accessKey === 'ada' ? { ...known, identity: { ...known.identity, kind } } : undefined
    },
    sessionCredentials: () => 'expired',
    watchSecrets: () => () => {},
  })
  assert.equal(service.credentials('root-user'), service.credentials('root-user'))
  assert.deepEqual(asked, [])
  assert.equal((await service.verifySecret('ada', 'password-of-ada'))?.accessKey, 'ada')
  assert.equal(await service.verifySecret('ada', 'password-of-eve'), undefined)
  assert.equal(await service.verifySecret('eve', 'password-of-ada'), undefined)
  assert.equal(service.sessionCredentials('ada', 'token'), 'expired')
  kind = 'share'
  assert.equal(await service.verifySecret('ada', 'password-of-ada'), undefined, 'nobody logs in with a share')
})
