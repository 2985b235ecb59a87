/** Accounts at authorities, one for each directory. The key is stored before the authority hears of it, so that a crash makes no second one. */
import { generateKeyPairSync } from 'node:crypto'
import type { Clock } from 'svc/kernel'
import { isCatalogError } from 'svc/kernel'
import type { HttpClient } from 'svc/plugins/http-client/api'
import { type AcmeClient, type AcmeLibrary, loadAcme } from './authority.ts'
import { allowedMs, withFailures, withOrder } from './budget.ts'
import type { AcmeConfig } from './config.ts'
import type { AccountDocument, AcmeDocuments } from './documents.ts'
import { OrderFailure } from './failure.ts'

export interface AccountSession {
  readonly client: AcmeClient
  readonly library: AcmeLibrary
}

export interface Accounts {
  /** Registers the account where it is not, and brings its e-mail address up to date. */
  open(): Promise<AccountSession>
  /** The authority does not know the account any more: the next `open` registers it again. */
  forgetUrl(): Promise<void>
  /** Before a new order: throws an error with the earliest time if it must wait, otherwise counts it. */
  spendOrder(domains: readonly string[]): Promise<void>
  countFailures(domains: readonly string[]): Promise<void>
}

export function createAccounts(
  { accounts }: AcmeDocuments,
  config: AcmeConfig,
  http: HttpClient,
  clock: Clock,
): Accounts {
  const { directory, email, eabKeyId, eabHmacKey } = config

  async function stored(): Promise<AccountDocument> {
    const known = await accounts.get(directory)
    if (known !== undefined) return known.value
    try {
      await accounts.put(directory, { key: newKey(), orderedMs: [], failures: [] }, { ifNoneMatch: '*' })
    } catch (error) {
      // Another order was faster: its key counts.
      if (!isCatalogError(error) || error.code !== 'precondition_failed') throw error
    }
    return (await accounts.get(directory))!.value
  }

  const change = (make: (account: AccountDocument) => AccountDocument) =>
    accounts.update(directory, current => (current === undefined ? undefined : make(current.value)))

  return {
    async open() {
      const account = await stored()
      const library = await loadAcme(http, clock)
      const client = new library.Client({
        directoryUrl: directory,
        accountKey: account.key,
        ...(account.url === undefined ? undefined : { accountUrl: account.url }),
        ...(eabKeyId === undefined ? undefined : { externalAccountBinding: { kid: eabKeyId, hmacKey: eabHmacKey! } }),
      })
      if (account.url !== undefined && account.email === email) return { client, library }
      const contact = email === undefined ? [] : [`mailto:${email}`]
      if (account.url === undefined) await client.createAccount({ termsOfServiceAgreed: true, contact })
      else await client.updateAccount({ contact })
      const url = client.getAccountUrl()
      await change(({ email: _former, ...rest }) => ({
        ...rest,
        url,
        ...(email === undefined ? undefined : { email }),
      }))
      return { client, library }
    },

    async forgetUrl() {
      await change(({ url: _url, ...rest }) => rest)
    },

    async spendOrder(domains) {
      const nowMs = clock.now()
      const account = await stored()
      const untilMs = allowedMs(account, domains, nowMs)
      if (untilMs > nowMs) {
        throw new OrderFailure(
          `The authority was asked too often in the last hours; it is asked again at ${new Date(untilMs).toISOString()}.`,
          { isTransient: true, retryAfterMs: untilMs - nowMs, type: 'budget' },
        )
      }
      await change(current => withOrder(current, nowMs))
    },

    async countFailures(domains) {
      await change(current => withFailures(current, domains, clock.now()))
    },
  }
}

/** P-256, as PEM (PKCS #8). */
export function newKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}
