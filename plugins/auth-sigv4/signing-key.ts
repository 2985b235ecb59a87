import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import { serviceName, terminator } from './claim.ts'

/** HMAC key of a user: `"AWS4" + secret`. */
export const signingSecret = (secretKey: string): KeyObject => createSecretKey(`AWS4${secretKey}`, 'utf8')

/** The key that signs everything of one day, region and service. Costs four HMACs: callers keep it. */
export function deriveSigningKey(secret: KeyObject, date: string, region: string): KeyObject {
  let key = secret
  for (const step of [date, region, serviceName, terminator]) {
    key = createSecretKey(createHmac('sha256', key).update(step).digest())
  }
  return key
}

export function sign(key: KeyObject, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

export function signHex(key: KeyObject, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex')
}

const given = Buffer.alloc(32)

/** Constant time in the content; false for what is not 64 hexadecimal digits. */
export function isSignature(expected: Buffer, hex: string): boolean {
  return hex.length === 64 && given.write(hex, 0, 32, 'hex') === 32 && timingSafeEqual(expected, given)
}
