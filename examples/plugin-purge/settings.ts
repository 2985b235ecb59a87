import type { SettingsProblem } from 'svc/plugins/settings/api'
import { type Static, Type } from 'typebox'

/** What operators say of a webhook of the type `varnish`, beside its `id` and `domains`. */
export const VarnishSettings = Type.Object({
  url: Type.String({
    minLength: 1,
    maxLength: 300,
    destination: true,
    description: 'Where Varnish takes requests: `http://10.0.0.7:6081`.',
  }),
  token: Type.String({ secret: true, minLength: 16, maxLength: 256, description: 'As its configuration has it.' }),
})

export type VarnishSettings = Static<typeof VarnishSettings>

/** What the schema cannot say. Each problem follows the name of its setting, and repeats no secret. */
export function settingsProblems(
  { url, token }: VarnishSettings,
  urlProblem: (url: string) => string | undefined,
): readonly SettingsProblem[] {
  const problems: SettingsProblem[] = []
  // Of the server: which addresses it may reach, and over what.
  const refused = /^https?:\/\/[^/?#@]+$/.test(url) ? urlProblem(url) : 'must be a scheme, a host and a port'
  if (refused !== undefined) problems.push({ key: 'url', problem: refused })
  if (!/^[\x21-\x7e]+$/.test(token)) problems.push({ key: 'token', problem: 'must be visible characters of ASCII' })
  return problems
}
