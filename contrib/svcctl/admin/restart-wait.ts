/** Waits until the server has begun anew, or has ended. */
import { setTimeout as sleep } from 'node:timers/promises'
import { AnswerError, ConnectionError, exitCodes, failure } from '../errors.ts'
import type { AdminClient } from './client.ts'

const askedEveryMs = 200
/** A stop takes 30 s at most (SVC_STOP_TIMEOUT) where no plugin hangs; a start reads the drives. */
export const waitedMsMax = 120_000

/** How the server is: `startedAt` where it serves, otherwise why it does not. */
type State = { readonly startedAt: string } | { readonly refusal: AnswerError } | { readonly silence: ConnectionError }

const probe = { operation: 'getServerInfo', method: 'GET', path: '/info' } as const

/** When the server started; undefined where these credentials may not see that. */
export async function readStart(client: AdminClient): Promise<string | undefined> {
  try {
    return ((await client.send(probe)).body as { readonly startedAt: string }).startedAt
  } catch (error) {
    if (error instanceof AnswerError && error.exitCode === exitCodes.denied) return undefined
    throw error
  }
}

async function askState(client: AdminClient): Promise<State> {
  try {
    const { body } = await client.send({ ...probe, isProbe: true })
    return body as { readonly startedAt: string }
  } catch (error) {
    if (error instanceof ConnectionError) return { silence: error }
    if (error instanceof AnswerError) return { refusal: error }
    throw error
  }
}

interface WaitOptions {
  /** When the former process was started. */
  readonly startedAt: string
  /** Maximum time from now. */
  readonly withinMs: number
}

const isPassing = ({ status }: AnswerError): boolean => status === 503 || status === 429

/** Resolves with the new start. Throws at once where the server refuses for another reason than its stop or start. */
export async function waitForStart(client: AdminClient, { startedAt, withinMs }: WaitOptions): Promise<string> {
  const last = await poll(client, withinMs, state =>
    'startedAt' in state ? state.startedAt !== startedAt : 'refusal' in state && !isPassing(state.refusal),
  )
  if ('startedAt' in last && last.startedAt !== startedAt) return last.startedAt
  if ('refusal' in last && !isPassing(last.refusal)) throw last.refusal
  const seconds = Math.round(withinMs / 1000)
  throw failure(
    'restart_timeout',
    'silence' in last
      ? `The server has stopped, but does not answer again after ${seconds} s: ${last.silence.message} Its log has the reason.`
      : 'refusal' in last
        ? `The server has not begun anew within ${seconds} s; it says: ${last.refusal.message}`
        : `The server has not begun anew within ${seconds} s: it still serves as started at ${last.startedAt}.`,
  )
}

/** Resolves when nothing answers any more. */
export async function waitForEnd(client: AdminClient, { startedAt, withinMs }: WaitOptions): Promise<void> {
  const isNew = (state: State) => 'startedAt' in state && startedAt !== '' && state.startedAt !== startedAt
  const isEnded = (state: State) => 'silence' in state && state.silence.code === 'ECONNREFUSED'
  const last = await poll(client, withinMs, state => isEnded(state) || isNew(state))
  if (isEnded(last)) return
  if (isNew(last)) throw failure('started_again', 'The server has stopped, and something has started it again.')
  const said = 'refusal' in last ? ` It says: ${last.refusal.message}` : ''
  throw failure('stop_timeout', `The server still answers after ${Math.round(withinMs / 1000)} s.${said}`)
}

/** The first state that satisfies the condition, or the last one in this time. */
async function poll(client: AdminClient, withinMs: number, isRight: (state: State) => boolean): Promise<State> {
  const endMs = performance.now() + withinMs
  for (;;) {
    const state = await askState(client)
    if (isRight(state) || performance.now() >= endMs) return state
    await sleep(askedEveryMs)
  }
}
