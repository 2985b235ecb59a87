/** Rate limits of the Admin API with which the pages of the console, which send several requests at once, would not open. */
import { Text } from '@mantine/core'
import { texts } from '../../texts/index.ts'
import type { Values } from './settings.tsx'

const words = texts.settings

/** The overview sends most while it opens, twenty; some are left for a page that is opened right after it. */
const pageRequests = 30

const limits = ['admin_ip', 'admin_user']

/** Whether these settings of this name, and not those before, refuse what a page needs. */
export function locksConsoleOut(name: string, before: Values | undefined, after: Values | undefined): boolean {
  return name === 'ratelimit' && limits.some(limit => isTooLow(limit, after) && !isTooLow(limit, before))
}

function isTooLow(limit: string, values: Values | undefined): boolean {
  const perSecond = Number(values?.[limit] ?? 0)
  const atOnce = Number(values?.[`${limit}_burst`] ?? 0) || perSecond
  return perSecond > 0 && atOnce < pageRequests
}

export const lockOut = {
  title: words.lockOutTitle,
  action: words.lockOutConfirm,
  text: <Text size="sm">{words.lockOutText(pageRequests)}</Text>,
}
