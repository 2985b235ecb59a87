import { choices } from 'svc/kernel'
import { maskedValue, type SubsystemDescription } from './api.ts'
import type { Subsystem, SubsystemKey } from './subsystem.ts'

/** The schema of a subsystem, for forms and files. */
export function describeSubsystem({ name, declaration, isMultiple, keys }: Subsystem): SubsystemDescription {
  return { name, description: declaration.description, multiple: isMultiple, keys: [...keys.values()].map(describeKey) }
}

function describeKey({ name, configuration, isSecret, isApplied, defaultText }: SubsystemKey) {
  const { schema, type } = configuration
  return {
    name,
    type,
    description: (schema as { description?: string }).description ?? '',
    default: isSecret && defaultText !== '' ? maskedValue : defaultText,
    values: type === 'boolean' ? ['on', 'off'] : [...choices(schema)],
    sensitive: isSecret,
    applied: isApplied,
  }
}
