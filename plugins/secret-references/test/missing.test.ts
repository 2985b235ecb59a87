/** References that nothing stands for: the log and the health name all of them. */
import t from 'tap'
import { createMissing } from '../missing.ts'

t.test('all references of one user are named, each once', async t => {
  const logged: string[] = []
  const names = ['one', 'two', 'three', 'four', 'five', 'six', 'seven']
  let set = ''
  const missing = createMissing({
    users: () => [{ references: () => [...names, 'one'].map(name => ({ name, user: 'the site' })) }],
    resolve: text => (text === set ? 'a secret' : undefined),
    log: { error: ({ variable }: { variable: string }) => void logged.push(variable) } as never,
  })
  await missing.look()
  await missing.look()
  const variables = names.map(name => `SVC_SECRET_${name.toUpperCase()}`)
  t.same(logged, variables)
  t.equal(missing.detail(), `not set: ${variables.toSorted().join(', ')}`)
  set = ['$', '{secret:two}'].join('')
  await missing.look()
  t.notMatch(missing.detail(), 'TWO')
  set = ''
  await missing.look()
  t.same(logged.at(-1), 'SVC_SECRET_TWO', 'told again when it is missing again')
  t.equal(logged.length, 8)
})
