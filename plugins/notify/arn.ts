/** Names of targets: `webhook:_` as the id of a target and of its lane, `arn:svc:sqs:us-east-1:_:webhook` in rules. */
export interface TargetName {
  readonly kind: string
  readonly id: string
}

export function targetId({ kind, id }: TargetName): string {
  return `${kind}:${id}`
}

/** Undefined for what is no id of a target. */
export function parseTargetId(text: string): TargetName | undefined {
  const end = text.indexOf(':')
  return end <= 0 || end === text.length - 1 ? undefined : { kind: text.slice(0, end), id: text.slice(end + 1) }
}

export function arnOf({ kind, id }: TargetName, region: string): string {
  return `arn:svc:sqs:${region}:${id}:${kind}`
}

/** Undefined for what is no ARN of a target. `region`: only of this one. */
export function parseArn(arn: string, region?: string): TargetName | undefined {
  const [prefix, partition, service, place, id, kind, ...rest] = arn.split(':')
  if (prefix !== 'arn' || partition !== 'svc' || service !== 'sqs' || rest.length > 0) return undefined
  if (!id || !kind || (region !== undefined && place !== region)) return undefined
  return { kind, id }
}
