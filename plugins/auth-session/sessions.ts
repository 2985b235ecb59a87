/**
 * The sessions, by the hash of their cookie. All sessions live equally long, so they end in the order in which they began. The CSRF token
 * is not kept, because it can be computed from the cookie: HMAC(key of this process, cookie).
 */
import { createHash, createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { Clock, Random } from 'svc/kernel'
import type { ActiveSession, IamService, Identity, Session } from 'svc/plugins/iam/api'
import { atOnce } from './at-once.ts'
import { cookiePattern } from './cookie.ts'

/** Where no setting says otherwise. */
export const sessionLifetimeMs = 12 * 3600_000
/**
 * Of all access keys of a user together: one of the key with the most sessions ends when another would be too many. All keys of root
 * without limits count as root; those with limits count together, but not as root, because others may hold them.
 */
export const sessionsPerUserMax = 64
/** One of the user with the most sessions ends when another would be too many, never one of root. */
export const sessionsMax = 10_000

export interface Sessions {
  /** A new one, with a cookie that nobody has had before. */
  begin(identity: Identity): { readonly cookie: string; readonly session: ActiveSession }
  /** Undefined when it has ended, also because the credentials are no longer those of the login. */
  find(cookie: string): ActiveSession | undefined
  endAll(accessKey: string, exceptId?: string): void
  /** See `AuthSessionService`. */
  keepThrough<T>(id: string, newSecretKey: string, change: () => Promise<T>): Promise<T>
  /** Ends those of an access key, or of any, whose credentials are no longer those of the login. */
  recheck(accessKey: string | undefined): void
  readonly size: number
  close(): void
}

interface Kept extends Session {
  readonly hash: string
  /** Whose share of all sessions it belongs to; undefined: that of root. */
  readonly user: string | undefined
  credentialsMark: Buffer
  /** Mark of the secret that the session's own user is about to set. */
  nextMark: Buffer | undefined
  readonly listeners: Set<() => void>
  cancelTimer: (() => void) | undefined
}

export interface SessionsOptions {
  readonly iam: Pick<IamService, 'credentials' | 'verificationKey'>
  readonly clock: Clock
  readonly random: Random
  /** Lifetime of sessions. Must not change while sessions exist. */
  readonly lifetimeMs?: () => number
}

export function createSessions({
  iam,
  clock,
  random,
  lifetimeMs = () => sessionLifetimeMs,
}: SessionsOptions): Sessions {
  const sessions = new Map<string, Kept>()
  const csrfKey = random.bytes(32)

  function remove(kept: Kept): void {
    if (!sessions.delete(kept.hash)) return
    kept.cancelTimer?.()
    for (const listener of kept.listeners) listener()
    kept.listeners.clear()
  }

  /** Removes expired sessions, and one beyond each bound. Whoever has the most gives it, so that nobody can sign others out. */
  function makeRoom(user: string | undefined): void {
    for (const kept of sessions.values()) {
      if (kept.expiresAtMs > clock.now()) break
      remove(kept)
    }
    const own = [...sessions.values()].filter(kept => kept.user === user)
    if (own.length >= sessionsPerUserMax) remove(oldestOfMost(own, kept => kept.accessKey))
    if (sessions.size < sessionsMax) return
    const others = [...sessions.values()].filter(kept => kept.user !== undefined)
    remove(oldestOfMost(others, kept => kept.user))
  }

  /** Who it is now; undefined, and the session gone, when secret or key are not those of the login. */
  function identityOf(kept: Kept): Identity | undefined {
    const key = atOnce(iam.verificationKey(kept.accessKey))
    const identity = atOnce(iam.credentials(kept.accessKey))?.identity
    if (kept.expiresAtMs > clock.now() && key !== undefined && identity !== undefined) {
      const mark = credentialsMark(key)
      if (timingSafeEqual(mark, kept.credentialsMark)) return identity
      if (kept.nextMark !== undefined && timingSafeEqual(mark, kept.nextMark)) return identity
    }
    remove(kept)
    return undefined
  }

  /** What outlives its request asks for its session no more: it has to be told when the time is over. */
  function watch(kept: Kept): void {
    kept.cancelTimer ??= clock.after(kept.expiresAtMs - clock.now(), () => remove(kept))
  }

  function activate(kept: Kept, identity: Identity, cookie: string): ActiveSession {
    const csrfToken = createHmac('sha256', csrfKey).update(cookie).digest('base64url')
    const { id, accessKey, issuedAtMs, expiresAtMs } = kept
    return {
      id,
      accessKey,
      issuedAtMs,
      expiresAtMs,
      identity,
      csrfToken,
      hasCsrfToken: text => text !== undefined && equalInConstantTime(text, csrfToken),
      onEnd(listener) {
        kept.listeners.add(listener)
        watch(kept)
        return () => {
          kept.listeners.delete(listener)
        }
      },
      end: () => remove(kept),
    }
  }

  return {
    begin(identity) {
      const { accessKey } = identity
      const key = atOnce(iam.verificationKey(accessKey))
      if (key === undefined) throw new Error('a session begins with an access key that exists')
      const user = identity.isRoot ? undefined : (identity.userName ?? accessKey)
      makeRoom(user)
      const cookie = random.bytes(32).toString('base64url')
      const issuedAtMs = clock.now()
      const kept: Kept = {
        id: random.bytes(16).toString('hex'),
        accessKey,
        issuedAtMs,
        expiresAtMs: issuedAtMs + lifetimeMs(),
        hash: hashOf(cookie),
        user,
        credentialsMark: credentialsMark(key),
        nextMark: undefined,
        listeners: new Set(),
        cancelTimer: undefined,
      }
      sessions.set(kept.hash, kept)
      return { cookie, session: activate(kept, identity, cookie) }
    },

    find(cookie) {
      if (!cookiePattern.test(cookie)) return undefined
      const kept = sessions.get(hashOf(cookie))
      const identity = kept === undefined ? undefined : identityOf(kept)
      return kept === undefined || identity === undefined ? undefined : activate(kept, identity, cookie)
    },

    endAll(accessKey, exceptId) {
      for (const kept of [...sessions.values()]) {
        if (kept.accessKey === accessKey && kept.id !== exceptId) remove(kept)
      }
    },

    async keepThrough(id, newSecretKey, change) {
      const kept = [...sessions.values()].find(one => one.id === id)
      const mark = credentialsMark(createSecretKey(newSecretKey, 'utf8'))
      if (kept !== undefined) kept.nextMark = mark
      try {
        const result = await change()
        if (kept !== undefined) kept.credentialsMark = mark
        return result
      } finally {
        if (kept?.nextMark === mark) kept.nextMark = undefined
      }
    },

    recheck(accessKey) {
      for (const kept of [...sessions.values()]) {
        if (accessKey === undefined || kept.accessKey === accessKey) identityOf(kept)
      }
    },

    get size() {
      return sessions.size
    },

    close() {
      for (const kept of [...sessions.values()]) remove(kept)
    },
  }
}

/** The oldest session of the group with the most sessions. `all` is not empty and in the order in which they began. */
function oldestOfMost(all: readonly Kept[], groupOf: (kept: Kept) => string | undefined): Kept {
  const groups = [...Map.groupBy(all, groupOf).values()]
  return groups.reduce((most, group) => (group.length > most.length ? group : most))[0]!
}

/** The map is searched by it: how long that takes tells of the hash, and nothing of the cookie. */
function hashOf(cookie: string): string {
  return createHash('sha256').update(cookie).digest('base64url')
}

/** Changes with the secret, and does not give it away to whoever reads our memory. */
function credentialsMark(key: KeyObject): Buffer {
  return createHash('sha256').update('svc session\n').update(key.export()).digest()
}

export function equalInConstantTime(given: string, known: string): boolean {
  return timingSafeEqual(digest(given), digest(known))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
