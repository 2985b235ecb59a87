/** The progress of an order of a certificate on standard error: a line for each phase, on a terminal with the seconds that it takes. */
import type { Context } from './context.ts'

interface Phase {
  /** The steps as the server names them; see `acme.step` of a certificate. */
  readonly steps: readonly string[]
  readonly text: string
  /** The phase is one of this challenge alone. */
  readonly challenge?: string
}

const phases: readonly Phase[] = [
  { steps: ['queued', 'account', 'preflight', 'order'], text: 'order: names are checked, the authority is asked' },
  { steps: ['publish'], text: 'challenge: the proof is published' },
  { steps: ['propagate'], text: 'propagation: every name server gets the proof', challenge: 'dns-01' },
  { steps: ['validate'], text: 'validation: the authority looks for the proof' },
  { steps: ['finalize', 'download'], text: 'issue: the authority makes the certificate' },
]

export interface OrderProgress {
  /** The step of now; several may have passed since the last call. */
  reached(step: string, challenge: string | undefined): void
  /** Phases that are left have passed, too. */
  issued(challenge: string | undefined): void
  /** The present phase has no end. */
  failed(): void
}

export function createOrderProgress(
  { io, output }: Pick<Context, 'io' | 'output'>,
  now = performance.now.bind(performance),
) {
  const { isJson, isQuiet } = output.options
  const isLive = io.stderr.isTTY === true && !isJson && !isQuiet
  let current = -1
  let sinceMs = 0
  const seconds = () => `${((now() - sinceMs) / 1000).toFixed(0)} s`

  const line = (end: string) => io.stderr.write(`\r\u001b[K${phases[current]!.text} … ${end}`)

  function leave(end: string): void {
    if (isLive && current >= 0) line(`${end}\n`)
  }

  function enter(index: number): void {
    current = index
    sinceMs = now()
    if (!isLive) output.note(phases[index]!.text)
  }

  function advance(to: number, challenge: string | undefined): void {
    for (let index = current + 1; index <= to; index++) {
      const { challenge: only } = phases[index]!
      if (only !== undefined && only !== challenge) continue
      leave(seconds())
      enter(index)
    }
  }

  const progress: OrderProgress = {
    reached(step, challenge) {
      const index = phases.findIndex(({ steps }) => steps.includes(step))
      if (index < 0) return
      if (index < current) {
        leave('failed for some names; the others are ordered without them')
        current = -1
      }
      advance(index, challenge)
      if (isLive) line(seconds())
    },
    issued(challenge) {
      advance(phases.length - 1, challenge)
      leave(seconds())
    },
    failed: () => leave('failed'),
  }
  return progress
}
