import { defineErrors } from 'svc/kernel'

export const dnsErrors = defineErrors({
  already_exists: { status: 409, title: 'There is a DNS provider of that name already.' },
  dns_provider_in_use: { status: 409, title: 'The DNS provider is in use.' },
  dns_provider_not_found: { status: 404, title: 'There is no such DNS provider.' },
  invalid_dns_provider: { status: 400, title: 'The DNS provider has a setting that is missing or wrong.' },
  invalid_argument: { status: 400, title: 'The request has an invalid parameter or field.' },
  precondition_failed: { status: 412, title: 'The DNS provider has changed: its ETag is not that of If-Match.' },
  too_many_requests: { status: 429, title: 'Too much is published at DNS providers at once. Try again later.' },
  /** Its extra `Step` is a `DnsStep`. */
  upstream_failure: { status: 502, title: 'A query to DNS, or a request to a DNS provider, failed.' },
})
