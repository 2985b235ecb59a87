/**
 * The cases that the contract suites of `notify.target` and `audit.sink` share. They run against the real service.
 *
 * An attempt that ends by itself takes at most the timeout of the settings and the delays of timers, counted in ticks of this process. The
 * signal ends any other attempt after `deliveryMsMax`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import type { Logger } from 'svc/kernel'
import type { ContractCase } from 'svc/testing'
import { eventually } from 'svc/testing'
import type { Test } from 'tap'
import type { TObject } from 'typebox'
import { Value } from 'typebox/value'

export interface ContractTarget<Message> {
  readonly batchMax?: number
  send(messages: readonly Message[], signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

export interface ContractTargetKind<Target> {
  readonly description: string
  readonly settings: TObject
  // biome-ignore lint/suspicious/noExplicitAny: each kind has its own settings
  validate?(settings: any, id: string): readonly unknown[]
  // biome-ignore lint/suspicious/noExplicitAny: see above
  endpoint(settings: any): string
  // biome-ignore lint/suspicious/noExplicitAny: see above
  connect(settings: any, context: { readonly id: string; readonly log: Logger }): Target
}

export interface ContractSubject<Target> {
  readonly kind: ContractTargetKind<Target>
  /** Settings that reach the service. Missing keys have their defaults. */
  readonly settings: Readonly<Record<string, unknown>>
  /** Texts that no error, log line or endpoint may contain: passwords, tokens. At least 8 characters each. */
  readonly secrets: readonly string[]
  /** Timeout of one attempt, as in the settings; at most 3 s, to keep the suite short. */
  readonly timeoutMs: number
  /** Stops the service and its connections. Resolves when nothing answers. */
  stop(): Promise<void>
  /** Starts the service again at the same address, perhaps without its data. Resolves when it answers. */
  start(): Promise<void>
  /** Until `resume` the service accepts connections and bytes and answers nothing. (SIGSTOP does that.) */
  hang?(): Promise<void>
  resume?(): Promise<void>
  /** Settings that the service refuses, such as a wrong password. Their secrets are in `secrets`, too. */
  readonly refusedSettings?: Readonly<Record<string, unknown>>
}

export interface ContractMessages<Message, Subject> {
  /** A new message each time, about this key. */
  make(key: string): Message
  /** Waits until the service has all messages; fails the test when it does not get them. */
  requireReceived(t: Test, subject: Subject, messages: readonly Message[]): Promise<void>
  /** Whether the service has it now. */
  isReceived(subject: Subject, message: Message): Promise<boolean>
}

/**
 * More than the delays of timers and the scheduler, also where a client works in a thread of its own on a busy machine; an attempt that does not end by
 * itself takes `deliveryMsMax`, which is far more.
 */
const graceMs = 20_000
/** Time is counted in ticks, because a process that is held up has fewer of them. */
const tickMs = 250
/** Maximum time of one attempt or wait. */
export const deliveryMsMax = 60_000

/** The first attempt may find a lost connection. */
const attemptsMax = 3

/** For attempts that must succeed on a busy machine. */
const patient = { timeout: 30_000 }
/** With the timeout of the subject, for attempts that must end with it. */
const hasty = {}

/**
 * Connects with the settings of the subject except their `timeout`; closes at the end of the test and checks that the log has no secret.
 */
export function connectTarget<Message, Target extends ContractTarget<Message>>(
  t: Test,
  subject: ContractSubject<Target>,
  change: Readonly<Record<string, unknown>> = patient,
) {
  const lines: string[] = []
  const log = pino({ level: 'debug' }, { write: line => void lines.push(line) })
  const settings = withDefaults(subject.kind.settings, { ...subject.settings, ...change })
  const target = subject.kind.connect(settings, { id: 'contract', log })
  t.teardown(async () => {
    await target.close()
    requireNoSecret(subject, lines.join(''), 'the log')
  })
  return {
    target,
    send: (...messages: readonly Message[]) => target.send(messages, AbortSignal.timeout(deliveryMsMax)),
    /** The message of the error, as operators see it; fails the test without an error, or when it has a secret. */
    async failure(sent: Promise<unknown>): Promise<string> {
      const error = await sent.then(
        () => undefined,
        (cause: unknown) => cause,
      )
      if (!t.ok(error instanceof Error, 'it rejects, with an error')) return ''
      const { message } = error as Error
      t.not(message, '', 'the error has a message')
      for (let at: unknown = error; at instanceof Error; at = at.cause) requireNoSecret(subject, at.message, 'an error')
      return message
    },
  }
}

function withDefaults(schema: TObject, settings: Readonly<Record<string, unknown>>) {
  return Object.freeze(Value.Default(schema, { ...settings }) as Record<string, unknown>)
}

/** Throws, which fails a test after its end, too; does not print the secret. */
function requireNoSecret({ secrets }: { readonly secrets: readonly string[] }, text: string, where: string): void {
  // In a URL a secret is percent-encoded.
  if (secrets.some(secret => text.includes(secret) || text.includes(encodeURIComponent(secret)))) {
    throw new Error(`${where} contains a secret`)
  }
}

/** Sends again after a rejection, as the queue does. A target that then fails has not noticed that its service is back. */
async function sendAgain(send: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send()
    } catch (error) {
      if (attempt === attemptsMax) throw error
      await sleep(100)
    }
  }
}

/** Whether the work ended within that time. Resolves when it has ended, either way. */
async function isDoneWithin(limitMs: number, work: Promise<unknown>): Promise<boolean> {
  const ended = work.then(() => true)
  for (let left = Math.ceil(limitMs / tickMs); left > 0; left--) {
    if (await Promise.race([ended, sleep(tickMs, false)])) return true
  }
  await ended
  return false
}

/** How many of each kind of socket and timer the process has, the test's own among them. */
function openResources(): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of process.getActiveResourcesInfo()) {
    // Files and DNS lookups come and go by themselves.
    if (/socket|TCP|TLS|Pipe|Timeout|UDP/i.test(name)) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return counts
}

function added(before: ReadonlyMap<string, number>): readonly string[] {
  return [...openResources()].flatMap(([name, count]) => (count > (before.get(name) ?? 0) ? [name] : []))
}

interface KeyFacts {
  readonly description?: unknown
  readonly secret?: boolean
  readonly destination?: boolean
}

export function targetCases<Message, Target extends ContractTarget<Message>, Subject extends ContractSubject<Target>>({
  make,
  requireReceived,
  isReceived,
}: ContractMessages<Message, Subject>): Readonly<Record<string, ContractCase<Subject>>> {
  const connect = (t: Test, subject: Subject, change: Readonly<Record<string, unknown>> = patient) =>
    connectTarget<Message, Target>(t, subject, change)
  const requireInTime = async (t: Test, subject: Subject, work: Promise<unknown>) =>
    t.ok(await isDoneWithin(subject.timeoutMs + graceMs, work), 'it ends by itself')

  return {
    'a lost connection is made again': async (t, subject) => {
      const { send } = connect(t, subject)
      const before = make('before')
      await send(before)
      await requireReceived(t, subject, [before])
      await subject.stop()
      await subject.start()
      const after = make('after')
      // The first attempt may find the lost connection.
      await sendAgain(() => send(after))
      await requireReceived(t, subject, [after])
    },

    'a service that is down is an error within the timeout, and none as soon as it is back': async (t, subject) => {
      await subject.stop()
      const { target, send, failure } = connect(t, subject, hasty)
      const messages = Array.from({ length: Math.min(target.batchMax ?? 1, 200) }, (_, i) => make(`batch/${i}`))
      for (let attempt = 1; attempt <= 2; attempt++) {
        await requireInTime(t, subject, failure(send(...messages)))
      }
      await subject.start()
      await sendAgain(() => send(...messages))
      await requireReceived(t, subject, messages)
    },

    'a service that answers nothing is an error within the timeout, and none when it goes on': async (t, subject) => {
      if (subject.hang === undefined) return void t.pass('the author cannot make it hang')
      const { send, failure } = connect(t, subject, hasty)
      const first = make('first')
      await sendAgain(() => send(first))
      await requireReceived(t, subject, [first])
      await subject.hang()
      try {
        await requireInTime(t, subject, failure(send(make('hanging'))))
      } finally {
        await subject.resume!()
      }
      const last = make('last')
      await sendAgain(() => send(last))
      await requireReceived(t, subject, [last])
    },

    'an attempt ends when its signal is aborted, and none begins after it': async (t, subject) => {
      const { target, send, failure } = connect(t, subject)
      const never = make('never')
      await failure(target.send([never], AbortSignal.abort()))
      await send(make('sent'))
      t.notOk(await isReceived(subject, never), 'nothing was sent')
      if (subject.hang === undefined) return
      const other = connect(t, subject, hasty)
      await sendAgain(() => other.send(make('other')))
      await subject.hang()
      try {
        const controller = new AbortController()
        const aborted = failure(target.send([make('aborted')], controller.signal)).then(() => 'the aborted attempt')
        await sleep(50)
        controller.abort()
        // It begins later and ends with its timeout.
        const timedOut = other.failure(other.send(make('slow'))).then(() => 'the attempt with a timeout')
        t.equal(await Promise.race([aborted, timedOut]), 'the aborted attempt')
        await Promise.all([aborted, timedOut])
      } finally {
        await subject.resume!()
      }
    },

    'closing ends attempts under way, may be repeated, and leaves nothing open': async (t, subject) => {
      // The connection of `isReceived` in this process counts as open before the test.
      await isReceived(subject, make('asked'))
      await sleep(100)
      const before = openResources()
      const { target, send, failure } = connect(t, subject)
      await send(make('open'))
      await subject.hang?.()
      try {
        const underWay = send(make('under way')).catch(() => undefined)
        await sleep(50)
        const closed = Promise.all([target.close(), target.close()])
        t.ok(await isDoneWithin(2000, closed), 'it closes within two seconds')
        await underWay
      } finally {
        await subject.resume?.()
      }
      await target.close()
      await failure(send(make('closed')))
      await eventually(
        () => added(before),
        left => left.length === 0,
        deliveryMsMax,
      )
      t.same(added(before), [], 'no socket and no timer is left')
      const unused = connect(t, subject)
      await unused.target.close()
    },

    'settings that the service refuses give an error without the secret': async (t, subject) => {
      if (subject.refusedSettings === undefined) return void t.pass('the service refuses nobody')
      const { send, failure } = connect(t, subject, { ...patient, ...subject.refusedSettings })
      await failure(send(make('refused')))
    },

    'the endpoint for operators has no secrets; every setting has a description and a default': async (t, subject) => {
      const { kind } = subject
      const endpoint = kind.endpoint(withDefaults(kind.settings, subject.settings))
      t.not(endpoint, '')
      requireNoSecret(subject, endpoint, 'the endpoint')
      t.doesNotThrow(() => kind.endpoint(withDefaults(kind.settings, {})), 'also of a target that is not configured')
      t.not(kind.description, '')
      const keys = Object.entries(kind.settings.properties) as unknown as readonly (readonly [string, KeyFacts])[]
      for (const [key, schema] of keys) {
        t.match(key, /^[a-z][a-z0-9_]*$/)
        t.type(schema.description, 'string', `${key} is described`)
        t.ok('default' in schema, `${key} has a default`)
      }
      t.same(kind.validate?.(withDefaults(kind.settings, subject.settings), 'contract') ?? [], [])
      if (!keys.some(([, { secret }]) => secret)) return
      // The settings whose value is the address of the service must be declared as destinations.
      const places = Object.keys(subject.settings).filter(key =>
        /127\.0\.0\.1|localhost|\[::1\]/.test(String(subject.settings[key])),
      )
      for (const place of places) {
        t.equal(
          keys.find(([key]) => key === place)?.[1].destination,
          true,
          `${place} is declared as the destination of secrets`,
        )
      }
      t.not(places.length, 0, 'some key has the address of the service')
    },
  }
}
