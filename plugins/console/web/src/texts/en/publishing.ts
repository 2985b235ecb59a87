/** Distributions, certificates, DNS providers and key groups. */
export const publishing = {
  distributions: 'Distributions',
  noDistributions:
    'Nothing is published yet. svcctl dist publish ./site --domain www.example.test publishes a folder on a domain.',
  domains: 'Domains',
  origin: 'Origin',
  mode: 'Mode',
  deleteTitle: (id: string) => `Delete ${id}?`,
  deleteText: (domains: string) => `${domains} answer no more from then on. The bucket and its objects stay.`,
  certificates: 'Certificates',
  noCertificates: 'There is no certificate. A distribution on a domain can order its own.',
  deleteCertificate: (domains: string) =>
    `Visitors of ${domains} get another certificate that covers the name, or none.`,
  states: { pending: 'pending', valid: 'valid', expiring: 'expires soon', expired: 'expired', failed: 'failed' },
  nextTry: (date: string) => `Next try: ${date}.`,
  source: 'Source',
  renew: 'Renew',
  renewing: (id: string) => `${id} is being renewed.`,
  dnsProviders: 'DNS providers',
  noDnsProviders: 'There is no DNS provider. Wildcard certificates need one (svcctl admin dns-provider add).',
  domain: 'Domain',
  testWorked: (record: string, ms: number) => `Published, seen and removed at ${record} in ${ms.toFixed(0)} ms.`,
  testFailed: (step: string, error: string) => `Failed at step “${step}”: ${error}`,
}
