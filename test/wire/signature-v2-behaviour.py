"""boto3 with Signature Version 2: `signature-v2-behaviour.py ENDPOINT on|off`. Prints one line for each behaviour that held; raises otherwise."""

import io
import os
import sys
import urllib.error
import urllib.parse
import urllib.request
import uuid

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

endpoint, setting = sys.argv[1:]
config = Config(signature_version="s3", s3={"addressing_style": "path"}, retries={"max_attempts": 1})
s3 = boto3.client("s3", endpoint_url=endpoint, config=config)
bucket = "old-clients"


def held(what):
    print("held:", what, flush=True)


def answer(url, **options):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, **options)) as response:
            return response.status, response.read().decode(), response.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(), error.headers


if setting == "off":
    try:
        s3.list_buckets()
        raise AssertionError("it is off")
    except ClientError as error:
        assert error.response["Error"]["Code"] == "InvalidRequest", error
        assert "api.signature_v2=on" in error.response["Error"]["Detail"], error
    status, text, _ = answer(s3.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": "a"}))
    assert status == 400 and "<Detail>Signature Version 2 is off" in text, text
    sys.exit(0)

s3.create_bucket(Bucket=bucket)
assert bucket in [b["Name"] for b in s3.list_buckets()["Buckets"]]
key = "größe & co/a+b ~1.txt"
s3.put_object(Bucket=bucket, Key=key, Body=b"old but good", ContentType="text/plain", Metadata={"color": "blue", "author": "me"})
got = s3.get_object(Bucket=bucket, Key=key, ResponseContentDisposition='attachment; filename="ä.txt"')
assert got["Body"].read() == b"old but good" and got["Metadata"] == {"color": "blue", "author": "me"}
assert got["ContentDisposition"].startswith("attachment"), got
assert s3.head_object(Bucket=bucket, Key=key)["ContentLength"] == 12
assert s3.get_object(Bucket=bucket, Key=key, Range="bytes=0-2")["Body"].read() == b"old"
held("signs in the header what an object needs")

assert [o["Prefix"] for o in s3.list_objects(Bucket=bucket, Prefix="gr", Delimiter="~")["CommonPrefixes"]] == [key[: key.index("~") + 1]]
assert [o["Key"] for o in s3.list_objects_v2(Bucket=bucket, Prefix="gr", MaxKeys=5)["Contents"]] == [key]
s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
s3.put_object_tagging(Bucket=bucket, Key=key, Tagging={"TagSet": [{"Key": "a", "Value": "b"}]})
assert s3.get_object_tagging(Bucket=bucket, Key=key)["TagSet"] == [{"Key": "a", "Value": "b"}]
version = s3.put_object(Bucket=bucket, Key=key, Body=b"newer")["VersionId"]
assert s3.get_object(Bucket=bucket, Key=key, VersionId=version)["Body"].read() == b"newer"
s3.copy_object(Bucket=bucket, Key="copy", CopySource={"Bucket": bucket, "Key": key})
upload = s3.create_multipart_upload(Bucket=bucket, Key="parts")["UploadId"]
part = s3.upload_part(Bucket=bucket, Key="parts", UploadId=upload, PartNumber=1, Body=io.BytesIO(b"p" * 1000))
s3.complete_multipart_upload(
    Bucket=bucket, Key="parts", UploadId=upload, MultipartUpload={"Parts": [{"ETag": part["ETag"], "PartNumber": 1}]}
)
assert s3.head_object(Bucket=bucket, Key="parts")["ContentLength"] == 1000
assert not s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "copy"}]}).get("Errors")
held("signs sub-resources, versions, tags, copies, parts and deletions of many")

url = s3.generate_presigned_url(
    "get_object", Params={"Bucket": bucket, "Key": key, "ResponseContentType": "text/x-old; charset=utf-8"}, ExpiresIn=60
)
assert "AWSAccessKeyId=" in url and "X-Amz-" not in url
status, text, headers = answer(url)
assert (status, text, headers["content-type"]) == (200, "newer", "text/x-old; charset=utf-8"), (status, text)
assert answer(url.replace("text%2Fx-old", "text%2Fhtml"))[0] == 403
assert answer(url + "&x-amz-acl=public-read")[0] == 403
assert answer(url, method="DELETE")[0] == 403
put = s3.generate_presigned_url("put_object", Params={"Bucket": bucket, "Key": "linked", "Metadata": {"a": "b"}}, ExpiresIn=60)
status, text, _ = answer(put, method="PUT", data=b"by link", headers={"Content-Type": ""})
assert status == 200, text
assert s3.head_object(Bucket=bucket, Key="linked")["Metadata"] == {"a": "b"}
status, text, _ = answer(s3.generate_presigned_url("list_objects", Params={"Bucket": bucket, "Prefix": "lin"}, ExpiresIn=60))
assert status == 200 and "<Key>linked</Key>" in text, text
late = s3.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": key}, ExpiresIn=8 * 86400)
assert answer(late)[0] == 403
held("makes links, which are good for what was signed and for at most seven days")

post = s3.generate_presigned_post(bucket, "posted", Conditions=[["content-length-range", 1, 100]], ExpiresIn=60)
assert set(post["fields"]) == {"key", "AWSAccessKeyId", "policy", "signature"}, post


def send(fields):
    boundary = uuid.uuid4().hex
    lines = []
    for name, value in fields.items():
        lines += [f"--{boundary}", f'Content-Disposition: form-data; name="{name}"', "", value]
    lines += [f"--{boundary}", 'Content-Disposition: form-data; name="file"; filename="f"', "", "by form", f"--{boundary}--", ""]
    body = "\r\n".join(lines).encode()
    return answer(post["url"], method="POST", data=body, headers={"Content-Type": f"multipart/form-data; boundary={boundary}"})


status, text, _ = send(post["fields"])
assert status == 204, text
assert s3.get_object(Bucket=bucket, Key="posted")["Body"].read() == b"by form"
assert send({**post["fields"], "key": "elsewhere"})[0] == 403
assert send({**post["fields"], "policy": "e30="})[0] == 403
held("makes forms")

wrong = boto3.client(
    "s3",
    endpoint_url=endpoint,
    config=config,
    aws_access_key_id=os.environ["AWS_ACCESS_KEY_ID"],
    aws_secret_access_key="not-the-secret",
)
try:
    wrong.list_buckets()
    raise AssertionError("the secret is wrong")
except ClientError as error:
    assert error.response["Error"]["Code"] == "SignatureDoesNotMatch", error
held("is refused with a wrong secret")
