/** Waits for the end of a job that an operation has started, and tells now and then how far it is. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../context.ts'
import type { AdminClient, AdminRequest } from './client.ts'

type Answer = Readonly<Record<string, unknown>>

/** Facts about an operation that answers with a job. */
export interface JobFacts {
  /** Asks for the job again. */
  again(job: Answer): AdminRequest
  isEnded(job: Answer): boolean
  /** How far it is, in a few words. */
  lineOf(job: Answer): string
  /** Why its end is no success: a sentence. */
  failureOf(job: Answer): string | undefined
  /** Additional facts to show at the end. */
  notesOf?(job: Answer, client: AdminClient): Promise<readonly string[]>
}

const askedEveryMs = 500
const toldEveryMs = 5000

/** Resolves with the job as it ended. */
export async function waitForJob(
  { output }: Context,
  client: AdminClient,
  job: Answer,
  facts: JobFacts,
): Promise<Answer> {
  let latest = job
  let toldMs = Date.now()
  let told = ''
  while (!facts.isEnded(latest)) {
    await sleep(askedEveryMs)
    latest = (await client.send(facts.again(latest))).body as Answer
    const line = facts.lineOf(latest)
    if (line === told || Date.now() - toldMs < toldEveryMs) continue
    output.note(line)
    told = line
    toldMs = Date.now()
  }
  return latest
}
