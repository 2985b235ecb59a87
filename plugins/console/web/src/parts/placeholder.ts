/** What is to be replaced in the example that a new policy begins with. */
import { texts } from '../texts/index.ts'

/** Throws where the name of the bucket, or of the user, is still that of the example: such a policy allows nothing. */
export function requireNoPlaceholder(policy: string): void {
  if (/arn:aws:s3:::BUCKET\b/.test(policy)) throw new Error(texts.policies.placeholder)
  if (/:user\/USER"/.test(policy)) throw new Error(texts.policies.placeholderUser)
}
