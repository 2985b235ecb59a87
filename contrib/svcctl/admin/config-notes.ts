/** Notes about a list of settings: which of them have no effect because their plugin is not loaded. */
import type { AdminClient } from './client.ts'

/** Each is a request. */
const subsystemsMax = 20

export async function configNotes(
  answer: Readonly<Record<string, unknown>>,
  client: AdminClient,
): Promise<readonly string[]> {
  const { body } = await client.send({ operation: 'getConfigSchema', method: 'GET', path: '/config/schema' })
  const known = new Set((body as readonly { readonly name: string }[]).map(({ name }) => name))
  const notes: string[] = []
  for (const name of Object.keys(answer)
    .filter(shown => !known.has(shown.split(':')[0]!))
    .slice(0, subsystemsMax)) {
    const path = `/config/${encodeURIComponent(name)}`
    const one = await client.send({ operation: 'getConfigSubsystem', method: 'GET', path })
    const { warning } = one.body as { readonly warning?: string }
    if (warning !== undefined) notes.push(`${name}: ${warning}`)
  }
  return notes
}
