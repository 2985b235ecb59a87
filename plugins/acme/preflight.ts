/**
 * What can be seen before the authority is asked, so that a mistake does not use up its limits. A name
 * that its CAA records forbid is left out of the order. That a name does not lead here is only noted, and told if the authority cannot
 * validate it either: behind NAT a server may not reach itself by its public address.
 */
import type { Clock, Logger, Random } from 'svc/kernel'
import type { DnsService } from 'svc/plugins/dns/api'
import type { HttpClient, HttpClientError } from 'svc/plugins/http-client/api'
import { plainWords } from './authority.ts'
import { caaDoubt, caaProblem } from './caa.ts'
import type { Challenges } from './challenges.ts'
import { type FailedName, OrderFailure } from './failure.ts'
import { httpChallengePath } from './http-challenge.ts'

/** Timeout for all names together. Names that were not checked by then are left to the authority. */
const timeoutMs = 15_000
const namesAtOnce = 10
const addressesMax = 4
const answerBytesMax = 1024

const hint =
  'the authority looks at them itself; for this look, SVC_ACME_DNS_NAMESERVERS names a resolver that answers for all domains'

export const preflightStep = 'preflight'

export interface PreflightRequest {
  /** Id of the certificate. */
  readonly certificate: string
  readonly domains: readonly string[]
  readonly challenge: string
  /** Names of the authority in CAA records; empty: not known. */
  readonly identities: readonly string[]
  readonly accountUrl: string
}

export interface Preflight {
  /**
   * Resolves with what was noticed about names, as clauses: `http://www.site.test/… was answered with 404 by 192.0.2.1`. Rejects with
   * OrderFailure for names that no order should be made for.
   */
  check(request: PreflightRequest): Promise<ReadonlyMap<string, string>>
}

export interface PreflightOptions {
  /** Undefined where no loaded plugin asks DNS: nothing is looked at then. */
  readonly dns: Pick<DnsService, 'caa' | 'addresses'> | undefined
  readonly http: HttpClient
  /** The port on which authorities validate http-01. */
  readonly httpPort: number
  readonly challenges: Pick<Challenges, 'publishTrial'>
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

export function createPreflight({ dns, http, httpPort, challenges, clock, random, log }: PreflightOptions): Preflight {
  let isHinted = false

  /** Checks whether CAA records forbid the order, or leave it uncertain. */
  async function lookAtCaa(domain: string, request: PreflightRequest, signal: AbortSignal) {
    const { certificate } = request
    try {
      const found = await dns!.caa(domain.replace(/^\*\./, ''), signal)
      const question = { ...request, domain }
      const problem = found && caaProblem(found, question)
      const doubt = found && caaDoubt(found, question)
      if (problem === undefined && doubt !== undefined)
        log.warn({ certificate, domain, reason: doubt }, 'the authority may refuse a name by its CAA records')
      return { problem, doubt }
    } catch (error) {
      const reason = (error as Error).message
      // A name server that answers for its own zones alone refuses each time: the hint is needed once.
      if (isHinted) log.debug({ certificate, domain, reason }, 'CAA records are not known before the order')
      else log.info({ certificate, domain, reason, hint }, 'CAA records are not known before the order')
      isHinted = true
      return {}
    }
  }

  /** Undefined: the host is served here at this address, or sends elsewhere, which the authority follows and we do not. */
  async function problemAt(address: string, host: string, path: string, expected: string, signal: AbortSignal) {
    const place = address.includes(':') ? `[${address}]` : address
    try {
      const url = `http://${place}:${httpPort}${path}`
      const { status, body } = await http.request({ url, headers: { host }, answerBytesMax, signal })
      if (status >= 300 && status < 400) return undefined
      if (status !== 200) return `was answered with status ${status} by ${address}`
      return body.toString() === expected ? undefined : `was answered by ${address}, which is another server`
    } catch (error) {
      // A machine without IPv6 cannot tell whether others reach the address.
      if (signal.aborted || (address.includes(':') && (error as HttpClientError).reason === 'unreachable'))
        return undefined
      return `was not answered by ${address}: ${(error as Error).message}`
    }
  }

  async function reachProblem(domain: string, trial: Trial, signal: AbortSignal): Promise<string | undefined> {
    const addresses = await dns!.addresses(domain, signal)
    const path = httpChallengePath(trial.token)
    if (addresses.length === 0) return `${domain} has no address in DNS`
    for (const address of addresses.slice(0, addressesMax)) {
      const problem = await problemAt(address, domain, path, trial.keyAuthorization, signal)
      if (problem !== undefined) return `http://${domain}${path} ${problem}`
    }
    return undefined
  }

  return {
    async check(request) {
      const noticed = new Map<string, string>()
      if (dns === undefined) return noticed
      const { certificate, domains, challenge } = request
      const deadline = new AbortController()
      const cancel = clock.after(timeoutMs, () => deadline.abort(new Error('it took too long')))
      const { signal } = deadline
      const failed: FailedName[] = []
      async function look(domain: string): Promise<void> {
        const { problem: forbidden, doubt } = await lookAtCaa(domain, request, signal)
        if (forbidden !== undefined)
          return void failed.push({ domain, step: preflightStep, error: plainWords(forbidden) })
        if (doubt !== undefined) noticed.set(domain, doubt)
        if (challenge !== 'http-01' || signal.aborted) return
        const trial = {
          token: random.bytes(24).toString('base64url'),
          keyAuthorization: random.bytes(24).toString('hex'),
        }
        await challenges.publishTrial(certificate, domain, trial)
        const problem = await reachProblem(domain, trial, signal).catch(error => (error as Error).message)
        if (problem === undefined || signal.aborted) return
        noticed.set(domain, doubt === undefined ? problem : `${problem}; ${doubt}`)
        log.warn({ certificate, domain, reason: problem }, 'a name does not seem to lead to this server')
      }
      try {
        for (let start = 0; start < domains.length; start += namesAtOnce) {
          await Promise.all(domains.slice(start, start + namesAtOnce).map(look))
        }
      } finally {
        cancel()
      }
      if (failed.length === 0) return noticed
      // In the order of the request, whichever answer came first.
      failed.sort((a, b) => domains.indexOf(a.domain) - domains.indexOf(b.domain))
      throw new OrderFailure(failed.map(({ error }) => error).join(' '), { failedNames: failed })
    },
  }
}

interface Trial {
  readonly token: string
  readonly keyAuthorization: string
}
