/** Exceptions to the derived commands: better names, and operations that other commands perform. Keep it short. */
import { inspectionForPeople } from './cache-view.ts'
import type { AdminClient, AdminRequest } from './client.ts'
import { configNotes } from './config-notes.ts'
import type { EventLine } from './events.ts'
import type { JobFacts } from './waiting.ts'

/** An answer of the server: JSON. */
export type Answer = Readonly<Record<string, unknown>>

export interface Override {
  /** Name of the command, without `admin`, but with `dist` if it is in that group. */
  readonly name?: string
  /** The command that performs the operation, instead of one of `admin`. */
  readonly elsewhere?: string
  /** Field of the body that the bucket of the target goes into. */
  readonly bucketField?: string
  /** Fields that the command does not ask for. */
  readonly hidden?: readonly string[]
  /** Parameters of the query that it always sends, and that are no options. */
  readonly query?: Readonly<Record<string, string>>
  /** Makes hidden fields of the others. */
  complete?(body: Record<string, unknown>): Record<string, unknown>
  /** The whole body is a file, though its fields could be options: fields that are left out would be reset. */
  readonly isBodyOfFile?: boolean
  /** The operation that checks the file as written, after the server has refused it. */
  check?(text: string, bucket: string): AdminRequest
  /** Why an answer is a failure all the same, so that the command ends as one: a sentence. */
  failureOf?(answer: Readonly<Record<string, unknown>>): string | undefined
  /** Additional notes about an answer. */
  notesOf?(
    answer: Readonly<Record<string, unknown>>,
    client: AdminClient,
    request: AdminRequest,
  ): Promise<readonly string[]>
  /** The question before an operation that cannot be undone, without a question mark. */
  readonly question?: string
  /** The command in its help. */
  readonly example?: string
  /** How long to wait without `--timeout`, where the answer comes at the end of much work. */
  readonly answersWithinMs?: number
  /** It starts a job, which `--wait` waits for. */
  readonly job?: JobFacts
  /** The columns of the table, or the lines; default: all short fields. */
  readonly columns?: readonly string[]
  /** The line for each event of a stream. */
  readonly line?: EventLine
  /** The meaning of a column that the answer leaves out. */
  readonly defaults?: Readonly<Record<string, unknown>>
  /** The kind that the answer has among the documents of `dist export`: `-o yaml` prints it as one. */
  readonly exportKind?: string
  /** The part of an answer that people read; `--json` prints all of it. */
  shown?(answer: Answer): Answer
  /** It answers with the document that it was given: people hear that it is stored. */
  readonly isEcho?: boolean
}

export const overrides: Readonly<Record<string, Override>> = {
  getServerInfo: { name: 'server info' },
  restartService: { elsewhere: 'admin service restart' },
  stopService: { elsewhere: 'admin service stop' },
  startHeal: {
    question: 'Permanently delete every object whose data is lost',
    example: 'svcctl admin heal start home --recursive --deep --wait',
    job: {
      again: ({ id }) => ({ operation: 'getHealJob', method: 'GET', path: `/heal/${id}` }),
      isEnded: ({ finished }) => finished === true,
      lineOf: ({ scanned, damaged, healed, failed, current }) =>
        `${scanned} looked at, ${damaged} damaged, ${healed} healed, ${failed} failed; now at ${current}`,
      failureOf: healFailure,
      notesOf: redundancyNotes,
    },
  },
  listHealJobs: {
    columns: [
      'id',
      'state',
      'startedAt',
      'request.dryRun',
      'scanned',
      'damaged',
      'healed',
      'failed',
      'dangling',
      'removed',
      'error',
    ],
    defaults: { 'request.dryRun': false },
  },
  getRedundancy: {
    name: 'heal status',
    failureOf: ({ isFull, summary }) => (isFull === true ? undefined : String(summary)),
  },
  getKmsStatus: { failureOf: kmsProblem, notesOf: kmsNotes },
  resealKms: {
    notesOf: resealNotes,
    failureOf: ({ failed, firstError }) =>
      Number(failed) === 0
        ? undefined
        : `${failed} could not be sealed anew. The first error: ${sentenceOf(firstError)} Keep the former key where it is until this ` +
          'ends without failures.',
  },
  getUsage: { name: 'usage' },
  getPermissions: { name: 'permissions' },
  changeOwnSecretKey: { elsewhere: 'passwd' },

  listMetrics: { name: 'metrics list', columns: ['name', 'type', 'labels', 'help'] },
  queryMetrics: { elsewhere: 'admin metrics query' },
  createPrometheusToken: { elsewhere: 'admin prometheus generate' },
  streamTrace: {
    name: 'trace',
    example: 'svcctl admin trace home --errors --type s3 --min-duration 500ms',
    line: {
      columns: ['time', 'status', 'durationMs', 'operation', 'method', 'path', 'user', 'client', 'error', 'throttled'],
      toneOf: ({ status }) => (Number(status) >= 500 ? 'error' : Number(status) >= 400 ? 'warning' : 'plain'),
    },
  },
  streamLogs: {
    name: 'logs',
    example: 'svcctl admin logs home --level warn --last 20',
    line: {
      columns: ['time', 'level', 'component', 'msg', 'error'],
      hidden: ['node', 'version', 'stack'],
      toneOf: ({ level }) =>
        level === 'warn' ? 'warning' : level === 'error' || level === 'fatal' ? 'error' : 'plain',
      again: { last: '0' },
    },
  },
  exportCluster: { name: 'cluster export', example: 'svcctl admin cluster export home --output cluster.zip' },
  importCluster: { elsewhere: 'admin cluster import' },
  listLocks: { name: 'locks list', columns: ['resource', 'source', 'owner', 'since', 'refreshed'] },
  releaseLocks: {
    name: 'locks release',
    columns: ['resource', 'source', 'owner', 'since', 'refreshed'],
    question: 'Interrupt the work under the lock',
    example: 'svcctl admin locks release home photos/delete',
  },
  captureProfile: { name: 'profile', example: 'svcctl admin profile home cpu --seconds 10 --output cpu.pb.gz' },
  runSpeedtest: { elsewhere: 'admin speedtest' },
  searchAudit: {
    name: 'audit',
    example: 'svcctl admin audit home --user ada --since 2h',
    columns: [
      'time',
      'status',
      'api',
      'bucket',
      'object',
      'identity.user',
      'clientIp',
      'latencyMs',
      'tags.throttled',
      'tags.deniedBy',
      'tags.accessRule',
    ],
  },
  listAuditTargets: { name: 'audit-target list' },
  listPlugins: { columns: ['order', 'name', 'version', 'state', 'error'] },

  getConfig: { name: 'config list', notesOf: configNotes },
  getConfigSchema: { name: 'config schema' },
  replaceConfig: { isEcho: true },
  updateConfigSubsystem: { name: 'config set' },
  listNotifyTargets: { name: 'notify list' },
  testNotifyTarget: {
    name: 'notify test',
    failureOf: ({ delivered, error }) => (delivered === true ? undefined : `It was not delivered: ${error}`),
  },
  replayNotifyTarget: { name: 'notify replay' },
  listNotifyQueues: { name: 'notify queue list' },
  discardNotifyQueue: { name: 'notify queue discard' },
  listNotifyDeadLetters: {
    name: 'notify dead-letter list',
    columns: ['id', 'givenUpAt', 'eventName', 'bucket', 'key', 'attempts', 'reason'],
  },
  retryNotifyDeadLetters: { name: 'notify dead-letter retry' },
  discardNotifyDeadLetters: { name: 'notify dead-letter discard' },

  exportDistributions: { elsewhere: 'dist export' },
  importDistributions: { elsewhere: 'dist import' },
  createWarmup: { elsewhere: 'cache warm' },
  getWarmup: { name: 'cache warm-status', example: 'svcctl cache warm-status home site warm-0a1b2c3d4e5f' },
  signDistributionUrl: { elsewhere: 'dist sign' },
  listKeyGroups: { name: 'dist keygroup list', columns: ['id', 'comment', 'usedBy', 'updatedAt'] },
  createKeyGroup: { elsewhere: 'dist keygroup create' },
  getKeyGroup: { name: 'dist keygroup get', example: 'svcctl dist keygroup get home/films > films.json' },
  putKeyGroup: {
    name: 'dist keygroup set',
    isBodyOfFile: true,
    isEcho: true,
    example: 'svcctl dist keygroup set home/films films.json',
  },
  deleteKeyGroup: { name: 'dist keygroup remove', example: 'svcctl dist keygroup remove home/films' },
  addKeyGroupKey: { elsewhere: 'dist keygroup add-key' },
  removeKeyGroupKey: {
    name: 'dist keygroup remove-key',
    question: 'Remove the key, so that URLs and cookies signed with it are refused at once',
    example: 'svcctl dist keygroup remove-key home/films KA3R73D62FG5WB',
  },
  listCachePolicies: { name: 'cache policy list', columns: ['name', 'builtin', 'comment', 'updatedAt'] },
  getCachePolicy: {
    name: 'cache policy get',
    exportKind: 'CachePolicy',
    example: 'svcctl cache policy get home standard',
  },
  createCachePolicy: {
    name: 'cache policy create',
    isBodyOfFile: true,
    example: 'svcctl cache policy create home short.json',
  },
  putCachePolicy: {
    name: 'cache policy set',
    isBodyOfFile: true,
    isEcho: true,
    example: 'svcctl cache policy set home short short.json',
  },
  deleteCachePolicy: { name: 'cache policy remove', example: 'svcctl cache policy remove home short' },
  validateCachePolicy: {
    name: 'cache policy validate',
    isBodyOfFile: true,
    example: 'svcctl cache policy validate home short.json',
  },
  getCacheSettings: { name: 'cache settings get', exportKind: 'CacheSettings' },
  putCacheSettings: { name: 'cache settings set', isBodyOfFile: true, isEcho: true },
  getDistributionCache: {
    name: 'cache dist get',
    exportKind: 'DistributionCache',
    example: 'svcctl cache dist get home site > cache.json',
  },
  putDistributionCache: {
    name: 'cache dist set',
    isBodyOfFile: true,
    isEcho: true,
    example: 'svcctl cache dist set home site cache.json',
  },
  inspectCache: {
    name: 'cache inspect',
    example: 'svcctl cache inspect home https://www.example.org/docs/',
    shown: inspectionForPeople,
  },
  getCacheStats: { elsewhere: 'cache stats' },
  createInvalidation: { elsewhere: 'cache purge' },
  createDistributionInvalidation: { elsewhere: 'cache purge' },
  listInvalidations: { name: 'cache invalidations', columns: ['id', 'state', 'removed', 'createdAt', 'finishedAt'] },
  getInvalidation: { name: 'cache status', example: 'svcctl cache status home inv-7' },
  listDnsProviders: { columns: ['name', 'type', 'hasCredentials', 'usedBy', 'comment'] },
  createDnsProvider: { elsewhere: 'admin dns-provider add' },
  putDnsProvider: { elsewhere: 'admin dns-provider set' },
  deleteDnsProvider: { name: 'dns-provider remove' },
  testDnsProvider: { elsewhere: 'admin dns-provider test' },

  createBucket: { bucketField: 'name' },
  setObjectRetention: {
    example: 'svcctl admin object retention set home/photos/2026/a.jpg GOVERNANCE --retain-until 2030-01-01T00:00:00Z',
  },
  simulatePolicy: {
    example: 'svcctl admin policy simulate home s3:GetObject --user ada --bucket photos --object a.jpg',
  },
  updateUser: { example: 'svcctl admin user update home ada --status disabled' },
  listPolicies: {
    query: { attachedTo: 'true' },
    columns: ['name', 'builtIn', 'attachedTo.users', 'attachedTo.groups', 'updatedAt'],
  },
  putPolicy: { isEcho: true },
  putBucketLifecycle: { isEcho: true },
  runBucketLifecycle: { answersWithinMs: 3_600_000 },
  putBucketCors: { isEcho: true },
  putBucketEvents: { isEcho: true },
  putBucketPolicy: {
    isEcho: true,
    check: (document, bucket) => ({
      operation: 'validatePolicy',
      method: 'POST',
      path: '/policies/validate',
      body: { document, bucket },
    }),
  },
  setBucketQuota: { hidden: ['type'], complete: body => ({ ...body, type: body.size === 0 ? '' : 'hard' }) },

  listObjects: { elsewhere: 'ls' },
  deleteObjects: { elsewhere: 'rm' },
  downloadZip: { name: 'object zip' },
  downloadObject: { elsewhere: 'cp' },
  uploadObject: { elsewhere: 'cp' },
  copyObject: { elsewhere: 'cp' },
  createUpload: { elsewhere: 'cp' },
  uploadPart: { elsewhere: 'cp' },
  completeUpload: { elsewhere: 'cp' },
  getAccessRules: { elsewhere: 'access get' },
  putAccessRules: { elsewhere: 'access set' },
  setAccessPreset: { elsewhere: 'access preset' },
  testAccessRules: { elsewhere: 'access test' },
  getBlockPublic: { elsewhere: 'access block-public' },
  setBlockPublic: { elsewhere: 'access block-public' },
  createShare: { elsewhere: 'share download' },
  listShares: { elsewhere: 'share list' },
  revokeShare: { elsewhere: 'share revoke' },
  presignUrl: { elsewhere: 'presign' },
  createPostPolicy: { elsewhere: 'share upload' },
  listDistributionWebhooks: {
    name: 'cache webhooks list',
    columns: ['id', 'type', 'online', 'queued', 'deliveredTotal', 'failedTotal', 'lastSuccessAt', 'lastError'],
    defaults: { online: '-' },
    example: 'svcctl cache webhooks list home site',
  },
  testDistributionWebhook: {
    name: 'cache webhooks test',
    failureOf: ({ delivered, error }) => (delivered === true ? undefined : String(error)),
    example: 'svcctl cache webhooks test home site edge',
  },
  listCertificates: { elsewhere: 'dist cert list' },
  createCertificate: { elsewhere: 'dist cert upload' },
  getCertificate: { elsewhere: 'dist cert get' },
  putCertificate: { elsewhere: 'dist cert replace' },
  deleteCertificate: { elsewhere: 'dist cert remove' },
  renewCertificate: { elsewhere: 'dist cert renew' },
}

/** The message as a sentence; empty if there is none yet. */
function sentenceOf(message: unknown): string {
  const text = String(message)
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.')
}

function kmsProblem({ configured, online, error }: Answer): string | undefined {
  if (error !== '') return sentenceOf(error)
  return configured === true && online !== true ? 'The key server cannot be reached at present.' : undefined
}

/** The values of a healthy status. */
async function kmsNotes(answer: Answer): Promise<readonly string[]> {
  if (kmsProblem(answer) !== undefined) return []
  return answer.configured === true
    ? ['Keys can be had, and none is missing that new objects need.']
    : [
        'Objects cannot be encrypted: set SVC_KMS_SECRET_KEY, as `svc init` writes it, or a key server, and restart the server.',
      ]
}

/** The environment may name a former key that the running server was not started with: nothing is said about that one. */
async function resealNotes(
  { failed, formerKeys }: Answer,
  _client: AdminClient,
  { query = [] }: AdminRequest,
): Promise<readonly string[]> {
  // It is unknown where a key server wraps, and servers of earlier versions do not say it.
  if (Number(failed) > 0 || formerKeys === undefined) return []
  if (Number(formerKeys) === 0) {
    return [
      'The running server knows no former key: what was looked at is wrapped with the key that the server was started with. A changed ' +
        'environment file counts only after the service manager has started the server anew, as with `systemctl restart svc`; `svcctl admin ' +
        'service restart` does not read it.',
    ]
  }
  return query.some(([name]) => name === 'bucket')
    ? ['Former keys are still needed, until all buckets were looked at: leave out the bucket for that.']
    : ['Former keys that the server was started with are no longer needed.']
}

/** A heal job only examines online drives: damage on an offline drive is not counted. */
/** A repair is not finished while a drive is away: what lies on it was neither looked at nor stored elsewhere. */
function healFailure(job: Answer): string | undefined {
  const { state, error, request, damaged, failed, dangling, removed } = job
  if (state !== 'completed') return `The job has ${state}: ${error}`
  const isDry = (request as { dryRun?: boolean }).dryRun === true
  if (isDry && Number(damaged) > 0)
    return `${damaged} lack a shard or have a damaged one. Nothing was done: it was a dry run.`
  if (Number(failed) > 0 || Number(dangling) > Number(removed))
    return `${failed} could not be healed, ${dangling} are dangling.`
  const away = (job.drives as readonly Answer[]).filter(drive => drive.state !== 'online' || Number(drive.offline) > 0)
  if (away.length === 0) return undefined
  const names = away.map(({ endpoint }) => String(endpoint)).join(', ')
  return `What lies on drives that could not be read was not looked at: ${names}.`
}

async function redundancyNotes(_job: Answer, client: AdminClient): Promise<readonly string[]> {
  try {
    const { body } = await client.send({ operation: 'getRedundancy', method: 'GET', path: '/redundancy' })
    const { isFull, summary } = body as Answer
    return isFull === true ? [] : [String(summary)]
  } catch {
    // A caller with only heal permission, or a single drive, gets no status: the result of the job stands.
    return []
  }
}
