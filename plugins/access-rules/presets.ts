/** Presets: rules that allow, with ids that begin with `preset-`, evaluated after all rules with a lower priority number. */
import { type AccessRule, type AccessRuleMatch, isPublicRule } from './rule.ts'

export const presets = [
  'private',
  'public-read',
  'public-read-list',
  'public-prefix',
  'public-write',
  'custom',
] as const
export type Preset = (typeof presets)[number]

export const presetPrefix = 'preset-'
/** Rules without a priority of their own come before. */
const presetPriority = 1000

/** Replaces the rules of presets and keeps all others, except that `private` also removes every allow for everybody. */
export function withPreset(
  rules: readonly AccessRule[],
  preset: Preset,
  match: AccessRuleMatch | undefined,
): readonly AccessRule[] {
  const others = rules.filter(({ id, effect }) => effect !== 'allow' || !id.startsWith(presetPrefix))
  switch (preset) {
    case 'private':
      return others.filter(rule => !isPublicRule(rule))
    case 'custom':
      return others
    default:
      return [...others, ruleOf(preset, match)]
  }
}

function ruleOf(preset: Exclude<Preset, 'private' | 'custom'>, match: AccessRuleMatch | undefined): AccessRule {
  const rule = { id: `${presetPrefix}${preset}`, priority: presetPriority, effect: 'allow', principals: ['*'] } as const
  const everywhere = match === undefined ? {} : { match }
  switch (preset) {
    case 'public-read':
      return { ...rule, principals: ['*'], actions: ['read'], description: 'Everybody may read every object.' }
    case 'public-read-list':
      return {
        ...rule,
        principals: ['*'],
        actions: ['read', 'list'],
        description: 'Everybody may read every object and list the bucket.',
      }
    case 'public-prefix':
      return {
        ...rule,
        principals: ['*'],
        actions: ['read'],
        ...everywhere,
        description: 'Everybody may read the objects that match.',
      }
    case 'public-write':
      return {
        ...rule,
        principals: ['*'],
        actions: ['write'],
        ...everywhere,
        description: 'Everybody may write objects, and read none.',
      }
  }
}
