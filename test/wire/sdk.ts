/** The AWS SDK, set up for a test server: no retries, so that every failure is seen. */
import * as sdk from '@aws-sdk/client-s3'
import { accessKey, region, secretKey, type TestServer } from './server.ts'

export function createClient(server: TestServer, settings: sdk.S3ClientConfig = {}): sdk.S3Client {
  return new sdk.S3Client({
    endpoint: server.endpoint,
    region,
    forcePathStyle: true,
    maxAttempts: 1,
    credentials: { accessKeyId: accessKey, secretAccessKey: secretKey },
    ...settings,
  })
}

type Command = Parameters<sdk.S3Client['send']>[0]

/** The command of an operation by its name, where the operation is data of a test: what `send` resolves with is any output. */
export function commandOf(operation: string, input: object): Command {
  const commands = sdk as unknown as Readonly<Record<string, (new (input: object) => Command) | undefined>>
  const Class = commands[`${operation}Command`]
  if (Class === undefined) throw new Error(`The SDK has no operation ${operation}`)
  return new Class(input)
}
