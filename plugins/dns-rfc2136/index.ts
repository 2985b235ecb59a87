/** DNS servers that take signed updates: bind, Knot, PowerDNS, Windows and others. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/dns/api'
import 'svc/plugins/http-client/api'
import { connectRfc2136 } from './provider.ts'
import { Rfc2136Settings, settingsProblems } from './settings.ts'

export default definePlugin({
  name: 'dns-rfc2136',
  description: 'DNS servers that take signed updates (RFC 2136, TSIG).',
  requires: ['dns', 'httpClient'],
  setup({ services, contribute }) {
    // Name servers of operators are in their own networks.
    const guard = () => services.httpClient.guard('private')
    contribute('dns.provider', 'rfc2136', {
      description: 'A DNS server that takes updates signed with a TSIG key.',
      settings: Rfc2136Settings,
      validate: settings => settingsProblems(settings, guard()),
      connect: connectRfc2136,
    })
  },
})
