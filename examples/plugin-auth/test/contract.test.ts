/** The contract of providers over a real directory. */
import { authProviderContract, plainRequest } from 'svc/plugins/iam/contract'
import { createSystemPorts } from 'svc/testing'
import t from 'tap'
import { createDirectory } from '../directory.ts'
import { createLdapProvider } from '../provider.ts'
import { groupBase, passwords, skipWithoutSlapd, startSlapd, userDn } from './slapd.ts'

t.test('the provider keeps the contract', { skip: skipWithoutSlapd() }, async t => {
  const { url } = await startSlapd(t)
  const basic = (user: string, password: string) => ({
    ...plainRequest,
    headers: {
      ...plainRequest.headers,
      authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
    },
  })
  await authProviderContract(t, () => ({
    provider: createLdapProvider({
      directory: createDirectory({ url, userDn, groupBase }),
      principals: {
        make: user => ({ accessKey: `ldap/${user}`, isRoot: false, ownerId: 'a'.repeat(64), displayName: user }),
      },
      ports: createSystemPorts(),
      config: { allowPlain: false, remember: 0 },
    }),
    good: () => basic('ada', passwords.ada!),
    wrong: () => [
      basic('ada', passwords.bob!),
      basic('eve', passwords.ada!),
      basic('ada', ''),
      basic('ada,ou=people', passwords.ada!),
      basic('*', passwords.ada!),
      { ...basic('ada', passwords.ada!), secure: false },
    ],
    secrets: Object.values(passwords),
  }))
})
