/** How the states of certificates look. */
export const certificateStates = {
  pending: 'neutral',
  valid: 'good',
  expiring: 'poor',
  expired: 'bad',
  failed: 'bad',
} as const
