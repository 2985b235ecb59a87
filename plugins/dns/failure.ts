/** Failures of DNS and of providers, as everybody hears of them. */
import { isCatalogError } from 'svc/kernel'
import type { DnsStep } from './api.ts'
import { dnsErrors } from './errors.ts'

/** As `upstream_failure`; errors of the server itself stay what they are. */
export function failureOf(step: DnsStep, error: unknown): Error {
  if (isCatalogError(error)) return error
  const { message } = error as Error
  return dnsErrors.upstream_failure(sentence(message), { cause: error, extra: { Step: step } })
}

export function sentence(text: string): string {
  const begun = text.length === 0 ? 'It failed' : text[0]!.toUpperCase() + text.slice(1)
  return /[.?!]$/.test(begun) ? begun : `${begun}.`
}
