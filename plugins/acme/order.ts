/**
 * One order, from an account to a chain. Each step first stores what the next one needs, so that after a crash the order continues
 * where it was: the authority's own record of the order has its state.
 *
 * | Step | Stored before it | The authority says | A crash in it |
 * |---|---|---|---|
 * | `account` | the account's key | | the same key again is the same account |
 * | `preflight` | | | repeated: the authority has heard nothing |
 * | `order` | the order, without a URL | | the account's list of orders is searched for it before another is made |
 * | `publish` | the order's URL | `pending` | published again |
 * | `propagate` (dns-01) | the published values | `pending` | waited for again |
 * | `validate` | the answers to challenges | `pending` | validated again; valid authorizations stay valid |
 * | `finalize` | the certificate's key | `ready` | the same request with the same key |
 * | `download` | | `processing`, `valid` | asked again |
 */
import type { Authorization, Order } from 'acme-client'
import type { AccountSession, Accounts } from './accounts.ts'
import { newKey } from './accounts.ts'
import { plainWords } from './authority.ts'
import type { Challenges, Publication } from './challenges.ts'
import type { AcmeDocuments, OrderDocument } from './documents.ts'
import { type FailedName, failureOf, OrderFailure } from './failure.ts'
import { type Preflight, preflightStep } from './preflight.ts'

export type OrderStep =
  | 'account'
  | typeof preflightStep
  | 'order'
  | 'publish'
  | 'propagate'
  | 'validate'
  | 'finalize'
  | 'download'

export interface OrderOptions {
  readonly documents: AcmeDocuments
  readonly accounts: Accounts
  readonly challenges: Challenges
  readonly preflight: Preflight
  /** Resolves after so long; rejects when the server stops. */
  pause(delayMs: number): Promise<void>
  /** Called before each step. Rejects to end the order: its lock is lost, or the certificate is no longer requested. */
  onStep(step: OrderStep): Promise<void>
  /** The certificate that the order replaces (RFC 9773, 5), if the authority supports that. */
  readonly replaces?: string
}

export interface Issued {
  readonly chain: string
  readonly privateKey: string
}

const retriesMax = 5
/** Pauses between polls: 0.5 s, doubled up to 8 s, for about ten minutes. */
const pollsMax = 80
const pollMsMin = 500
const pollMsMax = 8000
/** Maximum number of the account's orders that are searched for one whose URL was lost in a crash. */
const searchedOrdersMax = 20

/** Rejects with OrderFailure. */
export async function runOrder(id: string, options: OrderOptions): Promise<Issued> {
  const { documents, accounts, challenges, preflight, pause, onStep, replaces } = options
  const { orders } = documents

  let noticed: ReadonlyMap<string, string> = new Map()

  const read = async (): Promise<OrderDocument> => {
    const document = await orders.get(id)
    if (document === undefined) throw new OrderFailure('The order was withdrawn.')
    return document.value
  }
  const change = (make: (order: OrderDocument) => OrderDocument) =>
    orders.update(id, current => (current === undefined ? undefined : make(current.value)))

  /** Repeats a request after transient failures; it must be safe to send twice. */
  async function patiently<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work()
      } catch (error) {
        const failure = failureOf(error)
        if (!failure.isTransient || attempt > retriesMax || failure.retryAfterMs > 60_000) throw failure
        await pause(Math.max(failure.retryAfterMs, pollMsMin * 2 ** attempt))
      }
    }
  }

  async function openAccount(): Promise<AccountSession> {
    await onStep('account')
    return patiently(accounts.open)
  }

  /** The order at the authority: the current one, or a new one. */
  async function openOrder(session: AccountSession): Promise<Order> {
    const { url, domains, isAsked } = await read()
    if (url !== undefined) return getOrder(session, url)
    if (!isAsked) await lookAhead(session)
    await onStep('order')
    const lost = isAsked ? await findLost(session, domains) : undefined
    const order = lost ?? (await createOrder(session, domains))
    await change(current => ({ ...current, url: order.url }))
    return order
  }

  async function lookAhead({ client }: AccountSession): Promise<void> {
    await onStep(preflightStep)
    const { domains, challenge } = await read()
    const identities = await patiently(() => caaIdentities(client))
    const accountUrl = client.getAccountUrl()
    noticed = await preflight.check({ certificate: id, domains, challenge, identities, accountUrl })
  }

  async function createOrder({ client }: AccountSession, domains: readonly string[]): Promise<Order> {
    await accounts.spendOrder(domains)
    await change(current => ({ ...current, isAsked: true }))
    const identifiers = domains.map(value => ({ type: 'dns', value }))
    // Never sent twice on a doubt: an answer that was lost is found in the account's list.
    if (replaces === undefined) return client.createOrder({ identifiers })
    try {
      return await client.createOrder({ identifiers, replaces } as never)
    } catch (error) {
      // Another order has replaced it; without the word the authority only does not know that the two belong together.
      if (failureOf(error).type !== 'alreadyReplaced') throw error
      return client.createOrder({ identifiers })
    }
  }

  const getOrder = ({ client }: AccountSession, url: string) => patiently(() => client.getOrder({ url } as Order))

  async function poll<T extends { readonly status: string }>(
    ask: () => Promise<T>,
    isOver: (item: T) => boolean,
  ): Promise<T> {
    for (let count = 0; count < pollsMax; count++) {
      const item = await patiently(ask)
      if (isOver(item)) return item
      await pause(Math.min(pollMsMin * 2 ** count, pollMsMax))
    }
    throw new OrderFailure('The authority did not complete the order within ten minutes.', { isTransient: true })
  }

  async function authorize(session: AccountSession, order: Order): Promise<Order> {
    const { client, library } = session
    await onStep('publish')
    const { challenge, dnsProvider } = await read()
    const authorizations = await patiently(() => client.getAuthorizations(order))
    const waiting = authorizations.filter(({ status }) => status === 'pending')
    const asked = await Promise.all(
      waiting.map(async authorization => {
        const found = challengeOf(authorization, challenge)
        const keyAuthorization = await client.getChallengeKeyAuthorization(found)
        const publication: Publication = {
          certificate: id,
          type: challenge,
          domain: authorization.identifier.value,
          token: (found as { token: string }).token,
          keyAuthorization,
          ...(dnsProvider === undefined ? undefined : { dnsProvider }),
        }
        return { authorization, found, publication }
      }),
    )
    const propagate = await challenges.publish(
      asked.map(({ publication }) => publication),
      library,
    )
    if (propagate !== undefined) {
      await onStep('propagate')
      await propagate()
    }
    await onStep('validate')
    for (const { found } of asked) {
      // One that the authority is at already has been asked for before a crash.
      if (found.status === 'pending') await patiently(() => client.completeChallenge(found))
    }
    const isDecided = ({ status }: Authorization) => status !== 'pending'
    const decided = await Promise.all(
      authorizations.map(each =>
        isDecided(each)
          ? each
          : poll(async () => (await client.getAuthorizations({ authorizations: [each.url] } as never))[0]!, isDecided),
      ),
    )
    const failed = decided.filter(({ status }) => status !== 'valid').map(failedName)
    if (failed.length > 0) throw namesFailed(failed.map(withNotice))
    return poll(
      () => client.getOrder(order),
      ({ status }) => status !== 'pending',
    )
  }

  async function finalize({ client, library }: AccountSession, order: Order): Promise<Order> {
    await onStep('finalize')
    const { domains, key: known } = await read()
    const key = known ?? newKey()
    if (known === undefined) await change(current => ({ ...current, key }))
    const [, csr] = await library.crypto.createCsr({ altNames: [...domains] }, key)
    return patiently(() => client.finalizeOrder(order, csr))
  }

  /** Adds to the authority's error what this server noticed about the name. */
  function withNotice({ error, ...name }: FailedName): FailedName {
    const notice = noticed.get(name.domain)
    return { ...name, error: notice === undefined ? error : `${error} Seen from here before the order: ${notice}.` }
  }

  const session = await openAccount()
  let order = await openOrder(session)
  if (order.status === 'pending') order = await authorize(session, order)
  if (order.status === 'ready') order = await finalize(session, order)
  await onStep('download')
  const { client } = session
  order = await poll(
    () => client.getOrder({ url: order.url } as Order),
    ({ status }) => status !== 'processing',
  )
  const { key } = await read()
  if (order.status !== 'valid' || key === undefined) throw await brokenOrder(session, order)
  const chain = await patiently(() => client.getCertificate(order))
  return { chain, privateKey: key }
}

/** How CAA records name the authority. The library keeps the directory, and has no public function for this field of it. */
async function caaIdentities(client: AccountSession['client']): Promise<readonly string[]> {
  const { http } = client as unknown as { http: { getMetaField(name: string): Promise<unknown> } }
  const found = await http.getMetaField('caaIdentities')
  return Array.isArray(found) ? found.filter(each => typeof each === 'string') : []
}

function challengeOf(authorization: Authorization, type: string) {
  const found = authorization.challenges.find(challenge => challenge.type === type)
  if (found !== undefined) return found
  const { value } = authorization.identifier
  const offered = authorization.challenges.map(challenge => challenge.type).join(', ')
  const error = `The authority does not validate it by ${type}, only by ${offered}.`
  throw namesFailed([{ domain: value, step: 'publish', error }])
}

function failedName({ identifier, status, challenges = [] }: Authorization): FailedName {
  const errors = challenges.map(challenge => (challenge as { error?: { detail?: string; type?: string } }).error)
  const found = errors.find(error => error !== undefined)
  return {
    domain: identifier.value,
    step: 'validate',
    error: plainWords(found?.detail ?? `The authorization is ${status}.`),
  }
}

function namesFailed(failedNames: readonly FailedName[]): OrderFailure {
  return new OrderFailure(failedNames.map(({ domain, error }) => `${domain}: ${error}`).join(' '), { failedNames })
}

/** The reason for the state of an order, from its authorizations. */
async function brokenOrder({ client }: AccountSession, order: Order): Promise<OrderFailure> {
  const { error } = order as { error?: { detail?: string } }
  const authorizations = await client.getAuthorizations(order)
  const failed = authorizations.filter(({ status }) => status === 'invalid').map(failedName)
  if (failed.length > 0) return namesFailed(failed)
  return new OrderFailure(
    `The order is ${order.status}: ${plainWords(error?.detail ?? 'the authority gives no reason')}`,
  )
}

/** An order for the same names that the authority has and we do not know of (RFC 8555, 7.1.2.1). Not every authority keeps such a list. */
async function findLost({ client }: AccountSession, domains: readonly string[]): Promise<Order | undefined> {
  const wanted = [...domains].sort().join(' ')
  try {
    const account = (await client.updateAccount({})) as { orders?: string }
    if (account.orders === undefined) return undefined
    const urls = await readOrderList(client, account.orders)
    for (const url of urls.slice(-searchedOrdersMax).reverse()) {
      const order = await client.getOrder({ url } as Order)
      const names = order.identifiers
        .map(({ value }) => value)
        .sort()
        .join(' ')
      if (names === wanted && (order.status === 'pending' || order.status === 'ready')) return order
    }
  } catch (error) {
    const failure = failureOf(error)
    // A new order is better than none; an authority that cannot be asked will not take one either.
    if (failure.isTransient || failure.type === 'accountDoesNotExist') throw failure
  }
  return undefined
}

/** The library has no such request, but exposes the function that signs and sends all of its requests. */
async function readOrderList(client: AccountSession['client'], url: string): Promise<readonly string[]> {
  const { api } = client as unknown as {
    api: { apiRequest(url: string, payload: null, statuses: number[]): Promise<{ data: { orders?: string[] } }> }
  }
  const { data } = await api.apiRequest(url, null, [200])
  return Array.isArray(data.orders) ? data.orders.filter(each => typeof each === 'string') : []
}
