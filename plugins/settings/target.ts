/** The subsystem of a target with a queue: the keys and rules that all targets share. */
import { Type } from 'typebox'
import type { SettingsProblem, SubsystemDeclaration, TargetDeclaration, TargetValues } from './api.ts'

export const queueLimitDefault = 100_000
const queueLimitMax = 10_000_000

/** Throws TypeError for a key of the kind that has the name of a common key. */
export function targetDeclaration(name: string, declaration: TargetDeclaration): SubsystemDeclaration<never> {
  const { description, keys, about, removalProblem } = declaration
  const enable = Type.Boolean({ default: false, description: about.enable })
  const others = {
    queue_limit: Type.Integer({
      minimum: 1,
      maximum: queueLimitMax,
      default: queueLimitDefault,
      description: about.queueLimit,
    }),
    queue_dir: Type.String({
      default: '',
      description: `Accepted and not applied: ${about.what} wait in the journal of the drive. A relative path without \`..\`.`,
    }),
    comment: Type.String({ default: '', description: 'For people.' }),
  }
  const clash = Object.keys({ enable, ...others }).find(key => key in keys.properties)
  if (clash !== undefined) throw new TypeError(`settings: ${name} has a key ${clash}, which all targets have`)
  const whole: SubsystemDeclaration<ReturnType<typeof Type.Object>> = {
    description,
    keys: Type.Object({ enable, ...keys.properties, ...others }),
    isMultiple: true,
    isTarget: true,
    notApplied: ['queue_dir'],
    validate: (values, id) => problemsOf(values as unknown as TargetValues, id, declaration),
    ...(removalProblem && { removalProblem: (id: string) => removalProblem(id) }),
  }
  return whole as unknown as SubsystemDeclaration<never>
}

function problemsOf(values: TargetValues, id: string, { validate }: TargetDeclaration): readonly SettingsProblem[] {
  const problems: SettingsProblem[] = []
  const { queue_dir: folder } = values
  if (folder.startsWith('/') || folder.includes('\\') || folder.split('/').includes('..')) {
    problems.push({ key: 'queue_dir', problem: 'must be a relative path without ..' })
  }
  // An incomplete target may be stored while it is disabled.
  if (values.enable) problems.push(...(validate?.(values, id) ?? []))
  return problems
}
