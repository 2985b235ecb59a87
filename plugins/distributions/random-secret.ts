import type { Random } from 'svc/kernel'

/** 32 random bytes for people to copy. */
export const randomSecret = (random: Random): string => Buffer.from(random.bytes(32)).toString('base64url')
