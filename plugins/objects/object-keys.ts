/** What an object key may be, whichever protocol brings it. */
import { objectErrors } from './errors.ts'

/** Longest object key, in bytes of UTF-8. */
export const keyBytesMax = 1024
/** Longer keys cannot be too long by mistake of this quick test: no character takes more than three bytes a code unit. */
const surelyShort = Math.floor(keyBytesMax / 3)

/** Throws KeyTooLongError. */
export function requireKeyLength(key: string): void {
  if (key.length <= surelyShort) return
  const sizeBytes = Buffer.byteLength(key)
  if (sizeBytes > keyBytesMax) {
    throw objectErrors.KeyTooLongError(undefined, {
      extra: { Size: String(sizeBytes), MaxSizeAllowed: String(keyBytesMax) },
    })
  }
}

const beyondAscii = /[\u0080-\uffff]/

/** The function that SVC_KEY_NORMALIZATION stands for. */
export function keyNormalizer(form: 'nfc' | 'none'): (key: string) => string {
  return form === 'none' ? key => key : key => (beyondAscii.test(key) ? key.normalize('NFC') : key)
}
