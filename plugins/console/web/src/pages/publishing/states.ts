/** How the states of certificates look, and what they are called. */
import type { Answer } from '../../api/operations.ts'
import { texts } from '../../texts/index.ts'

type Certificate = Answer<'listCertificates'>['items'][number]

export const certificateStates = {
  pending: 'neutral',
  valid: 'good',
  expiring: 'poor',
  expired: 'bad',
  failed: 'bad',
} as const

/** Of one that is presented: the order for its successor does not make it pending or failed itself. */
export const isInForce = ({ state, notAfter }: Pick<Certificate, 'state' | 'notAfter'>): boolean =>
  notAfter !== '' && state !== 'expired'

/** `isPresented`: its time has begun. */
export function stateText(of: Pick<Certificate, 'state' | 'notAfter'>, isPresented: boolean): string {
  const { states, ordered } = texts.publishing
  const { state } = of
  return isPresented && isInForce(of) && (state === 'pending' || state === 'failed') ? ordered[state] : states[state]
}
