/**
 * What ships: reading this is reading the product. Each name is a folder beside this file. Within the list the order does not
 * matter; the services that plugins use decide it.
 */
import type { AnyPlugin } from 'svc/kernel'

const folders = [
  // Platform: listeners, configuration at run time, and what operators see.
  'http',
  'tls',
  'http-client',
  'health',
  'metrics',
  'metrics-history',
  'prometheus',
  'trace',
  'tracing',
  'logs',
  'diagnostics',
  'speedtest',
  'audit',
  'settings',
  'cluster-archive',
  'rate-limits',
  'server',

  // Storage: drives, sets and pools; documents and queues on them; the upkeep of what is stored.
  'storage',
  'drive',
  'erasure',
  'pools',
  'store',
  'lock',
  'queue',
  'objects',
  'stored-needs',
  'scanner',
  'heal',

  // Identity: who asks, what they may do, and the keys that protect data.
  'iam',
  'users',
  'policy',
  'auth-sigv4',
  'auth-sigv2',
  'auth-session',
  'share',
  'sts',
  'kms',
  'encryption',
  'checksums',

  // Protocols: the S3 API and the Admin API.
  's3',
  'admin',

  // What people see in a browser.
  'console',

  // Features of buckets and objects.
  'buckets',
  'object-operations',
  'multipart',
  'post-object',
  'tagging',
  'bucket-policy',
  'object-ownership',
  'access-rules',
  'object-lock',
  'lifecycle',
  'quota',
  'cors',
  'bucket-logging',
  'bucket-subresources',

  // Publishing: buckets on names of their own, and certificates of names.
  'distributions',
  'website',
  'cache',
  'cache-disk',
  'purge',
  'purge-generic',
  'purge-cdn',
  'secret-references',
  'distribution-archive',
  's3-domains',
  'key-groups',
  'certificates',
  'acme',

  // Proofs of names: TXT records at DNS providers.
  'dns',
  'dns-hosted',
  'dns-cloud',
  'dns-rfc2136',

  // Events: rules of buckets, and where they and audit records go.
  'notify',
  'webhook',
] as const

// A folder has one plugin, or a list of them. One after the other: loaded at the same time they take 15 MB more for ever.
const found: (AnyPlugin | readonly AnyPlugin[])[] = []
for (const folder of folders) found.push((await import(`./${folder}/index.ts`)).default)
const standard: readonly AnyPlugin[] = found.flat()

export default standard
