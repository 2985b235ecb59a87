/** STS with boto3, over the real server. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import type { Keys } from 'svc/plugins/s3/testing'
import { rootPassword, rootUser, startServer } from 'svc/plugins/users/testing'
import t from 'tap'

const run = promisify(execFile)
const server = await startServer()
t.teardown(() => server.stop())
const { users, endpoint, root } = server
await root.send(new CreateBucketCommand({ Bucket: 'bucket' }))
await root.send(new PutObjectCommand({ Bucket: 'bucket', Key: 'key', Body: 'hello' }))
const ada: Keys = { accessKey: 'ada', secretKey: 'secret-of-ada' }
await users.createUser({ ...ada, policyNames: ['readwrite'] })

/** Runs Python with `sts`, `s3(credentials)` and `code(call)` at hand; what it assigns to `result` comes back. */
async function python(keys: Keys, script: string): Promise<unknown> {
  const { stdout } = await run('python3', ['-c', `${prelude}\n${script}\nprint(json.dumps(result, default=str))`], {
    env: {
      ...process.env,
      ENDPOINT: endpoint,
      KEY: keys.accessKey,
      SECRET: keys.secretKey,
      TOKEN: keys.sessionToken ?? '',
    },
  })
  return JSON.parse(stdout)
}

const prelude = `
import os, json, boto3
from botocore.config import Config
from botocore.exceptions import ClientError
def client(kind, key, secret, token):
    return boto3.client(kind, endpoint_url=os.environ['ENDPOINT'], region_name='us-east-1', aws_access_key_id=key,
        aws_secret_access_key=secret, aws_session_token=token or None, config=Config(signature_version='s3v4' if kind == 's3' else 'v4', s3={'addressing_style': 'path'}, retries={'max_attempts': 1}))
sts = client('sts', os.environ['KEY'], os.environ['SECRET'], os.environ['TOKEN'])
def s3(c): return client('s3', c['AccessKeyId'], c['SecretAccessKey'], c['SessionToken'])
def code(call):
    try:
        call()
        return 'ok'
    except ClientError as error:
        return str(error.response['ResponseMetadata']['HTTPStatusCode']) + ' ' + error.response['Error']['Code']
def said(call):
    try:
        return call()
    except ClientError as error:
        return code(call) + ' ' + error.response['Error']['Message']
role = dict(RoleArn='arn:aws:iam::000000000000:role/any', RoleSessionName='build-7')
`

t.test('AssumeRole gives credentials that S3 takes, in headers and in links', async t => {
  const result = (await python(
    ada,
    `
answer = sts.assume_role(**role)
c = answer['Credentials']
get = lambda: s3(c).get_object(Bucket='bucket', Key='key')
put = lambda c=c: s3(c).put_object(Bucket='bucket', Key='new', Body=b'x')
limited = sts.assume_role(**role, DurationSeconds=900, Policy=json.dumps({'Version': '2012-10-17', 'Statement': [
    {'Effect': 'Allow', 'Action': 's3:GetObject', 'Resource': 'arn:aws:s3:::bucket/*'}]}))['Credentials']
import urllib.request
link = s3(limited).generate_presigned_url('get_object', Params={'Bucket': 'bucket', 'Key': 'key'}, ExpiresIn=60)
result = {'arn': answer['AssumedRoleUser']['Arn'], 'get': code(get), 'put': code(put), 'limited': code(lambda: put(limited)),
    'limitedGet': code(lambda: s3(limited).get_object(Bucket='bucket', Key='key')),
    'link': urllib.request.urlopen(link).read().decode(),
    'expires': (c['Expiration'].timestamp() - __import__('time').time()) // 60,
    'who': client('sts', c['AccessKeyId'], c['SecretAccessKey'], c['SessionToken']).get_caller_identity()['Arn'],
    'again': code(lambda: client('sts', c['AccessKeyId'], c['SecretAccessKey'], c['SessionToken']).assume_role(**role))}
`,
  )) as Record<string, string>
  t.match(result, {
    arn: 'arn:aws:sts:::assumed-role/ada/build-7',
    get: 'ok',
    put: 'ok',
    limited: '403 AccessDenied',
    limitedGet: 'ok',
    link: 'hello',
    expires: 59,
    who: /^arn:aws:sts:::assumed-role\/ada\/ASIA/,
    again: '403 AccessDenied',
  })
})

t.test('GetSessionToken: credentials for a time, with the rights of the caller', async t => {
  const result = await python(
    ada,
    `
c = sts.get_session_token(DurationSeconds=900)['Credentials']
keys = (c['AccessKeyId'], c['SecretAccessKey'], c['SessionToken'])
result = {'get': code(lambda: s3(c).get_object(Bucket='bucket', Key='key')),
    'again': code(client('sts', *keys).get_session_token),
    'minutes': (c['Expiration'].timestamp() - __import__('time').time()) // 60}`,
  )
  t.match(result, { get: 'ok', again: '403 AccessDenied', minutes: 14 })
})

t.test('other services of AWS are said not to be here', async t => {
  const ask = (name: string, call: string) =>
    python(ada, `result = said(lambda: client('${name}', 'ada', 'secret-of-ada', None).${call})`)
  t.match(await ask('iam', 'list_users()'), /^501 NotImplemented .*svcctl admin user/)
  t.match(await ask('sns', 'list_topics()'), /^501 NotImplemented .*no service "sns"/)
  t.match(await ask('dynamodb', 'list_tables()'), /^501 NotImplemented .*no service "dynamodb"/)
})

t.test('GetCallerIdentity returns the caller, and invalid requests are refused with the reason', async t => {
  t.match(await python(ada, 'result = sts.get_caller_identity()'), { Arn: 'arn:aws:iam:::user/ada', UserId: 'ada' })
  const rootKeys = { accessKey: rootUser, secretKey: rootPassword }
  t.match(await python(rootKeys, 'result = sts.get_caller_identity()'), { Arn: 'arn:aws:iam:::root', UserId: 'admin' })
  t.strictSame(
    await python(
      ada,
      `
bad = lambda **more: code(lambda: sts.assume_role(**{**role, **more}))
result = [bad(DurationSeconds=43201), bad(RoleSessionName='a b'), bad(Policy='{}'), bad(Policy=' ' * 2049),
    bad(PolicyArns=[{'arn': 'arn:aws:iam::aws:policy/ReadOnlyAccess'}]), bad(Tags=[{'Key': 'a', 'Value': 'b'}]),
    code(lambda: sts.get_session_token(SerialNumber='arn:aws:iam::1:mfa/x', TokenCode='123456')),
    code(lambda: sts.get_session_token(DurationSeconds=129600)),
    code(client('sts', 'ada', 'wrong', '').get_caller_identity), code(client('sts', 'nobody', 'x', '').get_caller_identity),
    code(client('sts', 'ada', 'secret-of-ada', 'token').get_caller_identity)]`,
    ),
    [
      '400 ValidationError',
      '400 ValidationError',
      '400 MalformedPolicyDocument',
      '400 PackedPolicyTooLarge',
      '501 NotImplemented',
      '501 NotImplemented',
      '501 NotImplemented',
      '400 ValidationError',
      '403 SignatureDoesNotMatch',
      '403 InvalidClientTokenId',
      '403 InvalidClientTokenId',
    ],
  )
  const post = async (body: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${endpoint}/`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    })
    return `${answer.status} ${/<Code>(\w+)/.exec(await answer.text())?.[1]}`
  }
  t.equal(await post('Action=GetCallerIdentity&Version=2011-06-15'), '403 MissingAuthenticationToken')
  t.equal(await post('a'.repeat(70_000)), '400 ValidationError')
  t.equal(await post('a=1', { authorization: 'AWS4-HMAC-SHA256 nonsense' }), '400 IncompleteSignature')
  const plain = await post('a=1', { 'content-type': 'text/plain' })
  t.equal(plain, '403 AccessDenied', 'what is no form is a request to S3')
})

t.test('no secret and no token is in the log', async t => {
  const session = await users.createSession((await server.kernel.services.iam.credentials('ada'))!.identity, {
    durationSeconds: 900,
    sessionName: 'test',
  })
  const [result] = (await python({ ...session }, `result = [sts.get_caller_identity()['Arn']]`)) as string[]
  t.match(result, /assumed-role\/ada/)
  const log = JSON.stringify(server.kernel.logs)
  for (const secret of [session.sessionToken, session.secretKey, 'secret-of-ada']) t.notOk(log.includes(secret))
})
