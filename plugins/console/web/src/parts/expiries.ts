/** How long links work, in seconds. */
import { texts } from '../texts/index.ts'

const { expiries: words } = texts.shares

/** What every presigned URL has at most. */
export const expiryMaxSeconds = 604_800

export const expiries = [
  { label: words.hour, value: '3600' },
  { label: words.day, value: '86400' },
  { label: words.week, value: '604800' },
]
