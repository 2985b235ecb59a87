import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type {} from '../api.ts'
import { ProviderParameters } from './dns-provider-schema.ts'

const DnsTest = Type.Object(
  {
    domain: Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'A domain that the provider answers for; nothing but `_acme-challenge.<domain>` is touched.',
    }),
  },
  { $id: 'DnsTest', additionalProperties: false },
)

const DnsTestResult = Type.Object(
  {
    ok: Type.Boolean({ description: 'The value was published, seen at every authoritative server, and removed.' }),
    record: Type.String({ description: 'The name that had the value: behind CNAMEs, where there are any.' }),
    step: Type.Union(
      [Type.Literal(''), Type.Literal('present'), Type.Literal('propagation'), Type.Literal('cleanup')],
      { description: 'The step that failed; empty when none did.' },
    ),
    error: Type.String({ description: 'Why it failed; empty when it did not.' }),
    durationMs: Type.Integer(),
  },
  { $id: 'DnsTestResult' },
)

export default defineAdminOperation({
  id: 'testDnsProvider',
  method: 'POST',
  path: '/dns-providers/{name}/test',
  tag: 'certificates',
  summary:
    'Publishes a random value for a domain, waits until every authoritative server has it, and removes it. A failure is an answer, too. It takes up to the propagation timeout.',
  authorize: ['admin:ManageCertificates'],
  params: ProviderParameters,
  body: DnsTest,
  response: DnsTestResult,
  errors: ['dns_provider_not_found'],
  uses: ['dnsProviders'],
  async handle({ params: { name }, body: { domain } }, { dnsProviders }) {
    const { step, ...outcome } = await dnsProviders.test(name, domain)
    return { ok: step === undefined, step: step ?? ('' as const), ...outcome }
  },
})
