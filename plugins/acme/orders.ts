/** Orders certificates that are due, in the main thread: a few at a time, each under its lock, with growing pauses after failures. */
import { isCatalogError, type Logger, type Ports } from 'svc/kernel'
import {
  type AcmeState,
  type CertificateIssuer,
  type CertificatesService,
  certificatesErrors,
  type OrderedCertificate,
  renewsMs,
} from 'svc/plugins/certificates/api'
import type { Lease, LockService } from 'svc/plugins/lock/api'
import type { StoreService } from 'svc/plugins/store/api'
import type { Accounts } from './accounts.ts'
import { pauseMs } from './budget.ts'
import type { Challenges } from './challenges.ts'
import type { AcmeConfig } from './config.ts'
import type { DnsValidation } from './dns-validation.ts'
import type { AcmeDocuments, OrderDocument } from './documents.ts'
import { type FailedName, failureOf, OrderFailure } from './failure.ts'
import { runOrder } from './order.ts'
import { type Preflight, preflightStep } from './preflight.ts'
import { dueReason, isInForceFor, queuedStep, renewalTime } from './renewal.ts'
import type { RenewalInformation } from './renewal-information.ts'

const atOnceMax = 10
/** Beside changes, which are looked at at once: whether something has become due. */
const lookEveryMs = 600_000
/** Questions to the authority in one look, and about one certificate that it tells nothing about. */
const windowsAtOnceMax = 20
const askPauseMs = 6 * 3_600_000

export interface OrdersOptions {
  readonly config: AcmeConfig
  readonly store: StoreService
  readonly documents: AcmeDocuments
  readonly certificates: CertificatesService
  readonly accounts: Accounts
  readonly challenges: Challenges
  readonly dns: DnsValidation
  readonly preflight: Preflight
  readonly locks: LockService
  readonly renewalInformation: RenewalInformation
  readonly ports: Ports
  readonly log: Logger
  onResult(result: 'success' | 'failure'): void
}

export interface Orders {
  renew: CertificateIssuer['renew']
  /** Starts the orders that are due, and does not wait for their end. */
  look(): Promise<void>
  /** Ends running orders, as a crash would; the next start continues them. */
  stop(): Promise<void>
}

export function createOrders(options: OrdersOptions): Orders {
  const { config, store, documents, certificates, accounts, challenges, dns, locks, ports, log, onResult } = options
  const { preflight, renewalInformation } = options
  const { clock, random } = ports
  const { orders } = certificates
  const running = new Map<string, Promise<void>>()
  const stopping = new AbortController()
  let nextLookMs = 0
  /** When the authority may be asked again about a certificate that it has told nothing about. */
  const askedAgainMs = new Map<string, number>()
  const unwatch = orders.watch(() => {
    nextLookMs = 0
  })

  function pause(delayMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (stopping.signal.aborted) return reject(stopped())
      const end = () => {
        cancel()
        reject(stopped())
      }
      const cancel = clock.after(delayMs, () => {
        stopping.signal.removeEventListener('abort', end)
        resolve()
      })
      stopping.signal.addEventListener('abort', end, { once: true })
    })
  }

  const settle = async (id: string, lease: Lease) => {
    stopping.signal.throwIfAborted()
    await lease.check()
    if ((await orders.get(id)) === undefined) throw new OrderFailure('Nobody wants the certificate any more.')
  }

  /** Deletes the stored state of an order, and withdraws its challenges. */
  async function discard(id: string): Promise<void> {
    await challenges.withdraw(id)
    await documents.orders.delete(id)
  }

  /** The stored order goes on if it is for the same; otherwise it makes way for another. */
  async function prepare(wanted: OrderedCertificate, leftOut: readonly FailedName[]): Promise<OrderDocument> {
    const { id, acme } = wanted
    const domains = wanted.domains.filter(name => !leftOut.some(({ domain }) => domain === name))
    const asked = { challenge: acme.challenge ?? config.challenge, dnsProvider: acme.dnsProvider }
    const known = (await documents.orders.get(id))?.value
    if (known !== undefined) {
      const all = [...known.domains, ...known.leftOut.map(({ domain }) => domain)].sort().join(' ')
      const isSame =
        known.directory === config.directory &&
        known.challenge === asked.challenge &&
        known.dnsProvider === asked.dnsProvider &&
        all === [...wanted.domains].sort().join(' ')
      if (isSame && leftOut.length === 0) return known
      await discard(id)
    }
    const { dnsProvider, ...rest } = asked
    const order: OrderDocument = {
      ...rest,
      ...(dnsProvider === undefined ? undefined : { dnsProvider }),
      directory: config.directory,
      domains,
      leftOut: leftOut.map(name => ({ ...name })),
      startedMs: clock.now(),
      isAsked: false,
    }
    await documents.orders.put(id, order)
    return order
  }

  async function attempt(wanted: OrderedCertificate, lease: Lease, leftOut: readonly FailedName[] = []): Promise<void> {
    const { id } = wanted
    const order = await prepare(wanted, leftOut)
    if (order.challenge === 'dns-01' && dns.problem !== undefined) throw new OrderFailure(dns.problem)
    const { acme, chain } = wanted
    const isOfThisAuthority = chain !== undefined && acme.directory === config.directory
    const replaces = isOfThisAuthority ? await renewalInformation.idOf(chain).catch(() => undefined) : undefined
    const issued = await runOrder(id, {
      ...(replaces === undefined ? undefined : { replaces }),
      documents,
      accounts,
      challenges,
      preflight,
      pause,
      async onStep(step) {
        await settle(id, lease)
        await orders.note(id, state => ({ ...state, step }))
      },
    })
    await settle(id, lease)
    await finish(wanted, order, issued, lease)
  }

  /** Chain, key and the end of the order in one transaction; then its challenges go. */
  async function finish(
    { id }: OrderedCertificate,
    { domains, leftOut }: OrderDocument,
    issued: { readonly chain: string; readonly privateKey: string },
    lease: Lease,
  ): Promise<void> {
    const present = (await orders.get(id))!.acme
    const { nextAttemptMs: _next, window: _window, ...kept } = present
    const renewed: AcmeState = {
      ...kept,
      directory: config.directory,
      issuedDomains: [...domains],
      step: '',
      renewMs: renewalTime(issued.chain, random.float()),
    }
    const state: AcmeState = {
      ...renewed,
      ...(leftOut.length === 0
        ? { attempts: 0, lastError: '', failedDomains: [] }
        : failed(renewed, failureOfNames(leftOut), 0)),
    }
    const put = await orders.prepareIssued(id, { ...issued, domains }, state)
    await store.transaction(tx => {
      put(tx)
      tx.delete(documents.orders, id)
      lease.fence(tx)
    })
    await challenges.withdraw(id)
  }

  function failed(state: AcmeState, failure: OrderFailure, retryAfterMs: number) {
    const attempts = state.attempts + 1
    const nowMs = clock.now()
    const leftMs = renewsMs(state) - nowMs
    // A name that fails must not delay the renewal for the others: that of a certificate of few days would come too late.
    const untilRenewalMs = leftMs > 0 ? leftMs : Number.POSITIVE_INFINITY
    const waitMs = Math.min(pauseMs(attempts, random.float()), untilRenewalMs)
    return {
      attempts,
      lastError: failure.message.slice(0, 2000),
      failedDomains: failure.failedNames.map(name => ({ ...name })).slice(0, 100),
      nextAttemptMs: nowMs + Math.max(waitMs, retryAfterMs),
    }
  }

  /**
   * Makes one order; if names could not be validated, makes a second one without them at once, unless the present certificate has the others
   * and is not due.
   */
  async function attemptAll(wanted: OrderedCertificate, lease: Lease): Promise<void> {
    try {
      return await attempt(wanted, lease)
    } catch (error) {
      const failure = failureOf(error)
      if (failure.type === 'accountDoesNotExist') {
        await accounts.forgetUrl()
        await discard(wanted.id)
        return attempt(wanted, lease)
      }
      const { failedNames } = failure
      if (failedNames.length === 0) throw failure
      // The authority has not heard of those that failed before the order.
      const validated = failedNames.filter(({ step }) => step !== preflightStep)
      await accounts.countFailures(validated.map(({ domain }) => domain))
      const left = wanted.domains.filter(name => !failedNames.some(({ domain }) => domain === name))
      const isFirst = ((await documents.orders.get(wanted.id))?.value.leftOut.length ?? 0) === 0
      if (left.length === 0 || !isFirst) throw failure
      // Read again: a renewal may have been asked for meanwhile.
      const present = (await orders.get(wanted.id)) ?? wanted
      if (isInForceFor(present, left, config.directory, clock.now())) throw failure
      log.warn(
        { certificate: wanted.id, failedNames },
        'names could not be validated; the others are ordered without them',
      )
      return attempt(wanted, lease, failedNames)
    }
  }

  async function underLock(id: string, lease: Lease): Promise<void> {
    const wanted = await orders.get(id)
    // Read again: another thread may have done it.
    const reason = wanted && dueReason(wanted, config.directory, clock.now())
    if (wanted === undefined || reason === undefined) return
    log.info({ certificate: id, domains: wanted.domains, reason }, 'certificate is ordered')
    await orders.note(id, state => ({ ...state, step: 'account', lastAttemptMs: clock.now() }))
    try {
      await attemptAll(wanted, lease)
    } catch (error) {
      if (stopping.signal.aborted) throw error
      // Somebody else may hold it by now: the state of the order is theirs.
      await lease.check()
      return fail(id, failureOf(error))
    }
    onResult('success')
    log.info({ certificate: id }, 'certificate is issued')
  }

  async function fail(id: string, failure: OrderFailure): Promise<void> {
    // After a mere wait the same order continues.
    if (!failure.isTransient) await discard(id)
    const state = (await orders.get(id))?.acme
    if (state === undefined) return
    const { retryAfterMs } = failure
    const step = state.step
    const message = new OrderFailure(`${step}: ${failure.message}`, { failedNames: failure.failedNames })
    const outcome = failed(state, message, retryAfterMs)
    await orders.note(id, current => ({ ...current, ...outcome, step: '' }))
    onResult('failure')
    const nextAttempt = new Date(outcome.nextAttemptMs).toISOString()
    log.warn(
      { certificate: id, step, reason: failure.message, attempts: outcome.attempts, nextAttempt },
      'order failed',
    )
  }

  async function order(id: string): Promise<void> {
    try {
      await locks.hold(`svc/acme/${id}`, { source: 'acme' }, lease => underLock(id, lease))
    } catch (error) {
      if (stopping.signal.aborted) return
      // Another node orders it.
      if (isCatalogError(error) && error.code === 'conflict') return
      log.error({ err: error, certificate: id }, 'an order was given up; it is looked at again')
    } finally {
      running.delete(id)
      nextLookMs = Math.min(nextLookMs, clock.now() + 5000)
    }
  }

  /** Requests the renewal information, if the authority offers it and the last answer is old. */
  async function askForWindows(all: readonly OrderedCertificate[]): Promise<void> {
    const nowMs = clock.now()
    const asked = all.filter(({ id, acme, chain }) => {
      const isPresent = chain !== undefined && acme.directory === config.directory && !running.has(id)
      return isPresent && nowMs >= Math.max(acme.window?.askAgainMs ?? 0, askedAgainMs.get(id) ?? 0)
    })
    for (const { id, acme, chain } of asked.slice(0, windowsAtOnceMax)) {
      askedAgainMs.set(id, nowMs + askPauseMs)
      try {
        const window = await renewalInformation.ask(chain!, acme.window)
        if (window === undefined) continue
        askedAgainMs.delete(id)
        // Does not overwrite the state that an order has stored meanwhile.
        await orders.note(id, state => (state.step === '' ? { ...state, window } : state))
      } catch (error) {
        // The lifetime decides until it can be asked.
        log.debug({ err: error, certificate: id }, 'the authority could not be asked when to renew')
      }
    }
    if (asked.length > windowsAtOnceMax) nextLookMs = 0
    for (const id of askedAgainMs.keys()) if (!all.some(each => each.id === id)) askedAgainMs.delete(id)
  }

  /** Ended orders whose challenges were still published when the server stopped. An order is stored before it publishes anything. */
  async function withdrawEnded(): Promise<void> {
    for (const id of await challenges.published()) {
      if (!running.has(id) && (await documents.orders.get(id)) === undefined) await challenges.withdraw(id)
    }
  }

  /** Orders whose certificate is no longer requested. */
  async function forgetEnded(wanted: ReadonlySet<string>): Promise<void> {
    for (let startAfter: string | undefined = ''; startAfter !== undefined; ) {
      const page: Awaited<ReturnType<typeof documents.orders.list>> = await documents.orders.list({ startAfter })
      for (const { id } of page.documents) if (!wanted.has(id) && !running.has(id)) await discard(id)
      startAfter = page.next
    }
  }

  return {
    async renew(id, { force = false } = {}) {
      const wanted = await orders.get(id)
      const nextMs = wanted?.acme.nextAttemptMs
      if (!force && nextMs !== undefined && nextMs > clock.now()) {
        throw certificatesErrors.too_many_requests(
          `The last order failed: ${wanted!.acme.lastError} The authority is not asked again before ${new Date(nextMs).toISOString()}.`,
        )
      }
      // How often names may fail in an hour is counted with the account, and holds all the same.
      await orders.note(id, ({ nextAttemptMs, ...state }) => ({
        ...state,
        // Due until a new one is there, also where a name fails again or the server stops before.
        renewMs: clock.now(),
        ...(nextAttemptMs !== undefined && !force && { nextAttemptMs }),
        step: state.step === '' ? queuedStep : state.step,
      }))
    },

    async look() {
      if (clock.now() < nextLookMs || stopping.signal.aborted) return
      nextLookMs = clock.now() + lookEveryMs
      const all = await orders.list()
      await forgetEnded(new Set(all.map(({ id }) => id)))
      await withdrawEnded()
      await askForWindows(all)
      for (const wanted of await orders.list()) {
        const { nextAttemptMs } = wanted.acme
        if (nextAttemptMs !== undefined && nextAttemptMs > clock.now()) nextLookMs = Math.min(nextLookMs, nextAttemptMs)
        if (running.has(wanted.id) || dueReason(wanted, config.directory, clock.now()) === undefined) continue
        if (running.size >= atOnceMax) {
          nextLookMs = 0
          break
        }
        running.set(wanted.id, order(wanted.id))
      }
    },

    async stop() {
      unwatch()
      stopping.abort(stopped())
      await Promise.all(running.values())
    },
  }
}

const stopped = (): Error => new Error('the server stops')

const failureOfNames = (names: readonly FailedName[]): OrderFailure =>
  new OrderFailure(names.map(({ domain, error }) => `${domain}: ${error}`).join(' '), { failedNames: names })
