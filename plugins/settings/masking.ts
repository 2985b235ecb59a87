/** What is shown instead of secrets: of a value that is one, and of the parts of a URL that may hold one. */
import { maskedValue } from './api.ts'
import type { SubsystemKey } from './subsystem.ts'

type Key = Pick<SubsystemKey, 'isSecret' | 'hasSecretQuery'>

/** A text as it may be shown. What nobody who is loaded declares may be a secret, and so is what was sealed. An empty text is none. */
export function shownText(key: Key | undefined, text: string, isSealed: boolean): string {
  if (text === '') return text
  if (key?.hasSecretQuery === true && !key.isSecret) return maskUrl(text)
  return key === undefined || key.isSecret || isSealed ? maskedValue : text
}

/** Whether a text is one that was shown: what stands behind its mask is to be kept. */
export function isMasked(key: Key, text: string): boolean {
  return key.isSecret ? text === maskedValue : key.hasSecretQuery && text.includes(maskedValue)
}

/** Whether a text is to be sealed at rest. */
export function holdsSecret(key: Key, text: string): boolean {
  return key.isSecret || (key.hasSecretQuery && maskUrl(text) !== text)
}

/** Without user, password, query and fragment. A text that is no URL is treated like one: nobody has checked it yet. */
function maskUrl(text: string): string {
  return text
    .replace(/^((?:[^:/?#\\]*:)?[/\\]*)[^/?#\\]*@/, `$1${maskedValue}@`)
    .replace(/([?#]).+$/s, `$1${maskedValue}`)
}
