/** A setting of a bucket, or of something in it. */
import { useKnownRights } from '../../parts/rights.ts'
import { Setting, type SettingProps } from '../../parts/setting.tsx'

export interface BucketSettingProps<Value> extends Omit<SettingProps<Value>, 'queryKey'> {
  readonly bucket: string
  /** Names the setting within its bucket. */
  readonly id: string
  /** The actions of which any one allows to change it; it is shown alone to others. Absent: the server says so when it is saved. */
  readonly needs?: readonly string[]
}

export function BucketSetting<Value>({ bucket, id, needs, stale = [], ...rest }: BucketSettingProps<Value>) {
  const rights = useKnownRights(bucket)
  const isReadOnly = needs !== undefined && rights !== undefined && !needs.some(action => rights.has(action))
  return (
    <Setting
      isReadOnly={isReadOnly}
      queryKey={['bucket-setting', bucket, id]}
      stale={[['buckets'], ['bucket', bucket], ...stale]}
      {...rest}
    />
  )
}
