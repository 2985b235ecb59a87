/** The rules for object keys, the same for every protocol. */
import { objectErrors } from './errors.ts'

/** Length of the longest object key, in bytes of UTF-8. */
export const keyBytesMax = 1024
/** Keys of up to this many code units need no exact check: a code unit takes at most three bytes. */
const surelyShort = Math.floor(keyBytesMax / 3)

/** Throws KeyTooLongError. */
export function requireKeyLength(key: string): void {
  if (key.length <= surelyShort) return
  const sizeBytes = Buffer.byteLength(key)
  if (sizeBytes > keyBytesMax) {
    throw objectErrors.KeyTooLongError(`A key has at most ${keyBytesMax} bytes in UTF-8.`, {
      extra: { Size: String(sizeBytes), MaxSizeAllowed: String(keyBytesMax) },
    })
  }
}

const beyondAscii = /[\u0080-\uffff]/

/** The function for a value of SVC_KEY_NORMALIZATION. */
export function keyNormalizer(form: 'nfc' | 'none'): (key: string) => string {
  return form === 'none' ? key => key : key => (beyondAscii.test(key) ? key.normalize('NFC') : key)
}
