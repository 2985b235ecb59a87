/** Looks at a policy before it is saved. */
import { call } from '../api/client.ts'
import { texts } from '../texts/index.ts'

/** Throws where the server finds mistakes in it, which its editor shows, each at its place: the answer to the change would repeat them. */
export async function requireNoMistakes(document: string): Promise<void> {
  const { errors } = await call('validatePolicy', { body: { document } })
  if (errors.length > 0) throw new Error(texts.policies.mistakes(errors.length))
}
