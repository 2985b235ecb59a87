import { definePlugin } from 'svc/kernel'
// For their types only: they declare the extension points `auth.provider` and `policy.source`.
import 'svc/plugins/iam/api'
import 'svc/plugins/policy/api'
import { LdapConfig } from './config.ts'
import { createDirectory } from './directory.ts'
import { createPrincipals } from './principals.ts'
import { createLdapProvider } from './provider.ts'

export default definePlugin({
  name: 'auth-ldap',
  version: '0.1.0',
  requires: ['iam', 'policy'],
  config: LdapConfig,
  setup({ config, services, ports, contribute }) {
    const principals = createPrincipals(services, config.policyFolder)
    const directory = createDirectory(config)
    contribute('auth.provider', 'ldap', createLdapProvider({ directory, principals, ports, config }))
    contribute('policy.source', 'ldap', { identityPolicies: principals.policiesOf })
    // Reads the policies, which are ours. The directory is another machine: a start never waits for it.
    return { start: principals.open }
  },
})
