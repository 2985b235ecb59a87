/** Choices of a native select from texts by value. */
export const choicesOf = <Value extends string>(
  labels: Readonly<Partial<Record<Value, string>>>,
): { value: Value; label: string }[] =>
  (Object.entries(labels) as [Value, string][]).map(([value, label]) => ({ value, label }))
