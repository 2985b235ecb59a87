/**
 * DNS: TXT values that prove the control of a domain (ACME dns-01, RFC 8555 section 8.4), published at providers that operators configure.
 *
 *     const { id } = await dns.present({ provider: 'main', name: '_acme-challenge.example.com', value, owner: 'acme/site' })
 *     await dns.propagate(id) // every authoritative server of the zone answers with the value
 *     …                       // the authority validates
 *     await dns.cleanUp(id)
 *
 * Guarantees:
 *
 * 1. The document of a publication is stored before the request to its provider, so every value is removed, even after `kill -9` in any step.
 * 2. Several values at one name coexist: apex and wildcard have the same name. Each is added and removed separately.
 * 3. Changes of one zone by one provider are made one after the other.
 * 4. No secret of a provider is in an answer, an error or the log.
 */
import type { Clock, Logger, ObjectOf } from 'svc/kernel'
import type { AddressGuard } from 'svc/plugins/http-client/api'
import type { SettingsProblem } from 'svc/plugins/settings/api'
import type { DocumentUser, TransactionBuilder } from 'svc/plugins/store/api'
import type { TObject } from 'typebox'

export { apiUrlProblem, quotedText } from './api-url.ts'
export { dnsErrors } from './errors.ts'
export { canonicalName, challengeName, domainOf, nameProblem } from './name.ts'
export { type NameserverAddress, nameserverProblem, parseNameserver } from './nameserver.ts'
export { PermanentDnsError } from './permanent-error.ts'
export { pause } from './waiting.ts'

/** Steps of a publication, in this order. The extra `Step` of `upstream_failure`, and `step` of a test. */
export type DnsStep = 'present' | 'propagation' | 'cleanup'

export interface DnsChallenge {
  /** Name of a configured provider. */
  readonly provider: string
  /** The name at which the value is looked up, in A-labels, without a final dot. CNAMEs are followed at most 8 times. */
  readonly name: string
  /** 1 to 255 visible ASCII characters. */
  readonly value: string
  /** The owner of the publication, for operators: `acme/site`. At most 128 characters. */
  readonly owner: string
  /**
   * How long the value outlives a restart, for an owner that goes on with it; at most an hour. Default 0: the next start removes it. An
   * owner that finds its publication among `publications` after a restart goes on with its id, or cleans it up.
   */
  readonly keepMs?: number
}

/** A published value, until its provider has confirmed the removal. */
export interface DnsPublication {
  readonly id: string
  readonly provider: string
  readonly owner: string
  /** The name of the challenge. */
  readonly name: string
  /** The name that has the value, after the CNAMEs of `name`. */
  readonly record: string
  /** The zone of `record`. */
  readonly zone: string
  readonly value: string
  /** Milliseconds since 1970. */
  readonly publishedMs: number
}

/** A CAA record: `0 issue "authority.example; validationmethods=dns-01"`. */
export interface CaaProperty {
  readonly isCritical: boolean
  /** In lower case. */
  readonly tag: string
  readonly value: string
}

export interface CaaRecords {
  /** The name that has them: the domain, or one above it. */
  readonly name: string
  /** At least one. */
  readonly properties: readonly CaaProperty[]
}

/** In every thread; the main thread does the work. Failures of DNS and of providers are `upstream_failure` with the extra `Step`. */
export interface DnsService {
  /**
   * Publishes a value; resolves when the provider has confirmed it. The same provider, name and value again is the same publication.
   * Makes three attempts if a failure may be transient. If it rejects, a value that may have been published is removed in the background.
   * Also rejects with `dns_provider_not_found`.
   */
  present(challenge: DnsChallenge, signal?: AbortSignal): Promise<DnsPublication>
  /**
   * Waits until every authoritative server of the zone (or each of SVC_ACME_DNS_NAMESERVERS) answers with the value, at most as long as
   * the provider's `propagationTimeout`, and then a moment for those that stand behind the same address.
   */
  propagate(id: string, signal?: AbortSignal): Promise<void>
  /**
   * Removes a value; resolves when the provider has confirmed it, and at once where there is no such publication. A removal that fails is
   * repeated in the background until the value is gone, so an owner may go on after a rejection.
   */
  cleanUp(id: string): Promise<void>
  /** All published, and possibly published, values of all owners. At most 1000. */
  publications(): Promise<readonly DnsPublication[]>
  /** The CAA records that apply to a domain (RFC 8659, 3); undefined: none. Rejects with a sentence where DNS does not tell. */
  caa(domain: string, signal: AbortSignal): Promise<CaaRecords | undefined>
  /** All IPv4 and IPv6 addresses of a host, as an authority finds them: not those of the hosts file. Rejects as `caa`. */
  addresses(host: string, signal: AbortSignal): Promise<readonly string[]>
}

/** The configuration of a provider. Times in milliseconds. */
export interface DnsProviderSettings {
  /** The kind: an id in `dns.provider`. */
  readonly type: string
  readonly comment: string
  /** The settings of the kind, without its secrets, as its schema declares them. */
  readonly settings: Readonly<Record<string, unknown>>
  /** Time to live of a published record, 1 second to a day. */
  readonly ttlSeconds: number
  readonly propagationTimeoutMs: number
  readonly pollingIntervalMs: number
}

export interface DnsProviderFacts extends DnsProviderSettings {
  readonly name: string
  readonly hasCredentials: boolean
  /** Its users: `distribution/site`. */
  readonly usedBy: readonly string[]
  readonly etag: string
  readonly createdMs: number
  readonly updatedMs: number
}

export interface DnsProviderChange extends Partial<DnsProviderSettings> {
  readonly type: string
  /** Secrets of the kind by name. Where all are empty or missing the stored ones stay; otherwise they replace all of the stored ones. */
  readonly credentials?: Readonly<Record<string, string>>
}

export interface DnsTestOutcome {
  /** The name that has the value, or would have it: behind CNAMEs where the test got so far. */
  readonly record: string
  /** The step that failed; undefined when none did. */
  readonly step: DnsStep | undefined
  /** Why, as a sentence; empty when no step failed. */
  readonly error: string
  readonly durationMs: number
}

/** Configured providers. Rejects with `dnsErrors`. */
export interface DnsProvidersService {
  list(request: { readonly startAfter: string; readonly limit: number }): Promise<{
    readonly items: readonly DnsProviderFacts[]
    readonly next: string | undefined
  }>
  /** Throws `dns_provider_not_found`. */
  get(name: string): Promise<DnsProviderFacts>
  /** Throws `already_exists` and `invalid_dns_provider`. */
  create(name: string, change: DnsProviderChange): Promise<DnsProviderFacts>
  /** Creates or replaces. Throws `invalid_dns_provider` and `precondition_failed`. */
  put(name: string, change: DnsProviderChange, ifMatch?: string): Promise<{ facts: DnsProviderFacts; isNew: boolean }>
  /** Throws `dns_provider_not_found`, `dns_provider_in_use`, `precondition_failed`. */
  delete(name: string, ifMatch?: string): Promise<void>
  /**
   * Publishes a random value for a domain, waits for it and removes it. A failure is an outcome. Throws `dns_provider_not_found`,
   * `invalid_argument` and `too_many_requests`.
   */
  test(name: string, domain: string): Promise<DnsTestOutcome>
  /** Makes the transaction fail if the provider does not exist, for documents that name it. */
  requireProvider(tx: TransactionBuilder, name: string): void
}

/** A value that a provider publishes or removes: one TXT value at one name. */
export interface DnsRecord {
  /** Fully qualified, A-labels in lower case, without a final dot. */
  readonly name: string
  /** The zone of the name, found by DNS. Without a final dot. */
  readonly zone: string
  /** 1 to 255 visible ASCII characters, without quotes around them. */
  readonly value: string
  readonly ttlSeconds: number
}

/**
 * A connected provider. Errors are sentences without secrets. After `signal` is aborted both methods reject within a second.
 * `PermanentDnsError`: another attempt would end in the same way, and nothing was changed.
 */
export interface DnsProvider {
  /** Adds one value and keeps others at the name. Idempotent. Resolves when the provider has taken it. */
  present(record: DnsRecord, signal: AbortSignal): Promise<void>
  /** Removes this value alone. That it is absent is a success. */
  cleanup(record: DnsRecord, signal: AbortSignal): Promise<void>
  /** Closes connections; resolves within a second. Idempotent. */
  close(): Promise<void>
}

export interface DnsProviderContext {
  /** Checks addresses for providers with connections of their own; those over HTTP use the service `httpClient`. */
  readonly guard: AddressGuard
  readonly log: Logger
  readonly clock: Clock
}

/** A kind of provider, a contribution to `dns.provider`; its id is the `type` of providers. Contributed in every thread. */
export interface DnsProviderKind<Schema extends TObject> {
  /** A sentence for operators. */
  readonly description: string
  /**
   * Flat: texts, numbers, booleans. Fields with `secret: true` are texts, sealed at rest and never shown; they are the `credentials` of the
   * Admin API, and the others are the block of the kind. A change of a field with `destination: true` needs the credentials again.
   */
  readonly settings: Schema
  /** Checks that the schema cannot express. Without I/O. */
  validate?(settings: ObjectOf<Schema>): readonly SettingsProblem[]
  /** In the main thread, before each change, with settings that hold. Neither waits nor throws: `present` connects. */
  connect(settings: ObjectOf<Schema>, context: DnsProviderContext): DnsProvider
}

// biome-ignore lint/suspicious/noExplicitAny: each kind has its own settings, which only it and the schema know
export type AnyDnsProviderKind = DnsProviderKind<any>

declare module 'svc/kernel' {
  interface Services {
    dns: DnsService
    dnsProviders: DnsProvidersService
  }
  interface ExtensionPoints {
    'dns.provider': AnyDnsProviderKind
    /** A plugin whose documents name providers: `distribution/site`. */
    'dns.user': DocumentUser
  }
}
