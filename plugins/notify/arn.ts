/** Names of targets: `webhook:_` as the id of a target and name of its queue, `arn:svc:sqs:us-east-1:_:webhook` in rules. */
import type { TargetName } from 'svc/plugins/delivery/api'

export function targetId({ kind, id }: TargetName): string {
  return `${kind}:${id}`
}

export function arnOf({ kind, id }: TargetName, region: string): string {
  return `arn:svc:sqs:${region}:${id}:${kind}`
}

/** Undefined for a malformed ARN of a target. `region`: and for one of another region. */
export function parseArn(arn: string, region?: string): TargetName | undefined {
  const [prefix, partition, service, place, id, kind, ...rest] = arn.split(':')
  if (prefix !== 'arn' || partition !== 'svc' || service !== 'sqs' || rest.length > 0) return undefined
  if (!id || !kind || (region !== undefined && place !== region)) return undefined
  return { kind, id }
}
