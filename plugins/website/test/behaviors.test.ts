/** Which behavior a path has. */
import type { Distribution } from 'svc/plugins/distributions/api'
import { keyBytesMax } from 'svc/plugins/objects/api'
import t from 'tap'
import { compileBehaviors } from '../behaviors.ts'

t.test('the first pattern that matches decides; a path that is longer than any key meets none', async t => {
  const pathPattern = (pattern: string) => ({ type: 'regex' as const, pattern })
  const behaviorOf = compileBehaviors({
    defaultBehavior: {},
    behaviors: [
      { pathPattern: pathPattern('b'), access: 'deny' },
      { pathPattern: pathPattern('^/a'), access: 'signed' },
    ],
    headers: {},
  } as unknown as Distribution)
  t.equal(behaviorOf('/c').index, -1)
  t.equal(behaviorOf('/ab').index, 0)
  t.equal(behaviorOf(`/${'a'.repeat(keyBytesMax)}`).index, 1, 'a key of the greatest length')
  t.equal(behaviorOf(`/${'a'.repeat(keyBytesMax + 1)}`).index, -1)
})
