import assert from 'node:assert/strict'
import t from 'tap'
import { createPolicy } from '../policy.ts'

const policy = createPolicy()
const identity = { accessKey: 'key', ownerId: 'a'.repeat(64), displayName: 'key' }
const actions = ['s3:GetObject', 's3:DeleteBucket', 'admin:ServerInfo', '']

t.test('root may do everything', async () => {
  for (const action of actions) {
    assert.equal(
      policy.isAllowed({ identity: { ...identity, isRoot: true }, action, bucket: 'bucket', key: 'key' }),
      true,
    )
  }
})

t.test('nobody else may do anything', async () => {
  for (const action of actions) {
    assert.equal(policy.isAllowed({ identity: undefined, action }), false)
    assert.equal(policy.isAllowed({ identity: { ...identity, isRoot: false }, action, bucket: 'bucket' }), false)
    // What is not exactly true is not root.
    assert.equal(policy.isAllowed({ identity: { ...identity, isRoot: 'yes' as unknown as boolean }, action }), false)
  }
})

t.test('conditions are not computed when no policy asks for them', async () => {
  const conditions = () => assert.fail('asked for')
  assert.equal(policy.isAllowed({ identity: { ...identity, isRoot: true }, action: 's3:ListBucket', conditions }), true)
  assert.equal(policy.isAllowed({ identity: undefined, action: 's3:ListBucket', conditions }), false)
})
