/** Distributions, certificates, DNS providers and key groups. */
import { formatSeconds } from '../../parts/format.ts'

export const publishing = {
  distributions: 'Distributions',
  noneOfBucket: 'The bucket is published on no domain.',
  noDistributions: 'Nothing is published yet. A distribution puts a bucket, or a folder of it, on a domain.',
  domains: 'Domains',
  noListener:
    'No listener of this server answers for distributions: start it with SVC_WEB_ADDRESS, or with SVC_S3_DISTRIBUTIONS=on to answer on the S3 port.',
  addressHint: (port: string) =>
    port === ''
      ? 'The name must resolve to this server, or to a proxy in front of it.'
      : `Without a proxy: the server listens on port ${port}. The name must resolve to it. Behind a proxy or a port mapping the port is theirs.`,
  origin: 'Origin',
  mode: 'Mode',
  disableTitle: (id: string) => `Disable ${id}?`,
  disableText: (domains: string) => `Every request to ${domains} is answered 403 until it is enabled again.`,
  deleteTitle: (id: string) => `Delete ${id}?`,
  nobodyAnswers: (domains: string) => `From then on no distribution answers at ${domains}.`,
  otherAnswers: (other: string | undefined, wildcard: string, domains: string) =>
    `From then on ${other ?? 'a distribution of somebody else'} has ${domains}, with its ${wildcard}.`,
  bucketStays: 'The bucket and its objects stay.',
  certificates: 'Certificates',
  noCertificates:
    'There is no certificate yet. Upload one, or choose “auto” as the certificate of a distribution, on the page “Distributions”.',
  deleteCertificate: (domains: string) =>
    `Visitors of ${domains} get another certificate that covers the name, or none.`,
  deleteServed: (domains: string) => `It is served to the visitors of ${domains} now.`,
  servedFor: (domains: string) => `served for ${domains}`,
  states: { pending: 'pending', valid: 'valid', expiring: 'expires soon', expired: 'expired', failed: 'failed' },
  ordered: { pending: 'valid, being ordered anew', failed: 'valid, last order failed' },
  nextTry: (date: string) => `Next try: ${date}.`,
  source: 'Source',
  orderStep: (step: string, attempts: number) =>
    attempts > 1 ? `Ordering: ${step} (attempt ${attempts})` : `Ordering: ${step}`,
  failedDomain: (domain: string, step: string, error: string) => `${domain}, step “${step}”: ${error}`,
  uploadCertificate: 'Upload certificate',
  replaceCertificate: 'Replace',
  replaceTitle: (id: string) => `Replace certificate ${id}`,
  replaceAllTheSame: 'Replace it all the same?',
  deleteAllTheSame: 'Delete it all the same?',
  saveAllTheSame: 'Save it all the same?',
  chain: 'Certificate chain (PEM, its own certificate first)',
  privateKey: 'Private key (PEM)',
  addProvider: 'Add DNS provider',
  credentialsKept: 'Empty: what is stored stays. It is never shown again.',
  neverShown: 'It is never shown again.',
  ttl: { label: 'TTL of its records in seconds', description: 'Empty: default.' },
  propagation: { label: 'Wait at most', description: 'Empty: 2m.' },
  deleteProviderText: 'Certificates that it was used for cannot be ordered with it any more.',
  renew: 'Renew',
  orderNow: {
    title: 'Order it all the same?',
    action: 'Order now',
    hint: 'Authorities take a few failed orders of a name in an hour, and refuse more. Mend first what has failed.',
  },
  renewing: (id: string) => `${id} is being renewed.`,
  dnsProviders: 'DNS providers',
  noDnsProviders:
    'There is no DNS provider. Wildcard certificates need one: the authority asks for a record in the DNS.',
  domain: 'Domain',
  testWorked: (record: string, ms: number) =>
    `Published, seen and removed at ${record} in ${formatSeconds(ms / 1000)}.`,
  testFailed: (step: string, error: string) => `Failed at step “${step}”: ${error}`,
}
