import { Type } from 'typebox'
import { filterValue, type NotificationRule } from '../rules.ts'

export const Events = Type.Object(
  {
    subscriptions: Type.Array(
      Type.Object({
        id: Type.String({ maxLength: 1024, default: '', description: 'Generated if empty.' }),
        arn: Type.String({ maxLength: 1024, description: 'Of a configured target.' }),
        events: Type.Array(Type.String({ maxLength: 128 }), { maxItems: 100 }),
        prefix: Type.String({ maxLength: 4096, default: '' }),
        suffix: Type.String({ maxLength: 4096, default: '' }),
      }),
      { maxItems: 1000, description: 'At most 100; an empty list removes all.' },
    ),
  },
  { $id: 'Events' },
)

export function describeEvents(rules: readonly NotificationRule[]) {
  return {
    subscriptions: rules.map(rule => ({
      id: rule.id,
      arn: rule.arn,
      events: [...rule.events],
      prefix: filterValue(rule, 'prefix'),
      suffix: filterValue(rule, 'suffix'),
    })),
  }
}
