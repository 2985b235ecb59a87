/** Parses the parameters of the actions. */
import { stsErrors } from './errors.ts'

/** Parameters that limit or mark a session: if they were ignored, the session would have more rights than requested. */
const unbuilt = /^(PolicyArns|Tags|TransitiveTagKeys|SourceIdentity|SerialNumber|TokenCode|ProvidedContexts)\b/

/** Throws NotImplemented and ValidationError for parameters that are not `known`. */
export function refuseParameters(
  parameters: ReadonlyMap<string, string>,
  action: string,
  known: ReadonlySet<string>,
): void {
  for (const name of parameters.keys()) {
    if (unbuilt.test(name)) throw stsErrors.NotImplemented(`The parameter ${name.split('.')[0]} is not implemented.`)
    if (!known.has(name)) throw stsErrors.ValidationError(`There is a parameter that ${action} does not have.`)
  }
}

/** Seconds; `createSession` has the bounds. */
export function readDuration(text: string | undefined, byDefault: number): number {
  if (text === undefined) return byDefault
  if (!/^\d{1,6}$/.test(text)) throw stsErrors.ValidationError('DurationSeconds is a number of seconds.')
  return Number(text)
}
