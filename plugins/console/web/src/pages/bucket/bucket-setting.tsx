/** A setting of a bucket, or of something in it. */
import { Setting, type SettingProps } from '../../parts/setting.tsx'

export interface BucketSettingProps<Value> extends Omit<SettingProps<Value>, 'queryKey'> {
  readonly bucket: string
  /** Names the setting within its bucket. */
  readonly id: string
}

export function BucketSetting<Value>({ bucket, id, stale = [], ...rest }: BucketSettingProps<Value>) {
  return (
    <Setting queryKey={['bucket-setting', bucket, id]} stale={[['buckets'], ['bucket', bucket], ...stale]} {...rest} />
  )
}
