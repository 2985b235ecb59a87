/** Masks secrets in answers: values that are secret, and the parts of a URL that may contain a secret. */
import { maskedValue } from './api.ts'
import type { SubsystemKey } from './subsystem.ts'

type Key = Pick<SubsystemKey, 'isSecret' | 'hasSecretQuery'>

/** The text for answers. Texts of undeclared keys may be secrets and are masked, like sealed ones. An empty text is not masked. */
export function shownText(key: Key | undefined, text: string, isSealed: boolean): string {
  if (text === '') return text
  if (key?.hasSecretQuery === true && !key.isSecret) return maskUrl(text)
  return key === undefined || key.isSecret || isSealed ? maskedValue : text
}

/** Whether a text has a mask: then the stored text is kept. */
export function isMasked(key: Key, text: string): boolean {
  return key.isSecret ? text === maskedValue : key.hasSecretQuery && text.includes(maskedValue)
}

/** Whether answers mask the text, or a part of it. */
export function isHidden(key: Key, text: string): boolean {
  return key.isSecret || (key.hasSecretQuery && maskUrl(text) !== text)
}

/**
 * Whether a text must be sealed at rest and in archives. Of a URL also where it has a path: those of chats are a secret as a whole. Whoever
 * may read the settings sees it all the same, to tell one target from another.
 */
export function holdsSecret(key: Key, text: string): boolean {
  return key.isSecret || (key.hasSecretQuery && !onlyHost.test(text))
}

/** Scheme, host and port, or nothing. */
const onlyHost = /^(?:[^:/?#\\@]*:)?[/\\]*[^/?#\\@]*[/\\]?$/

/** Removes user, password, query and fragment. A text that is not a URL is treated in the same way, because it was not validated yet. */
function maskUrl(text: string): string {
  return text
    .replace(/^((?:[^:/?#\\]*:)?[/\\]*)[^/?#\\]*@/, `$1${maskedValue}@`)
    .replace(/([?#]).+$/s, `$1${maskedValue}`)
}
