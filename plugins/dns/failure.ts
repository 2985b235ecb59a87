/** Failures of DNS and of providers, in the form that all callers get. */
import { isCatalogError } from 'svc/kernel'
import type { DnsStep } from './api.ts'
import { dnsErrors } from './errors.ts'

/** Converts them to `upstream_failure`; errors of the server itself are kept. */
export function failureOf(step: DnsStep, error: unknown): Error {
  if (isCatalogError(error)) return error
  const { message } = error as Error
  return dnsErrors.upstream_failure(sentence(message), { cause: error, extra: { Step: step } })
}

export function sentence(text: string): string {
  const begun = text.length === 0 ? 'It failed' : text[0]!.toUpperCase() + text.slice(1)
  return /[.?!]$/.test(begun) ? begun : `${begun}.`
}
